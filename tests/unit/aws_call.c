/* usage: aws-call CALL REGION ENDPOINT <INPUT.json: runs one call of the AWS module against a real
 * server and prints its results and diagnostics as JSON. Keys come from the environment. For trying
 * the module manually and for whole-server tests. */
#include "aws_host.h"
#include <string.h>

const struct rgp_provider *raygpu_provider_v1_aws(void);

static const char *const passed[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", NULL};

static rgp_fn find_call(const struct rgp_provider *p, const char *name)
{
	const struct {
		const char *name;
		rgp_fn fn;
	} calls[] = {{"resolve", p->resolve}, {"lower", p->lower}, {"list", p->list},
		{"create", p->create}, {"remove", p->remove}, {"update", p->update},
		{"ready", p->ready}, {"find", p->find}};
	for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
		if (g_str_equal(calls[i].name, name))
			return calls[i].fn;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct rgp_provider *provider = raygpu_provider_v1_aws();
	rgp_fn fn = argc == 4 ? find_call(provider, argv[1]) : NULL;
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	call->sleeps_really = true;
	if (!fn)
		return 2;
	for (const char *const *name = passed; *name; name++)
		if (g_getenv(*name))
			g_hash_table_insert(call->env, g_strdup(*name), g_strdup(g_getenv(*name)));
	json_t *input = json_loadf(stdin, 0, NULL);
	json_t *config =
		json_pack("{s:s, s:{s:s}}", "region", argv[2], "config", "endpoint", argv[3]);
	char *text = json_dumps(config, 0), *input_text = json_dumps(input, 0);
	const struct rgp_args open_args = {.size = sizeof open_args, .input = {text, strlen(text)}};
	const struct rgp_args args = {
		.size = sizeof args, .input = {input_text, strlen(input_text)}};
	struct rgp_inst *inst = NULL;
	rgp_status status = provider->open(&aws_test_host, call, &open_args, &inst);
	if (status == RGP_OK)
		status = fn(inst, &aws_test_host, call, &args);
	provider->close(inst);
	json_t *out = json_pack("{s:i, s:O, s:O, s:I}", "status", (int)status, "given", call->given,
		"said", call->diags, "slept_ms", (json_int_t)call->slept_ms);
	json_dumpf(out, stdout, JSON_INDENT(1));
	g_print("\n");
	json_decref(out);
	json_decref(input);
	json_decref(config);
	free(text);
	free(input_text);
	return status == RGP_OK ? 0 : 1;
}
