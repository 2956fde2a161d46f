#include "aws/credentials.h"
#include "aws/profile.h"
#include <string.h>

typedef struct {
	char *access_key, *secret_key, *session_token;
} Keys;

static void keys_clear(Keys *keys)
{
	g_free(keys->access_key);
	g_free(keys->secret_key);
	g_free(keys->session_token);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Keys, keys_clear)

typedef enum { FOUND, NOT_HERE, BROKEN /* a diagnostic was given */ } Search;

static const char *env_get(const AwsCall *call, const char *name)
{
	const char *value = call->talk.host->env(call->talk.call, name);
	return value && *value ? value : NULL;
}

static Search broken(const AwsCall *call, const char *hint, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static Search broken(const AwsCall *call, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	mod_report_text(&call->talk, RGP_CLASS_DENIED, summary, NULL, hint);
	return BROKEN;
}

static Search search_env(const AwsCall *call, Keys *keys)
{
	const char *access_key = env_get(call, "AWS_ACCESS_KEY_ID");
	const char *secret_key = env_get(call, "AWS_SECRET_ACCESS_KEY");
	if (!access_key && !secret_key)
		return NOT_HERE;
	if (!access_key || !secret_key)
		return broken(call, "set both, or none and use a profile",
			"%s is set but %s is not",
			access_key ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
			access_key ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
	keys->access_key = g_strdup(access_key);
	keys->secret_key = g_strdup(secret_key);
	keys->session_token = g_strdup(env_get(call, "AWS_SESSION_TOKEN"));
	return FOUND;
}

/* Ways to get credentials that this version can't go. `beats`: wins over keys beside it. */
static const struct {
	const char *key;
	bool beats;
} other_ways[] = {
	{"role_arn", true},
	{"credential_process", false},
	{"web_identity_token_file", false},
	{"sso_session", false},
	{"sso_start_url", false},
	{"source_profile", false},
	{"credential_source", false},
};

static Search refuse_other_ways(
	const AwsCall *call, GKeyFile *file, const char *path, const char *section, bool has_keys)
{
	for (size_t i = 0; i < G_N_ELEMENTS(other_ways); i++) {
		g_autofree char *value = aws_profile_value(file, section, other_ways[i].key);
		if (value && (other_ways[i].beats || !has_keys))
			return broken(call,
				"get keys another way and set AWS_ACCESS_KEY_ID, "
				"AWS_SECRET_ACCESS_KEY "
				"and AWS_SESSION_TOKEN, e.g. by `aws configure export-credentials "
				"--format env`",
				"section [%s] of %s asks for \"%s\", which is not supported yet",
				section, path, other_ways[i].key);
	}
	return NOT_HERE;
}

static Search search_file(
	const AwsCall *call, const char *path, const char *section, Keys *keys, bool *exists)
{
	struct rgp_bytes text = {0};
	*exists = false;
	if (call->talk.host->read_file(call->talk.call, path, &text) != RGP_OK)
		return NOT_HERE;
	g_autoptr(GKeyFile) file = aws_profile_parse(text);
	if (!g_key_file_has_group(file, section))
		return NOT_HERE;
	*exists = true;
	keys->access_key = aws_profile_value(file, section, "aws_access_key_id");
	keys->secret_key = aws_profile_value(file, section, "aws_secret_access_key");
	keys->session_token = aws_profile_value(file, section, "aws_session_token");
	bool has_keys = keys->access_key && keys->secret_key;
	if (refuse_other_ways(call, file, path, section, has_keys) == BROKEN)
		return BROKEN;
	if (has_keys)
		return FOUND;
	if (keys->access_key || keys->secret_key)
		return broken(call, "put both keys into the section",
			"section [%s] of %s has %s but not %s", section, path,
			keys->access_key ? "aws_access_key_id" : "aws_secret_access_key",
			keys->access_key ? "aws_secret_access_key" : "aws_access_key_id");
	return NOT_HERE;
}

static Search search_profile(const AwsCall *call, const char *profile, Keys *keys, GString *looked)
{
	const char *shared = env_get(call, "AWS_SHARED_CREDENTIALS_FILE");
	const char *config = env_get(call, "AWS_CONFIG_FILE");
	g_autofree char *config_section = strcmp(profile, "default")
						  ? g_strdup_printf("profile %s", profile)
						  : g_strdup(profile);
	const struct {
		const char *path, *section;
	} places[] = {
		{shared ? shared : "~/.aws/credentials", profile},
		{config ? config : "~/.aws/config", config_section},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		bool exists;
		g_auto(Keys) here = {0};
		Search search =
			search_file(call, places[i].path, places[i].section, &here, &exists);
		if (search == FOUND) {
			*keys = here;
			here = (Keys){0};
		}
		if (search != NOT_HERE)
			return search;
		g_string_append_printf(looked, "\nsection [%s] of %s: %s", places[i].section,
			places[i].path, exists ? "holds no keys" : "not there");
	}
	return NOT_HERE;
}

static Search search(const AwsCall *call, Keys *keys)
{
	const char *profile = call->inst->profile;
	g_autoptr(GString) looked = g_string_new("looked in:");
	Search found;
	/* a profile that the spec names beats the environment, as `aws --profile` does */
	if (!profile) {
		found = search_env(call, keys);
		if (found != NOT_HERE)
			return found;
		g_string_append(looked, "\nthe environment: AWS_ACCESS_KEY_ID and "
					"AWS_SECRET_ACCESS_KEY are not set");
		profile = env_get(call, "AWS_PROFILE");
	}
	found = search_profile(call, profile ? profile : "default", keys, looked);
	if (found == NOT_HERE)
		mod_report_text(&call->talk, RGP_CLASS_DENIED, "no AWS credentials found",
			looked->str,
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`");
	return found;
}

static char *auth_format(const AwsCall *call, const Keys *keys)
{
	g_autoptr(ModJson) auth = json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "aws_sigv4",
		"region", call->inst->region, "service", "ec2", "access_key", keys->access_key,
		"secret_key", keys->secret_key);
	if (keys->session_token)
		json_object_set_new(auth, "session_token", json_string(keys->session_token));
	char *text = auth ? json_dumps(auth, JSON_COMPACT) : NULL;
	char *owned = g_strdup(text);
	free(text);
	return owned;
}

const char *aws_credentials_get(const AwsCall *call)
{
	struct rgp_inst *inst = call->inst;
	g_auto(Keys) keys = {0};
	pthread_mutex_lock(&inst->lock);
	if (!inst->auth && search(call, &keys) == FOUND) {
		call->talk.host->secret(call->talk.call, mod_bytes(keys.secret_key));
		if (keys.session_token)
			call->talk.host->secret(call->talk.call, mod_bytes(keys.session_token));
		inst->auth = auth_format(call, &keys);
		if (!inst->auth)
			broken(call, NULL, "the AWS keys are not UTF-8 text");
	}
	const char *auth = inst->auth;
	pthread_mutex_unlock(&inst->lock);
	return auth;
}
