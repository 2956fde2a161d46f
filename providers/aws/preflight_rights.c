/* What the caller may do, by dry runs: EC2 answers them with DryRunOperation or
 * UnauthorizedOperation, and launches nothing. And whether instance profiles exist. */
#include "aws/endpoints.h"
#include "aws/instance.h"
#include "aws/preflight.h"
#include <string.h>

#define DRY_RUNS_MAX 12
#define UNREACHABLE_MS 10000
#define TRIES 2

static const AwsShape role_members[] = {{"RoleName"}, {"Arn"}, {0}};
static const AwsShape roles_members[] = {{"member", role_members, AWS_RECORD}, {0}};
static const AwsShape profile_members[] = {{"Arn"}, {"Roles", roles_members, AWS_DROP}, {0}};
static const AwsShape result_members[] = {{"InstanceProfile", profile_members}, {0}};
static const AwsShape response_members[] = {{"GetInstanceProfileResult", result_members}, {0}};
static const AwsShape get_profile = {"GetInstanceProfileResponse", response_members};

/* Their keys differ in what policies decide by: type, image, subnet, market,
 * reservation. */
static char *key_of(const json_t *create)
{
	return g_strjoin(" ", aws_attribute_of(create, "instance_type"),
		aws_attribute_of(create, "image_id"), aws_attribute_of(create, "subnet_id"),
		aws_attribute_of(create, "market"),
		aws_attribute_of(create, "capacity_reservation"), NULL);
}

/* The request of the real launch, without what is made before it. */
static json_t *dry_params(const AwsPreflight *preflight, const json_t *create)
{
	json_auto_t *attributes = json_copy(json_object_get(create, "attributes"));
	json_t *groups = json_array();
	mod_foreach (group, json_object_get(attributes, "security_groups"))
		if (json_is_string(group))
			json_array_append(groups, group);
	json_object_set_new(attributes, "security_groups", groups);
	json_auto_t *input = json_pack("{s:O, s:[{}], s:{s:s, s:s}}", "attributes", attributes,
		"items", "marks", "cluster", preflight->cluster, "lineage", "dry-run");
	json_t *params = aws_instance_params(preflight->call, input);
	json_object_del(params, "ClientToken");
	json_object_set_new(params, "DryRun", json_true());
	return params;
}

static void ask_profile(AwsPreflight *preflight, const json_t *create)
{
	const char *name = aws_attribute_of(create, "instance_profile");
	if (!*name)
		return;
	preflight->iam_api = (AwsApi){.service = "iam",
		.region = aws_endpoint_global_region(preflight->call->inst->region),
		.endpoint = preflight->call->inst->iam_endpoint,
		.version = "2010-05-08",
		.timeout_ms = UNREACHABLE_MS,
		.tries = TRIES};
	preflight->profile = aws_probe(preflight, "GetInstanceProfile", &get_profile,
		json_pack("{s:s}", "InstanceProfileName", name), NULL);
	preflight->profile->request.api = &preflight->iam_api;
	preflight->profile->about = create;
}

void aws_ask_rights(AwsPreflight *preflight)
{
	g_autoptr(GHashTable) asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	mod_ptr_foreach (const json_t, create, preflight->nodes) {
		if (g_hash_table_size(asked) >= DRY_RUNS_MAX ||
			!g_hash_table_add(asked, key_of(create)))
			continue;
		AwsProbe *probe = aws_probe(
			preflight, "RunInstances", NULL, dry_params(preflight, create), NULL);
		probe->about = create;
		g_ptr_array_add(preflight->dry_runs, probe);
	}
	ask_profile(preflight, preflight->nodes->pdata[0]); /* all nodes have the same */
}

/* What is left out of the dry run stands for itself in policies that allow only the cluster's own:
 * without the group EC2 checks the VPC's default one. */
static bool is_left_out(const char *message)
{
	return strstr(message, ":security-group/") || strstr(message, ":network-interface/") ||
	       strstr(message, ":placement-group/");
}

/* A plan is often made with credentials that may only read. */
static void report_denied(AwsPreflight *preflight, const AwsProbe *probe)
{
	const ModFailure *failure = &probe->reply.failure;
	const ModFinding finding = {.severity = preflight->applies ? "error" : "note",
		.class_ = RGP_CLASS_DENIED,
		.create = probe->about,
		.code = failure->code,
		.detail = failure->message,
		.hint = "`aws sts decode-authorization-message` explains an encoded message; "
			"providers/aws/README.md has the policy that apply needs"};
	mod_find_out(&preflight->findings, &finding,
		preflight->applies
			? "EC2 refuses to launch the nodes of %s with these credentials"
			: "these credentials may not launch the nodes of %s: apply needs others",
		mod_pool_of(probe->about));
}

