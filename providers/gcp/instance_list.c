/* Instances as records: those of one zone, one by one, or the items of a call. */
#include <string.h>
#include "gcp/instance.h"

/* As many as this are read one by one rather than by a list of the cluster. */
#define SINGLE_MAX 4

char *gcp_instance_url(const GcpCall *call, const char *id)
{
	g_auto(GStrv) parts = g_strsplit(id, "/", 2);
	const char *project = gcp_project(call);
	if (!project || !parts[0] || !parts[1] || !*parts[1] ||
		strspn(parts[0], "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(parts[0]) ||
		strspn(parts[1], "0123456789") != strlen(parts[1]))
		return NULL;
	return g_strdup_printf("projects/%s/zones/%s/instances/%s", project, parts[0], parts[1]);
}

static rgp_status on_zone_page(void *data, const json_t *body)
{
	json_array_extend(data, json_object_get(body, "items"));
	return RGP_OK;
}

rgp_status gcp_instance_zone_list(
	const GcpCall *call, const char *zone, const char *mark, const char *value, json_t *records)
{
	const char *project = gcp_project(call);
	g_autofree char *filter =
		g_strdup_printf("labels." GCP_MARK_PREFIX "%s=\"%s\"", mark, value);
	g_autofree char *escaped = gcp_escape(filter);
	if (!project)
		return RGP_FAIL;
	g_autofree char *url = g_strdup_printf(
		"projects/%s/zones/%s/instances?filter=%s"
		"&maxResults=500&prettyPrint=false&fields=kind,items(" GCP_INSTANCE_FIELDS
		"),nextPageToken",
		project, zone, escaped);
	const ModRestRequest request = gcp_get(call, "instances.list", url);
	return gcp_pages(call, &request, on_zone_page, records);
}

/* ---- one by one */

rgp_status gcp_get_all(const GcpCall *call, const char *what, const GPtrArray *urls,
	const char *fields, json_t **records)
{
	g_autofree ModRestRequest *requests = g_new0(ModRestRequest, urls->len + 1);
	g_autofree ModRestAnswer *answers = g_new0(ModRestAnswer, urls->len + 1);
	g_autoptr(GPtrArray) full = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < urls->len; i++) {
		g_ptr_array_add(full,
			g_strdup_printf("%s?fields=%s", (const char *)urls->pdata[i], fields));
		requests[i] = gcp_get(call, what, full->pdata[i]);
	}
	rgp_status status =
		mod_rest_send_all(&call->talk, &call->inst->rest, requests, urls->len, answers);
	for (guint i = 0; i < urls->len; i++) {
		if (status == RGP_OK && answers[i].failure.class_ == RGP_CLASS_OK)
			records[i] = json_incref(answers[i].body);
		else if (status == RGP_OK && answers[i].failure.class_ != RGP_CLASS_GONE)
			status = gcp_report(call, what, &answers[i]);
		mod_rest_answer_clear(&answers[i]);
	}
	return status;
}

rgp_status gcp_instance_get(const GcpCall *call, const GPtrArray *ids, json_t *records)
{
	g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) valid = g_ptr_array_new();
	for (guint i = 0; i < ids->len; i++) {
		char *url = gcp_instance_url(call, ids->pdata[i]);
		if (!url)
			continue; /* no id of ours: it does not exist */
		g_ptr_array_add(urls, url);
		g_ptr_array_add(valid, ids->pdata[i]);
	}
	g_autofree json_t **found = g_new0(json_t *, urls->len + 1);
	rgp_status status = gcp_project(call) ? gcp_get_all(call, "instances.get", urls,
							GCP_INSTANCE_FIELDS, found)
					      : RGP_FAIL;
	for (guint i = 0; i < valid->len; i++)
		if (found[i])
			json_object_set_new(records, valid->pdata[i], found[i]);
	return status;
}

/* ---- the items of a call */

/* What was read comes first: its label may be missing by now. "": not to be found by its label. */
static const char *cluster_of(const json_t *item)
{
	const json_t *observed = json_object_get(item, "observed");
	return mod_str(
		json_is_object(observed) ? observed : json_object_get(item, "recorded"), "cluster");
}

static void keep_record(json_t *records, json_t *record)
{
	g_autofree char *id = g_strdup_printf(
		"%s/%s", gcp_last_of(mod_str(record, "zone")), mod_str(record, "id"));
	json_object_set(records, id, record);
}

/* Lists each zone of the items once. */
static rgp_status list_zones(const GcpCall *call, const json_t *items, json_t *records)
{
	g_autoptr(GHashTable) done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rgp_status status = RGP_OK;
	mod_foreach (item, items) {
		const char *id = mod_str(item, "id"), *cluster = cluster_of(item);
		g_autofree char *zone = g_strndup(id, strcspn(id, "/"));
		g_autofree char *key = g_strconcat(zone, " ", cluster, NULL);
		if (!*cluster || status != RGP_OK || !g_hash_table_add(done, g_steal_pointer(&key)))
			continue;
		json_auto_t *listed = json_array();
		status = gcp_instance_zone_list(call, zone, "cluster", cluster, listed);
		mod_foreach (record, listed)
			keep_record(records, record);
	}
	return status;
}

static rgp_status read_items(
	const GcpCall *call, const json_t *items, bool confirm, json_t *records)
{
	g_autoptr(GPtrArray) singles = g_ptr_array_new();
	bool few = json_array_size(items) <= SINGLE_MAX;
	rgp_status status = few ? RGP_OK : list_zones(call, items, records);
	mod_foreach (item, items) {
		const char *id = mod_str(item, "id");
		if (!json_object_get(records, id) && (few || confirm || !*cluster_of(item)))
			g_ptr_array_add(singles, (char *)(uintptr_t)id);
	}
	return status == RGP_OK && singles->len ? gcp_instance_get(call, singles, records) : status;
}

rgp_status gcp_instance_records(const GcpCall *call, const json_t *items, json_t *records)
{
	return read_items(call, items, true, records);
}

rgp_status gcp_instance_listed(const GcpCall *call, const json_t *items, json_t *records)
{
	return read_items(call, items, false, records);
}

rgp_status gcp_instance_each(const GcpCall *call, const GcpKind *kind, const json_t *input,
	const char *what, const char *suffix,
	rgp_status (*give)(const GcpCall *, const json_t *item, const ModRestAnswer *))
{
	const json_t *items = json_object_get(input, "items");
	size_t n = json_array_size(items);
	g_autofree ModRestRequest *requests = g_new0(ModRestRequest, n + 1);
	g_autofree ModRestAnswer *answers = g_new0(ModRestAnswer, n + 1);
	g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);
	if (kind != &gcp_instance_kind)
		return RGP_UNSUPPORTED;
	for (size_t i = 0; i < n; i++) {
		const char *id = mod_str(json_array_get(items, i), "id");
		g_autofree char *base = gcp_instance_url(call, id);
		if (!base)
			return mod_refuse(
				call, NULL, NULL, "\"%s\" is not the id of an instance", id);
		g_ptr_array_add(urls, g_strconcat(base, suffix, NULL));
		requests[i] = gcp_get(call, what, urls->pdata[i]);
	}
	rgp_status status = mod_rest_send_all(&call->talk, &call->inst->rest, requests, n, answers);
	for (size_t i = 0; i < n; i++) {
		if (status == RGP_OK)
			status = give(call, json_array_get(items, i), &answers[i]);
		mod_rest_answer_clear(&answers[i]);
	}
	return status;
}
