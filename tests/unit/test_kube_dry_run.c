/* What the failure of a dry run says about the change: what the next try, or another client, may
 * decide otherwise is a warning. */
#include "aws_host.h"
#include "kubernetes/preflight.h"

typedef struct {
	int32_t class_;
	const char *code;
	bool creates, applies;
	const char *severity; /* NULL: no finding */
} Case;

static const Case cases[] = {
	{RGP_CLASS_TRANSIENT, "InternalError", true, true, "warning"},
	{RGP_CLASS_THROTTLED, "TooManyRequests", true, true, "warning"},
	{RGP_CLASS_UNKNOWN, "Odd", true, true, "warning"},
	{RGP_CLASS_CONFLICT, "Conflict", false, true, "warning"},
	{RGP_CLASS_CONFLICT, "Conflict", true, true, "error"},
	{RGP_CLASS_INVALID, "BadRequest", false, true, "error"},
	{RGP_CLASS_QUOTA, "QuotaExceeded", true, true, "error"},
	{RGP_CLASS_DENIED, "Forbidden", true, true, "error"},
	{RGP_CLASS_DENIED, "Forbidden", true, false, "note"},
	{RGP_CLASS_CONFLICT, "AlreadyExists", true, true, NULL},
};

static void judge(const Case *c)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	const KubeCall kube = {{&aws_test_host, call}, NULL};
	json_auto_t *body = json_object();
	json_auto_t *input = json_pack("{s:b}", "applies", c->applies);
	const KubeDryRun run = {.call = &kube,
		.kind = "kubernetes.ray_cluster",
		.address = "kubernetes.ray_cluster.c",
		.body = body,
		.creates = c->creates};
	char *code = (char *)(uintptr_t)c->code, *message = (char *)(uintptr_t) "why";
	const ModRestAnswer answer = {
		.failure = {.class_ = c->class_, .code = code, .message = message}};
	g_assert_cmpint(kube_dry_judge(&run, input, &answer), ==, RGP_OK);
	const json_t *finding = aws_test_given(call, "finding", 0);
	const char *severity = json_string_value(json_object_get(finding, "severity"));
	if (g_strcmp0(severity, c->severity) != 0)
		g_error("%s: %s, not %s", c->code, severity ? severity : "no finding",
			c->severity ? c->severity : "none");
}

static void test_the_severity_of_a_failure(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		judge(&cases[i]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kube/dry_run/severity", test_the_severity_of_a_failure);
	return g_test_run();
}
