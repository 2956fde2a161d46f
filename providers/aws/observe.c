/* list, find and ready: reading calls, the same for every kind. */
#include "aws/form.h"
#include "aws/kinds.h"
#include "common/page.h"
#include <string.h>

#define IDS_MAX 200 /* values of one filter */

void aws_seen_clear(AwsSeen *seen)
{
	json_decref(seen->attributes);
	mod_marks_clear(&seen->marks);
	*seen = (AwsSeen){0};
}

rgp_status aws_kind_describe(const AwsCall *call, const AwsKind *kind, json_t *params,
	AwsRecordFn record, rgp_status (*page_done)(void *data), void *data)
{
	const Ec2Request request = {
		.action = kind->describe,
		.shape = kind->shape,
		.record = record,
		.data = data,
	};
	if (kind->page)
		json_object_set_new(params, "MaxResults", json_integer(kind->page));
	return ec2_pages(call, &request, params, page_done);
}

/* A list or find in progress. */
typedef struct {
	const AwsCall *call;
	const AwsKind *kind;
	GHashTable *seen; /* returned ids: pages may overlap while resources change */
	ModPage page;
	json_t *record;		       /* the newest; NULL at the beginning of a page */
	AwsSeen last;		       /* its content */
	const char *cluster, *lineage; /* filter by the marks; "" = any */
	bool any_lineage;	       /* the lineage is an output */
	bool by_name;		       /* reads by the cluster's name */
} Pager;

static bool is_foreign(const Pager *pager, const ModMarks *marks)
{
	return *pager->lineage && (g_strcmp0(marks->lineage, pager->lineage) ||
					  g_strcmp0(marks->cluster, pager->cluster));
}

static bool tells_lineage(const Pager *pager, const ModMarks *marks)
{
	return pager->any_lineage ||
	       (*pager->lineage && g_strcmp0(marks->lineage, pager->lineage) != 0);
}

static void add_resource(Pager *pager)
{
	const AwsSeen *seen = &pager->last;
	const ModMarks *marks = &seen->marks;
	g_autofree char *address =
		is_foreign(pager, marks)
			? NULL
			: aws_marks_address(marks, pager->kind->kind.name, seen->place);
	const ModFound found = {.id = seen->id,
		.address = address,
		.state = seen->gone ? "gone" : "present",
		.status = seen->status,
		.token = marks->token,
		.lineage = tells_lineage(pager, marks) ? marks->lineage : NULL,
		.attributes = seen->attributes};
	mod_page_add(&pager->page, &found, pager->kind->own);
}

static void forget_record(Pager *pager)
{
	g_clear_pointer(&pager->record, json_decref);
	aws_seen_clear(&pager->last);
	mod_page_differs(&pager->page);
}

static void on_record(void *data, const json_t *record)
{
	Pager *pager = data;
	AwsSeen *seen = &pager->last;
	if (record == pager->record) {
		pager->kind->read_own(record, seen);
	} else {
		forget_record(pager);
		pager->record = json_incref(mod_unconst(record));
		pager->kind->read(record, seen);
	}
	/* a cluster's name alone is not one of our marks */
	if (pager->by_name && !seen->marks.lineage)
		return;
	if (*seen->id && g_hash_table_add(pager->seen, g_strdup(seen->id)))
		add_resource(pager);
}

static rgp_status on_page(void *data)
{
	Pager *pager = data;
	forget_record(pager);
	return mod_page_give(&pager->page, &pager->call->talk, pager->kind->kind.name);
}

/* The known ids that are on no page, in chunks that fit one filter. */
static rgp_status reread_missing(Pager *pager, const json_t *known)
{
	g_autoptr(GPtrArray) missing = g_ptr_array_new();
	mod_foreach (id, known)
		if (json_is_string(id) &&
			!g_hash_table_contains(pager->seen, json_string_value(id)))
			g_ptr_array_add(missing, (char *)(uintptr_t)json_string_value(id));
	for (guint at = 0; at < missing->len; at += IDS_MAX) {
		json_auto_t *params = json_object();
		aws_form_filter(params, pager->kind->id_filter,
			(const char *const *)missing->pdata + at, MIN(IDS_MAX, missing->len - at));
		rgp_status status = aws_kind_describe(
			pager->call, pager->kind, params, on_record, on_page, pager);
		if (status != RGP_OK)
			return status;
	}
	return RGP_OK;
}

/* Runs the pager over the filters in `params`, then over the known ids of `input`. */
static rgp_status run_pager(
	const AwsCall *call, const AwsKind *kind, json_t *params, const json_t *input)
{
	Pager pager = {
		.call = call,
		.kind = kind,
		.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.any_lineage = json_is_null(json_object_get(input, "lineage")),
		.by_name = !json_object_get(input, "token"),
		.lineage = mod_str(input, "lineage"),
		.cluster = mod_str(input, "cluster"),
	};
	rgp_status status = aws_kind_describe(call, kind, params, on_record, on_page, &pager);
	pager.by_name = false;
	if (status == RGP_OK)
		status = reread_missing(
			&pager, json_object_get(json_object_get(input, "known"), kind->kind.name));
	g_hash_table_unref(pager.seen);
	forget_record(&pager);
	mod_page_clear(&pager.page);
	return status;
}

