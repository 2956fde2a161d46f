#include "aws/keys.h"
#include <string.h>

void aws_keys_clear(AwsKeys *keys)
{
	g_free(keys->access_key);
	g_free(keys->secret_key);
	g_free(keys->session_token);
	g_free(keys->from);
	*keys = (AwsKeys){0};
}

const char *aws_keys_env(const AwsCall *call, const char *name)
{
	const char *value = call->talk.host->env(call->talk.call, name);
	return value && *value ? value : NULL;
}

AwsSearch aws_keys_broken(const AwsCall *call, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	mod_report_text(&call->talk, RGP_CLASS_DENIED, summary, NULL, hint);
	return AWS_KEYS_BROKEN;
}

void aws_keys_looked(AwsChain *chain, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_string_append_c(chain->looked, '\n');
	g_string_append_vprintf(chain->looked, format, args);
	va_end(args);
}

void aws_keys_hide(const AwsCall *call, const char *secret)
{
	if (secret && *secret)
		call->talk.host->secret(call->talk.call, mod_bytes(secret));
}

int64_t aws_keys_time(const char *text)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);
	return time ? g_date_time_to_unix(time) : 0;
}

AwsSearch aws_keys_from_json(const AwsCall *call, const char *source, struct rgp_bytes text,
	const char *token, AwsKeys *keys)
{
	json_auto_t *value = json_loadb(text.data ? text.data : "", text.len, 0, NULL);
	const char *access_key = mod_str(value, "AccessKeyId");
	const char *secret_key = mod_str(value, "SecretAccessKey");
	const char *session_token = mod_str(value, token), *until = mod_str(value, "Expiration");
	aws_keys_hide(call, secret_key);
	aws_keys_hide(call, session_token);
	if (!*access_key || !*secret_key)
		return aws_keys_broken(
			call, NULL, "%s answered without AccessKeyId and SecretAccessKey", source);
	*keys = (AwsKeys){
		.access_key = g_strdup(access_key),
		.secret_key = g_strdup(secret_key),
		.session_token = *session_token ? g_strdup(session_token) : NULL,
		.expires_s = *until ? aws_keys_time(until) : 0,
	};
	if (!*until || keys->expires_s)
		return AWS_KEYS_FOUND;
	aws_keys_clear(keys);
	return aws_keys_broken(call, NULL, "%s returned an invalid expiry time", source);
}

char *aws_auth_format(const AwsCall *call, const char *service, const AwsKeys *keys)
{
	json_auto_t *auth = json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "aws_sigv4", "region",
		call->inst->region, "service", service, "access_key", keys->access_key,
		"secret_key", keys->secret_key);
	if (auth && keys->session_token)
		json_object_set_new(auth, "session_token", json_string(keys->session_token));
	char *text = auth ? json_dumps(auth, JSON_COMPACT) : NULL;
	char *owned = g_strdup(text);
	free(text);
	return owned;
}
