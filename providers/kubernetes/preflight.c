/* preflight: each object as a dry run, so that webhooks, quotas and permissions answer before
 * anything exists. Worker groups are a part of their RayCluster. */
#include <string.h>
#include "kubernetes/altered.h"
#include "kubernetes/calls.h"
#include "kubernetes/field.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/preflight.h"

/* An expression has no value yet. */
json_t *kube_without_expressions(const json_t *value)
{
	size_t i;
	const char *key;
	json_t *member, *copy;
	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach (value, i, member)
			json_array_append_new(copy, kube_without_expressions(member));
		return copy;
	}
	if (!json_is_object(value))
		return json_incref(mod_unconst(value));
	if (json_object_get(value, "$ref") || json_object_get(value, "$join") ||
		json_object_get(value, "$gzip_base64"))
		return json_string("dry-run");
	copy = json_object();
	json_object_foreach (mod_unconst(value), key, member)
		json_object_set_new(copy, key, kube_without_expressions(member));
	return copy;
}

typedef KubeDryRun About;

/* `origin` NULL: that of its address. */
static rgp_status give_finding(
	const About *about, const ModFailure *failure, const char *message, const char *origin)
{
	return mod_give(&about->call->talk, "finding",
		json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*}", "severity",
			about->severity, "class", mod_class_name(failure->class_), "message",
			message, "hint", failure->hint, "code", failure->code, "request_id",
			failure->request_id, "address", about->address, "origin", origin));
}

static rgp_status give_field(
	const About *about, const ModFailure *failure, const char *message, const char *field)
{
	g_autofree char *origin = kube_field_origin(about->kind, about->body, field);
	return give_finding(about, failure, message, origin);
}

/* Each field that the server refuses, under the line of the spec that it is from. */
static rgp_status give_causes(
	const About *about, const ModFailure *failure, const json_t *causes, bool *given)
{
	rgp_status status = RGP_OK;
	size_t i;
	const json_t *cause;
	json_array_foreach (causes, i, cause) {
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

static rgp_status check_create(const KubeCall *call, const json_t *input, const json_t *create)
{
	const char *kind = mod_str(create, "kind");
	const KubeKind *known = kube_kind(kind);
	KubeApi api;
	if (g_str_equal(kind, KUBE_GPU_NODES))
		return kube_warn_of_cuts(call, input, create);
	if (!known || json_is_true(json_object_get(create, "replaces")))
		return RGP_OK;
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	json_auto_t *attributes = kube_without_expressions(json_object_get(create, "attributes"));
	json_auto_t *body = kube_manifest_of(kind, &api, attributes);
	g_autofree char *url = kube_url(call, &api, NULL, NULL, KUBE_DRY_QUERY);
	g_autofree char *what = kube_what(kind, "dryRun");
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_post(call, what, url, body,
		KUBE_DRY | (g_str_equal(kind, KUBE_SECRET) ? KUBE_SECRET_BODY : 0), &answer);
	kube_explain_missing(&api, &answer.failure);
	const KubeDryRun run = {.call = call,
		.kind = kind,
		.address =
			json_string_value(json_array_get(json_object_get(create, "addresses"), 0)),
		.body = body,
		.creates = true};
	return status == RGP_OK ? kube_dry_judge(&run, input, &answer) : status;
}

rgp_status kube_preflight(const KubeCall *call, const json_t *input)
{
	rgp_status status = RGP_OK;
	size_t i;
	const json_t *create;
	json_array_foreach (json_object_get(input, "creates"), i, create)
		if (status == RGP_OK)
			status = check_create(call, input, create);
	return status == RGP_OK ? kube_dry_updates(call, input) : status;
}
