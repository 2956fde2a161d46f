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
	rg_json_foreach (update, preflight->updates)
		if (g_strcmp0(rg_json_str(update, "address", NULL), address) == 0)
			return rg_json_str(update, "origin", NULL);
	rg_json_foreach (create, preflight->creates) {
		rg_json_foreach (one, json_object_get(create, "addresses")) {
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

/* An address may have several. */
static void add_limit(json_t *limits, const char *address, const char *code, json_t *limit)
{
	json_t *by_code = json_object_get(limits, address);
	if (!by_code) {
		by_code = json_object();
		json_object_set_new(limits, address, by_code);
	}
	json_object_set(by_code, code ? code : "", limit);
}

static void take_finding(RgCall *call, const char *slot, json_t *value)
{
	const Preflight *preflight = call->data;
	const char *severity = rg_json_str(value, "severity", "");
	bool known;
	RgClass class_ = rg_class_find(rg_json_str(value, "class", ""), &known);
	g_autofree char *summary = text_of(value, "message"), *detail = text_of(value, "detail");
	g_autofree char *hint = text_of(value, "hint"), *code = text_of(value, "code");
	g_autofree char *request_id = text_of(value, "request_id");
	g_autofree char *address = text_of(value, "address");
	g_autofree char *attribute = text_of(value, "attribute");
	g_autofree char *origin = text_of(value, "origin");
	if (g_str_equal(slot, "tested")) {
		if (preflight->tested)
			*preflight->tested = (size_t)rg_json_int(value, "count", 0);
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
	if (preflight->limits && address && limit && !json_is_null(limit))
		add_limit(preflight->limits, address, code, limit);
}

/* Findings only of a call that succeeded. */
static bool ask(RgProvider *provider, const json_t *input, Preflight *preflight, RgDiags *findings,
	RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	preflight->findings = found;
	RgCall call = {.slot = take_finding, .data = preflight};
	bool ok = rg_call_make(&call, provider, "preflight", input, diags);
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
