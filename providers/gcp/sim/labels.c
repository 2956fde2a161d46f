#include <string.h>
#include "gcp/sim/gce.h"

/* Labels: at most 64, keys [a-z][a-z0-9_-]{0,62}, values [a-z0-9_-]{0,63}; letters of other scripts
 * pass too (cloud.google.com/compute/docs/labeling-resources). */

#define MAX_LABELS 64
#define MAX_LETTERS 63

static bool is_label_text(const char *text)
{
	if (g_utf8_strlen(text, -1) > MAX_LETTERS)
		return false;
	g_autofree gunichar *letters = g_utf8_to_ucs4_fast(text, -1, NULL);
	for (const gunichar *at = letters; *at; at++) {
		gunichar letter = *at;
		bool good = letter == '-' || letter == '_' || g_unichar_isdigit(letter) ||
			    (g_unichar_isalpha(letter) && !g_unichar_isupper(letter));
		if (!good)
			return false;
	}
	return true;
}

bool gce_labels_check(RgSimCall *call, const char *field, const json_t *labels)
{
	if (json_object_size(labels) > MAX_LABELS)
		return rg_sim_fail(call, 400, "invalid",
			"Invalid value for field '%s': '%zu labels'. At most %d are allowed.",
			field, json_object_size(labels), MAX_LABELS);
	rg_json_foreach_member (key, value, labels) {
		const char *text = json_string_value(value);
		gunichar first = g_utf8_get_char(key);
		if (!*key || !is_label_text(key) || !g_unichar_isalpha(first))
			return gce_fail_invalid(call, field, key,
				"Label keys begin with a lower-case letter and contain lower-case "
				"letters, digits, '-' and '_', 63 characters at most.");
		if (!text || !is_label_text(text))
			return gce_fail_invalid(call, field, text ? text : "",
				"Label values contain lower-case letters, digits, '-' and '_', 63 "
				"characters at most.");
	}
	return true;
}

void gce_labels_set(json_t *doc, const json_t *labels)
{
	json_auto_t *empty = json_object();
	g_autofree char *print = gce_fingerprint(labels ? labels : empty);
	if (json_object_size(labels))
		json_object_set(doc, "labels", rg_json_unconst(labels));
	else
		json_object_del(doc, "labels");
	json_object_set_new(doc, "labelFingerprint", json_string(print));
}

bool gce_fingerprint_check(RgSimCall *call, const char *what, const char *given, const char *now)
{
	/* Bytes in JSON: clients may send either alphabet. */
	g_autofree char *same = g_strdelimit(g_strdelimit(g_strdup(given), "+", '-'), "/", '_');
	if (g_str_equal(same, now))
		return true;
	return rg_sim_fail(call, 412, "conditionNotMet", "%s", what);
}

bool gce_set_labels(RgSimCall *call)
{
	unsigned kind = gce_kind_of(call);
	const json_t *body = call_body(call), *doc = gce_target(call, kind);
	const json_t *labels = json_object_get(body, "labels");
	if (!doc || !gce_labels_check(call, "resource.labels", labels) ||
		!gce_fingerprint_check(call,
			"Labels fingerprint either invalid or resource labels have changed",
			doc_str(body, "labelFingerprint"), doc_str(doc, "labelFingerprint")))
		return false;
	json_t *changed = json_object();
	gce_labels_set(changed, labels);
	if (!json_object_get(changed, "labels"))
		json_object_set_new(changed, "labels", json_null());
	return gce_operate_on(
		call, "setLabels", doc, gce_effect_set(NULL, kind, doc, changed), NULL);
}
