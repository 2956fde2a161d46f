#include "gcp/sim/cloud.h"
#include <string.h>
#include "gcp/sim/gce.h"

/* The simulated cloud: its parts, and the way from a request to an answer. */

static const RgSimKind kinds[GCE_KINDS] = {
	[GCE_ADDRESS] = {"addresses", GCE_KEY},
	[GCE_DISK] = {"disks", GCE_KEY},
	[GCE_FIREWALL] = {"firewalls", GCE_KEY},
	[GCE_INSTANCE] = {"instances", GCE_KEY},
	[GCE_NETWORK] = {"networks", GCE_KEY},
	[GCE_OPERATION] = {"operations", GCE_KEY},
	[GCE_POLICY] = {"resource_policies", GCE_KEY},
	[GCE_RESERVATION] = {"reservations", GCE_KEY},
	[GCE_ROUTER] = {"routers", GCE_KEY},
	[GCE_SUBNETWORK] = {"subnetworks", GCE_KEY},
	[GCE_REQUEST] = {"request_ids", GCE_KEY},
};

#define DAY_MS (24 * 3600 * 1000LL)
#define PROJECT "^(?:[-a-z0-9.]{1,63}:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$"

static bool is_project(const json_t *value)
{
	return json_is_string(value) &&
	       g_regex_match_simple(PROJECT, json_string_value(value), 0, 0);
}

/* The public half of the key with which tests/data/auth/jwt_rs256_vectors.json is signed. */
#define TEST_KEY                                                                                   \
	"-----BEGIN PUBLIC KEY-----\\n"                                                            \
	"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAzUh48WLwAE1PNm0ZIBkH\\n"                      \
	"LEVP/oCvrcXHgeD2JXZksRfFvOIaC4VP8J+CmqhZ3Fxwew4NTYjBhrLDF4n7XrpP\\n"                      \
	"QnXoCBQZE5Pt/WfTLQAWsjyjxrAyvzmmztV2f4eYPc/h51WSA88L2Sj4nbwLpYUv\\n"                      \
	"/TnqUX2DCe6SEmUHRGsiuNx9OuJAnL7OSOH10xRFQ2Y77ArfuRx34Fp8px8CqSX3\\n"                      \
	"ETeebsNAMsMKAETqbvzK+vzJaf63JdN+qPp2MtA4ugDcXUR3IPcV9f1DvRiyxMhi\\n"                      \
	"Pkuxrax/m7ibLiqibR2oXMvK2qLSJ0IsW3gM1ggUJP95MWFwGbEEeubZ7/qEFJoi\\n"                      \
	"ewIDAQAB\\n"                                                                              \
	"-----END PUBLIC KEY-----\\n"

static const RgSimKnob knobs[] = {
	{"operation_ms", 20, 0, DAY_MS}, /* of operations other than those of machines */
	{"operation_keep_ms", DAY_MS, 0, DAY_MS},
	{"wait_ms", 120 * 1000, 0, 120 * 1000}, /* how long a call of wait lasts at most */
	{"request_id_s", 3600, 0, 24 * 3600},
	{"token_s", 3600, 1, 12 * 3600},
	{"bulk_precheck", 1, 0, 1},
	{"partial_success", 1, 0, 1}, /* 0: the parameter returnPartialSuccess is not known */
	{"external_addresses", 1, 0, 1},
	{"image_docker", 1, 0, 1}, /* 0: images have no docker, so nodes must install it */
	{"unreachable", .check = rg_sim_knob_is_words, .json = "[]",
		.form = "a list of zones and regions"},
	{"operation_faults", .check = gce_are_operation_faults, .json = "[]",
		.form = "a list of {code, type, target, count, status, message, never, leaves}"},
	{"google_project", .check = is_project, .json = "\"demo-project\"", .form = "a project id"},
	{"google_projects", .check = rg_sim_knob_is_words, .json = "[\"*\"]",
		.form = "a list of projects"},
	{"disabled_apis", .check = rg_sim_knob_is_words, .json = "[]",
		.form = "a list of projects, and of cloudresourcemanager/PROJECT"},
	{"denied_permissions", .check = rg_sim_knob_is_words, .json = "[]",
		.form = "a list of permissions"},
	{"permission_log", .check = rg_sim_knob_is_path, .json = "\"\"",
		.form = "the absolute path of a file"},
	{"google_tokens", .check = rg_sim_knob_is_texts,
		.json = "{\"ya29.raygpu-sim\": \"user@example.com\"}",
		.form = "an object {access token: principal}"},
	{"refresh_tokens", .check = rg_sim_knob_is_texts,
		.json = "{\"1//raygpu-sim\": \"client:secret\"}",
		.form = "an object {refresh token: client id:client secret}"},
	{"service_accounts", .check = rg_sim_knob_is_texts,
		.json = "{\"raygpu@demo-project.iam.gserviceaccount.com\": \"" TEST_KEY "\"}",
		.form = "an object {service account: public key in PEM}"},
	{"google_images_without_features", .check = rg_sim_knob_is_words, .json = "[]",
		.form = "a list of image families"},
	{"google_service_accounts", .check = rg_sim_knob_is_words, .json = "[\"*\"]",
		.form = "a list of service accounts"},
	{"identity_providers", .check = rg_sim_knob_is_texts, .json = "{}",
		.form = "an object {issuer: public key in PEM}"},
	{NULL},
};

