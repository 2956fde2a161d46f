#include "http/http.h"

#include <string.h>
#include "base/module.h"
#include "base/redact.h"
#include "http/module.h"

static const RgHttpHost host = {rg_redact_add, rg_redact, rg_log_level, rg_log};

static const RgHttpModule *load(RgDiags *diags)
{
#ifdef RG_MODULES_BUILTIN
	const RgHttpModule *module = raygpu_http_module();
#else
	const RgHttpModule *module =
		rg_module_load("http", "raygpu-http.so", RG_HTTP_SYMBOL, "http.module", diags);
#endif
	if (!module)
		return NULL;
	if (module->size != sizeof *module || !g_str_equal(module->version, RG_VERSION)) {
		RgDiag *diag = rg_diags_error(diags, "http.module",
			"raygpu-http.so does not belong to this build of raygpu");
		rg_diag_hint(diag, "reinstall raygpu");
		return NULL;
	}
	return module;
}

RgHttp *rg_http_open(const RgHttpOptions *options, RgDiags *diags)
{
	const RgHttpModule *module = load(diags);
	return module ? module->open(options, &host, diags) : NULL;
}

const char *rg_http_library(RgDiags *diags)
{
	const RgHttpModule *module = load(diags);
	return module ? module->library() : NULL;
}

void rg_http_close(RgHttp *http)
{
	if (http)
		http->module->close(http);
}

bool rg_http_send(RgHttp *http, const RgHttpRequest *request, RgHttpReply *reply, RgDiags *diags)
{
	return http->module->send(http, request, reply, diags);
}

bool rg_http_sleep(RgHttp *http, unsigned ms)
{
	return http->module->sleep(http, ms);
}

void rg_http_counts(RgHttp *http, uint64_t *requests, uint64_t *mutating)
{
	http->module->counts(http, requests, mutating);
}

bool rg_http_is_local(RgHttp *http)
{
	return http->module->is_local(http);
}
