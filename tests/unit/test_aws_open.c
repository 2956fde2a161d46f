/* Settings, endpoints, the credential chain and AWS's files with their unusual syntax. */
#include "aws/credentials.h"
#include "aws/data.h"
#include "aws/open.h"
#include "aws/profile.h"
#include "aws_host.h"
#include <string.h>

const struct rgp_provider *raygpu_provider_v1_aws(void);

static void set(GHashTable *table, const char *key, const char *value)
{
	g_hash_table_insert(table, g_strdup(key), g_strdup(value));
}

static struct rgp_inst *open_with(struct rgp_call *call, const char *json)
{
	struct rgp_inst *inst = NULL;
	g_autofree char *text = g_strdelimit(g_strdup(json), "'", '"');
	const struct rgp_args args = {.size = sizeof args, .input = {text, strlen(text)}};
	aws_test_call_reset(call);
	rgp_status status = aws_open(&aws_test_host, call, &args, &inst);
	g_assert_cmpint(status, ==, inst ? RGP_OK : RGP_FAIL);
	return inst;
}

static void test_endpoints(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	static const struct {
		const char *input, *ec2, *all, *expected;
	} cases[] = {
		{"{'region': 'us-east-1', 'config': {}}", NULL, NULL,
			"https://ec2.us-east-1.amazonaws.com/"},
		{"{'region': 'cn-north-1', 'config': {}}", NULL, NULL,
			"https://ec2.cn-north-1.amazonaws.com.cn/"},
		{"{'region': 'us-gov-west-1', 'config': {}}", NULL, NULL,
			"https://ec2.us-gov-west-1.amazonaws.com/"},
		{"{'region': 'us-east-1', 'config': {}}", NULL, "http://127.0.0.1:1",
			"http://127.0.0.1:1/"},
		{"{'region': 'us-east-1', 'config': {}}", "http://127.0.0.1:2/",
			"http://127.0.0.1:1", "http://127.0.0.1:2/"},
		{"{'region': 'us-east-1', 'config': {'endpoint': 'http://[::1]:3/x'}}",
			"http://127.0.0.1:2", NULL, "http://[::1]:3/x/"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		set(call->env, "AWS_ENDPOINT_URL_EC2", cases[i].ec2 ? cases[i].ec2 : "");
		set(call->env, "AWS_ENDPOINT_URL", cases[i].all ? cases[i].all : "");
		struct rgp_inst *inst = open_with(call, cases[i].input);
		g_assert_nonnull(inst);
		g_assert_cmpstr(inst->endpoint, ==, cases[i].expected);
		aws_close(inst);
	}
}

/* AWS SDKs and Tools Reference Guide, "Service-specific endpoints" and "Dual-stack and FIPS
 * endpoints"; names of botocore's endpoints.json (1.43.11). */
static void test_configured_endpoints(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	static const struct {
		const char *region, *config, *env, *ec2, *sts; /* ec2 NULL: refused */
	} cases[] = {
		{"us-east-1",
			"[default]\nendpoint_url = https://all\nservices = s\n[services s]\nec2 "
			"=\n  endpoint_url = https://one\nsts =\n",
			"", "https://one/", "https://all/"},
		{"us-east-1", "[default]\nendpoint_url = https://all\n",
			"AWS_ENDPOINT_URL_STS=https://env", "https://all/", "https://env/"},
		{"us-east-1", "[default]\nendpoint_url = https://all\n",
			"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true",
			"https://ec2.us-east-1.amazonaws.com/",
			"https://sts.us-east-1.amazonaws.com/"},
		{"us-east-1", "[default]\nignore_configured_endpoint_urls = true\n",
			"AWS_ENDPOINT_URL=https://env", "https://ec2.us-east-1.amazonaws.com/",
			"https://sts.us-east-1.amazonaws.com/"},
		{"us-west-2", "", "AWS_USE_FIPS_ENDPOINT=true",
			"https://ec2-fips.us-west-2.amazonaws.com/",
			"https://sts-fips.us-west-2.amazonaws.com/"},
		{"us-gov-west-1", "[default]\nuse_fips_endpoint = true\n", "",
			"https://ec2.us-gov-west-1.amazonaws.com/",
			"https://sts.us-gov-west-1.amazonaws.com/"},
		{"eu-west-1", "[default]\nuse_dualstack_endpoint = true\n", "",
			"https://ec2.eu-west-1.api.aws/", "https://sts.eu-west-1.api.aws/"},
		{"eu-west-1", "[default]\nuse_dualstack_endpoint = true\n",
			"AWS_USE_DUALSTACK_ENDPOINT=false", "https://ec2.eu-west-1.amazonaws.com/",
			"https://sts.eu-west-1.amazonaws.com/"},
		{"cn-north-1", "[default]\nuse_dualstack_endpoint = true\n",
			"AWS_USE_FIPS_ENDPOINT=true",
			"https://ec2-fips.cn-north-1.api.amazonwebservices.com.cn/",
			"https://sts-fips.cn-north-1.api.amazonwebservices.com.cn/"},
		{"us-east-1", "[default]\nuse_fips_endpoint = true\n",
			"AWS_ENDPOINT_URL=https://env", NULL, NULL},
		{"us-east-1", "[default]\nendpoint_url = nowhere\n", "", NULL, NULL},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) pair = g_strsplit(cases[i].env, "=", 2);
		g_hash_table_remove_all(call->env);
		set(call->files, "~/.aws/config", cases[i].config);
		if (pair[0])
			set(call->env, pair[0], pair[1]);
		g_autofree char *input =
			g_strdup_printf("{'region': '%s', 'config': {}}", cases[i].region);
		struct rgp_inst *inst = open_with(call, input);
		g_assert_cmpstr(inst ? inst->endpoint : NULL, ==, cases[i].ec2);
		g_assert_cmpstr(inst ? inst->sts_endpoint : NULL, ==, cases[i].sts);
		aws_close(inst);
	}
}

