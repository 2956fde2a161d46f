#include "doctor/checkup.h"
#include <string.h>

/* The lines of `raygpu doctor`: findings of the checks, each in its area. */

/* By the code's beginning, the first that fits. */
static const struct {
	const char *code, *area;
} areas_of_codes[] = {
	{"compat.", "versions"},
	{"spec.ray-too-old", "versions"},
	{"spec.ray-image-mismatch", "versions"},
	{"http.module", "versions"},
	{"http.", "endpoints"},
	{"provider.transient", "endpoints"},
	{"provider.not-admitted", "endpoints"},
	{"provider.not-found", "modules"},
	{"provider.refused", "modules"},
	{"provider.bad-result", "modules"},
	{"provider.credentials", "credentials"},
	{"provider.denied", "permissions"},
	{"plan.unchecked", "permissions"},
	{"plan.wrong-account", "account"},
	{"provider.quota", "quotas"},
	{"provider.capacity", "quotas"},
	{"plan.reservation-ends", "quotas"},
	{"plan.reservation-full", "quotas"},
	{"plan.reservation-over", "quotas"},
	{"plan.reservation-starts", "quotas"},
	{"state.locked", "lock"},
	{"state.", "state"},
	{"git.", "git"},
};

void doctor_init(Doctor *doctor, Context *context, const char *spec)
{
	*doctor = (Doctor){.context = context, .spec = spec};
	doctor->checks = json_array();
	doctor->skipped = json_array();
	doctor->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	pthread_mutex_init(&doctor->seen.lock, NULL);
	doctor->seen.servers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

void doctor_clear(Doctor *doctor)
{
	json_decref(doctor->checks);
	json_decref(doctor->skipped);
	json_decref(doctor->plan);
	g_hash_table_unref(doctor->told);
	g_hash_table_unref(doctor->seen.servers);
	pthread_mutex_destroy(&doctor->seen.lock);
	g_free(doctor->cluster);
}

static json_t *text_of(const char *text)
{
	g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
	return valid ? json_string(valid) : NULL;
}

static json_t *add_line(Doctor *doctor, const char *area, const char *status, const char *summary)
{
	json_t *line = json_pack(
		"{s:s, s:s, s:o}", "area", area, "status", status, "summary", text_of(summary));
	json_array_append_new(doctor->checks, line);
	return line;
}

void doctor_ok(Doctor *doctor, const char *area, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	add_line(doctor, area, "ok", text);
}

/* Without a code of the cloud, the refusal came before any request: there are no usable
 * credentials. */
static const char *area_of(const RgDiag *diag, const char *other)
{
	if (g_str_equal(diag->code, "provider.denied") && !diag->cloud_code &&
		diag->severity == RG_SEVERITY_ERROR)
		return "credentials";
	for (size_t i = 0; i < G_N_ELEMENTS(areas_of_codes); i++) {
		if (g_str_has_prefix(diag->code, areas_of_codes[i].code))
			return areas_of_codes[i].area;
	}
	return other;
}

/* A plan only mentions what apply would be refused; here it counts. */
static bool is_shown(const RgDiag *diag)
{
	return diag->severity != RG_SEVERITY_NOTE || g_str_equal(diag->code, "provider.denied");
}

static void add_finding(Doctor *doctor, const char *area, const RgDiag *diag)
{
	bool error = diag->severity == RG_SEVERITY_ERROR;
	if (!g_hash_table_add(doctor->told, g_strconcat(diag->code, "\n", diag->summary, NULL)))
		return;
	json_t *line = add_line(doctor, area, error ? "error" : "warning", diag->summary);
	json_object_set_new(line, "code", json_string(diag->code));
	if (diag->detail)
		json_object_set_new(line, "detail", text_of(diag->detail));
	if (diag->hint)
		json_object_set_new(line, "hint", text_of(diag->hint));
	if (diag->source.line) {
		json_object_set_new(line, "file", text_of(diag->source.file));
		json_object_set_new(line, "line", json_integer(diag->source.line));
	}
	g_autoptr(RgDiags) alone = rg_diags_new();
	if (error)
		rg_diags_error(alone, diag->code, "%s", diag->summary);
	if (error && !doctor->exit_code)
		doctor->exit_code = rg_diags_exit_code(alone);
}

static bool take(Doctor *doctor, const char *area, const RgDiags *found, bool by_code)
{
	bool none = true;
	rg_diags_foreach (diag, found) {
		if (!is_shown(diag))
			continue;
		none = false;
		add_finding(doctor, by_code ? area_of(diag, area) : area, diag);
	}
	return none;
}

bool doctor_take(Doctor *doctor, const char *area, const RgDiags *found)
{
	return take(doctor, area, found, false);
}

bool doctor_take_by_code(Doctor *doctor, const char *area, const RgDiags *found)
{
	return take(doctor, area, found, true);
}

bool doctor_has_findings(const Doctor *doctor, const char *area)
{
	rg_json_foreach (line, doctor->checks) {
		if (g_str_equal(rg_json_str(line, "area", ""), area) &&
			!g_str_equal(rg_json_str(line, "status", ""), "ok"))
			return true;
	}
	return false;
}

void doctor_skip(Doctor *doctor, const char *reason, const char *const *areas)
{
	for (; *areas; areas++)
		json_array_append_new(
			doctor->skipped, json_pack("{s:s, s:s}", "area", *areas, "reason", reason));
}

static json_int_t count(const Doctor *doctor, const char *status)
{
	json_int_t n = 0;
	rg_json_foreach (line, doctor->checks)
		n += g_str_equal(rg_json_str(line, "status", ""), status);
	return n;
}

json_t *doctor_document(const Doctor *doctor)
{
	json_t *document = json_pack("{s:i, s:i, s:I, s:I, s:O, s:O}", "raygpu_format", 1,
		"exit_code", doctor->exit_code, "errors", count(doctor, "error"), "warnings",
		count(doctor, "warning"), "checks", doctor->checks, "not_checked", doctor->skipped);
	json_t *spec = text_of(doctor->spec);
	json_object_set_new(document, "spec", spec ? spec : json_null());
	rg_json_set_str(document, "cluster", doctor->cluster);
	return document;
}
