#include <string.h>
#include "aws/sim/auth.h"
#include "aws/sim/ec2.h"

#define USER_ID "AIDARAYGPUSIMEXAMPLE"
#define ROLE_ID "AROARAYGPUSIMEXAMPLE"
#define HOUR_S 3600

/* What follows the last slash: for an assumed role, the session's name. */
static const char *last_part(const char *arn)
{
	const char *slash = strrchr(arn, '/');
	return slash ? slash + 1 : arn;
}

static bool get_caller_identity(RgSimCall *call)
{
	bool is_role = strstr(call->caller, ":assumed-role/") != NULL;
	g_autofree char *role_user = g_strconcat(ROLE_ID ":", last_part(call->caller), NULL);
	ec2_xml_text(call->body, "Arn", call->caller);
	ec2_xml_text(call->body, "UserId", is_role ? role_user : USER_ID);
	ec2_xml_text(call->body, "Account", EC2_ACCOUNT);
	return true;
}

static void write_credentials(RgSimCall *call, const char *arn, gint64 lifetime_s)
{
	Ec2Session session;
	ec2_session_mint(call->sim, arn, lifetime_s, &session);
	g_autoptr(GDateTime) end = g_date_time_new_from_unix_utc(session.expires_s);
	g_autofree char *expiration = g_date_time_format(end, "%Y-%m-%dT%H:%M:%SZ");
	ec2_xml_open(call->body, "Credentials");
	ec2_xml_text(call->body, "AccessKeyId", session.access_key);
	ec2_xml_text(call->body, "SecretAccessKey", session.secret);
	ec2_xml_text(call->body, "SessionToken", session.token);
	ec2_xml_text(call->body, "Expiration", expiration);
	ec2_xml_close(call->body, "Credentials");
	ec2_session_clear(&session);
}

/* "arn:aws:iam::ACCOUNT:role/PATH/NAME" as the ARN of its session; NULL if it is not a role's. */
static char *session_arn(const char *role, const char *session)
{
	g_auto(GStrv) parts = g_strsplit(role, ":", 6);
	if (g_strv_length(parts) != 6 || !g_str_equal(parts[0], "arn") ||
		!g_str_equal(parts[2], "iam") || !g_str_has_prefix(parts[5], "role/"))
		return NULL;
	return g_strdup_printf("arn:%s:sts::%s:assumed-role/%s/%s", parts[1], parts[4],
		last_part(parts[5]), session);
}

static bool assume_role(RgSimCall *call)
{
	const char *role = call_str(call, "RoleArn");
	const char *name = call_str(call, "RoleSessionName");
	g_autofree char *arn = session_arn(role, name);
	if (!arn)
		return rg_sim_fail(call, 400, "ValidationError", "%s is invalid", role);
	bool allowed = rg_sim_knobs_lists(json_object_get(call->sim->knobs, "roles"), role);
	if (!allowed && call->caller)
		return rg_sim_fail(call, 403, "AccessDenied",
			"User: %s is not authorized to perform: sts:%s on resource: %s",
			call->caller, call->action->name, role);
	if (!allowed)
		return rg_sim_fail(call, 403, "AccessDenied", "Not authorized to perform sts:%s",
			call->action->name);
	g_autofree char *id = g_strconcat(ROLE_ID ":", name, NULL);
	ec2_xml_open(call->body, "AssumedRoleUser");
	ec2_xml_text(call->body, "AssumedRoleId", id);
	ec2_xml_text(call->body, "Arn", arn);
	ec2_xml_close(call->body, "AssumedRoleUser");
	write_credentials(call, arn, call_int(call, "DurationSeconds", HOUR_S));
	return true;
}

/* The claims of a JSON Web Token, whose signature the simulator cannot check; NULL if it is not
 * one. */
static json_t *token_claims(const char *token)
{
	g_auto(GStrv) parts = g_strsplit(token, ".", -1);
	if (g_strv_length(parts) != 3)
		return NULL;
	g_strdelimit(g_strdelimit(parts[1], "-", '+'), "_", '/');
	g_autofree char *padded =
		g_strdup_printf("%s%.*s", parts[1], (int)(-strlen(parts[1]) & 3), "===");
	gsize length;
	g_autofree guchar *text = g_base64_decode(padded, &length);
	json_t *claims = json_loadb((const char *)text, length, 0, NULL);
	if (json_is_object(claims))
		return claims;
	json_decref(claims);
	return NULL;
}

static bool assume_role_with_web_identity(RgSimCall *call)
{
	const char *token = call_str(call, "WebIdentityToken");
	json_auto_t *claims = token_claims(token);
	if (!claims)
		return rg_sim_fail(call, 400, "InvalidIdentityToken",
			"The ID Token provided is not a valid JWT. (You may see this error if you "
			"sent an Access Token)");
	const json_t *expires = json_object_get(claims, "exp");
	if (expires && json_number_value(expires) <= (double)rg_sim_client_s(call->sim))
		return rg_sim_fail(call, 400, "ExpiredTokenException",
			"Token expired: current date/time %" G_GINT64_FORMAT
			" must be before the expiration date/time %.0f",
			rg_sim_client_s(call->sim), json_number_value(expires));
	const char *subject = doc_str(claims, "sub");
	const char *audience = doc_str(claims, "aud");
	const char *issuer = doc_str(claims, "iss");
	if (!assume_role(call))
		return false;
	ec2_xml_text(call->body, "SubjectFromWebIdentityToken", subject);
	ec2_xml_text(call->body, "Audience", audience);
	ec2_xml_text(call->body, "Provider", issuer);
	return true;
}

static bool get_session_token(RgSimCall *call)
{
	if (strstr(call->caller, ":assumed-role/"))
		return rg_sim_fail(call, 403, "AccessDenied",
			"Cannot call GetSessionToken with session credentials");
	write_credentials(call, call->caller, call_int(call, "DurationSeconds", 12 * HOUR_S));
	return true;
}

/* The Security Token Service: the caller's identity, and temporary credentials. */
const RgSimAction sts_actions[] = {
	{"AssumeRole", assume_role, false, "DurationSeconds ExternalId RoleArn RoleSessionName",
		STS_API},
	{"AssumeRoleWithWebIdentity", assume_role_with_web_identity, false,
		"DurationSeconds RoleArn RoleSessionName WebIdentityToken", STS_API, true},
	{"GetCallerIdentity", get_caller_identity, false, "", STS_API},
	{"GetSessionToken", get_session_token, false, "DurationSeconds", STS_API},
	{NULL},
};
