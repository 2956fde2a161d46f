#include <string.h>
#include "gcp/sim/auth.h"

/* Where access tokens come from: oauth2.googleapis.com/token, sts.googleapis.com/v1/token and
 * v1/oauthtoken, iamcredentials.googleapis.com, and the metadata server of a machine. */

#define JWT_BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define ACCESS_TOKEN "urn:ietf:params:oauth:token-type:access_token"
#define JWT_TYPE "urn:ietf:params:oauth:token-type:jwt"
#define ID_TOKEN_TYPE "urn:ietf:params:oauth:token-type:id_token"
#define IMPERSONATION "/v1/projects/-/serviceAccounts/"
#define GENERATE ":generateAccessToken"
#define OAUTH_TOKEN "/v1/oauthtoken"
#define METADATA "/computeMetadata/v1/"

static bool is_form(const RgSimRequest *request)
{
	const char *type = g_hash_table_lookup(request->headers, "content-type");
	return type && g_str_has_prefix(type, "application/x-www-form-urlencoded");
}

/* Other clouds have a path /token too, with other bodies. */
int gce_service_of(const RgSimRequest *request)
{
	const char *path = request->path;
	bool post = g_str_equal(request->method, "POST");
	if (g_str_has_prefix(path, "/compute/v1/"))
		return GCE_COMPUTE;
	g_autofree char *project = gce_resources_project(request);
	if (project)
		return GCE_RESOURCES;
	if (g_str_has_prefix(path, "/computeMetadata/") ||
		(g_str_equal(path, "/") &&
			g_hash_table_contains(request->headers, "metadata-flavor")))
		return GCE_METADATA;
	if (post && ((g_str_equal(path, "/token") && is_form(request)) ||
			    g_str_equal(path, "/v1/token") || g_str_equal(path, OAUTH_TOKEN) ||
			    (g_str_has_prefix(path, IMPERSONATION) &&
				    g_str_has_suffix(path, GENERATE))))
		return GCE_LOGIN;
	return -1;
}

const char *gce_login_action(const RgSimRequest *request)
{
	const char *path = request->path;
	if (g_str_equal(path, "/token"))
		return "oauth2.token";
	if (g_str_equal(path, "/v1/token"))
		return "sts.token";
	if (g_str_equal(path, OAUTH_TOKEN))
		return "sts.oauthtoken";
	if (g_str_has_prefix(path, IMPERSONATION))
		return "iamcredentials.generateAccessToken";
	return "metadata.get";
}

static bool answer_token(RgSimCall *call, const char *principal, gint64 life_s, const char *type)
{
	g_autofree char *token = gce_token_mint(call->sim, principal, life_s);
	json_t *answer = json_pack("{s:s, s:I, s:s}", "access_token", token, "expires_in",
		(json_int_t)life_s, "token_type", "Bearer");
	if (type)
		json_object_set_new(answer, "issued_token_type", json_string(type));
	return gce_answer(call, answer);
}

static gint64 life_s(const RgSimCall *call)
{
	return doc_int(call->sim->knobs, "token_s");
}

static bool has_scope(const char *scopes)
{
	g_auto(GStrv) words = g_strsplit(scopes, " ", -1);
	static const char *const enough[] = {"https://www.googleapis.com/auth/cloud-platform",
		"https://www.googleapis.com/auth/compute",
		"https://www.googleapis.com/auth/compute.readonly"};
	for (gsize i = 0; i < G_N_ELEMENTS(enough); i++) {
		if (g_strv_contains((const char *const *)words, enough[i]))
			return true;
	}
	return false;
}

/* ---- oauth2: signed assertions and refresh tokens */

/* The public endpoint, or this server's own address. */
static bool is_own_audience(const RgSimCall *call, const char *audience)
{
	const char *host = g_hash_table_lookup(call->request->headers, "host");
	g_autofree char *plain = g_strdup_printf("http://%s/token", host ? host : "");
	g_autofree char *secure = g_strdup_printf("https://%s/token", host ? host : "");
	return g_str_equal(audience, "https://oauth2.googleapis.com/token") ||
	       g_str_equal(audience, plain) || g_str_equal(audience, secure);
}

static bool token_of_assertion(RgSimCall *call)
{
	const char *problem;
	json_auto_t *claims = gce_jwt_read(call->sim, doc_str(call->params, "assertion"),
		json_object_get(call->sim->knobs, "service_accounts"), &problem);
	if (!claims)
		return rg_sim_fail(call, 400, "invalid_grant", "%s", problem);
	if (doc_int(claims, "exp") > doc_int(claims, "iat") + 3600)
		return rg_sim_fail(call, 400, "invalid_grant",
			"Invalid JWT: Token must be a short-lived token (60 minutes) and in a "
			"reasonable "
			"timeframe. Check your iat and exp values in the JWT claim.");
	if (!is_own_audience(call, doc_str(claims, "aud")))
		return rg_sim_fail(call, 400, "invalid_grant",
			"Invalid JWT: Failed audience check. The right audience is "
			"https://oauth2.googleapis.com/token");
	if (!has_scope(doc_str(claims, "scope")))
		return rg_sim_fail(call, 400, "invalid_scope",
			"Invalid OAuth scope or ID token audience provided.");
	return answer_token(call, doc_str(claims, "iss"), life_s(call), NULL);
}

