/* list, find and ready: reading calls, the same for every kind. */
#include "common/page.h"
#include "gcp/kinds.h"

#define PAGE 500

void gcp_seen_clear(GcpSeen *seen)
{
	g_free(seen->id);
	json_decref(seen->attributes);
	mod_marks_clear(&seen->marks);
	*seen = (GcpSeen){0};
}

/* A list or find in progress. */
typedef struct {
	const GcpCall *call;
	const GcpKind *kind;
	GHashTable *seen; /* returned ids: pages may overlap while resources change */
	ModPage page;
	unsigned n;		       /* resources of the page */
	const char *cluster, *lineage; /* "" = any */
	bool any_lineage;	       /* the lineage is an output */
	bool by_name;		       /* reads by the cluster's name */
	rgp_status status;
} Pager;

static void end_page(Pager *pager)
{
	if (pager->status == RGP_OK)
		pager->status =
			mod_page_give(&pager->page, &pager->call->talk, pager->kind->kind.name);
	pager->n = 0;
}

static void on_seen(void *data, const GcpSeen *seen)
{
	Pager *pager = data;
	const ModMarks *marks = &seen->marks;
	if (!seen->is_alike)
		mod_page_differs(&pager->page);
	/* a cluster's name alone is not one of our marks */
	if ((pager->by_name && !marks->lineage) ||
		!g_hash_table_add(pager->seen, g_strdup(seen->id)))
		return;
	bool foreign = *pager->lineage && (g_strcmp0(marks->lineage, pager->lineage) ||
						  g_strcmp0(marks->cluster, pager->cluster));
	g_autofree char *address =
		foreign ? NULL : gcp_marks_address(marks, pager->kind->kind.name, seen->name);
	const ModFound found = {.id = seen->id,
		.address = address,
		.state = "present",
		.status = seen->status,
		.token = marks->token,
		.lineage = foreign || pager->any_lineage ? marks->lineage : NULL,
		.attributes = seen->attributes};
	mod_page_add(&pager->page, &found, pager->kind->own);
	if (++pager->n == PAGE)
		end_page(pager);
}

static GPtrArray *missing_ids(const Pager *pager, const json_t *known)
{
	GPtrArray *missing = g_ptr_array_new();
	mod_foreach (id, known)
		if (json_is_string(id) &&
			!g_hash_table_contains(pager->seen, json_string_value(id)))
			g_ptr_array_add(missing, (char *)(uintptr_t)json_string_value(id));
	return missing;
}

static rgp_status run_pager(const GcpCall *call, const GcpKind *kind, const char *mark,
	const char *value, const json_t *input)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Pager pager = {
		.call = call,
		.kind = kind,
		.seen = seen,
		.any_lineage = json_is_null(json_object_get(input, "lineage")),
		.by_name = g_str_equal(mark, "cluster"),
		.lineage = mod_str(input, "lineage"),
		.cluster = mod_str(input, "cluster"),
	};
	rgp_status status = kind->scan(call, kind, mark, value, on_seen, &pager);
	g_autoptr(GPtrArray) missing = missing_ids(
		&pager, json_object_get(json_object_get(input, "known"), kind->kind.name));
	pager.by_name = false;
	if (status == RGP_OK && missing->len)
		status = kind->look(call, kind, missing, on_seen, &pager);
	end_page(&pager);
	mod_page_clear(&pager.page);
	return status == RGP_OK ? pager.status : status;
}

rgp_status gcp_list(const GcpCall *call, const ModKind *any, const json_t *input)
{
	const GcpKind *kind = gcp_kind(any);
	return run_pager(call, kind, "cluster", mod_str(input, "cluster"), input);
}

rgp_status gcp_find(const GcpCall *call, const ModKind *any, const json_t *input)
{
	const GcpKind *kind = gcp_kind(any);
	rgp_status status = run_pager(call, kind, "token", mod_str(input, "token"), input);
	return status == RGP_OK ? mod_give_complete(&call->talk) : status;
}

rgp_status gcp_ready(const GcpCall *call, const ModKind *any, const json_t *input)
{
	const GcpKind *kind = gcp_kind(any);
	const json_t *items = json_object_get(input, "items");
	rgp_status status = RGP_OK;
	if (kind->ready)
		return kind->ready(call, kind, items);
	mod_foreach (item, items) /* its operation has ended */
		if (status == RGP_OK)
			status = mod_give_item(&call->talk, mod_str(item, "address"), "done",
				mod_str(item, "id"), NULL);
	return status;
}

static bool has_code(const ModFailure *failure, const char *a, const char *b)
{
	return !g_strcmp0(failure->code, a) || !g_strcmp0(failure->code, b);
}

bool gcp_is_busy(const ModFailure *failure)
{
	return has_code(failure, "resourceInUseByAnotherResource",
		       "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE") ||
	       has_code(failure, "operationInProgress", "resourceNotReady") ||
	       has_code(failure, "RESOURCE_NOT_READY", "RESOURCE_NOT_READY");
}

bool gcp_is_stale(const ModFailure *failure)
{
	return failure->class_ == RGP_CLASS_CONFLICT &&
	       has_code(failure, "conditionNotMet", "CONDITION_NOT_MET");
}

bool gcp_is_taken(const ModFailure *failure)
{
	return has_code(failure, "alreadyExists", "RESOURCE_ALREADY_EXISTS");
}
