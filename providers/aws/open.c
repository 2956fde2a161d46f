/* Opens an instance: settings of the spec and the environment, the endpoint. No network. */
#include "aws/open.h"
#include "aws/credentials.h"
#include "aws/endpoints.h"
#include <string.h>

static rgp_status refuse(const ModTalk *talk, const char *summary, const char *hint)
{
	mod_report_text(talk, RGP_CLASS_INVALID, summary, NULL, hint);
	return RGP_FAIL;
}

/* It becomes part of a host name. */
bool aws_is_region(const char *region)
{
	if (!*region || strlen(region) > 32)
		return false;
	for (const char *at = region; *at; at++)
		if (!g_ascii_islower(*at) && !g_ascii_isdigit(*at) && *at != '-')
			return false;
	return true;
}

/* Another vendor's EC2 also serves the other services: Amazon does not know its keys, and should
 * not be asked. A private endpoint of Amazon's own serves only EC2. */
static rgp_status find_beside(const AwsChain *chain, const AwsService *service,
	const struct rgp_inst *inst, char **endpoint)
{
	bool named = false;
	rgp_status status = aws_endpoint_find(chain, service, inst->region, endpoint, &named);
	if (status != RGP_OK || named || aws_endpoint_is_public(inst->endpoint))
		return status;
	g_free(*endpoint);
	*endpoint = g_strdup(inst->endpoint);
	return RGP_OK;
}

static rgp_status find_endpoints(const ModTalk *talk, const json_t *config, struct rgp_inst *inst)
{
	const AwsService ec2 = {"ec2", "ec2", mod_str(config, "endpoint")};
	const AwsService sts = {"sts", "sts", ""}, ssm = {"ssm", "ssm", ""};
	const AwsService quotas = {"service_quotas", "servicequotas", ""};
	const AwsService iam = {"iam", "iam", "", .global = true};
	const AwsCall call = {*talk, inst};
	g_auto(AwsChain) chain = aws_chain_open(&call);
	rgp_status status = aws_endpoint_find(&chain, &ec2, inst->region, &inst->endpoint, NULL);
	if (status == RGP_OK)
		status = aws_endpoint_find(&chain, &sts, inst->region, &inst->sts_endpoint, NULL);
	if (status == RGP_OK)
		status = aws_endpoint_find(&chain, &ssm, inst->region, &inst->ssm_endpoint, NULL);
	if (status == RGP_OK)
		status = find_beside(&chain, &sts, inst, &inst->account_endpoint);
	if (status == RGP_OK)
		status = find_beside(&chain, &quotas, inst, &inst->quotas_endpoint);
	return status == RGP_OK ? find_beside(&chain, &iam, inst, &inst->iam_endpoint) : status;
}

static void find_tls(const ModTalk *talk, struct rgp_inst *inst)
{
	const char *bundle = talk->host->env(talk->call, "AWS_CA_BUNDLE");
	json_auto_t *connection = bundle && *bundle ? json_pack("{s:s}", "ca_file", bundle) : NULL;
	char *text = connection ? json_dumps(connection, JSON_COMPACT) : NULL;
	inst->connection = g_strdup(text);
	free(text);
}

void aws_close(struct rgp_inst *inst)
{
	if (!inst)
		return;
	mod_errors_free(inst->errors);
	g_free(inst->region);
	g_free(inst->endpoint);
	g_free(inst->profile);
	json_decref(inst->config);
	g_free(inst->connection);
	mod_lease_free(inst->keys);
	g_free(inst->sts_endpoint);
	g_free(inst->account_endpoint);
	g_free(inst->ssm_endpoint);
	g_free(inst->quotas_endpoint);
	g_free(inst->iam_endpoint);
	g_free(inst);
}

rgp_status aws_open(const struct rgp_host *host, struct rgp_call *call, const struct rgp_args *args,
	struct rgp_inst **out)
{
	const ModTalk talk = {host, call};
	json_auto_t *input = mod_input(&talk, args);
	if (!input)
		return RGP_FAIL;
	const json_t *config = json_object_get(input, "config");
	const char *region = mod_str(input, "region"), *profile = mod_str(config, "profile");
	if (!aws_is_region(region)) {
		g_autofree char *summary =
			g_strdup_printf("\"%s\" is not the name of an AWS region", region);
		return refuse(&talk, summary, "write it like us-east-1");
	}
	struct rgp_inst *inst = g_new0(struct rgp_inst, 1);
	inst->region = g_strdup(region);
	inst->profile = *profile ? g_strdup(profile) : NULL;
	inst->config = json_deep_copy(config);
	inst->keys = aws_credentials_lease(inst);
	inst->errors = aws_errors_new();
	find_tls(&talk, inst);
	rgp_status status = find_endpoints(&talk, config, inst);
	if (status != RGP_OK)
		aws_close(inst);
	else
		*out = inst;
	return status;
}
