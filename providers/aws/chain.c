/* AWS's files, and which profile of them counts. A profile may be in both, of which
 * ~/.aws/credentials takes precedence. */
#include "aws/keys.h"
#include "aws/profile.h"
#include <string.h>

static GKeyFile *open_file(const AwsCall *call, const char *path)
{
	struct rgp_bytes text = {0};
	if (call->talk.host->read_file(call->talk.call, path, &text) != RGP_OK)
		text = (struct rgp_bytes){0};
	return aws_profile_parse(text);
}

AwsChain aws_chain_open(const AwsCall *call)
{
	const char *shared = aws_keys_env(call, "AWS_SHARED_CREDENTIALS_FILE");
	const char *config = aws_keys_env(call, "AWS_CONFIG_FILE");
	const char *profile = call->inst->profile;
	if (!profile)
		profile = aws_keys_env(call, "AWS_PROFILE");
	AwsChain chain = {
		.call = call,
		.profile = profile ? profile : "default",
		.named = profile != NULL,
		.credentials_path = shared ? shared : "~/.aws/credentials",
		.config_path = config ? config : "~/.aws/config",
		.looked = g_string_new("looked in:"),
	};
	chain.credentials_file = open_file(call, chain.credentials_path);
	chain.config_file = open_file(call, chain.config_path);
	return chain;
}

void aws_chain_clear(AwsChain *chain)
{
	g_key_file_unref(chain->credentials_file);
	g_key_file_unref(chain->config_file);
	g_string_free(chain->looked, TRUE);
}

char *aws_chain_section(const char *profile)
{
	return strcmp(profile, "default") ? g_strconcat("profile ", profile, NULL)
					  : g_strdup(profile);
}

char *aws_chain_value(const AwsChain *chain, const char *profile, const char *key)
{
	g_autofree char *section = aws_chain_section(profile);
	char *value = aws_profile_value(chain->credentials_file, profile, key);
	return value ? value : aws_profile_value(chain->config_file, section, key);
}

char *aws_chain_section_value(const AwsChain *chain, const char *section, const char *key)
{
	return aws_profile_value(chain->config_file, section, key);
}
