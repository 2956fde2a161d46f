#include "aws/credentials.h"
#include "aws/keys.h"
#include <string.h>

static AwsSearch search_env(AwsChain *chain, AwsKeys *keys)
{
	AwsSearch search = aws_keys_from_env(chain->call, keys);
	if (search == AWS_KEYS_NOT_HERE)
		aws_keys_looked(chain, "the environment: AWS_ACCESS_KEY_ID and "
				       "AWS_SECRET_ACCESS_KEY are not set");
	return search;
}

static AwsSearch search_web_identity(AwsChain *chain, AwsKeys *keys)
{
	return aws_keys_from_web_identity_env(chain->call, keys);
}

/* In this order; `env`: not if the spec names a profile. */
static const struct {
	bool env;
	AwsSearch (*search)(AwsChain *chain, AwsKeys *keys);
	const char *from; /* NULL: the profile */
} sources[] = {
	{true, search_env, "the environment: AWS_ACCESS_KEY_ID"},
	{false, aws_keys_from_profile_role, NULL},
	{true, search_web_identity, "the environment: AWS_WEB_IDENTITY_TOKEN_FILE"},
	{false, aws_keys_from_profile, NULL},
	{false, aws_keys_from_container, "the container's credentials service"},
	{false, aws_keys_from_metadata, "the instance profile of this machine"},
};

static AwsSearch search_chain(AwsChain *chain, bool env, AwsKeys *keys)
{
	AwsSearch search = AWS_KEYS_NOT_HERE;
	size_t i = 0;
	for (; i < G_N_ELEMENTS(sources) && search == AWS_KEYS_NOT_HERE; i++) {
		if (env || !sources[i].env)
			search = sources[i].search(chain, keys);
	}
	if (search == AWS_KEYS_NOT_HERE)
		mod_report_text(&chain->call->talk, RGP_CLASS_DENIED, "no AWS credentials found",
			chain->looked->str,
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`");
	if (search == AWS_KEYS_FOUND && !keys->from)
		keys->from = sources[i - 1].from
				     ? g_strdup(sources[i - 1].from)
				     : g_strdup_printf("the AWS profile \"%s\"", chain->profile);
	return search;
}

/* With the member "from", which is not part of `auth`. */
static char *format_found(const AwsCall *call, const AwsKeys *keys)
{
	g_autofree char *text = aws_auth_format(call, "", keys);
	json_auto_t *auth = text ? json_loads(text, 0, NULL) : NULL;
	if (!auth)
		return NULL;
	json_object_set_new(auth, "from", json_string(keys->from));
	char *whole = json_dumps(auth, JSON_COMPACT), *owned = g_strdup(whole);
	free(whole);
	return owned;
}

/* The source of the instance's lease: an `auth` object without its service, and its source. */
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
	*value = format_found(&call, &keys);
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
	json_object_del(auth, "from");
	if (region)
		json_object_set_new(auth, "region", json_string(region));
	char *whole = json_dumps(auth, JSON_COMPACT), *owned = g_strdup(whole);
	free(whole);
	return owned;
}

char *aws_credentials_from(const AwsCall *call)
{
	unsigned serial;
	g_autofree char *text = mod_lease_get(call->inst->keys, &call->talk, &serial);
	json_auto_t *auth = text ? json_loads(text, 0, NULL) : NULL;
	return g_strdup(mod_str(auth, "from"));
}