static void test_bad_settings(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	static const char *const bad[] = {
		"{'region': '', 'config': {}}",
		"{'config': {}}",
		"{'region': 'evil.example/', 'config': {}}",
		"{'region': 'us-east-1', 'config': {'endpoint': 'localhost:5000'}}",
		"{'region': 'us-east-1', 'config': {'endpoint': 'ftp://x'}}",
		"{'region': 'us-east-1', 'config': {'endpoint': 'http://a:b@x/'}}",
		"{'region': 'us-east-1', 'config': {'endpoint': 'http:///'}}",
		"[]",
		"{",
	};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_assert_null(open_with(call, bad[i]));
		g_assert_cmpuint(json_array_size(call->diags), ==, 1);
	}
}

static char *auth_of(struct rgp_call *call, const char *input)
{
	struct rgp_inst *inst = open_with(call, input);
	const AwsCall aws = {{&aws_test_host, call}, inst};
	char *auth = aws_credentials_get(&aws, "ec2");
	aws_close(inst);
	return auth;
}

#define NO_PROFILE "{'region': 'us-east-1', 'config': {}}"
#define PROFILE "{'region': 'us-east-1', 'config': {'profile': 'team'}}"

static void expect_key(struct rgp_call *call, const char *input, const char *key)
{
	g_autofree char *auth = auth_of(call, input);
	g_assert_nonnull(auth);
	json_auto_t *json = json_loads(auth, 0, NULL);
	g_assert_cmpstr(mod_str(json, "access_key"), ==, key);
	g_assert_cmpstr(mod_str(json, "service"), ==, "ec2");
}

static void test_chain(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	set(call->env, "AWS_ACCESS_KEY_ID", "FROM-ENV");
	set(call->env, "AWS_SECRET_ACCESS_KEY", "secret-env");
	set(call->env, "AWS_SESSION_TOKEN", "session-env");
	set(call->files, "~/.aws/credentials",
		"[default]\naws_access_key_id=DEFAULT\naws_secret_access_key=s\n"
		"[team]\naws_access_key_id=TEAM\naws_secret_access_key=s\n");
	set(call->files, "~/.aws/config",
		"[profile conf]\naws_access_key_id=CONF\naws_secret_access_key=s\n"
		"[team]\naws_access_key_id=NOT-A-PROFILE\naws_secret_access_key=s\n");
	expect_key(call, NO_PROFILE, "FROM-ENV");
	g_assert_cmpuint(call->secrets->len, ==, 2);
	g_assert_cmpstr(call->secrets->pdata[0], ==, "secret-env");
	g_assert_cmpstr(call->secrets->pdata[1], ==, "session-env");
	expect_key(call, PROFILE, "TEAM"); /* named in the spec: overrides the environment */
	g_hash_table_remove(call->env, "AWS_ACCESS_KEY_ID");
	g_hash_table_remove(call->env, "AWS_SECRET_ACCESS_KEY");
	expect_key(call, NO_PROFILE, "DEFAULT");
	set(call->env, "AWS_PROFILE", "conf");
	expect_key(call, NO_PROFILE, "CONF");
	set(call->env, "AWS_SHARED_CREDENTIALS_FILE", "/elsewhere");
	set(call->files, "/elsewhere", "[conf]\naws_access_key_id=ELSE\naws_secret_access_key=s\n");
	expect_key(call, NO_PROFILE, "ELSE");
}

