/* Ownership marks: labels (keys without a colon), and in the description of resources that have no
 * labels; names derived from the host's token. Pure. */
#pragma once
#include "common/marks.h"
#include "gcp/gcp.h"

#define GCP_MARK_PREFIX "raygpu-"

/* "raygpu-LINEAGE", the network tag of a cluster's nodes. g_free. */
char *gcp_node_tag(const char *lineage);
/* What stands for that tag in attributes: a plan of a new cluster does not know the lineage. */
#define GCP_OWN_TAG "@cluster"
/* Network tags of attributes as the API's, and back; new references. */
json_t *gcp_tags_write(const json_t *tags, const char *lineage);
json_t *gcp_tags_read(const json_t *tags, const char *lineage);
/* "CLUSTER-POOL-TOKEN-INDEX" of a node, "raygpu-CLUSTER-NAME-TOKEN" of others: the name stands in
 * for a token that outlives requestId. g_free. */
char *gcp_name_of(const json_t *input, const json_t *item);

/* The labels of what a create's input creates: the spec's and the marks. A new reference. */
json_t *gcp_marks_labels(const json_t *input);
/* The description of a resource without labels. g_free. */
char *gcp_marks_text(const json_t *input, const char *region);
/* The labels that are not marks (a new reference), and the marks. */
json_t *gcp_marks_read(const json_t *labels, ModMarks *marks);
void gcp_marks_parse(const char *description, ModMarks *marks);
/* The address of the resource with this name in the cloud; NULL: not of this kind. g_free. */
char *gcp_marks_address(const ModMarks *marks, const char *kind, const char *name);
/* From the labels of a resource that raygpu no longer manages. */
void gcp_marks_remove(json_t *labels);
/* The marks that an update's item with changed "marks" is to get, {label: value}. */
json_t *gcp_marks_renew(const char *kind, const json_t *item);
/* The same in a description, which keeps its other marks. g_free. */
char *gcp_marks_renew_text(const char *kind, const json_t *item, const char *description);
