#include "sim/auth.h"
#include <string.h>

#define ALGORITHM "AWS4-HMAC-SHA256"
/* Signature Version 4's window. */
#define MAX_SKEW_S (15 * 60)

/* The value of "Name=value" in the header's comma-separated list, or NULL. */
static char *header_part(const char *header, const char *name)
{
	g_auto(GStrv) parts = g_strsplit_set(header + strlen(ALGORITHM), ", ", -1);
	for (int i = 0; parts[i]; i++) {
		if (g_str_has_prefix(parts[i], name) && parts[i][strlen(name)] == '=')
			return g_strdup(parts[i] + strlen(name) + 1);
	}
	return NULL;
}

static bool fail_credentials(RgSimCall *call)
{
	if (call->action->sts)
		return rg_sim_fail(call, 403, "InvalidClientTokenId",
			"The security token included in the request is invalid.");
	return rg_sim_fail(call, 401, "AuthFailure",
		"AWS was not able to validate the provided access credentials");
}

static bool check_clock(RgSimCall *call, const char *date)
{
	if (!date)
		return true;
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) when = g_date_time_new_from_iso8601(date, utc);
	if (!when)
		return rg_sim_fail(call, 400, "IncompleteSignature",
			"Date must be in ISO-8601 'basic format'. Got '%s'.", date);
	gint64 now_s = call->world->now_ms / 1000 + call->knobs->clock_offset_s;
	gint64 skew_s = g_date_time_to_unix(when) - now_s;
	if (ABS(skew_s) <= MAX_SKEW_S)
		return true;
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(now_s);
	g_autofree char *now_text = g_date_time_format(now, "%Y%m%dT%H%M%SZ");
	return rg_sim_fail(call, 400, "RequestExpired",
		"Request has expired. Timestamp date is %s. Current date is %s.", date, now_text);
}

static bool check_scope(RgSimCall *call, char **scope)
{
	const char *service = call->action->sts ? "sts" : "ec2";
	if (!g_str_equal(scope[4], "aws4_request") || !g_str_equal(scope[3], service))
		return rg_sim_fail(call, call->action->sts ? 403 : 401,
			call->action->sts ? "SignatureDoesNotMatch" : "AuthFailure",
			"Credential should be scoped to correct service: '%s'.", service);
	if (!rg_sim_data_region(call->world->data, scope[2]))
		return rg_sim_fail(call, call->action->sts ? 403 : 401,
			call->action->sts ? "SignatureDoesNotMatch" : "AuthFailure",
			"Credential should be scoped to a valid region.");
	if (!*scope[0] || rg_sim_knobs_lists(call->knobs->reject_access_keys, scope[0]))
		return fail_credentials(call);
	return true;
}

bool rg_sim_auth_check(RgSimCall *call, const char *header, const char *date, char **region)
{
	if (!header)
		return rg_sim_fail(call, 403, "MissingAuthenticationToken",
			"Request is missing Authentication Token");
	if (!g_str_has_prefix(header, ALGORITHM " "))
		return rg_sim_fail(call, 400, "IncompleteSignature",
			"Authorization header requires the algorithm " ALGORITHM);
	g_autofree char *credential = header_part(header, "Credential");
	g_autofree char *signed_headers = header_part(header, "SignedHeaders");
	g_autofree char *signature = header_part(header, "Signature");
	g_auto(GStrv) scope = g_strsplit(credential ? credential : "", "/", -1);
	if (!signed_headers || !signature || g_strv_length(scope) != 5)
		return rg_sim_fail(call, 400, "IncompleteSignature",
			"Authorization header requires 'Credential', 'Signature' and "
			"'SignedHeaders' parameters.");
	if (!check_scope(call, scope) || !check_clock(call, date))
		return false;
	*region = g_strdup(scope[2]);
	return true;
}