static void test_odd_files(void)
{
	static const char *const files[] = {
		"\xef\xbb\xbf; a comment\r\n[default]\r\naws_access_key_id = KEY\r\n"
		"aws_secret_access_key = sec/ret+x=\r\n",
		"# c\n\n  [ default ]  ; who\nAWS_ACCESS_KEY_ID=KEY # mine\n"
		"aws_secret_access_key=sec/ret+x= ; secret\n",
		"[default]\ns3 =\n  max_concurrent_requests = 20\n  aws_access_key_id = NOT\n"
		"aws_access_key_id = KEY\naws_secret_access_key = sec/ret+x=\n",
		"[default]\n  aws_access_key_id = KEY\n\taws_secret_access_key = sec/ret+x=\n",
		"junk before any section\nkey = value\n[bad\n[default]\nweird key! = 1\nno equals\n"
		"aws_access_key_id=KEY\naws_secret_access_key=sec/ret+x=\n[other]\n",
		"['default']\naws_access_key_id=OLD\n[default]\naws_access_key_id=KEY\n"
		"aws_secret_access_key=sec/ret+x=\nx=\xff\xfe\n",
		"[other]\naws_access_key_id=NOT\n[de\x01"
		"f]\na=b\n[default]\naws_access_key_id=KEY\naws_secret_access_key=sec/ret+x=",
	};
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autoptr(GKeyFile) file = aws_profile_parse(mod_bytes(files[i]));
		g_autofree char *key = aws_profile_value(file, "default", "aws_access_key_id");
		g_autofree char *secret =
			aws_profile_value(file, "default", "aws_secret_access_key");
		g_assert_cmpstr(key, ==, "KEY");
		g_assert_cmpstr(secret, ==, "sec/ret+x=");
	}
	g_autoptr(GKeyFile) nothing = aws_profile_parse((struct rgp_bytes){0});
	g_assert_false(g_key_file_has_group(nothing, "default"));
}

static void expect_refusal(struct rgp_call *call, const char *input, const char *words)
{
	g_autofree char *auth = auth_of(call, input);
	g_assert_null(auth);
	g_assert_cmpuint(json_array_size(call->diags), ==, 1);
	g_autofree char *all = g_strconcat(
		aws_test_said(call, 0, "summary"), "\n", aws_test_said(call, 0, "detail"), NULL);
	if (!strstr(all, words)) {
		g_test_message("\"%s\" is not in: %s", words, all);
		g_test_fail();
	}
}

static void test_refusals(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	set(call->env, "AWS_EC2_METADATA_DISABLED", "true");
	expect_refusal(call, NO_PROFILE, "section [default] of ~/.aws/config: not there");
	expect_refusal(call, PROFILE, "section [profile team] of ~/.aws/config: not there");
	set(call->files, "~/.aws/config", "[profile team]\nregion = us-east-1\n");
	expect_refusal(call, PROFILE, "has no keys");
	set(call->files, "~/.aws/credentials", "[team]\naws_access_key_id = K\n");
	expect_refusal(call, PROFILE, "has aws_access_key_id but not aws_secret_access_key");
	set(call->env, "AWS_ACCESS_KEY_ID", "K");
	expect_refusal(
		call, NO_PROFILE, "AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not");
}

/* No key is needed, or searched for, if nothing is sent. */
static void test_schema(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	const struct rgp_provider *provider = raygpu_provider_v1_aws();
	g_assert_cmpint(provider->schema(&aws_test_host, call), ==, RGP_OK);
	const json_t *kinds = json_object_get(aws_test_given(call, "schema", 0), "kinds");
	g_assert_cmpuint(json_object_size(kinds), ==, 4);
	g_assert_cmpuint(json_array_size(call->diags), ==, 0);
	g_assert_cmpstr(provider->name, ==, "aws");
	g_assert_true(provider->flags & RGP_PARALLEL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/aws/open/endpoint-of-spec-then-environment-then-region", test_endpoints);
	g_test_add_func("/aws/open/endpoint-of-the-config-file-fips-and-dual-stack",
		test_configured_endpoints);
	g_test_add_func("/aws/open/refuses-bad-settings", test_bad_settings);
	g_test_add_func("/aws/credentials/environment-then-profile-in-two-files", test_chain);
	g_test_add_func("/aws/credentials/files-with-odd-syntax-are-read", test_odd_files);
	g_test_add_func("/aws/credentials/says-where-it-looked-and-what-it-can't", test_refusals);
	g_test_add_func("/aws/open/schema-needs-nothing", test_schema);
	return g_test_run();
}
