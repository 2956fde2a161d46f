/* The functions of each kind of resource: its Describe call, how a record becomes attributes, and
 * how it is created, changed and removed. provider.c looks a kind up here and runs the calls with
 * it. */
#pragma once
#include "aws/ec2.h"
#include "aws/marks.h"

/* An observed resource, from one record of a Describe answer. */
typedef struct {
	const char *id; /* borrowed from the record */
	json_t *attributes;
	ModMarks marks;
	uint64_t place;	    /* in its batch: EC2's launch index */
	bool gone;	    /* EC2 itself reports it as gone */
	const char *status; /* EC2's term, borrowed */
} AwsSeen;

void aws_seen_clear(AwsSeen *seen);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AwsSeen, aws_seen_clear)

/* Member of an update's item, set by the kind's own update. */
#define AWS_TAGGED_ID "tagged_id"

/* Results of the members of an update call: one slot per item. */
typedef struct {
	const char *kind;
	const json_t *items;
	ModFailure *failures; /* class_ OK: no failure so far */
} AwsUpdate;

typedef struct {
	ModKind kind;
	const char *describe, *id_filter, *token_filter;
	const AwsShape *shape;
	int64_t page;	     /* MaxResults; 0: the action does not support it */
	bool shares_lineage; /* other kinds of resources carry our lineage too and must be filtered
				out */
	void (*read)(const json_t *record, AwsSeen *seen);
	/* For a record that differs from the previous one only in its AWS_OWN texts: updates the
	 * id, the place and the attributes listed in `own`. NULL without `own` */
	void (*read_own)(const json_t *record, AwsSeen *seen);
	/* whether the resource is usable: RGP_CLASS_OK: yes; RGP_CLASS_TRANSIENT: not yet; else
	 * failed */
	void (*readiness)(const AwsCall *, const json_t *record, ModFailure *failure);
	/* of a usable one, `item` of ready: the attributes that EC2 did not take over, a new list,
	 * perhaps empty; RGP_CLASS_TRANSIENT: it does not show yet. NULL: it takes over all of
	 * them */
	json_t *(*missed)(const json_t *item, const AwsSeen *seen, ModFailure *failure);
	/* whether an item of ready may miss something in use: if not, `ready` does not look at it
	 * then; set if `missed` is */
	bool (*may_miss)(const json_t *item);
	rgp_status (*create)(const AwsCall *, const json_t *input);
	/* The attributes that come from AWS_OWN texts. All others are sent once for a run of
	 * adjacent items with equal values. NULL-ended; NULL: every attribute differs */
	const char *const *own;
	/* all changes except those of tags; NULL: there are none. If CreateTags needs another name
	 * than the resource's id, it puts that into the item as AWS_TAGGED_ID. */
	rgp_status (*update)(const AwsCall *, AwsUpdate *);
	rgp_status (*after_tags)(const AwsCall *, AwsUpdate *); /* NULL: nothing */
	rgp_status (*remove)(const AwsCall *, const json_t *items);
	/* attributes that Describe does not report, a new reference; NULL: all are reported */
	json_t *(*reveal)(const AwsCall *, const char *id, ModFailure *failure);
	bool has_console; /* GetConsoleOutput and DescribeInstanceStatus know it */
} AwsKind;

extern const AwsKind aws_group_kind, aws_interface_kind, aws_instance_kind, aws_placement_kind;

static inline const AwsKind *aws_kind(const ModKind *kind)
{
	return (const AwsKind *)kind;
}

/* Reads resources with filters, all pages. `record` gets every record. */
rgp_status aws_kind_describe(const AwsCall *call, const AwsKind *kind, json_t *params,
	AwsRecordFn record, rgp_status (*page_done)(void *data), void *data);

/* The calls, for any kind (observe.c, update.c). */
/* The pages of one kind, without "done". */
rgp_status aws_list(const AwsCall *call, const ModKind *kind, const json_t *input);
rgp_status aws_find(const AwsCall *call, const ModKind *kind, const json_t *input);
rgp_status aws_ready(const AwsCall *call, const ModKind *kind, const json_t *input);
rgp_status aws_update(const AwsCall *call, const ModKind *kind, const json_t *input);
rgp_status aws_reveal(const AwsCall *call, const ModKind *kind, const json_t *input);
rgp_status aws_console(const AwsCall *call, const ModKind *kind, const json_t *input);
rgp_status aws_health(const AwsCall *call, const ModKind *kind, const json_t *input);
rgp_status aws_preflight(const AwsCall *call, const json_t *input);
rgp_status aws_resolve(const AwsCall *call, const json_t *input);
rgp_status aws_lower(const AwsCall *call, const json_t *input);

/* remove.c: deletes one id per request; `busy` is pending, `gone` after a while counts as done
 * (limit_s of its row: how long EC2 may not know a new resource). */
rgp_status aws_delete_each(const AwsCall *call, const json_t *items, const char *action,
	const char *param, const Ec2Code *busy, const Ec2Code *gone);
