/* Ownership marks as EC2 tags: raygpu:cluster, :lineage, :kind, :name, :pool, :indexes, :token,
 * :commit, :run. They are written at creation: never part of the `tags` attribute, and changed only
 * by `update` of "marks", which adds raygpu:index, the index of one resource that is no longer (or
 * never was) part of a batch. They determine the address, together with the launch index. Pure. */
#pragma once
#include "aws/aws.h"
#include "aws/xml.h"
#include "common/marks.h"

#define AWS_MARK_PREFIX "raygpu:"

/* Tags for a create call's input: its attributes' tags and the marks, as [{"Key", "Value"}],
 * sorted, the same for the same input. A new reference. */
json_t *aws_marks_tags(const json_t *input);
/* {"ResourceType": type, "Tag": tags} for TagSpecification. */
json_t *aws_marks_spec(const char *type, json_t *tags);

/* Splits the object of a <tagSet>: returns the tags that are neither ours nor AWS's own, as an
 * object. */
json_t *aws_marks_read(const json_t *tags, ModMarks *marks);
/* Tags that mark an existing resource with the item's address, [{"Key", "Value"}]. They add to
 * those that it has, so raygpu:index ("3", or "none") overrides raygpu:indexes from then on. Items
 * that keep their index need the same tags. A new reference. */
json_t *aws_marks_renew(const char *kind, const json_t *item);
/* The keys of all marks, and of the lease, [{"Key"}]. A new reference. */
json_t *aws_marks_all(void);
bool aws_marks_has_index(const ModMarks *marks);
/* The address of the `place`-th resource of its batch; NULL if the marks do not determine it.
 * g_free. */
char *aws_marks_address(const ModMarks *marks, const char *kind, uint64_t place);

/* The shape of <tagSet>. */
extern const AwsShape aws_tag_set[];
