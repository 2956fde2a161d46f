/* What the answer to a dry run says about the change. */
#include <string.h>
#include "kubernetes/altered.h"
#include "kubernetes/calls.h"
#include "kubernetes/field.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/preflight.h"

/* An expression has no value yet. */
json_t *kube_without_expressions(const json_t *value)
{
	json_t *copy;
	if (json_is_array(value)) {
		copy = json_array();
		mod_foreach (element, value)
			json_array_append_new(copy, kube_without_expressions(element));
		return copy;
	}
	if (!json_is_object(value))
		return json_incref(mod_unconst(value));
	if (json_object_get(value, "$ref") || json_object_get(value, "$join") ||
		json_object_get(value, "$gzip_base64"))
		return json_string("dry-run");
	copy = json_object();
	mod_foreach_member (key, member, value)
		json_object_set_new(copy, key, kube_without_expressions(member));
	return copy;
}

typedef KubeDryRun About;

/* `origin` NULL: that of its address. */
static rgp_status give_finding(
	const About *about, const ModFailure *failure, const char *message, const char *origin)
{
	const ModFinding finding = {.severity = about->severity,
		.class_ = failure->class_,
		.address = about->address,
		.hint = failure->hint,
		.code = failure->code,
		.origin = origin,
		.request_id = failure->request_id};
	return mod_give_finding(&about->call->talk, &finding, message);
}

static rgp_status give_field(
	const About *about, const ModFailure *failure, const char *message, const char *field)
{
	g_autofree char *origin =
		kube_field_origin(about->kind, about->body, about->call->inst->settings, field);
	return give_finding(about, failure, message, origin);
}

/* Each field that the server refuses, under the line of the spec that it is from. */
static rgp_status give_causes(
	const About *about, const ModFailure *failure, const json_t *causes, bool *given)
{
	rgp_status status = RGP_OK;
	mod_foreach (cause, causes) {
		const char *field = mod_str(cause, "field");
		g_autofree char *message =
			g_strdup_printf("%s: %s", field, mod_str(cause, "message"));
		if (status != RGP_OK || !*field || !*mod_str(cause, "message"))
			continue;
		*given = true;
		status = give_field(about, failure, message, field);
	}
	return status;
}

/* Of strict decoding: `unknown field "spec.x", unknown field "spec.y"`. */
static rgp_status give_unknown(const About *about, const ModFailure *failure, bool *given)
{
	g_autoptr(GRegex) field = g_regex_new("unknown field \"([^\"]+)\"", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	rgp_status status = RGP_OK;
	g_regex_match(field, failure->message, 0, &match);
	for (; status == RGP_OK && g_match_info_matches(match); g_match_info_next(match, NULL)) {
		g_autofree char *name = g_match_info_fetch(match, 1);
		g_autofree char *message =
			g_strdup_printf("the API of the cluster does not have the field %s", name);
		*given = true;
		status = give_field(about, failure, message, name);
	}
	return status;
}

static rgp_status give_all(const About *about, const ModRestAnswer *answer)
{
	const ModFailure *failure = &answer->failure;
	const char *code = failure->code ? failure->code : "";
	bool given = false;
	rgp_status status = RGP_OK;
	if (g_str_equal(code, "Invalid") || g_str_equal(code, "WebhookDenied"))
		status = give_causes(
			about, failure, mod_at(answer->body, "/details/causes"), &given);
	else if (g_str_equal(code, "UndeclaredField"))
		status = give_unknown(about, failure, &given);
	return given || status != RGP_OK ? status
					 : give_finding(about, failure, failure->message, NULL);
}

/* The dry run went through the webhooks: what they would change is not what was planned. */
static rgp_status note_altered(const About *about, const ModRestAnswer *answer)
{
	About note = *about;
	const ModFailure failure = {
		.class_ = RGP_CLASS_INVALID, .code = (char *)(uintptr_t) "Mutated"};
	g_autofree char *what = kube_altered(about->body, answer->body, about->creates);
	if (!what)
		return RGP_OK;
	g_autofree char *message =
		g_strdup_printf("admission webhooks of the cluster change %s: %s",
			kube_name_of(answer->body), what);
	note.severity = "note";
	return give_finding(&note, &failure, message, NULL);
}

/* Others may have changed the object since it was read, or change it before the update, which then
 * decides. `--force-conflicts` answers a conflict of managers. */
static bool is_passing(const About *about, const ModFailure *failure)
{
	return failure->class_ == RGP_CLASS_TRANSIENT || failure->class_ == RGP_CLASS_THROTTLED ||
	       failure->class_ == RGP_CLASS_UNKNOWN ||
	       (failure->class_ == RGP_CLASS_CONFLICT && !about->creates);
}

rgp_status kube_dry_judge(const KubeDryRun *run, const json_t *input, const ModRestAnswer *answer)
{
	const ModFailure *failure = &answer->failure;
	const char *code = failure->code ? failure->code : "";
	bool applies = json_is_true(json_object_get(input, "applies"));
	About about = *run;
	about.severity = is_passing(run, failure) ? "warning" : "error";
	if (failure->class_ == RGP_CLASS_OK)
		return g_str_equal(about.kind, KUBE_SECRET) ? RGP_OK : note_altered(&about, answer);
	/* another run may just be creating it; the create itself decides */
	if (g_str_equal(code, "AlreadyExists"))
		return RGP_OK;
	if (g_str_equal(code, "Forbidden") && !applies)
		about.severity = "note"; /* a plan needs no permission to write */
	return give_all(&about, answer);
}