static const RgSimAction *const actions[] = {
	gce_address_actions,
	gce_bulk_actions,
	gce_change_actions,
	gce_console_actions,
	gce_fact_actions,
	gce_instance_actions,
	gce_login_actions,
	gce_network_actions,
	gce_operation_actions,
	gce_permission_actions,
	gce_reservation_actions,
};

static const RgSimAction *find_action(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(actions); i++) {
		for (const RgSimAction *action = actions[i]; action->name; action++) {
			if (g_strcmp0(action->name, name) == 0)
				return action;
		}
	}
	return NULL;
}

static bool has_project(const void *data, const char *name)
{
	return g_regex_match_simple(PROJECT, name, G_REGEX_DOLLAR_ENDONLY, 0);
}

static void cloud_due(RgSimPlace *place, unsigned kind, const char *key, const char *state)
{
	if (kind == GCE_REQUEST)
		rg_sim_remove(place, kind, key);
	else if (kind == GCE_OPERATION)
		gce_operation_due(place, kind, key, state);
	else if (kind == GCE_INSTANCE)
		gce_lease_end(place, key);
}

/* ---- from the request to parameters */

static bool cloud_claims(const RgSimRequest *request)
{
	return gce_service_of(request) >= 0;
}

static bool read_pairs(RgSimCall *call, const char *text)
{
	GUriParamsIter iter;
	char *name, *value;
	g_autoptr(GError) error = NULL;
	g_uri_params_iter_init(&iter, text, -1, "&", G_URI_PARAMS_WWW_FORM);
	while (g_uri_params_iter_next(&iter, &name, &value, &error)) {
		bool good = g_utf8_validate(name, -1, NULL) && g_utf8_validate(value, -1, NULL) &&
			    !json_object_get(call->params, name);
		if (good)
			json_object_set_new(call->params, name, json_string(value));
		g_free(name);
		g_free(value);
		if (!good)
			return rg_sim_fail(call, 400, "badRequest",
				"A parameter is given twice, or is not UTF-8");
	}
	return !error || rg_sim_fail(call, 400, "badRequest", "%s", error->message);
}

static bool read_json(RgSimCall *call)
{
	const RgSimRequest *request = call->request;
	json_error_t error;
	/* Google's own clients send an empty text with a POST that needs no body */
	if (!request->body_length || g_str_equal(request->body, "\"\""))
		return true;
	json_t *body =
		json_loadb(request->body, request->body_length, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(body)) {
		json_object_set_new(call->params, "body", body);
		return true;
	}
	json_decref(body);
	return rg_sim_fail(call, 400, "parseError", "Parse Error: %s",
		body ? "the body is not an object" : error.text);
}

static bool admit_login(RgSimCall *call)
{
	bool form = call->service == GCE_LOGIN && *call->request->body != '{';
	call->action = find_action(gce_login_action(call->request));
	call->place_name = g_strdup(doc_str(call->sim->knobs, "google_project"));
	if (form && strlen(call->request->body) != call->request->body_length)
		return rg_sim_fail(call, 400, "invalid_request", "The form contains a NUL byte");
	if (!(form ? read_pairs(call, call->request->body) : read_json(call)))
		return false;
	bool impersonates = g_str_equal(call->action->name, "iamcredentials.generateAccessToken");
	return !impersonates || gce_auth_check(call);
}

static bool admit_compute(RgSimCall *call)
{
	const char *name = gce_route(call_data(call), call->request, call->params);
	if (!gce_auth_check(call))
		return false;
	call->action = find_action(name);
	const char *project = call_str(call, "project");
	if (name && !call->action)
		return rg_sim_fail(
			call, 501, "notImplemented", "raygpu-sim does not simulate %s", name);
	if (!name)
		return rg_sim_fail(call, 404, "notFound",
			"The requested URL %s was not found on this server.", call->request->path);
	call->place_name = g_strdup(project);
	if (!has_project(NULL, project))
		return rg_sim_fail(call, 400, "invalidParameter",
			"Invalid value for field 'project': '%s'.", project);
	if (!rg_sim_knobs_lists(json_object_get(call->sim->knobs, "google_projects"), project) &&
		!gce_is_image_project(call_data(call), project))
		return rg_sim_fail(
			call, 404, "notFound", "The resource 'projects/%s' was not found", project);
	return read_pairs(call, call->request->query) && read_json(call) &&
	       gce_permission_check(call) && gce_throttle(call);
}

