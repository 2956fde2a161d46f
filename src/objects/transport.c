/* Requests to a store: how they are made, and what went wrong with one. */
#include "objects/internal.h"

/* All tries of one request: a run with a lock must hear of a dead store before the lock expires. */
#define CALL_MS 60000

RgHttpOptions objects_http(const RgObjectsHost *host, const RgRemoteOpen *how)
{
	RgHttpOptions http = host->http;
	http.read_only = !how->writes;
	http.canceled = how->canceled;
	http.canceled_data = how->data;
	http.call_ms = CALL_MS;
	return http;
}

static const char *code_of(const RgDiag *reason, bool writes)
{
	static const char *const away[] = {
		"http.", "provider.transient", "provider.throttled", "provider.canceled"};
	if (g_str_equal(reason->code, "provider.denied"))
		return "state.denied";
	for (size_t i = 0; i < G_N_ELEMENTS(away); i++) {
		if (g_str_has_prefix(reason->code, away[i]))
			return "state.unreachable";
	}
	return writes ? "state.unwritable" : "state.unreadable";
}

void objects_explain(const char *shown, bool writes, RgDiags *why, RgDiags *diags)
{
	const RgDiag *reason = NULL;
	for (size_t i = 0; i < rg_diags_count(why) && !reason; i++) {
		if (rg_diags_get(why, i)->severity == RG_SEVERITY_ERROR)
			reason = rg_diags_get(why, i);
	}
	if (!reason) {
		rg_diags_take_all(diags, why);
		return;
	}
	const char *code = code_of(reason, writes);
	bool away = g_str_equal(code, "state.unreachable");
	RgDiag *diag = rg_diags_error(diags, code, "the state \"%s\" could not be %s", shown,
		away	 ? "reached"
		: writes ? "written"
			 : "read");
	rg_diag_detail(diag, "%s%s%s", reason->summary, reason->detail ? "\n" : "",
		reason->detail ? reason->detail : "");
	rg_diag_hint(diag, "%s",
		reason->hint ? reason->hint
		: away	     ? "check the URL, the network and the server; your state is safe"
			     : "raygpu-state(5) lists the permissions; your state is safe");
}
