/* The host and its opened instances: the functions of the public header, in terms of find, load,
 * check and call. */
#include "provider/internal.h"

#include <string.h>

RgProviderHost *rg_provider_host_new(const RgProviderHostOptions *options)
{
	RgProviderHost *host = g_new0(RgProviderHost, 1);
	host->builtins = options->builtins;
	host->directories = g_strdupv(options->directories);
	host->env = options->env;
	host->home = g_strdup(options->home);
	pthread_mutex_init(&host->lock, NULL);
	pthread_mutex_init(&host->handles_lock, NULL);
	host->modules = g_hash_table_new_full(
		g_str_hash, g_str_equal, NULL, (GDestroyNotify)rg_provider_module_free);
	host->files = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
	return host;
}

void rg_provider_host_free(RgProviderHost *host)
{
	if (!host)
		return;
	rg_json_schema_free(host->calls);
	if (host->handles)
		g_ptr_array_unref(host->handles);
	g_hash_table_unref(host->modules);
	g_hash_table_unref(host->files);
	pthread_mutex_destroy(&host->handles_lock);
	pthread_mutex_destroy(&host->lock);
	g_strfreev(host->directories);
	g_free(host->home);
	g_free(host);
}

bool rg_provider_has(RgProviderHost *host, const char *provider, const char *file)
{
	size_t len;
	return rg_provider_data(host, provider, file, &len) != NULL;
}

const char *rg_provider_data(
	RgProviderHost *host, const char *provider, const char *file, size_t *len)
{
	pthread_mutex_lock(&host->lock);
	const char *data = rg_provider_module_data(host, provider, file, len);
	pthread_mutex_unlock(&host->lock);
	return data;
}

static void report_refused(const RgModule *module, const RgRefusal *refusal, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "provider.refused", "%s", refusal->reason);
	if (refusal->remedy)
		rg_diag_hint(diag, "%s", refusal->remedy);
	rg_diag_cloud(diag, module->name, NULL, NULL);
}

/* The module's `schema` call; NULL and a refusal. */
static json_t *ask_schema(RgProviderHost *host, RgModule *module)
{
	json_auto_t *document = NULL;
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgCall call = {.host = host,
		.module = module,
		.verb = "schema",
		.slot = rg_call_take_one,
		.data = &document,
		.diags = diags};
	rg_call_begin(&call);
	bool ok = rg_call_end(&call, module->table->schema(&rg_provider_services, call.handle));
	rg_call_clear(&call);
	if (ok)
		return g_steal_pointer(&document);
	rg_refuse(&module->refusal, "ask the module's author", "%s does not return its schema: %s",
		module->file ? module->file : module->name, rg_diags_get(diags, 0)->summary);
	return NULL;
}

/* A schema.json of another release beside the module would produce plans for kinds that it cannot
 * create. */
static bool data_is_its_own(RgProviderHost *host, RgModule *module, const json_t *document)
{
	size_t len;
	const char *text = rg_provider_module_data(host, module->name, "schema.json", &len);
	g_autoptr(RgDiags) unread = rg_diags_new();
	json_auto_t *beside = NULL;
	if (!text)
		return true;
	beside = rg_json_parse(text, len, "schema.json", "provider.refused", unread);
	if (beside && json_equal(beside, document))
		return true;
	return rg_refuse(&module->refusal,
		"install module and data of one release: FILE.so and the folder of its name",
		"%s returns a schema other than the %s/schema.json beside it",
		module->file ? module->file : module->name, module->name);
}

bool rg_provider_module_make_ready(RgProviderHost *host, RgModule *module)
{
	if (module->checked)
		return module->schema != NULL;
	module->checked = true;
	if (!rg_provider_module_load(module))
		return false;
	json_auto_t *document = ask_schema(host, module);
	g_autofree char *where =
		g_strdup_printf("the schema of %s", module->file ? module->file : module->name);
	g_autoptr(RgSchema) schema = document ? rg_provider_module_check_schema(module->name, where,
							document, &module->refusal)
					      : NULL;
	if (!schema || !data_is_its_own(host, module, document))
		return false;
	module->schema = g_steal_pointer(&schema);
	return true;
}

static RgSchema *read_data_schema(RgModule *module, const char *text, size_t len, RgDiags *diags)
{
	RgRefusal refusal = {0};
	g_autofree char *where =
		module->file
			? g_strdup_printf("%s/schema.json beside %s", module->name, module->file)
			: g_strdup_printf("the built-in schema.json of %s", module->name);
	json_auto_t *document = rg_json_parse(text, len, where, "provider.refused", diags);
	if (!document)
		return NULL;
	/* built in: checked completely when the module is opened, which `validate` does not do */
	RgSchema *schema = module->file ? rg_provider_module_check_schema(
						  module->name, where, document, &refusal)
					: rg_schema_new(document, diags);
	if (!schema && module->file)
		report_refused(module, &refusal, diags);
	rg_refusal_clear(&refusal);
	return schema;
}

static const RgSchema *find_schema(RgProviderHost *host, const char *provider, RgDiags *diags)
{
	size_t len;
	RgModule *module = rg_provider_module_find(host, provider, diags);
	if (!module)
		return NULL;
	if (module->schema || module->data_schema)
		return module->schema ? module->schema : module->data_schema;
	const char *text = rg_provider_module_data(host, provider, "schema.json", &len);
	if (text) {
		module->data_schema = read_data_schema(module, text, len, diags);
		return module->data_schema;
	}
	if (!rg_provider_module_make_ready(host, module))
		report_refused(module, &module->refusal, diags);
	return module->schema;
}

