#include "aws/credentials.h"
#include "aws/keys.h"
#include <string.h>

static AwsSearch search_chain(AwsChain *chain, bool env, AwsKeys *keys)
{
	AwsSearch search = env ? aws_keys_from_env(chain->call, keys) : AWS_KEYS_NOT_HERE;
	if (search == AWS_KEYS_NOT_HERE && env)
		aws_keys_looked(chain, "the environment: AWS_ACCESS_KEY_ID and "
				       "AWS_SECRET_ACCESS_KEY are not set");
	if (search == AWS_KEYS_NOT_HERE)
		search = aws_keys_from_profile_role(chain, keys);
	if (search == AWS_KEYS_NOT_HERE && env)
		search = aws_keys_from_web_identity_env(chain->call, keys);
	if (search == AWS_KEYS_NOT_HERE)
		search = aws_keys_from_profile(chain, keys);
	if (search == AWS_KEYS_NOT_HERE)
		search = aws_keys_from_container(chain, keys);
	if (search == AWS_KEYS_NOT_HERE)
		search = aws_keys_from_metadata(chain, keys);
	if (search == AWS_KEYS_NOT_HERE)
		mod_report_text(&chain->call->talk, RGP_CLASS_DENIED, "no AWS credentials found",
			chain->looked->str,
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`");
	return search;
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

/* The source of the instance's lease: a complete `auth` object without its service. */
static rgp_status find_keys(const ModTalk *talk, const void *data, char **value, int64_t *expires_s)
{
	const AwsCall call = {*talk, (struct rgp_inst *)(uintptr_t)data};
	g_auto(AwsKeys) keys = {0};
	bool env = !call.inst->profile; /* a profile that the spec names overrides it, like `aws
					   --profile` */
	g_auto(AwsChain) chain = aws_chain_open(&call);
	AwsSearch search = search_chain(&chain, env, &keys);
	if (search != AWS_KEYS_FOUND)
		return search == AWS_KEYS_CANCELED ? RGP_CANCELED : RGP_FAIL;
	*value = aws_auth_format(&call, "", &keys);
	*expires_s = keys.expires_s;
	if (!*value)
		aws_keys_broken(&call, NULL, "the AWS keys are not UTF-8 text");
	return *value ? RGP_OK : RGP_FAIL;
}

ModLease *aws_credentials_lease(struct rgp_inst *inst)
{
	return mod_lease_new(&(ModLeaseSource){find_keys, inst, "the AWS keys"});
}

char *aws_credentials_get(const AwsCall *call, const char *service)
{
	return aws_credentials_get_for(call, service, NULL);
}

char *aws_credentials_get_for(const AwsCall *call, const char *service, const char *region)
{
	unsigned serial;
	g_autofree char *text = mod_lease_get(call->inst->keys, &call->talk, &serial);
	if (!text)
		return NULL;
	json_auto_t *auth = json_loads(text, 0, NULL);
	json_object_set_new(auth, "service", json_string(service));
	if (region)
		json_object_set_new(auth, "region", json_string(region));
	char *whole = json_dumps(auth, JSON_COMPACT), *owned = g_strdup(whole);
	free(whole);
	return owned;
}
