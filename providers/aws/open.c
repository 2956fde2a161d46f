/* Opens an instance: settings of the spec and the environment, the endpoint. No network. */
#include "aws/open.h"
#include "aws/credentials.h"
#include "aws/endpoints.h"
#include "aws/s3.h"
#include "common/open.h"

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

/* As AWS's own tools: the variable, then the profile. */
static char *find_connection(const AwsCall *call, const AwsChain *chain)
{
	const char *named = aws_keys_env(call, "AWS_CA_BUNDLE");
	g_autofree char *configured = aws_chain_value(chain, chain->profile, "ca_bundle");
	return mod_open_connection(named ? named : configured);
}

static rgp_status find_endpoints(const ModTalk *talk, const json_t *config, struct rgp_inst *inst)
{
	const AwsService ec2 = {"ec2", "ec2", mod_str(config, "endpoint")};
	const AwsService sts = {"sts", "sts", ""}, ssm = {"ssm", "ssm", ""};
	const AwsService quotas = {"service_quotas", "servicequotas", ""};
	const AwsService iam = {"iam", "iam", "", .global = true};
	const AwsCall call = {*talk, inst};
	g_auto(AwsChain) chain = aws_chain_open(&call);
	inst->connection = find_connection(&call, &chain);
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

/* The profile's role may need STS. */
static rgp_status open_store(const ModTalk *talk, const json_t *store, struct rgp_inst *inst)
{
	const AwsCall call = {*talk, inst};
	const char *region = aws_store_region(talk, store);
	if (*region && !mod_is_region(region)) {
		mod_report_text(talk, RGP_CLASS_INVALID,
			"region of the state's URL, or AWS_REGION, is not the name of an AWS "
			"region",
			NULL, "write it like us-east-1");
		return RGP_FAIL;
	}
	if (*region) {
		g_free(inst->region);
		inst->region = g_strdup(region);
	}
	rgp_status status = find_endpoints(talk, inst->config, inst);
	if (status == RGP_OK)
		inst->store = aws_store_open(&call, store);
	return inst->store ? RGP_OK : RGP_FAIL;
}

void aws_close(struct rgp_inst *inst)
{
	if (!inst)
		return;
	aws_store_free(inst->store);
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
	json_auto_t *input = mod_open_input(&talk, args, "an AWS", "us-east-1");
	if (!input)
		return RGP_FAIL;
	const json_t *config = json_object_get(input, "config");
	const json_t *store = json_object_get(input, "store");
	const char *profile =
		mod_str(store ? json_object_get(store, "parameters") : config, "profile");
	struct rgp_inst *inst = g_new0(struct rgp_inst, 1);
	inst->region = g_strdup(mod_str(input, "region"));
	inst->profile = *profile ? g_strdup(profile) : NULL;
	inst->config = json_deep_copy(config);
	inst->keys = aws_credentials_lease(inst);
	inst->errors = aws_errors_new();
	rgp_status status =
		store ? open_store(&talk, store, inst) : find_endpoints(&talk, config, inst);
	if (status != RGP_OK)
		aws_close(inst);
	else
		*out = inst;
	return status;
}
