/* One call into a module from beginning to end. If the module uses the handle after the return, or
 * on another thread, that is refused: handles are never reused. */
#include "provider/internal.h"

#include <string.h>
#include "base/log.h"

static _Thread_local const RgCall *running;

static const struct {
	const char *verb;
	size_t slot; /* offset of the rgp_fn in the table */
	unsigned flags;
} verbs[] = {
	{"resolve", offsetof(struct rgp_provider, resolve), RG_CALL_READS},
	{"lower", offsetof(struct rgp_provider, lower), 0},
	{"list", offsetof(struct rgp_provider, list), RG_CALL_READS | RG_CALL_PAGES},
	{"create", offsetof(struct rgp_provider, create), RG_CALL_READS | RG_CALL_CHANGES},
	{"remove", offsetof(struct rgp_provider, remove), RG_CALL_READS | RG_CALL_CHANGES},
	{"update", offsetof(struct rgp_provider, update), RG_CALL_READS | RG_CALL_CHANGES},
	{"ready", offsetof(struct rgp_provider, ready), RG_CALL_READS},
	{"find", offsetof(struct rgp_provider, find), RG_CALL_READS | RG_CALL_PAGES},
	{"preflight", offsetof(struct rgp_provider, preflight), RG_CALL_READS},
	{"reveal", offsetof(struct rgp_provider, reveal), RG_CALL_READS},
	{"account", offsetof(struct rgp_provider, account), RG_CALL_READS},
	{"permissions", offsetof(struct rgp_provider, permissions), 0},
	{"blocks", offsetof(struct rgp_provider, blocks), RG_CALL_READS},
	{"console", offsetof(struct rgp_provider, console), RG_CALL_READS},
	{"health", offsetof(struct rgp_provider, health), RG_CALL_READS},
	{"changing", offsetof(struct rgp_provider, changing), RG_CALL_READS},
	{"members", offsetof(struct rgp_provider, members), RG_CALL_READS | RG_CALL_PAGES},
	{"export", offsetof(struct rgp_provider, export_form), 0},
	{"blob_get", offsetof(struct rgp_provider, blob_get), RG_CALL_READS},
	{"blob_put", offsetof(struct rgp_provider, blob_put), RG_CALL_READS | RG_CALL_CHANGES},
	{"blob_delete", offsetof(struct rgp_provider, blob_delete),
		RG_CALL_READS | RG_CALL_CHANGES},
	{"blob_list", offsetof(struct rgp_provider, blob_list), RG_CALL_READS | RG_CALL_PAGES},
};

rgp_fn rg_call_function(const struct rgp_provider *table, const char *verb, unsigned *flags)
{
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
		if (!g_str_equal(verbs[i].verb, verb))
			continue;
		rgp_fn function = NULL;
		if (table->size >= verbs[i].slot + sizeof(function))
			memcpy(&function, (const char *)table + verbs[i].slot, sizeof(function));
		*flags = verbs[i].flags;
		return function;
	}
	return NULL;
}

bool rg_provider_offers(const RgProvider *provider, const char *call)
{
	unsigned flags;
	return rg_call_function(provider->module->table, call, &flags) != NULL;
}

const char *rg_provider_running(const char **call)
{
	const char *loading = rg_provider_module_loading();
	if (loading)
		return loading;
	if (running)
		*call = running->verb;
	return running ? rg_call_provider(running) : NULL;
}

void rg_call_begin(RgCall *call)
{
	running = call;
	call->reasons = rg_diags_new();
	call->kept = g_ptr_array_new_with_free_func(g_free);
	call->handle = g_new0(struct rgp_call, 1);
	call->handle->thread = pthread_self();
	atomic_init(&call->handle->live, call);
	atomic_init(&call->handle->misused, false);
	pthread_mutex_lock(&call->host->handles_lock);
	if (!call->host->handles)
		call->host->handles = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(call->host->handles, call->handle);
	pthread_mutex_unlock(&call->host->handles_lock);
}

RgCall *rg_call_enter(struct rgp_call *handle)
{
	if (!handle)
		return NULL;
	if (!pthread_equal(handle->thread, pthread_self())) {
		atomic_store(&handle->misused, true);
		return NULL;
	}
	RgCall *call = atomic_load(&handle->live);
	if (!call)
		rg_log(RG_LOG_INFO, "a module used a call after it had returned; refused");
	return call;
}

void *rg_call_keep(RgCall *call, void *memory)
{
	g_ptr_array_add(call->kept, memory);
	return memory;
}

bool rg_call_was_refused(const RgCall *call)
{
	return call->last == RG_CLASS_DENIED || call->last == RG_CLASS_CANCELED ||
	       call->last == RG_CLASS_TRANSIENT || call->last == RG_CLASS_THROTTLED;
}

void rg_call_take_one(RgCall *call, const char *slot, json_t *value)
{
	json_t **result = call->data;
	*result = json_incref(value);
}

static const RgDiag *newest_error(const RgDiags *diags, size_t from)
{
	for (size_t i = rg_diags_count(diags); i > from; i--) {
		const RgDiag *diag = rg_diags_get(diags, i - 1);
		if (diag->severity == RG_SEVERITY_ERROR)
			return diag;
	}
	return NULL;
}

