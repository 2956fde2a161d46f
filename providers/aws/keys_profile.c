/* Keys of the environment and of profiles in AWS's files (chain.c); order of the sources as in
 * botocore (credentials.py, 1.43). */
#include "aws/keys.h"
#include "aws/profile.h"
#include <string.h>

#define PROFILES_MAX 8 /* of one source_profile chain */
#define PROCESS_TIMEOUT_MS 60000

AwsSearch aws_keys_from_env(const AwsCall *call, AwsKeys *keys)
{
	const char *access_key = aws_keys_env(call, "AWS_ACCESS_KEY_ID");
	const char *secret_key = aws_keys_env(call, "AWS_SECRET_ACCESS_KEY");
	if (!access_key && !secret_key)
		return AWS_KEYS_NOT_HERE;
	if (!access_key || !secret_key)
		return aws_keys_broken(call, "set both, or none and use a profile",
			"%s is set but %s is not",
			access_key ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
			access_key ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
	keys->access_key = g_strdup(access_key);
	keys->secret_key = g_strdup(secret_key);
	keys->session_token = g_strdup(aws_keys_env(call, "AWS_SESSION_TOKEN"));
	aws_keys_hide(call, keys->secret_key);
	aws_keys_hide(call, keys->session_token);
	return AWS_KEYS_FOUND;
}

static bool exists(const AwsChain *chain, const char *profile)
{
	g_autofree char *section = aws_chain_section(profile);
	return g_key_file_has_group(chain->credentials_file, profile) ||
	       g_key_file_has_group(chain->config_file, section);
}

/* One profile's settings of roles and the like; owned texts, NULL if not set. */
typedef struct {
	const char *name;
	char *role_arn, *source_profile, *credential_source, *token_file, *session, *external_id,
		*duration, *mfa, *process, *login, *asked_by;
	bool sso;
} Profile;

static void profile_clear(Profile *profile)
{
	g_free(profile->role_arn);
	g_free(profile->source_profile);
	g_free(profile->credential_source);
	g_free(profile->token_file);
	g_free(profile->session);
	g_free(profile->external_id);
	g_free(profile->duration);
	g_free(profile->mfa);
	g_free(profile->process);
	g_free(profile->login);
	g_free(profile->asked_by);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Profile, profile_clear)

static bool profile_uses_sso(const AwsChain *chain, const char *name)
{
	static const char *const keys[] = {"sso_session", "sso_start_url", "sso_account_id", NULL};
	g_autofree char *value = NULL;
	for (size_t i = 0; keys[i] && !value; i++)
		value = aws_chain_value(chain, name, keys[i]);
	return value != NULL;
}

static void profile_init(const AwsChain *chain, const char *name, Profile *profile)
{
	*profile = (Profile){
		.name = name,
		.role_arn = aws_chain_value(chain, name, "role_arn"),
		.source_profile = aws_chain_value(chain, name, "source_profile"),
		.credential_source = aws_chain_value(chain, name, "credential_source"),
		.token_file = aws_chain_value(chain, name, "web_identity_token_file"),
		.session = aws_chain_value(chain, name, "role_session_name"),
		.external_id = aws_chain_value(chain, name, "external_id"),
		.duration = aws_chain_value(chain, name, "duration_seconds"),
		.mfa = aws_chain_value(chain, name, "mfa_serial"),
		.process = aws_chain_value(chain, name, "credential_process"),
		.login = aws_chain_value(chain, name, "login_session"),
		.asked_by = g_strdup_printf("the AWS profile \"%s\"", name),
	};
	profile->sso = profile_uses_sso(chain, name);
}

static AwsRole role_of(const Profile *profile)
{
	return (AwsRole){
		.arn = profile->role_arn,
		.session = profile->session,
		.external_id = profile->external_id,
		.duration = profile->duration,
		.asked_by = profile->asked_by,
	};
}

static AwsSearch static_keys(AwsChain *chain, const char *profile, AwsKeys *keys)
{
	g_autofree char *section = aws_chain_section(profile);
	const struct {
		GKeyFile *file;
		const char *path, *section;
	} places[] = {
		{chain->credentials_file, chain->credentials_path, profile},
		{chain->config_file, chain->config_path, section},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		GKeyFile *file = places[i].file;
		const char *at = places[i].section;
		g_auto(AwsKeys) here = {
			.access_key = aws_profile_value(file, at, "aws_access_key_id"),
			.secret_key = aws_profile_value(file, at, "aws_secret_access_key"),
			.session_token = aws_profile_value(file, at, "aws_session_token"),
		};
		aws_keys_hide(chain->call, here.secret_key);
		aws_keys_hide(chain->call, here.session_token);
		if (here.access_key && here.secret_key) {
			*keys = (AwsKeys){
				.access_key = g_steal_pointer(&here.access_key),
				.secret_key = g_steal_pointer(&here.secret_key),
				.session_token = g_steal_pointer(&here.session_token),
				.from = g_strdup_printf("section [%s] of %s", at, places[i].path),
			};
			return AWS_KEYS_FOUND;
		}
		if (here.access_key || here.secret_key)
			return aws_keys_broken(chain->call, "add both keys to the section",
				"section [%s] of %s has %s but not %s", at, places[i].path,
				here.access_key ? "aws_access_key_id" : "aws_secret_access_key",
				here.access_key ? "aws_secret_access_key" : "aws_access_key_id");
		aws_keys_looked(chain, "section [%s] of %s: %s", at, places[i].path,
			g_key_file_has_group(file, at) ? "has no keys" : "not there");
	}
	return AWS_KEYS_NOT_HERE;
}

/* The command is split into words like in a POSIX shell, and no shell runs it. */
static AwsSearch process_keys(const AwsChain *chain, const Profile *profile, AwsKeys *keys)
{
	const AwsCall *call = chain->call;
	g_auto(GStrv) argv = NULL;
	struct rgp_bytes output = {0};
	if (!g_shell_parse_argv(profile->process, NULL, &argv, NULL))
		return aws_keys_broken(call, "quote its words as in a shell",
			"the credential_process of %s cannot be split into words",
			profile->asked_by);
	const struct rgp_exec_req req = {.size = sizeof req,
		.flags = RGP_EXEC_READING,
		.argv = (const char *const *)argv,
		.timeout_ms = PROCESS_TIMEOUT_MS};
	rgp_status status = call->talk.host->exec(call->talk.call, &req, &output);
	if (status == RGP_CANCELED)
		return AWS_KEYS_CANCELED;
	if (status != RGP_OK)
		return aws_keys_broken(call, "run it yourself to see why",
			"the credential_process of %s, %s, did not succeed", profile->asked_by,
			argv[0]);
	json_auto_t *value = json_loadb(output.data, output.len, 0, NULL);
	g_autofree char *source =
		g_strdup_printf("the credential_process of %s", profile->asked_by);
	if (mod_int(value, "Version") != 1)
		return aws_keys_broken(call, "it has to print {\"Version\": 1, ...}",
			"%s printed no document of version 1", source);
	return aws_keys_from_json(call, source, output, "SessionToken", keys);
}

/* `aws login` of 2025: its token is bound to a key of the CLI's own. */
static AwsSearch refuse_login(const AwsChain *chain, const Profile *profile)
{
	g_autofree char *hint = g_strdup_printf("set in another profile: credential_process = aws "
						"configure export-credentials --profile %s",
		profile->name);
	return aws_keys_broken(chain->call, hint,
		"%s uses `aws login` (login_session), which raygpu does not support directly",
		profile->asked_by);
}

/* Everything except a role through another profile. */
static AwsSearch plain_keys(AwsChain *chain, const Profile *profile, AwsKeys *keys)
{
	if (profile->token_file) {
		AwsRole role = role_of(profile);
		role.token_file = profile->token_file;
		if (!role.arn)
			return aws_keys_broken(chain->call, "add role_arn to it",
				"%s has web_identity_token_file but no role_arn",
				profile->asked_by);
		return aws_keys_assume(chain->call, &role, NULL, keys);
	}
	if (profile->sso)
		return aws_keys_from_sso(chain, profile->name, keys);
	AwsSearch search = static_keys(chain, profile->name, keys);
	if (search != AWS_KEYS_NOT_HERE)
		return search;
	if (profile->login)
		return refuse_login(chain, profile);
	return profile->process ? process_keys(chain, profile, keys) : AWS_KEYS_NOT_HERE;
}

static AwsSearch named_source(AwsChain *chain, const Profile *profile, AwsKeys *keys)
{
	static const struct {
		const char *name;
		AwsSearch (*machine)(AwsChain *, AwsKeys *); /* NULL: the environment */
	} sources[] = {
		{"Environment", NULL},
		{"EcsContainer", aws_keys_from_container},
		{"Ec2InstanceMetadata", aws_keys_from_metadata},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
		if (g_ascii_strcasecmp(sources[i].name, profile->credential_source))
			continue;
		AwsSearch search = sources[i].machine ? sources[i].machine(chain, keys)
						      : aws_keys_from_env(chain->call, keys);
		if (search != AWS_KEYS_NOT_HERE)
			return search;
		return aws_keys_broken(chain->call, NULL,
			"%s takes its keys from %s, which has none", profile->asked_by,
			profile->credential_source);
	}
	return aws_keys_broken(chain->call,
		"it is one of Environment, EcsContainer and Ec2InstanceMetadata",
		"%s has an unknown credential_source \"%s\"", profile->asked_by,
		profile->credential_source);
}

static AwsSearch role_keys(AwsChain *chain, const Profile *profile, unsigned depth, AwsKeys *keys);

/* Keys of the profile that another one names as its source. */
static AwsSearch source_keys(AwsChain *chain, const Profile *profile, unsigned depth, AwsKeys *keys)
{
	const char *name = profile->source_profile;
	g_auto(Profile) source = {0};
	if (!exists(chain, name))
		return aws_keys_broken(chain->call, NULL,
			"%s names the source_profile \"%s\", which is in neither %s nor %s",
			profile->asked_by, name, chain->credentials_path, chain->config_path);
	profile_init(chain, name, &source);
	/* a profile may be its own source: its keys assume its role */
	bool own = g_str_equal(name, profile->name);
	AwsSearch search = source.role_arn && !source.token_file && !own
				   ? role_keys(chain, &source, depth + 1, keys)
			   : own ? static_keys(chain, name, keys)
				 : plain_keys(chain, &source, keys);
	if (search != AWS_KEYS_NOT_HERE)
		return search;
	return aws_keys_broken(chain->call, NULL,
		"%s names the source_profile \"%s\", which has no keys", profile->asked_by, name);
}

static AwsSearch check_role(const AwsChain *chain, const Profile *profile, unsigned depth)
{
	if (depth >= PROFILES_MAX)
		return aws_keys_broken(chain->call, "the chain must end in a profile with keys",
			"the source_profile chain of \"%s\" is circular or too long",
			chain->profile);
	if (profile->mfa)
		return aws_keys_broken(chain->call,
			"get keys with `aws sts assume-role ... --token-code` and set them in the "
			"environment, or use credential_process",
			"%s requires a code of %s (mfa_serial), and raygpu cannot prompt for it",
			profile->asked_by, profile->mfa);
	if (!profile->source_profile == !profile->credential_source)
		return aws_keys_broken(chain->call, "a role needs exactly one of the two",
			"%s has role_arn and %s source_profile %s credential_source",
			profile->asked_by, profile->source_profile ? "both" : "neither",
			profile->source_profile ? "and" : "nor");
	return AWS_KEYS_FOUND;
}

static AwsSearch role_keys(AwsChain *chain, const Profile *profile, unsigned depth, AwsKeys *keys)
{
	g_auto(AwsKeys) source = {0};
	const AwsRole role = role_of(profile);
	AwsSearch search = check_role(chain, profile, depth);
	if (search == AWS_KEYS_FOUND)
		search = profile->source_profile ? source_keys(chain, profile, depth, &source)
						 : named_source(chain, profile, &source);
	return search == AWS_KEYS_FOUND ? aws_keys_assume(chain->call, &role, &source, keys)
					: search;
}

AwsSearch aws_keys_from_profile_role(AwsChain *chain, AwsKeys *keys)
{
	g_auto(Profile) profile = {0};
	profile_init(chain, chain->profile, &profile);
	if (!profile.role_arn || profile.token_file)
		return AWS_KEYS_NOT_HERE;
	return role_keys(chain, &profile, 0, keys);
}

AwsSearch aws_keys_from_profile(AwsChain *chain, AwsKeys *keys)
{
	g_auto(Profile) profile = {0};
	profile_init(chain, chain->profile, &profile);
	AwsSearch search = plain_keys(chain, &profile, keys);
	if (search != AWS_KEYS_NOT_HERE || !chain->named || exists(chain, chain->profile))
		return search;
	mod_report_text(&chain->call->talk, RGP_CLASS_DENIED, "no such AWS profile",
		chain->looked->str, "`aws configure list-profiles` lists them");
	return AWS_KEYS_BROKEN;
}
