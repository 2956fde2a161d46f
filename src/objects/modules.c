/* Objects that a provider module keeps: its blob calls. */
#include "objects/internal.h"

typedef struct {
	RgObjects base;
	RgProvider *provider;
	char *shown;
	bool writes;
} ModuleObjects;

static void module_close(RgObjects *objects)
{
	ModuleObjects *module = (ModuleObjects *)objects;
	rg_provider_close(module->provider);
	g_free(module->shown);
	g_free(module);
}

/* Notes go on; the first error, in the words of states. */
static void end(const ModuleObjects *module, RgDiags *why, RgDiags *diags)
{
	objects_explain(module->shown, module->writes, why, diags);
}

static RgObjectResult module_get(
	RgObjects *objects, const char *name, RgObject *object, RgDiags *diags)
{
	ModuleObjects *module = (ModuleObjects *)objects;
	g_autoptr(RgDiags) why = rg_diags_new();
	RgBlob blob;
	RgBlobResult result = rg_provider_blob_get(module->provider, name, &blob, why);
	if (result == RG_BLOB_FAILED)
		end(module, why, diags);
	if (result != RG_BLOB_DONE)
		return result == RG_BLOB_ABSENT ? RG_OBJECT_ABSENT : RG_OBJECT_FAILED;
	bool timed = blob.now_s > 0 && blob.modified_s > 0;
	*object = (RgObject){.content = g_steal_pointer(&blob.content),
		.version = g_steal_pointer(&blob.version),
		.age_s = timed ? MAX(blob.now_s - blob.modified_s, 0) : -1};
	rg_blob_clear(&blob);
	return RG_OBJECT_DONE;
}

static RgObjectResult module_put(RgObjects *objects, const char *name, GBytes *content,
	const char *version, char **written, RgDiags *diags)
{
	ModuleObjects *module = (ModuleObjects *)objects;
	g_autoptr(RgDiags) why = rg_diags_new();
	RgBlobResult result =
		rg_provider_blob_put(module->provider, name, content, version, written, why);
	if (result == RG_BLOB_FAILED)
		end(module, why, diags);
	return result == RG_BLOB_DONE	  ? RG_OBJECT_DONE
	       : result == RG_BLOB_ABSENT ? RG_OBJECT_CONFLICT
					  : RG_OBJECT_FAILED;
}

static bool module_remove(RgObjects *objects, const char *name, RgDiags *diags)
{
	ModuleObjects *module = (ModuleObjects *)objects;
	g_autoptr(RgDiags) why = rg_diags_new();
	if (rg_provider_blob_delete(module->provider, name, why))
		return true;
	end(module, why, diags);
	return false;
}

static bool module_list(
	RgObjects *objects, const char *prefix, bool advise, GPtrArray *names, RgDiags *diags)
{
	ModuleObjects *module = (ModuleObjects *)objects;
	g_autoptr(RgDiags) why = rg_diags_new();
	bool ok = rg_provider_blob_list(module->provider, prefix, advise, names, why);
	end(module, why, diags);
	return ok;
}

/* A parameter that nobody reads is a typing error, or a secret in a wrong place. */
static bool check_parameters(
	const json_t *known, const ObjectsUrl *url, const char *shown, RgDiags *diags)
{
	rg_json_foreach_member (name, value, url->parameters) {
		if (json_object_get(known, name))
			continue;
		g_autoptr(GString) names = g_string_new(NULL);
		rg_json_foreach_member (other, unused, known)
			g_string_append_printf(names, "%s%s", names->len ? ", " : "", other);
		RgDiag *diag = rg_diags_error(diags, "state.unknown-store",
			"the URL of the state \"%s\" has an unknown parameter \"%s\"", shown, name);
		rg_diag_hint(diag,
			"%s:// has: %s; credentials are those of the provider, never "
			"part of the URL",
			url->scheme, names->str);
		return false;
	}
	return true;
}

static bool offers_all(const RgProvider *provider)
{
	return rg_provider_offers(provider, "blob_get") &&
	       rg_provider_offers(provider, "blob_put") &&
	       rg_provider_offers(provider, "blob_delete") &&
	       rg_provider_offers(provider, "blob_list");
}

RgObjects *objects_open_module(RgObjectsHost *host, const char *provider, const ObjectsUrl *url,
	const RgRemoteOpen *how, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(host->providers, provider, diags);
	const json_t *store =
		schema ? json_object_get(rg_schema_stores(schema), url->scheme) : NULL;
	if (!store ||
		!check_parameters(json_object_get(store, "parameters"), url, how->shown, diags))
		return NULL;
	json_auto_t *input = json_pack("{s:s, s:s, s:O}", "scheme", url->scheme, "place",
		url->place, "parameters", url->parameters);
	RgHttpOptions http = objects_http(host, how);
	g_autoptr(RgDiags) why = rg_diags_new();
	g_autoptr(RgProvider) opened =
		rg_provider_open_store(host->providers, provider, input, &http, why);
	if (!opened) {
		objects_explain(how->shown, how->writes, why, diags);
		return NULL;
	}
	if (!offers_all(opened)) {
		rg_diags_error(diags, "state.unknown-store",
			"the module %s says that it serves \"%s://\", but lacks the calls for it",
			provider, url->scheme);
		return NULL;
	}
	ModuleObjects *module = g_new0(ModuleObjects, 1);
	module->base = (RgObjects){.close = module_close,
		.get = module_get,
		.put = module_put,
		.remove = module_remove,
		.list = module_list};
	module->provider = g_steal_pointer(&opened);
	module->shown = g_strdup(how->shown);
	module->writes = how->writes;
	return &module->base;
}
