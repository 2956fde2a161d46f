#include "aws/endpoints.h"
#include <string.h>
#include "base/loopback.h"
#include "common/open.h"

/* DNS suffixes by region prefix, from botocore's endpoints.json (1.43.11): the default one and the
 * dual-stack one; the last row is the standard partition. In GovCloud the default names are the
 * FIPS ones. */
static const struct {
	const char *prefix, *suffix, *dual, *fips;
	/* of IAM, which has one endpoint a partition, and where requests to it are signed for */
	const char *global_host, *global_region;
} partitions[] = {
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn", "-fips",
		"iam.cn-north-1.amazonaws.com.cn", "cn-north-1"},
	{"us-gov-", "amazonaws.com", "api.aws", "", "iam.us-gov.amazonaws.com", "us-gov-west-1"},
	{"", "amazonaws.com", "api.aws", "-fips", "iam.amazonaws.com", "us-east-1"},
};

static size_t partition_of(const char *region)
{
	size_t row = 0;
	while (!g_str_has_prefix(region, partitions[row].prefix))
		row++;
	return row;
}

const char *aws_endpoint_global_region(const char *region)
{
	return partitions[partition_of(region)].global_region;
}

static rgp_status endpoint_refuse(const AwsChain *chain, const char *hint, char *summary)
{
	mod_report_text(&chain->call->talk, RGP_CLASS_INVALID, summary, NULL, hint);
	g_free(summary);
	return RGP_FAIL;
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

/* Without TLS, anyone on the network path can read a session token: allowed only on this machine,
 * or if the environment permits it. */
static bool may_be_plain(const AwsChain *chain, const char *text)
{
	g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_NONE, NULL);
	if (g_str_equal(g_uri_get_scheme(uri), "https") || rg_is_loopback(g_uri_get_host(uri)))
		return true;
	return mod_open_allows(&chain->call->talk, text);
}

static bool is_on(const AwsChain *chain, const char *variable, const char *key)
{
	g_autofree char *value = g_strdup(aws_keys_env(chain->call, variable));
	if (!value)
		value = aws_chain_value(chain, chain->profile, key);
	return value && !g_ascii_strcasecmp(value, "true");
}

/* What set an endpoint, and its text; the caller g_frees both. */
typedef struct {
	char *url, *place;
} NamedEndpoint;

static NamedEndpoint endpoint_of_config(const AwsChain *chain, const AwsService *service)
{
	g_autofree char *services = aws_chain_value(chain, chain->profile, "services");
	g_autofree char *section = services ? g_strconcat("services ", services, NULL) : NULL;
	g_autofree char *key = g_strconcat(service->id, ".endpoint_url", NULL);
	NamedEndpoint named = {0};
	if (section)
		named.url = aws_chain_section_value(chain, section, key);
	if (named.url)
		named.place = g_strdup_printf("section [%s] of %s", section, chain->config_path);
	else if ((named.url = aws_chain_value(chain, chain->profile, "endpoint_url")))
		named.place =
			g_strdup_printf("endpoint_url of the AWS profile \"%s\"", chain->profile);
	return named;
}

static NamedEndpoint endpoint_named(const AwsChain *chain, const AwsService *service)
{
	if (*service->setting)
		return (NamedEndpoint){g_strdup(service->setting),
			g_strdup(
				service->place ? service->place : "provider.endpoint of the spec")};
	if (is_on(chain, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls"))
		return (NamedEndpoint){0};
	g_autofree char *upper = g_ascii_strup(service->id, -1);
	g_autofree char *own = g_strconcat("AWS_ENDPOINT_URL_", upper, NULL);
	const char *const variables[] = {own, "AWS_ENDPOINT_URL"};
	for (size_t i = 0; i < G_N_ELEMENTS(variables); i++) {
		const char *value = aws_keys_env(chain->call, variables[i]);
		if (value)
			return (NamedEndpoint){g_strdup(value), g_strdup(variables[i])};
	}
	return endpoint_of_config(chain, service);
}

static char *public_endpoint(const AwsService *service, const char *region, bool fips, bool dual)
{
	size_t row = partition_of(region);
	if (service->global)
		return g_strdup_printf("https://%s/", partitions[row].global_host);
	return g_strdup_printf("https://%s%s.%s.%s/", service->host,
		!fips  ? ""
		: dual ? "-fips"
		       : partitions[row].fips,
		region, dual ? partitions[row].dual : partitions[row].suffix);
}

static rgp_status check_named(const AwsChain *chain, const NamedEndpoint *named, bool variant)
{
	if (!is_endpoint(named->url))
		return endpoint_refuse(chain, "write it as https://HOST or http://HOST:PORT",
			g_strdup_printf("%s is not a URL: \"%s\"", named->place, named->url));
	if (!may_be_plain(chain, named->url))
		return endpoint_refuse(chain, "use https, or add the URL to RAYGPU_ALLOW_ENDPOINTS",
			g_strdup_printf("%s would send signed requests without TLS: \"%s\"",
				named->place, named->url));
	/* AWS's own tools refuse it too */
	if (variant)
		return endpoint_refuse(chain,
			"unset one of the two; AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true leaves "
			"configured endpoints out",
			g_strdup_printf("FIPS and dual-stack endpoints cannot be combined with %s "
					"\"%s\"",
				named->place, named->url));
	return RGP_OK;
}

rgp_status aws_endpoint_find(const AwsChain *chain, const AwsService *service, const char *region,
	char **endpoint, bool *named)
{
	bool fips = is_on(chain, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
	bool dual = is_on(chain, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
	NamedEndpoint found = endpoint_named(chain, service);
	rgp_status status = found.url ? check_named(chain, &found, fips || dual) : RGP_OK;
	if (status == RGP_OK && !found.url)
		*endpoint = public_endpoint(service, region, fips, dual);
	else if (status == RGP_OK)
		*endpoint = g_str_has_suffix(found.url, "/") ? g_strdup(found.url)
							     : g_strconcat(found.url, "/", NULL);
	if (named)
		*named = found.url != NULL;
	g_free(found.url);
	g_free(found.place);
	return status;
}

bool aws_endpoint_is_public(const char *url)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	g_autofree char *host = uri ? g_strconcat(".", g_uri_get_host(uri), NULL) : NULL;
	for (size_t row = 0; host && row < G_N_ELEMENTS(partitions); row++) {
		g_autofree char *suffix = g_strconcat(".", partitions[row].suffix, NULL);
		g_autofree char *dual = g_strconcat(".", partitions[row].dual, NULL);
		if (g_str_has_suffix(host, suffix) || g_str_has_suffix(host, dual))
			return true;
	}
	return false;
}

bool aws_endpoint_is_trusted(const ModTalk *talk, const char *url)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = uri ? g_uri_get_host(uri) : NULL;
	return !host || rg_is_loopback(host) || aws_endpoint_is_public(url) ||
	       mod_open_allows(talk, url);
}