static bool admit_resources(RgSimCall *call)
{
	call->action = find_action("resourcemanager.testIamPermissions");
	call->place_name = gce_resources_project(call->request);
	if (!gce_auth_check(call))
		return false;
	if (!has_project(NULL, call->place_name))
		return rg_sim_fail(
			call, 400, "INVALID_ARGUMENT", "Request contains an invalid argument.");
	return read_pairs(call, call->request->query) && read_json(call) &&
	       gce_resources_check(call);
}

static bool cloud_admit(RgSimCall *call)
{
	call->service = gce_service_of(call->request);
	call->params = json_object();
	if (call->service == GCE_RESOURCES)
		return admit_resources(call);
	return call->service == GCE_COMPUTE ? admit_compute(call) : admit_login(call);
}

/* A request whose requestId is known has its answer already. */
static bool cloud_check(RgSimCall *call)
{
	bool done;
	if (!gce_params_check(call))
		return false;
	if (call->service != GCE_COMPUTE || !gce_request_is_known(call, &done))
		return true;
	call->answered = done;
	return done;
}

/* ---- from the outcome to the reply */

/* The form of the answers of oauth2.googleapis.com and sts.googleapis.com. */
static json_t *login_error(const RgSimCall *call, const char *message)
{
	return json_pack("{s:s, s:s}", "error", call->code, "error_description", message);
}

static json_t *compute_error(const RgSimCall *call, const char *message)
{
	bool rate = g_str_equal(call->code, "rateLimitExceeded");
	bool off = g_str_equal(call->code, "accessNotConfigured");
	json_t *first = json_pack("{s:s, s:s, s:s}", "message", message, "domain",
		rate || off ? "usageLimits" : "global", "reason", call->code);
	if (call->status == 401 || call->status == 412) {
		json_object_set_new(first, "location",
			json_string(call->status == 401 ? "Authorization" : "If-Match"));
		json_object_set_new(first, "locationType", json_string("header"));
	}
	json_t *error = json_pack(
		"{s:i, s:s, s:[o]}", "code", call->status, "message", message, "errors", first);
	if (rate || off) {
		json_object_set_new(error, "status", json_string("PERMISSION_DENIED"));
		json_object_set_new(error, "details",
			json_pack("[{s:s, s:s, s:s, s:{s:s}}]", "@type",
				"type.googleapis.com/google.rpc.ErrorInfo", "reason",
				rate ? "RATE_LIMIT_EXCEEDED" : "SERVICE_DISABLED", "domain",
				"googleapis.com", "metadata", "service",
				call->service == GCE_RESOURCES
					? "cloudresourcemanager.googleapis.com"
					: "compute.googleapis.com"));
	}
	return json_pack("{s:o}", "error", error);
}

static void cloud_answer(const RgSimCall *call)
{
	RgSimReply *reply = call->reply;
	reply->status = call->status;
	if (!call->code) {
		g_string_append_len(reply->body, call->body->str, (gssize)call->body->len);
		if (call->service != GCE_METADATA || *reply->body->str == '{')
			rg_sim_reply_header(
				reply, "Content-Type", "application/json; charset=UTF-8");
		return;
	}
	g_autofree char *message =
		g_utf8_make_valid(call->message, -1); /* it may quote the request */
	bool plain = call->service == GCE_LOGIN && !strchr(call->request->path, ':');
	json_auto_t *error = plain ? login_error(call, message) : compute_error(call, message);
	g_autofree char *text = json_dumps(error, JSON_COMPACT);
	g_string_append(reply->body, text);
	rg_sim_reply_header(reply, "Content-Type", "application/json; charset=UTF-8");
}

const RgSimCloud gcp_sim_cloud = {
	.name = "gcp",
	.section = "projects",
	.kinds = kinds,
	.n_kinds = GCE_KINDS,
	.knobs = knobs,
	.data_new = gce_data_new,
	.data_free = gce_data_free,
	.has_place = has_project,
	.seed = gce_network_seed,
	.place_clear = gce_place_clear,
	.type_check = gce_own_type_check,
	.type_add = gce_own_type_add,
	.due = cloud_due,
	.claims = cloud_claims,
	.admit = cloud_admit,
	.check = cloud_check,
	.answer = cloud_answer,
	.is_quota = gce_is_quota,
	.reclaim = gce_reclaim,
};
