#include <string.h>
#include "aws/sim/auth.h"
#include "aws/sim/ec2.h"

/* IAM Identity Center: the portal returns keys of a role for an access token, OIDC a new access
 * token for a refresh token. A token contains its expiry, signed with a value of this world. */

#define PORTAL_PATH "/federation/credentials"
#define OIDC_PATH "/token"
#define TOKEN_HEADER "x-amz-sso_bearer_token"
#define TOKEN_S 3600
#define KEYS_S 3600

static char *token_mint(RgSim *sim, const char *purpose, gint64 until_s)
{
	g_autofree char *id = rg_sim_id(sim, "");
	g_autofree char *body = g_strdup_printf("%s.%" G_GINT64_FORMAT ".%s", purpose, until_s, id);
	g_autofree char *mark = ec2_session_mark(sim, "sso", body);
	sim->changes++;
	return g_strconcat(body, ".", mark, NULL);
}

/* From the knob (valid forever), or from this world. */
static bool token_is_good(const RgSim *sim, const char *purpose, const char *token)
{
	const json_t *given = json_object_get(json_object_get(sim->knobs, "sso_tokens"), token);
	if (given)
		return g_str_equal(json_string_value(given), purpose);
	g_auto(GStrv) parts = g_strsplit(token, ".", -1);
	if (g_strv_length(parts) != 4 || !g_str_equal(parts[0], purpose))
		return false;
	g_autofree char *body = g_strndup(token, strlen(token) - strlen(parts[3]) - 1);
	g_autofree char *mark = ec2_session_mark(sim, "sso", body);
	return g_str_equal(mark, parts[3]) &&
	       g_ascii_strtoll(parts[1], NULL, 10) > rg_sim_client_s(sim);
}

static bool get_role_credentials(RgSimCall *call)
{
	if (!token_is_good(call->sim, "access", call_str(call, "accessToken")))
		return rg_sim_fail(
			call, 401, "UnauthorizedException", "Session token not found or invalid");
	const char *account = doc_str(call->sim->knobs, "account");
	const char *role = call_str(call, "roleName");
	g_autofree char *arn = g_strdup_printf("arn:aws:iam::%s:role/%s", account, role);
	bool assigned = g_str_equal(call_str(call, "accountId"), account) &&
			rg_sim_knobs_lists(json_object_get(call->sim->knobs, "roles"), arn);
	if (!assigned)
		return rg_sim_fail(call, 403, "ForbiddenException", "No access");
	g_autofree char *session_arn = g_strdup_printf(
		"arn:aws:sts::" EC2_ACCOUNT ":assumed-role/AWSReservedSSO_%s/sso-user", role);
	Ec2Session session;
	ec2_session_mint(call->sim, session_arn, KEYS_S, &session);
	json_t *reply = json_pack("{s:{s:s, s:s, s:s, s:I}}", "roleCredentials", "accessKeyId",
		session.access_key, "secretAccessKey", session.secret, "sessionToken",
		session.token, "expiration", (json_int_t)session.expires_s * 1000);
	ec2_session_clear(&session);
	return ec2_json_answer(call, reply);
}

static bool create_token(RgSimCall *call)
{
	const char *grant = call_str(call, "grantType"), *token = call_str(call, "refreshToken");
	if (!g_str_equal(grant, "refresh_token"))
		return rg_sim_fail(call, 400, "UnsupportedGrantTypeException",
			"the simulator renews tokens only");
	if (!token || !token_is_good(call->sim, "refresh", token))
		return rg_sim_fail(
			call, 400, "InvalidGrantException", "Invalid refresh token provided");
	gint64 now_s = rg_sim_client_s(call->sim);
	g_autofree char *access = token_mint(call->sim, "access", now_s + TOKEN_S);
	g_autofree char *refresh = token_mint(call->sim, "refresh", now_s + 24 * TOKEN_S);
	return ec2_json_answer(
		call, json_pack("{s:s, s:s, s:i, s:s}", "accessToken", access, "tokenType",
			      "Bearer", "expiresIn", TOKEN_S, "refreshToken", refresh));
}

bool ec2_sso_claims(const RgSimRequest *request)
{
	return g_str_equal(request->path, PORTAL_PATH) || g_str_equal(request->path, OIDC_PATH);
}

json_t *ec2_sso_params(const RgSimRequest *request, char **problem)
{
	if (g_str_equal(request->path, OIDC_PATH)) {
		json_t *given = json_loadb(request->body, request->body_length, 0, NULL);
		if (!json_is_object(given))
			*problem = g_strdup("the body is not a JSON object");
		else
			json_object_set_new(given, "Action", json_string("CreateToken"));
		return given;
	}
	json_t *query = ec2_params_parse(request->query, problem);
	if (!query)
		return NULL;
	const char *token = g_hash_table_lookup(request->headers, TOKEN_HEADER);
	const char *pairs[][2] = {{"accountId", ec2_param_str(query, "account_id")},
		{"roleName", ec2_param_str(query, "role_name")}, {"accessToken", token}};
	json_t *params = json_pack("{s:s}", "Action", "GetRoleCredentials");
	for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
		if (pairs[i][1])
			json_object_set_new(params, pairs[i][0], json_string(pairs[i][1]));
	json_decref(query);
	return params;
}

const RgSimAction ec2_sso_actions[] = {
	{"CreateToken", create_token, false, "clientId clientSecret grantType refreshToken",
		SSO_API, true},
	{"GetRoleCredentials", get_role_credentials, false, "accessToken accountId roleName",
		SSO_API, true},
	{NULL},
};