static bool token_of_refresh(RgSimCall *call)
{
	g_autofree char *client = g_strdup_printf("%s:%s", doc_str(call->params, "client_id"),
		doc_str(call->params, "client_secret"));
	const char *known = rg_json_str(json_object_get(call->sim->knobs, "refresh_tokens"),
		doc_str(call->params, "refresh_token"), NULL);
	if (!known)
		return rg_sim_fail(
			call, 400, "invalid_grant", "Token has been expired or revoked.");
	if (!g_str_equal(known, client))
		return rg_sim_fail(call, 401, "invalid_client", "The OAuth client was not found.");
	return answer_token(call, "user@example.com", life_s(call), NULL);
}

static bool oauth_token(RgSimCall *call)
{
	const char *grant = doc_str(call->params, "grant_type");
	if (g_str_equal(grant, JWT_BEARER))
		return token_of_assertion(call);
	if (g_str_equal(grant, "refresh_token"))
		return token_of_refresh(call);
	return rg_sim_fail(call, 400, "unsupported_grant_type", "Invalid grant_type: %s", grant);
}

/* ---- STS: a token of another identity provider */

/* "CLIENT:SECRET" of the header Authorization; g_free. NULL: it has none. */
static char *basic_client(const RgSimCall *call)
{
	const char *header = g_hash_table_lookup(call->request->headers, "authorization");
	gsize length;
	if (!header || !g_str_has_prefix(header, "Basic "))
		return NULL;
	g_autofree guchar *plain = g_base64_decode(header + strlen("Basic "), &length);
	return g_strndup((const char *)plain, length);
}

/* Is it a client that the knob refresh_tokens names? */
static bool is_client(const RgSimCall *call, const char *client)
{
	rg_json_foreach_member (token, known, json_object_get(call->sim->knobs, "refresh_tokens"))
		if (g_strcmp0(json_string_value(known), client) == 0)
			return true;
	return false;
}

/* Who signed in by another identity provider: the client is in the header, not in the form. */
static bool sts_oauth_token(RgSimCall *call)
{
	g_autofree char *client = basic_client(call);
	const char *known = rg_json_str(json_object_get(call->sim->knobs, "refresh_tokens"),
		doc_str(call->params, "refresh_token"), NULL);
	if (!g_str_equal(doc_str(call->params, "grant_type"), "refresh_token"))
		return rg_sim_fail(
			call, 400, "unsupported_grant_type", "Invalid value for grant_type.");
	if (!client || !is_client(call, client))
		return rg_sim_fail(call, 401, "invalid_client", "The OAuth client was not found.");
	if (g_strcmp0(known, client) != 0)
		return rg_sim_fail(
			call, 400, "invalid_grant", "Token has been expired or revoked.");
	return answer_token(call, "user@example.com", life_s(call), ACCESS_TOKEN);
}

static bool sts_token(RgSimCall *call)
{
	g_autofree char *client = basic_client(call);
	if (client && !is_client(call, client))
		return rg_sim_fail(call, 401, "invalid_client", "The OAuth client was not found.");
	const json_t *params = call->params;
	const char *audience = doc_str(params, "audience"),
		   *type = doc_str(params, "subject_token_type");
	const char *problem;
	if (!g_str_equal(doc_str(params, "grant_type"), EXCHANGE) ||
		!g_str_equal(doc_str(params, "requested_token_type"), ACCESS_TOKEN) ||
		(!g_str_equal(type, JWT_TYPE) && !g_str_equal(type, ID_TOKEN_TYPE)))
		return rg_sim_fail(call, 400, "invalid_request",
			"Invalid value for grant_type, requested_token_type or "
			"subject_token_type.");
	if (!g_regex_match_simple("^//iam\\.googleapis\\.com/projects/[0-9]+/locations/global/"
				  "workloadIdentityPools/[^/]+/providers/[^/]+$",
		    audience, 0, 0))
		return rg_sim_fail(call, 400, "invalid_request", "Invalid value for \"audience\".");
	if (!has_scope(doc_str(params, "scope")))
		return rg_sim_fail(call, 400, "invalid_scope", "The scope is invalid.");
	json_auto_t *claims = gce_jwt_read(call->sim, doc_str(params, "subject_token"),
		json_object_get(call->sim->knobs, "identity_providers"), &problem);
	if (!claims)
		return rg_sim_fail(call, 400, "invalid_grant", "%s", problem);
	g_autofree char *https = g_strconcat("https:", audience, NULL);
	const json_t *given = json_object_get(claims, "aud");
	if (!rg_json_has_text(given, audience) && !rg_json_has_text(given, https))
		return rg_sim_fail(call, 400, "invalid_grant",
			"The audience in ID Token does not match the expected audience %s.", https);
	g_autofree char *principal =
		g_strdup_printf("principal:%s/subject/%s", audience, doc_str(claims, "sub"));
	return answer_token(call, principal, life_s(call), ACCESS_TOKEN);
}