static void filter_kind(const AwsKind *kind, json_t *params)
{
	if (kind->shares_lineage)
		aws_form_filter(params, "tag:" AWS_MARK_PREFIX "kind", &kind->kind.name, 1);
}

rgp_status aws_list(const AwsCall *call, const ModKind *any, const json_t *input)
{
	const AwsKind *kind = aws_kind(any);
	json_auto_t *params = json_object();
	const char *cluster = mod_str(input, "cluster");
	aws_form_filter(params, "tag:" AWS_MARK_PREFIX "cluster", &cluster, 1);
	filter_kind(kind, params);
	return run_pager(call, kind, params, input);
}

rgp_status aws_find(const AwsCall *call, const ModKind *any, const json_t *input)
{
	const AwsKind *kind = aws_kind(any);
	json_auto_t *params = json_object();
	const char *token = mod_str(input, "token");
	aws_form_filter(params, kind->token_filter, &token, 1);
	filter_kind(kind, params);
	rgp_status status = run_pager(call, kind, params, input);
	return status == RGP_OK ? mod_give_complete(&call->talk) : status;
}

typedef struct {
	const AwsCall *call;
	const AwsKind *kind;
	GHashTable *waiting; /* id -> item, borrowed from the input; those already reported are
				removed */
	rgp_status status;
} Look;

static rgp_status give_ready(
	const Look *look, const char *address, const AwsSeen *seen, json_t *missed)
{
	return mod_give(&look->call->talk, "item",
		json_pack("{s:s, s:s, s:s, s:O, s:O*}", "address", address, "outcome", "done", "id",
			seen->id, "attributes", seen->attributes, "changed",
			json_array_size(missed) ? missed : NULL));
}

static void on_looked(void *data, const json_t *record)
{
	Look *look = data;
	g_auto(AwsSeen) seen = {0};
	look->kind->read(record, &seen);
	const json_t *item = g_hash_table_lookup(look->waiting, seen.id);
	if (!item || look->status != RGP_OK)
		return;
	const char *address = mod_str(item, "address");
	ModFailure failure = {0};
	json_auto_t *missed = NULL;
	look->kind->readiness(look->call, record, &failure);
	if (failure.class_ == RGP_CLASS_OK && look->kind->missed)
		missed = look->kind->missed(item, &seen, &failure);
	if (failure.class_ == RGP_CLASS_OK)
		look->status = give_ready(look, address, &seen, missed);
	else if (failure.class_ == RGP_CLASS_TRANSIENT)
		look->status = mod_give_item(&look->call->talk, address, "pending", seen.id,
			json_incref(seen.attributes));
	else
		look->status = mod_give_failed(&look->call->talk, address, seen.id, &failure);
	mod_failure_clear(&failure);
	g_hash_table_remove(look->waiting, seen.id);
}

static rgp_status look_at(Look *look, const json_t *items)
{
	for (size_t at = 0; at < json_array_size(items); at += IDS_MAX) {
		const char *ids[IDS_MAX];
		size_t count = 0;
		for (; count < IDS_MAX && at + count < json_array_size(items); count++)
			ids[count] = mod_str(json_array_get(items, at + count), "id");
		json_auto_t *params = json_object();
		aws_form_filter(params, look->kind->id_filter, ids, count);
		rgp_status status =
			aws_kind_describe(look->call, look->kind, params, on_looked, NULL, look);
		if (status != RGP_OK)
			return status;
	}
	return look->status;
}

/* It was ready before, and no request can show more. */
static bool in_use_without_a_miss(const AwsKind *kind, const json_t *item)
{
	return json_is_true(json_object_get(item, "in_use")) && kind->may_miss &&
	       !kind->may_miss(item);
}

rgp_status aws_ready(const AwsCall *call, const ModKind *any, const json_t *input)
{
	const AwsKind *kind = aws_kind(any);
	const json_t *items = json_object_get(input, "items");
	Look look = {
		.call = call,
		.kind = kind,
		.waiting = g_hash_table_new(g_str_hash, g_str_equal),
		.status = RGP_OK,
	};
	json_auto_t *asked = json_array();
	rgp_status status = RGP_OK;
	mod_foreach (item, items) {
		if (in_use_without_a_miss(kind, item)) {
			if (status == RGP_OK)
				status = mod_give_item(&call->talk, mod_str(item, "address"),
					"done", mod_str(item, "id"), NULL);
			continue;
		}
		g_hash_table_insert(look.waiting, (char *)(uintptr_t)mod_str(item, "id"), item);
		json_array_append(asked, item);
	}
	if (status == RGP_OK)
		status = look_at(&look, asked);
	/* what EC2 does not show yet may just be too new */
	mod_foreach (item, asked)
		if (status == RGP_OK && g_hash_table_contains(look.waiting, mod_str(item, "id")))
			status = mod_give_item(&call->talk, mod_str(item, "address"), "pending",
				mod_str(item, "id"), NULL);
	g_hash_table_unref(look.waiting);
	return status;
}
