/* The kinds of resources. provider.c looks a kind up here and runs the calls with it; firewalls,
 * addresses and policies share the code of named.c, instances have their own. */
#pragma once
#include "gcp/call.h"
#include "gcp/marks.h"

/* An observed resource. */
typedef struct {
	char *id; /* owned, as are the attributes */
	const char *name, *status;
	json_t *attributes;
	ModMarks marks;
	bool is_alike; /* it differs from the previous one only in id, name and own attributes */
} GcpSeen;

void gcp_seen_clear(GcpSeen *seen);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GcpSeen, gcp_seen_clear)
typedef void (*GcpSink)(void *data, const GcpSeen *seen);

typedef struct GcpKind GcpKind;
struct GcpKind {
	ModKind kind;
	/* Every resource whose mark ("cluster", "token") has the value; every one of these ids that
	 * exists. RGP_FAIL after a diagnostic, also if a part is missing. */
	rgp_status (*scan)(const GcpCall *, const GcpKind *, const char *mark, const char *value,
		GcpSink, void *data);
	rgp_status (*look)(
		const GcpCall *, const GcpKind *, const GPtrArray *ids, GcpSink, void *data);
	rgp_status (*create)(const GcpCall *, const GcpKind *, const json_t *input);
	rgp_status (*ready)(const GcpCall *, const GcpKind *, const json_t *items);
	rgp_status (*update)(const GcpCall *, const GcpKind *, const json_t *items);
	rgp_status (*remove)(const GcpCall *, const GcpKind *, const json_t *items);
	/* Attributes (texts) that each resource has for itself where others are alike; NULL: all */
	const char *const *own;
	/* of named.c: */
	const char *methods;	/* "firewalls": the collection, and the methods' prefix */
	const char *fields;	/* of a record */
	bool global, described; /* not of the region; marks are in the description */
	void (*read)(const json_t *record, GcpSeen *seen);
	json_t *(*body)(const GcpCall *, const json_t *input, const char *name);
	/* The request's body that makes the record what the item requests; NULL: it is that already
	 */
	json_t *(*change)(const json_t *item, const json_t *record);
	const char *change_verb; /* "patch", or a method of the resource: "setLabels" */
};

extern const GcpKind gcp_firewall_kind, gcp_address_kind, gcp_policy_kind, gcp_instance_kind;

static inline const GcpKind *gcp_kind(const ModKind *kind)
{
	return (const GcpKind *)kind;
}

rgp_status gcp_named_scan(const GcpCall *call, const GcpKind *kind, const char *mark,
	const char *value, GcpSink sink, void *data);
rgp_status gcp_named_look(
	const GcpCall *call, const GcpKind *kind, const GPtrArray *ids, GcpSink sink, void *data);
rgp_status gcp_named_create(const GcpCall *call, const GcpKind *kind, const json_t *input);
rgp_status gcp_named_update(const GcpCall *call, const GcpKind *kind, const json_t *items);
rgp_status gcp_named_remove(const GcpCall *call, const GcpKind *kind, const json_t *items);
/* Their members of a GcpKind. */
#define GCP_NAMED                                                                                  \
	.scan = gcp_named_scan, .look = gcp_named_look, .create = gcp_named_create,                \
	.update = gcp_named_update, .remove = gcp_named_remove

/* The calls, for any kind (observe.c). */
rgp_status gcp_list(const GcpCall *call, const ModKind *kind, const json_t *input);
rgp_status gcp_find(const GcpCall *call, const ModKind *kind, const json_t *input);
rgp_status gcp_ready(const GcpCall *call, const ModKind *kind, const json_t *input);
rgp_status gcp_reveal(const GcpCall *call, const ModKind *kind, const json_t *input);
rgp_status gcp_console(const GcpCall *call, const ModKind *kind, const json_t *input);
rgp_status gcp_changing(const GcpCall *call, const ModKind *kind, const json_t *input);
rgp_status gcp_resolve(const GcpCall *call, const json_t *input);
rgp_status gcp_lower(const GcpCall *call, const json_t *input);
rgp_status gcp_preflight(const GcpCall *call, const json_t *input);
rgp_status gcp_account(const GcpCall *call, const json_t *input);
rgp_status gcp_permissions(const GcpCall *call, const json_t *input);
/* The entries of permissions.json that the task and the spec of that call's input need. */
json_t *gcp_permissions_needed(const json_t *input);
/* Findings about permissions that the caller lacks in the project; `about`: that call's input. */
rgp_status gcp_permissions_test(const GcpCall *call, const json_t *about);

/* An update's labels: those of the cloud with the item's changes and marks merged in. */
json_t *gcp_labels_merged(const char *kind, const json_t *item, const json_t *there);
/* Is it one of the codes for "other resources use it"? */
bool gcp_is_busy(const ModFailure *failure);
/* One for "its fingerprint is an old one"? */
bool gcp_is_stale(const ModFailure *failure);
/* One for "the name is taken"? */
bool gcp_is_taken(const ModFailure *failure);
