/* preflight: what the cloud reports in advance about planned changes. */
#include "provider/internal.h"

#include <string.h>

typedef struct {
	const json_t *creates, *updates; /* updates may be NULL */
	RgDiags *findings;
	json_t *limits; /* may be NULL */
	size_t *tested; /* likewise */
} Preflight;

/* Of the change at the address; NULL if it was not asked about. */
static const char *origin_of(const Preflight *preflight, const char *address)
{
	size_t i, k;
	const json_t *create, *update, *one;
	json_array_foreach (preflight->updates, i, update)
		if (g_strcmp0(rg_json_str(update, "address", NULL), address) == 0)
			return rg_json_str(update, "origin", NULL);
	json_array_foreach (preflight->creates, i, create) {
		json_array_foreach (json_object_get(create, "addresses"), k, one) {
			if (g_strcmp0(json_string_value(one), address) == 0)
				return rg_json_str(create, "origin", NULL);
		}
	}
	return NULL;
}

static char *text_of(const json_t *finding, const char *key)
{
	return rg_text_clean(rg_json_str(finding, key, NULL));
}

static RgDiag *add_finding(RgDiags *findings, const char *severity, RgClass class_, char *summary)
{
	const char *code = rg_class_code(class_);
	g_strdelimit(summary, "\n", ' ');
	if (g_str_equal(severity, "warning"))
		return rg_diags_warning(findings, code, "%s", summary);
	if (g_str_equal(severity, "note"))
		return rg_diags_note(findings, code, "%s", summary);
	return rg_diags_error(findings, code, "%s", summary);
}

static void take_finding(RgCall *call, const char *slot, json_t *value)
{
	static const char *const severities[] = {"error", "warning", "note", NULL};
	const Preflight *preflight = call->data;
	const char *severity = rg_json_str(value, "severity", "");
	bool known = false;
	RgClass class_ = rg_class_find(rg_json_str(value, "class", ""), &known);
	g_autofree char *summary = text_of(value, "message"), *detail = text_of(value, "detail");
	g_autofree char *hint = text_of(value, "hint"), *code = text_of(value, "code");
	g_autofree char *request_id = text_of(value, "request_id");
	g_autofree char *address = text_of(value, "address");
	g_autofree char *attribute = text_of(value, "attribute");
	g_autofree char *origin = text_of(value, "origin");
	if (preflight->tested && g_str_equal(slot, "tested")) {
		*preflight->tested = (size_t)MAX(rg_json_int(value, "count", 0), 0);
		return;
	}
	if (!g_str_equal(slot, "finding")) {
		rg_call_bad(call, "\"%s\" is not a result of it", slot);
		return;
	}
	if (!summary || !*summary || !known || class_ == RG_CLASS_OK ||
		!g_strv_contains(severities, severity)) {
		rg_call_bad(call, "a finding needs a severity, a class and a message");
		return;
	}
	RgDiag *diag = add_finding(preflight->findings, severity, class_, summary);
	if (detail)
		rg_diag_detail(diag, "%s", detail);
	if (hint)
		rg_diag_hint(diag, "%s", hint);
	rg_diag_address(diag, address, attribute);
	rg_diag_cloud(diag, rg_call_provider(call), code, request_id);
	rg_diag_origin(diag, origin ? origin : origin_of(preflight, address));
	json_t *limit = json_object_get(value, "limit");
	if (preflight->limits && address && json_is_object(limit))
		json_object_set(preflight->limits, address, limit);
}

/* Findings only of a call that succeeded. */
static bool ask(RgProvider *provider, const json_t *input, Preflight *preflight, RgDiags *findings,
	RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	preflight->findings = found;
	RgCall call = {.slot = take_finding, .data = preflight};
	bool ok = rg_call_make(&call, provider, "preflight", input, diags);
	ok = ok && call.bad_count == 0;
	rg_call_clear(&call);
	if (ok)
		rg_diags_take_all(findings, found);
	return ok;
}

bool rg_provider_preflight(RgProvider *provider, const RgPreflightAbout *about,
	const json_t *creates, RgDiags *findings, json_t *limits, RgDiags *diags)
{
	Preflight preflight = {.creates = creates, .updates = about->updates, .limits = limits};
	json_auto_t *input = json_pack("{s:s, s:b, s:O}", "cluster", about->cluster, "applies",
		about->applies, "creates", rg_json_unconst(creates));
	if (json_array_size(about->updates))
		json_object_set(input, "updates", rg_json_unconst(about->updates));
	if (about->container_image)
		rg_json_set_str(input, "container_image", about->container_image);
	return ask(provider, input, &preflight, findings, diags);
}

bool rg_provider_test_permissions(RgProvider *provider, const char *cluster,
	const json_t *permissions, RgDiags *findings, size_t *tested, RgDiags *diags)
{
	Preflight preflight = {.tested = tested};
	json_auto_t *input = json_pack("{s:s, s:b, s:[], s:O}", "cluster", cluster, "applies", 0,
		"creates", "permissions", rg_json_unconst(permissions));
	*tested = 0;
	return ask(provider, input, &preflight, findings, diags);
}