const RgSchema *rg_provider_schema(RgProviderHost *host, const char *provider, RgDiags *diags)
{
	pthread_mutex_lock(&host->lock);
	const RgSchema *schema = find_schema(host, provider, diags);
	pthread_mutex_unlock(&host->lock);
	return schema;
}

bool rg_provider_check_config(
	RgProviderHost *host, const char *provider, const json_t *config, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(host, provider, diags);
	return schema && rg_provider_module_check_config(provider, schema, config, diags);
}

bool rg_provider_check_pool(RgProviderHost *host, const char *provider, const char *origin,
	const json_t *settings, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(host, provider, diags);
	return schema && rg_provider_module_check_pool(provider, schema, origin, settings, diags);
}

/* What an instance is opened with. */
typedef struct {
	const char *region;
	const json_t *config, *store;
} Opening;

static bool open_instance(RgProvider *provider, const Opening *opening, RgDiags *diags)
{
	const json_t *config = opening->config;
	json_auto_t *none = json_object();
	json_t *settings = config && !json_is_null(config) ? rg_json_unconst(config) : none;
	json_auto_t *input = json_pack(
		"{s:s, s:O}", "region", opening->region ? opening->region : "", "config", settings);
	if (opening->store)
		json_object_set(input, "store", rg_json_unconst(opening->store));
	if (!provider->http)
		json_object_set_new(input, "offline", json_true());
	g_autofree char *text = rg_json_canonical(input);
	struct rgp_args args = {.size = sizeof(args), .input = {text, strlen(text)}};
	RgCall call = {.host = provider->host,
		.module = provider->module,
		.schema = provider->module->schema,
		.http = provider->http,
		.verb = "open",
		.flags = RG_CALL_READS,
		.slot = rg_call_take_one,
		.diags = diags};
	rg_call_check_input(&call, input);
	rg_call_begin(&call);
	bool ok = rg_call_end(&call, provider->module->table->open(&rg_provider_services,
					     call.handle, &args, &provider->inst));
	rg_call_clear(&call);
	return ok;
}

static RgHttp *open_transport(const RgSchema *schema, const RgHttpOptions *options, RgDiags *diags)
{
	RgHttpOptions of_module = *options;
	of_module.requests_per_s = rg_schema_requests_per_s(schema);
	of_module.burst = rg_schema_burst(schema);
	of_module.secrets = rg_schema_secrets(schema);
	of_module.ca_bundle_env = rg_schema_ca_bundle_env(schema);
	return rg_http_open(&of_module, diags);
}

static void provider_free(RgProvider *provider)
{
	if (provider->inst)
		provider->module->table->close(provider->inst);
	rg_http_close(provider->http);
	pthread_mutex_destroy(&provider->turn);
	g_free(provider);
}

/* Requires the host's lock: modules are opened and closed one at a time. */
static RgProvider *open_module(RgProviderHost *host, RgModule *module, const Opening *opening,
	const RgHttpOptions *http, RgDiags *diags)
{
	if (!rg_provider_module_make_ready(host, module)) {
		report_refused(module, &module->refusal, diags);
		return NULL;
	}
	if (!opening->store && !rg_provider_module_check_config(
				       module->name, module->schema, opening->config, diags))
		return NULL;
	RgProvider *provider = g_new0(RgProvider, 1);
	provider->host = host;
	provider->module = module;
	pthread_mutex_init(&provider->turn, NULL);
	provider->http = http ? open_transport(module->schema, http, diags) : NULL;
	if (provider->http) {
		provider->loopback_backoff_ms = http->loopback_backoff_ms;
		provider->loopback_wait_s = http->loopback_wait_s;
	}
	if ((!http || provider->http) && open_instance(provider, opening, diags))
		return provider;
	provider_free(provider);
	return NULL;
}

static RgProvider *open_named(RgProviderHost *host, const char *name, const Opening *opening,
	const RgHttpOptions *http, RgDiags *diags)
{
	pthread_mutex_lock(&host->lock);
	RgModule *module = rg_provider_module_find(host, name, diags);
	RgProvider *provider = module ? open_module(host, module, opening, http, diags) : NULL;
	pthread_mutex_unlock(&host->lock);
	return provider;
}

RgProvider *rg_provider_open(RgProviderHost *host, const char *name, const char *region,
	const json_t *config, const RgHttpOptions *http, RgDiags *diags)
{
	const Opening opening = {.region = region, .config = config};
	return open_named(host, name, &opening, http, diags);
}

RgProvider *rg_provider_open_store(RgProviderHost *host, const char *name, const json_t *store,
	const RgHttpOptions *http, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(host, name, diags);
	if (!schema)
		return NULL;
	const json_t *served =
		json_object_get(rg_schema_stores(schema), rg_json_str(store, "scheme", ""));
	const Opening opening = {.region = rg_json_str(served, "region", ""), .store = store};
	return open_named(host, name, &opening, http, diags);
}

void rg_provider_close(RgProvider *provider)
{
	if (!provider)
		return;
	RgProviderHost *host = provider->host;
	pthread_mutex_lock(&host->lock);
	provider_free(provider);
	pthread_mutex_unlock(&host->lock);
}

const char *rg_provider_name(const RgProvider *provider)
{
	return provider->module->name;
}

const RgSchema *rg_provider_get_schema(const RgProvider *provider)
{
	return provider->module->schema;
}