/* Why the whole call failed: the module's message, else the transport's, else what the status
 * implies. */
static void explain_failure(RgCall *call)
{
	const RgDiag *reason = newest_error(call->reasons, 0);
	bool optional = g_str_equal(call->verb, "update") || g_str_equal(call->verb, "ready");
	if (call->status == RGP_UNSUPPORTED && optional && call->errors == 0) {
		call->class_ = RG_CLASS_INVALID;
		call->message = g_strdup_printf(
			"provider %s does not support %s here", rg_call_provider(call), call->verb);
		return;
	}
	if (call->errors == 0 && call->bad_count == 0 && !reason) {
		bool canceled = call->status == RGP_CANCELED;
		RgDiag *diag = rg_diags_error(call->reasons,
			canceled ? "provider.canceled" : "provider.unknown",
			canceled ? "%s: %s was canceled"
				 : "provider %s failed in %s without saying why",
			rg_call_provider(call), call->verb);
		rg_diag_cloud(diag, rg_call_provider(call), NULL, NULL);
	}
	if (call->errors > 0 || call->bad_count > 0)
		reason = newest_error(call->diags, 0);
	else
		reason = newest_error(call->reasons, 0);
	call->class_ = rg_class_of_code(reason->code);
	call->message = g_strdup(reason->summary);
	call->code = g_strdup(reason->cloud_code);
	call->request_id = g_strdup(reason->request_id);
}

bool rg_call_end(RgCall *call, rgp_status status)
{
	call->status = status;
	running = NULL;
	if (atomic_load(&call->handle->misused))
		rg_call_bad(call, "it used the call from another thread");
	if (status != RGP_OK && status != RGP_FAIL && status != RGP_CANCELED &&
		status != RGP_UNSUPPORTED)
		rg_call_bad(call, "%d is not a status", (int)status);
	if (status == RGP_OK && call->errors == 0)
		rg_results_are_all(call);
	bool ok = status == RGP_OK && call->bad_count == 0 && call->errors == 0;
	if (!ok) {
		explain_failure(call);
		rg_diags_take_all(call->diags, call->reasons);
	}
	atomic_store(&call->handle->live, NULL);
	return ok;
}

void rg_call_clear(RgCall *call)
{
	rg_diags_free(call->reasons);
	g_clear_pointer(&call->asked, g_hash_table_unref);
	if (call->kept)
		g_ptr_array_unref(call->kept);
	if (call->exchanges)
		g_ptr_array_unref(call->exchanges);
	json_decref(call->given);
	g_free(call->message);
	g_free(call->code);
	g_free(call->request_id);
	memset(call, 0, sizeof(*call));
}

bool rg_call_make(
	RgCall *call, RgProvider *provider, const char *verb, const json_t *input, RgDiags *diags)
{
	rgp_fn function = rg_call_function(provider->module->table, verb, &call->flags);
	call->host = provider->host;
	call->module = provider->module;
	call->schema = provider->module->schema;
	call->http = provider->http;
	call->verb = verb;
	call->diags = diags;
	rg_call_begin(call);
	if (!function)
		return rg_call_end(call, RGP_UNSUPPORTED);
	rg_call_check_input(call, input);
	g_autofree char *text = rg_json_canonical(input);
	struct rgp_args args = {
		.size = sizeof(args), .input = {text, strlen(text)}, .content = call->content};
	bool parallel = (provider->module->table->flags & RGP_PARALLEL) != 0;
	if (!parallel)
		pthread_mutex_lock(&provider->turn);
	rgp_status status = function(provider->inst, &rg_provider_services, call->handle, &args);
	if (!parallel)
		pthread_mutex_unlock(&provider->turn);
	return rg_call_end(call, status);
}

bool rg_call_canceled(RgCall *call)
{
	return call->http && !rg_http_sleep(call->http, 0);
}

bool rg_call_sleep(RgCall *call, unsigned ms)
{
	if (call->http)
		return rg_http_sleep(call->http, ms);
	g_usleep((gulong)ms * 1000);
	return true;
}

unsigned rg_provider_patience_ms(const RgProvider *provider, unsigned ms)
{
	unsigned longest_ms = provider->loopback_backoff_ms;
	return longest_ms && rg_http_is_local(provider->http) ? MIN(ms, longest_ms) : ms;
}

static int64_t wait_s(const RgProvider *provider, int64_t s)
{
	int64_t most_s = provider->loopback_wait_s;
	return most_s && rg_http_is_local(provider->http) ? MIN(s, most_s) : s;
}

int64_t rg_provider_consistency_s(const RgProvider *provider, const RgKind *kind)
{
	return wait_s(provider, kind->consistency_s);
}

int64_t rg_provider_changing_s(const RgProvider *provider, const RgKind *kind)
{
	return rg_provider_offers(provider, "changing") ? wait_s(provider, kind->changing_s) : 0;
}

bool rg_provider_sleep(RgProvider *provider, unsigned ms)
{
	RgCall call = {.http = provider->http};
	return rg_call_sleep(&call, ms);
}
