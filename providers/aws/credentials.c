#include "aws/credentials.h"
#include "aws/keys.h"
#include <string.h>

/* Keys are renewed this long before they end, so that no request is signed with ones that end on
 * the way. Some last for less: those are renewed once in RENEW_AGAIN_S. */
#define RENEW_BEFORE_S 300
#define RENEW_AGAIN_S 60

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

static AwsSearch search_keys(const AwsCall *call, AwsKeys *keys)
{
	const char *profile = call->inst->profile;
	bool env = !profile; /* a profile that the spec names beats it, as `aws --profile` does */
	if (!profile)
		profile = aws_keys_env(call, "AWS_PROFILE");
	AwsChain chain = {
		.call = call,
		.profile = profile ? profile : "default",
		.named = profile != NULL,
	};
	aws_chain_open(&chain);
	AwsSearch search = search_chain(&chain, env, keys);
	aws_chain_clear(&chain);
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

static bool is_due(const AwsKeys *keys, int64_t before_s, int64_t now_s)
{
	return !keys->access_key || (keys->expires_s && now_s >= keys->expires_s - before_s);
}

/* Under the lock: one thread asks for keys, the others wait for them. Keys that still hold serve on
 * when there are no new ones: whoever gives them may be back before they end. */
static bool renew(const AwsCall *call, AwsKeys *held)
{
	int64_t now_s = call->talk.host->now(call->talk.call);
	if (!is_due(held, RENEW_BEFORE_S, now_s))
		return true;
	bool holds = !is_due(held, 0, now_s);
	if (holds && now_s < held->renewed_s + RENEW_AGAIN_S)
		return true;
	AwsKeys keys = {0};
	AwsCall quiet = *call;
	quiet.talk.quiet = holds;
	AwsSearch search = search_keys(&quiet, &keys);
	if (search != AWS_KEYS_FOUND && search != AWS_KEYS_CANCELED && holds) {
		g_autofree char *text = g_strdup_printf("the AWS keys could not be renewed; those "
							"at hand hold for %" G_GINT64_FORMAT " s",
			held->expires_s - now_s);
		call->talk.host->log(call->talk.call, RGP_LOG_INFO, text);
		held->renewed_s = now_s; /* asked again in RENEW_AGAIN_S */
		return true;
	}
	if (search != AWS_KEYS_FOUND)
		return false;
	aws_keys_clear(held);
	*held = keys;
	held->renewed_s = now_s;
	return true;
}

char *aws_credentials_get(const AwsCall *call, const char *service)
{
	struct rgp_inst *inst = call->inst;
	pthread_mutex_lock(&inst->lock);
	bool good = renew(call, inst->keys);
	char *auth = good ? aws_auth_format(call, service, inst->keys) : NULL;
	pthread_mutex_unlock(&inst->lock);
	if (good && !auth)
		aws_keys_broken(call, NULL, "the AWS keys are not UTF-8 text");
	return auth;
}
