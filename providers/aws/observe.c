/* list, find and ready: reading calls, the same for every kind. */
#include "aws/form.h"
#include "aws/kinds.h"
#include <string.h>

#define IDS_MAX 200 /* values of one filter */

void aws_seen_clear(AwsSeen *seen)
{
	json_decref(seen->attributes);
	aws_marks_clear(&seen->marks);
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

/* A list or find in progress: the records of the current page, as text. */
typedef struct {
	const AwsCall *call;
	const AwsKind *kind;
	GHashTable *seen;	/* returned ids: pages may overlap while resources change */
	GString *page, *shared; /* the page's two lists */
	unsigned n_shared;
	json_t *record;		       /* the newest; NULL at the beginning of a page */
	AwsSeen last;		       /* its content */
	bool is_shared;		       /* the newest of `shared` belongs to it */
	const char *cluster, *lineage; /* filter by the marks; "" = any */
	bool any_lineage;	       /* the lineage is an output */
	bool by_name;		       /* reads by the cluster's name */
} Pager;

static bool is_foreign(const Pager *pager, const AwsMarks *marks)
{
	return *pager->lineage && (g_strcmp0(marks->lineage, pager->lineage) ||
					  g_strcmp0(marks->cluster, pager->cluster));
}

static bool tells_lineage(const Pager *pager, const AwsMarks *marks)
{
	return pager->any_lineage ||
	       (*pager->lineage && g_strcmp0(marks->lineage, pager->lineage) != 0);
}

static int append_bytes(const char *bytes, size_t len, void *text)
{
	g_string_append_len(text, bytes, (gssize)len);
	return 0;
}

static void append_json(GString *text, const json_t *value)
{
	json_dump_callback(value, append_bytes, text, JSON_COMPACT | JSON_ENCODE_ANY);
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((guchar)*text < ' ' || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* `,"name":"text"`; nothing for NULL. A list has thousands of these, nearly all ids and words
 * without escapes: they are copied, without the JSON writer. */
static void append_text(GString *out, const char *name, const char *text)
{
	if (!text)
		return;
	g_string_append(out, ",\"");
	g_string_append(out, name);
	g_string_append(out, "\":");
	if (is_plain(text)) {
		g_string_append_c(out, '"');
		g_string_append(out, text);
		g_string_append_c(out, '"');
	} else {
		json_auto_t *value = json_string(text);
		append_json(out, value);
	}
}

static void append_own(GString *page, const AwsKind *kind, const json_t *attributes)
{
	size_t begin = page->len;
	for (const char *const *name = kind->own; *name; name++)
		append_text(page, *name, json_string_value(json_object_get(attributes, *name)));
	if (page->len > begin)
		page->str[begin] = '{'; /* instead of the comma */
	else
		g_string_append_c(page, '{');
	g_string_append_c(page, '}');
}

/* The members that adjacent resources may have in common: all except id and address. */
static void append_common(const Pager *pager, GString *out, const json_t *attributes)
{
	const AwsSeen *seen = &pager->last;
	const AwsMarks *marks = &seen->marks;
	g_string_append(out, "\"attributes\":");
	append_json(out, attributes);
	append_text(out, "state", seen->gone ? "gone" : "present");
	append_text(out, "token", marks->token);
	append_text(out, "status", seen->status);
	append_text(out, "lineage", tells_lineage(pager, marks) ? marks->lineage : NULL);
}

static void append_shared(Pager *pager)
{
	json_auto_t *attributes = json_copy(pager->last.attributes);
	for (const char *const *name = pager->kind->own; *name; name++)
		json_object_del(attributes, *name);
	g_string_append(pager->shared, pager->shared->len ? ",{" : "{");
	append_common(pager, pager->shared, attributes);
	g_string_append_c(pager->shared, '}');
	pager->n_shared++;
	pager->is_shared = true;
}

static void add_resource(Pager *pager)
{
	GString *page = pager->page;
	const AwsSeen *seen = &pager->last;
	g_autofree char *address =
		is_foreign(pager, &seen->marks)
			? NULL
			: aws_marks_address(&seen->marks, pager->kind->kind, seen->place);
	g_string_append(page, page->len ? ",{" : "{");
	if (pager->kind->own) {
		if (!pager->is_shared)
			append_shared(pager);
		g_string_append_printf(page, "\"shared\":%u,\"attributes\":", pager->n_shared - 1);
		append_own(page, pager->kind, seen->attributes);
	} else {
		append_common(pager, page, seen->attributes);
	}
	append_text(page, "id", seen->id);
	append_text(page, "address", address);
	g_string_append_c(page, '}');
}

static void forget_record(Pager *pager)
{
	g_clear_pointer(&pager->record, json_decref);
	aws_seen_clear(&pager->last);
	pager->is_shared = false;
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
	g_autofree char *text =
		g_strdup_printf("{\"kind\":\"%s\",\"resources\":[%s],\"shared\":[%s]}",
			pager->kind->kind, pager->page->str, pager->shared->str);
	bool empty = !pager->page->len;
	g_string_truncate(pager->page, 0);
	g_string_truncate(pager->shared, 0);
	forget_record(pager);
	pager->n_shared = 0;
	const ModTalk *talk = &pager->call->talk;
	return empty ? RGP_OK : talk->host->result(talk->call, "page", mod_bytes(text));
}

/* The known ids that are on no page, in chunks that fit one filter. */
static rgp_status reread_missing(Pager *pager, const json_t *known)
{
	g_autoptr(GPtrArray) missing = g_ptr_array_new();
	size_t i;
	const json_t *id;
	json_array_foreach (known, i, id)
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
		.page = g_string_new(NULL),
		.shared = g_string_new(NULL),
		.any_lineage = json_is_null(json_object_get(input, "lineage")),
		.by_name = !json_object_get(input, "token"),
		.lineage = mod_str(input, "lineage"),
		.cluster = mod_str(input, "cluster"),
	};
	rgp_status status = aws_kind_describe(call, kind, params, on_record, on_page, &pager);
	pager.by_name = false;
	if (status == RGP_OK)
		status = reread_missing(
			&pager, json_object_get(json_object_get(input, "known"), kind->kind));
	g_hash_table_unref(pager.seen);
	g_string_free(pager.page, TRUE);
	g_string_free(pager.shared, TRUE);
	forget_record(&pager);
	return status;
}

static void filter_kind(const AwsKind *kind, json_t *params)
{
	if (kind->shares_lineage)
		aws_form_filter(params, "tag:" AWS_MARK_PREFIX "kind", &kind->kind, 1);
}

rgp_status aws_list(const AwsCall *call, const AwsKind *kind, const json_t *input)
{
	json_auto_t *params = json_object();
	const char *cluster = mod_str(input, "cluster");
	aws_form_filter(params, "tag:" AWS_MARK_PREFIX "cluster", &cluster, 1);
	filter_kind(kind, params);
	return run_pager(call, kind, params, input);
}

rgp_status aws_find(const AwsCall *call, const AwsKind *kind, const json_t *input)
{
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
	GHashTable *waiting; /* id -> address, borrowed from the input; those already reported are
				removed */
	rgp_status status;
} Look;

static void on_looked(void *data, const json_t *record)
{
	Look *look = data;
	g_auto(AwsSeen) seen = {0};
	look->kind->read(record, &seen);
	const char *address = g_hash_table_lookup(look->waiting, seen.id);
	if (!address || look->status != RGP_OK)
		return;
	ModFailure failure = {0};
	look->kind->readiness(look->call, record, &failure);
	if (failure.class_ == RGP_CLASS_OK || failure.class_ == RGP_CLASS_TRANSIENT)
		look->status = mod_give_item(&look->call->talk, address,
			failure.class_ == RGP_CLASS_OK ? "done" : "pending", seen.id,
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

rgp_status aws_ready(const AwsCall *call, const AwsKind *kind, const json_t *input)
{
	const json_t *items = json_object_get(input, "items"), *item;
	Look look = {
		.call = call,
		.kind = kind,
		.waiting = g_hash_table_new(g_str_hash, g_str_equal),
		.status = RGP_OK,
	};
	size_t i;
	json_array_foreach (items, i, item)
		g_hash_table_insert(look.waiting, (char *)(uintptr_t)mod_str(item, "id"),
			(char *)(uintptr_t)mod_str(item, "address"));
	rgp_status status = look_at(&look, items);
	/* what EC2 does not show yet may just be too new */
	json_array_foreach (items, i, item)
		if (status == RGP_OK && g_hash_table_contains(look.waiting, mod_str(item, "id")))
			status = mod_give_item(&call->talk, mod_str(item, "address"), "pending",
				mod_str(item, "id"), NULL);
	g_hash_table_unref(look.waiting);
	return status;
}

rgp_status aws_fail_items(const AwsCall *call, const json_t *items, const ModFailure *failure)
{
	rgp_status status = RGP_OK;
	size_t i;
	const json_t *item;
	json_array_foreach (items, i, item)
		if (status == RGP_OK)
			status = mod_give_failed(
				&call->talk, mod_str(item, "address"), NULL, failure);
	return status;
}
