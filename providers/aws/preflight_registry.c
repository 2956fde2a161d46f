/* Whether the nodes may pull their container image from Amazon ECR: with the role of their instance
 * profile, by IAM's policy simulator, which sends nothing to ECR. */
#include "aws/preflight.h"
#include <string.h>

#define PULL "ecr:BatchGetImage"
#define LOG_IN "ecr:GetAuthorizationToken"

static const AwsShape decision_members[] = {
	{"EvalActionName"}, {"EvalResourceName"}, {"EvalDecision"}, {0}};
static const AwsShape decisions[] = {{"member", decision_members, AWS_RECORD}, {0}};
static const AwsShape result_members[] = {{"EvaluationResults", decisions, AWS_DROP}, {0}};
static const AwsShape simulated_members[] = {
	{"SimulatePrincipalPolicyResult", result_members, AWS_DROP}, {0}};
static const AwsShape simulated = {"SimulatePrincipalPolicyResponse", simulated_members};

/* "123456789012.dkr.ecr.us-east-1.amazonaws.com/team/ray:tag", as in boot.registry of schema.json.
 */
static GMatchInfo *match_image(const char *image)
{
	static const char form[] = "^([0-9]{12})\\.dkr[.-]ecr(?:-fips)?\\.([a-z0-9-]+)\\.[a-z.]+/"
				   "([a-z0-9._/-]+)";
	g_autoptr(GRegex) regex = g_regex_new(form, 0, 0, NULL);
	GMatchInfo *match = NULL;
	if (g_regex_match(regex, image, 0, &match))
		return match;
	g_match_info_free(match);
	return NULL;
}

bool aws_pulls_from_ecr(const AwsPreflight *preflight, const char *region)
{
	g_autoptr(GMatchInfo) match = match_image(preflight->image);
	g_autofree char *of_image = match ? g_match_info_fetch(match, 2) : NULL;
	return match && (!region || g_str_equal(of_image, region));
}

/* In the partition of the role: "arn:aws:iam::...". */
static char *repository_arn(const char *role, const char *image)
{
	g_auto(GStrv) parts = g_strsplit(role, ":", 3);
	g_autoptr(GMatchInfo) match = match_image(image);
	g_autofree char *account = g_match_info_fetch(match, 1);
	g_autofree char *region = g_match_info_fetch(match, 2);
	g_autofree char *name = g_match_info_fetch(match, 3);
	return g_strdup_printf("arn:%s:ecr:%s:%s:repository/%s",
		g_strv_length(parts) > 1 ? parts[1] : "aws", region, account, name);
}

static AwsProbe *ask(
	AwsPreflight *preflight, const char *role, const char *action, const char *resource)
{
	json_t *params = json_pack("{s:s, s:{s:[s]}, s:{s:[s]}}", "PolicySourceArn", role,
		"ActionNames", "member", action, "ResourceArns", "member", resource);
	AwsProbe *probe = aws_probe(preflight, "SimulatePrincipalPolicy", &simulated, params, NULL);
	probe->request.api = &preflight->iam_api;
	return probe;
}

void aws_ask_pull(AwsPreflight *preflight)
{
	const json_t *records =
		aws_probe_ok(preflight->profile) ? preflight->profile->records : NULL;
	const char *role = mod_str(json_array_get(records, 0), "Arn");
	if (!*role || !aws_pulls_from_ecr(preflight, NULL))
		return;
	g_autofree char *repository = repository_arn(role, preflight->image);
	preflight->logs_in = ask(preflight, role, LOG_IN, "*");
	preflight->pulls = ask(preflight, role, PULL, repository);
}

/* "" without an answer. */
static const char *decision_of(const AwsProbe *probe)
{
	return aws_probe_ok(probe) ? mod_str(json_array_get(probe->records, 0), "EvalDecision")
				   : "";
}

static void report_denied(AwsPreflight *preflight, const char *action, const char *severity)
{
	const json_t *profile = json_array_get(preflight->profile->records, 0);
	const ModFinding finding = {.severity = severity,
		.class_ = RGP_CLASS_DENIED,
		.create = preflight->profile->about,
		.attribute = "instance_profile",
		.hint = "providers/aws/README.md lists what the role needs for images in Amazon "
			"ECR",
		.detail =
			g_str_equal(severity, "warning")
				? "a policy of the repository may allow it, which IAM's simulator "
				  "does not read"
				: NULL,
		.origin = "/provider/instance_profile"};
	mod_find_out(&preflight->findings, &finding,
		"the nodes cannot pull %s: the role %s of their instance profile is not allowed %s",
		preflight->image, mod_str(profile, "RoleName"), action);
}

/* Logging in has no resource, so only the role's own policies count; for the image, a repository's
 * policy may allow what they do not mention. */
void aws_check_pull(AwsPreflight *preflight)
{
	if (!preflight->pulls)
		return;
	const char *logs_in = decision_of(preflight->logs_in),
		   *pulls = decision_of(preflight->pulls);
	if (!*logs_in || !*pulls)
		mod_find_nothing(&preflight->findings, "pulling from Amazon ECR",
			"SimulatePrincipalPolicy", &preflight->pulls->reply.failure);
	else if (strcmp(logs_in, "allowed"))
		report_denied(preflight, LOG_IN, "error");
	else if (strcmp(pulls, "allowed"))
		report_denied(
			preflight, PULL, g_str_equal(pulls, "explicitDeny") ? "error" : "warning");
}