/* ---- iamcredentials: the token of a service account for another principal */

static bool lifetime(RgSimCall *call, gint64 *seconds)
{
	g_autofree char *text = g_strdup(doc_str(call_body(call), "lifetime"));
	char *end = text + strlen(text);
	*seconds = 3600;
	if (!*text)
		return true;
	if (end[-1] == 's')
		end[-1] = '\0';
	return (g_ascii_string_to_signed(text, 10, 1, 43200, seconds, NULL) && *seconds <= 3600) ||
	       rg_sim_fail(call, 400, "INVALID_ARGUMENT",
		       "The access token lifetime must be from 1s to 3600s.");
}

static bool generate_access_token(RgSimCall *call)
{
	const char *start = call->request->path + strlen(IMPERSONATION);
	g_autofree char *email = g_strndup(start, strlen(start) - strlen(GENERATE));
	const json_t *known = json_object_get(call->sim->knobs, "service_accounts");
	const json_t *scopes = json_object_get(call_body(call), "scope");
	gint64 seconds;
	if (!json_array_size(scopes))
		return rg_sim_fail(call, 400, "INVALID_ARGUMENT", "scope is required");
	if (!json_object_get(known, email))
		return rg_sim_fail(
			call, 404, "NOT_FOUND", "Not found; Gaia id not found for email %s", email);
	if (rg_json_has_text(json_object_get(call->sim->knobs, "denied_permissions"),
		    "iam.serviceAccounts.getAccessToken"))
		return rg_sim_fail(call, 403, "PERMISSION_DENIED",
			"Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it "
			"may "
			"not exist).");
	if (!lifetime(call, &seconds))
		return false;
	seconds = MIN(seconds, life_s(call));
	g_autofree char *token = gce_token_mint(call->sim, email, seconds);
	g_autoptr(GDateTime) end = g_date_time_new_from_unix_utc(gce_clock_s(call->sim) + seconds);
	g_autofree char *expires = g_date_time_format(end, "%Y-%m-%dT%H:%M:%SZ");
	return gce_answer(
		call, json_pack("{s:s, s:s}", "accessToken", token, "expireTime", expires));
}

/* ---- the metadata server */

static bool metadata_get(RgSimCall *call)
{
	const RgSimRequest *request = call->request;
	const char *project = doc_str(call->sim->knobs, "google_project");
	const char *flavor = g_hash_table_lookup(request->headers, "metadata-flavor");
	const char *path = request->path;
	rg_sim_reply_header(call->reply, "Metadata-Flavor", "Google");
	if (g_strcmp0(flavor, "Google") != 0)
		return rg_sim_fail(call, 403, "forbidden",
			"Your client does not have permission to get URL %s from this server. "
			"Missing "
			"required header: Metadata-Flavor",
			path);
	g_autofree char *email = g_strdup_printf("default@%s.iam.gserviceaccount.com", project);
	const char *account = g_str_has_prefix(path, METADATA "instance/service-accounts/")
				      ? path + strlen(METADATA "instance/service-accounts/")
				      : "";
	bool own = g_str_has_prefix(account, "default/") || g_str_has_prefix(account, email);
	if (g_str_equal(path, METADATA "project/project-id"))
		g_string_assign(call->body, project);
	else if (own && g_str_has_suffix(account, "/email"))
		g_string_assign(call->body, email);
	else if (own && g_str_has_suffix(account, "/token"))
		return answer_token(call, email, life_s(call), NULL);
	else if (!g_str_equal(path, "/") && !g_str_equal(path, METADATA))
		return rg_sim_fail(call, 404, "notFound", "%s is not simulated", path);
	rg_sim_reply_header(call->reply, "Content-Type", "application/text");
	return true;
}

const RgSimAction gce_login_actions[] = {
	{"iamcredentials.generateAccessToken", generate_access_token, false, ""},
	{"metadata.get", metadata_get, false, ""},
	{"oauth2.token", oauth_token, false, ""},
	{"sts.oauthtoken", sts_oauth_token, false, ""},
	{"sts.token", sts_token, false, ""},
	{NULL},
};