/* Settings that only a dry run checks: what it refuses, the launch refuses too. Codes: "Error codes
 * for the Amazon EC2 API". `origin`: one that is the same for all nodes; NULL: the pool's. */
static const struct {
	const char *code, *attribute, *origin;
} certain[] = {{"InvalidKeyPair.NotFound", "key_name", "/provider/key_name"},
	{"OptInRequired", "image_id", NULL},
	{"InvalidParameterValue", "instance_profile", "/provider/instance_profile"}};

/* What IAM says of the profile counts more: EC2 does not know a new one yet. */
static bool is_asked(const AwsPreflight *preflight)
{
	const AwsProbe *profile = preflight->profile;
	return profile && (aws_probe_ok(profile) ||
				  g_strcmp0(profile->reply.failure.code, "NoSuchEntity") == 0);
}

static bool is_certain(const AwsPreflight *preflight, const ModFailure *failure, size_t i)
{
	return g_strcmp0(failure->code, certain[i].code) == 0 &&
	       g_strcmp0(failure->attribute, certain[i].attribute) == 0 &&
	       (g_strcmp0(failure->attribute, "instance_profile") || !is_asked(preflight));
}

/* One error at the setting, however many nodes have it. */
static bool report_certain(AwsPreflight *preflight, const AwsProbe *probe)
{
	const ModFailure *failure = &probe->reply.failure;
	size_t i = 0;
	while (i < G_N_ELEMENTS(certain) && !is_certain(preflight, failure, i))
		i++;
	if (i == G_N_ELEMENTS(certain))
		return false;
	const ModFinding finding = {.severity = "error",
		.class_ = failure->class_,
		.create = probe->about,
		.attribute = failure->attribute,
		.code = failure->code,
		.hint = failure->hint,
		.origin = certain[i].origin};
	if (!preflight->told_certain)
		mod_find_out(&preflight->findings, &finding, "EC2 refuses the launch (%s): %s",
			failure->code, failure->message);
	preflight->told_certain = true;
	return true;
}

static void check_dry_run(AwsPreflight *preflight, const AwsProbe *probe)
{
	const ModFailure *failure = &probe->reply.failure;
	bool useful = failure->class_ == RGP_CLASS_INVALID || failure->class_ == RGP_CLASS_CAPACITY;
	if (failure->class_ == RGP_CLASS_OK || !failure->code ||
		g_str_equal(failure->code, "DryRunOperation") ||
		g_str_equal(failure->code, AWS_NOT_ACTIVE)) /* the plan knows the start */
		return;
	if (failure->class_ == RGP_CLASS_DENIED) {
		if (!is_left_out(failure->message))
			report_denied(preflight, probe);
		return;
	}
	if (report_certain(preflight, probe))
		return;
	const ModFinding finding = {.severity = "warning",
		.class_ = failure->class_,
		.create = probe->about,
		.attribute = failure->attribute,
		.code = failure->code,
		.hint = failure->hint};
	if (useful && !preflight->findings.errors) /* which may be the same in other words */
		mod_find_out(&preflight->findings, &finding,
			"a dry run of the launch of %s was refused (%s): %s",
			mod_pool_of(probe->about), failure->code, failure->message);
}

static void check_profile(AwsPreflight *preflight)
{
	const AwsProbe *probe = preflight->profile;
	const ModFailure *failure = &probe->reply.failure;
	const ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_INVALID,
		.create = probe->about,
		.attribute = "instance_profile",
		.hint = "`aws iam list-instance-profiles` lists them",
		.origin = "/provider/instance_profile"};
	const char *name = aws_attribute_of(probe->about, "instance_profile");
	if (aws_probe_ok(probe) && !json_array_size(probe->records))
		mod_find_out(
			&preflight->findings, &finding, "instance profile %s has no role", name);
	else if (g_strcmp0(failure->code, "NoSuchEntity") == 0)
		mod_find_out(
			&preflight->findings, &finding, "there is no instance profile %s", name);
	else if (!aws_probe_ok(probe))
		mod_find_nothing(&preflight->findings, "the instance profile", "GetInstanceProfile",
			failure);
}

void aws_check_rights(AwsPreflight *preflight)
{
	if (preflight->profile)
		check_profile(preflight);
	for (guint i = 0; i < preflight->dry_runs->len; i++)
		check_dry_run(preflight, preflight->dry_runs->pdata[i]);
}
