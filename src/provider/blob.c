/* Objects of a store: blob_get, blob_put, blob_delete, blob_list. */
#include "provider/internal.h"

#include <string.h>

void rg_blob_clear(RgBlob *blob)
{
	g_free(blob->version);
	g_clear_pointer(&blob->content, g_bytes_unref);
	*blob = (RgBlob){0};
}

char *rg_provider_of_scheme(RgProviderHost *host, const char *scheme)
{
	g_auto(GStrv) names = rg_provider_host_names(host);
	for (guint i = 0; names && names[i]; i++) {
		g_autoptr(RgDiags) unused = rg_diags_new();
		if (!rg_provider_has(host, names[i], "schema.json"))
			continue;
		const RgSchema *schema = rg_provider_schema(host, names[i], unused);
		if (schema && json_object_get(rg_schema_stores(schema), scheme))
			return g_strdup(names[i]);
	}
	return NULL;
}

static bool take_blob(RgCall *call, const json_t *value, RgBlob *blob)
{
	const char *version = rg_json_str(value, "version", NULL);
	if (!value)
		return false;
	if (!rg_provider_id_is_sound(version)) {
		rg_call_bad(call, "the version of the object has control characters");
		return false;
	}
	blob->version = g_strdup(version);
	blob->modified_s = rg_json_int(value, "modified_s", 0);
	blob->now_s = rg_json_int(value, "now_s", 0);
	return true;
}

/* One call whose result is "blob", or nothing; `content` NULL: it has none. Steals the input. */
static RgBlobResult blob_call(RgProvider *provider, const char *verb, json_t *input,
	GBytes *content, RgBlob *blob, RgDiags *diags)
{
	json_auto_t *value = NULL;
	bool reads = g_str_equal(verb, "blob_get");
	*blob = (RgBlob){0};
	RgCall call = {
		.slot = rg_call_take_one, .data = &value, .answer = reads ? &blob->content : NULL};
	if (content)
		call.content.data = g_bytes_get_data(content, &call.content.len);
	bool ok = rg_call_make(&call, provider, verb, input, diags);
	bool there = ok && take_blob(&call, value, blob);
	if (there && reads && !blob->content)
		rg_call_bad(&call, "it returned \"blob\" without \"content\"");
	ok = ok && call.bad_count == 0;
	rg_call_clear(&call);
	json_decref(input);
	if (ok && there)
		return RG_BLOB_DONE;
	rg_blob_clear(blob);
	return ok ? RG_BLOB_ABSENT : RG_BLOB_FAILED;
}

RgBlobResult rg_provider_blob_get(
	RgProvider *provider, const char *name, RgBlob *blob, RgDiags *diags)
{
	return blob_call(provider, "blob_get", json_pack("{s:s}", "name", name), NULL, blob, diags);
}

RgBlobResult rg_provider_blob_put(RgProvider *provider, const char *name, GBytes *content,
	const char *version, char **written, RgDiags *diags)
{
	RgBlob blob;
	json_t *input = json_pack("{s:s, s:s?}", "name", name, "version", version);
	RgBlobResult result = blob_call(provider, "blob_put", input, content, &blob, diags);
	*written = g_steal_pointer(&blob.version);
	rg_blob_clear(&blob);
	return result;
}

bool rg_provider_blob_delete(RgProvider *provider, const char *name, RgDiags *diags)
{
	RgBlob unused;
	RgBlobResult result = blob_call(
		provider, "blob_delete", json_pack("{s:s}", "name", name), NULL, &unused, diags);
	rg_blob_clear(&unused);
	return result != RG_BLOB_FAILED;
}

static void take_names(RgCall *call, const char *slot, json_t *value)
{
	GPtrArray *all = call->data;
	const json_t *names = json_object_get(value, "names");
	rg_json_foreach (name, names)
		g_ptr_array_add(all, g_strdup(json_string_value(name)));
	if (json_array_size(names) > 0)
		rg_call_has_news(call);
}

bool rg_provider_blob_list(
	RgProvider *provider, const char *prefix, bool advise, GPtrArray *names, RgDiags *diags)
{
	RgCall call = {.slot = take_names, .data = names};
	json_auto_t *input = json_pack("{s:s}", "prefix", prefix);
	if (advise)
		json_object_set_new(input, "advise", json_true());
	bool ok = rg_call_make(&call, provider, "blob_list", input, diags);
	rg_call_clear(&call);
	return ok;
}
