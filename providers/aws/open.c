/* Opening an instance: settings of the spec and the environment, the endpoint. No network. */
#include "aws/open.h"
#include "aws/credentials.h"
#include <string.h>

/* DNS suffixes by region prefix, from botocore's endpoints.json (1.43.11); the last row is the
 * standard partition. us-gov regions end like the standard ones. */
static const struct {
	const char *prefix, *suffix;
} suffixes[] = {
	{"cn-", "amazonaws.com.cn"},
	{"", "amazonaws.com"},
};

static rgp_status refuse(const ModTalk *talk, const char *summary, const char *hint)
{
	mod_report_text(talk, RGP_CLASS_INVALID, summary, NULL, hint);
	return RGP_FAIL;
}

/* It becomes part of a host name. */
static bool is_region(const char *region)
{
	if (!*region || strlen(region) > 32)
		return false;
	for (const char *at = region; *at; at++)
		if (!g_ascii_islower(*at) && !g_ascii_isdigit(*at) && *at != '-')
			return false;
	return true;
}

static const char *env_get(const ModTalk *talk, const char *name)
{
	const char *value = talk->host->env(talk->call, name);
	return value && *value ? value : NULL;
}

static bool is_endpoint(const char *text)
{
	g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_NONE, NULL);
	if (!uri || !g_uri_get_host(uri) || !*g_uri_get_host(uri))
		return false;
	const char *scheme = g_uri_get_scheme(uri);
	return (g_str_equal(scheme, "http") || g_str_equal(scheme, "https")) &&
	       !g_uri_get_userinfo(uri) && !g_uri_get_query(uri) && !g_uri_get_fragment(uri);
}

static bool is_loopback(const char *host)
{
	return !g_ascii_strcasecmp(host, "localhost") || g_str_equal(host, "::1") ||
	       (g_str_has_prefix(host, "127.") && g_hostname_is_ip_address(host));
}

/* Without TLS anybody on the way reads a session token: only on this machine, or where the
 * environment says so. */
static bool may_be_plain(const ModTalk *talk, const char *text)
{
	g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_NONE, NULL);
	if (g_str_equal(g_uri_get_scheme(uri), "https") || is_loopback(g_uri_get_host(uri)))
		return true;
	const char *list = env_get(talk, "RAYGPU_ALLOW_ENDPOINTS");
	g_auto(GStrv) allowed = g_strsplit_set(list ? list : "", " ,\n", -1);
	g_autofree char *longer = g_strconcat(text, "/", NULL);
	g_autofree char *shorter = g_strdup(text);
	if (g_str_has_suffix(shorter, "/"))
		shorter[strlen(shorter) - 1] = '\0';
	const char *const *words = (const char *const *)allowed;
	return g_strv_contains(words, text) || g_strv_contains(words, longer) ||
	       g_strv_contains(words, shorter);
}

/* A service that endpoints are looked up for; `setting`: of the spec, "" when it has none. */
typedef struct {
	const char *name, *variable, *setting;
} Service;

static rgp_status find_endpoint(
	const ModTalk *talk, const Service *service, const char *region, char **endpoint)
{
	const struct {
		const char *name, *value;
	} places[] = {
		{"provider.endpoint of the spec", service->setting},
		{service->variable, env_get(talk, service->variable)},
		{"AWS_ENDPOINT_URL", env_get(talk, "AWS_ENDPOINT_URL")},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		const char *value = places[i].value;
		if (!value || !*value)
			continue;
		if (!is_endpoint(value)) {
			g_autofree char *summary =
				g_strdup_printf("%s is not a URL: \"%s\"", places[i].name, value);
			return refuse(
				talk, summary, "write it as https://HOST or http://HOST:PORT");
		}
		if (!may_be_plain(talk, value)) {
			g_autofree char *summary =
				g_strdup_printf("%s would send signed requests without TLS: \"%s\"",
					places[i].name, value);
			return refuse(talk, summary,
				"use https, or add the URL to RAYGPU_ALLOW_ENDPOINTS");
		}
		*endpoint = g_str_has_suffix(value, "/") ? g_strdup(value)
							 : g_strconcat(value, "/", NULL);
		return RGP_OK;
	}
	size_t row = 0;
	while (!g_str_has_prefix(region, suffixes[row].prefix))
		row++;
	*endpoint =
		g_strdup_printf("https://%s.%s.%s/", service->name, region, suffixes[row].suffix);
	return RGP_OK;
}

/* An EC2 of somebody else's, who answers for STS too: Amazon knows nothing of its keys, and should
 * not be asked. A private endpoint of Amazon's own serves EC2 alone. */
static bool stands_in(const ModTalk *talk, const char *endpoint)
{
	if (env_get(talk, "AWS_ENDPOINT_URL_STS") || env_get(talk, "AWS_ENDPOINT_URL"))
		return false;
	g_autoptr(GUri) uri = g_uri_parse(endpoint, G_URI_FLAGS_NONE, NULL);
	for (size_t row = 0; row < G_N_ELEMENTS(suffixes); row++)
		if (g_str_has_suffix(g_uri_get_host(uri), suffixes[row].suffix))
			return false;
	return true;
}

static rgp_status find_endpoints(const ModTalk *talk, const json_t *config, struct rgp_inst *inst)
{
	const Service ec2 = {"ec2", "AWS_ENDPOINT_URL_EC2", mod_str(config, "endpoint")};
	const Service sts = {"sts", "AWS_ENDPOINT_URL_STS", ""};
	const Service ssm = {"ssm", "AWS_ENDPOINT_URL_SSM", ""};
	rgp_status status = find_endpoint(talk, &ec2, inst->region, &inst->endpoint);
	if (status == RGP_OK)
		status = find_endpoint(talk, &sts, inst->region, &inst->sts_endpoint);
	if (status == RGP_OK)
		inst->account_endpoint = g_strdup(
			stands_in(talk, inst->endpoint) ? inst->endpoint : inst->sts_endpoint);
	return status == RGP_OK ? find_endpoint(talk, &ssm, inst->region, &inst->ssm_endpoint)
				: status;
}

static void find_tls(const ModTalk *talk, struct rgp_inst *inst)
{
	const char *bundle = env_get(talk, "AWS_CA_BUNDLE");
	json_auto_t *connection = bundle ? json_pack("{s:s}", "ca_file", bundle) : NULL;
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
	if (!is_region(region)) {
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
