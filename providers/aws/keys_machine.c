/* Keys of the machine that we run on: a container's agent (ECS, EKS pod identity) and the EC2
 * instance metadata service, version 2 only. */
#include "aws/keys.h"
#include <string.h>
#include "base/loopback.h"

#define CONTAINER_HOST "http://169.254.170.2"
#define METADATA_HOST "http://169.254.169.254"
#define METADATA_HOST_IPV6 "http://[fd00:ec2::254]"
#define ROLE_PATH "/latest/meta-data/iam/security-credentials/"
/* A machine without this service does not answer at all. */
#define METADATA_TIMEOUT_MS 1000

/* A small unsigned request; RGP_FAIL: no answer. */
static rgp_status ask(const AwsCall *call, const char *method, const char *url,
	const char *const *headers, struct rgp_http_resp *resp)
{
	/* nobody in between may see the machine's keys, whatever http_proxy is; the IPv6 addresses
	 * of these services are not link-local ones, for which the host bypasses proxies itself */
	json_auto_t *connection = call->inst->connection
					  ? json_loads(call->inst->connection, 0, NULL)
					  : json_object();
	json_object_set_new(connection, "proxy_url", json_string(""));
	g_autofree char *direct = json_dumps(connection, JSON_COMPACT);
	const struct rgp_http_req http = {
		.size = sizeof http,
		/* the first one only asks whether this is a machine of EC2 */
		.flags = RGP_HTTP_READING | (g_str_equal(method, "PUT") ? RGP_HTTP_PROBE : 0),
		.method = method,
		.url = url,
		.headers = headers,
		.connection = mod_bytes(direct),
		.what = "GetMachineCredentials",
		.timeout_ms = METADATA_TIMEOUT_MS,
		.max_tries = 2,
	};
	*resp = (struct rgp_http_resp){.size = sizeof *resp};
	return call->talk.host->http(call->talk.call, &http, resp);
}

static bool is_good(const struct rgp_http_resp *resp)
{
	return resp->status == 200 && resp->body.len > 0;
}

/* Keys must not be fetched unencrypted from anywhere else; same rule as in the SDKs. */
static bool is_trusted(const char *url)
{
	static const char *const agents[] = {
		"169.254.170.2", "169.254.170.23", "fd00:ec2::23", NULL};
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = uri ? g_uri_get_host(uri) : NULL;
	if (!host)
		return false;
	if (g_str_equal(g_uri_get_scheme(uri), "https"))
		return true;
	return g_str_equal(g_uri_get_scheme(uri), "http") &&
	       (rg_is_loopback(host) || g_strv_contains(agents, host));
}

/* "Authorization: TOKEN", NULL if none is needed. */
static AwsSearch container_token(const AwsCall *call, char **header)
{
	const char *path = aws_keys_env(call, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	g_autofree char *token = g_strdup(aws_keys_env(call, "AWS_CONTAINER_AUTHORIZATION_TOKEN"));
	struct rgp_bytes text = {0};
	if (path) {
		g_free(g_steal_pointer(&token));
		if (call->talk.host->read_file(call->talk.call, path, &text) != RGP_OK)
			return aws_keys_broken(call, NULL,
				"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is %s, which cannot be "
				"read",
				path);
		token = g_strchomp(g_strndup(text.data, text.len));
	}
	if (!token)
		return AWS_KEYS_FOUND;
	aws_keys_hide(call, token);
	if (strpbrk(token, "\r\n"))
		return aws_keys_broken(
			call, NULL, "the container's authorization token has several lines");
	*header = g_strconcat("Authorization: ", token, NULL);
	return AWS_KEYS_FOUND;
}

AwsSearch aws_keys_from_container(AwsChain *chain, AwsKeys *keys)
{
	const AwsCall *call = chain->call;
	const char *relative = aws_keys_env(call, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = aws_keys_env(call, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	g_autofree char *url =
		relative ? g_strconcat(CONTAINER_HOST, relative, NULL) : g_strdup(full);
	g_autofree char *header = NULL;
	struct rgp_http_resp resp;
	if (!url)
		return AWS_KEYS_NOT_HERE;
	if ((relative && *relative != '/') || !is_trusted(url))
		return aws_keys_broken(call,
			"https anywhere, or http on the machine itself or the container agent's "
			"address",
			"the container's credentials URL \"%s\" is not allowed", url);
	AwsSearch search = container_token(call, &header);
	if (search != AWS_KEYS_FOUND)
		return search;
	const char *const headers[] = {"Accept: application/json", header, NULL};
	rgp_status status = ask(call, "GET", url, headers, &resp);
	if (status == RGP_CANCELED)
		return AWS_KEYS_CANCELED;
	if (status != RGP_OK)
		return aws_keys_broken(
			call, NULL, "the container's credentials URL %s does not answer", url);
	if (!is_good(&resp))
		return aws_keys_broken(call, NULL,
			"the container's credentials URL %s answered with status %d", url,
			(int)resp.status);
	return aws_keys_from_json(
		call, "the container's credentials URL", resp.body, "Token", keys);
}

/* A text of the metadata service, NULL if there is none. g_free. */
static char *metadata_text(const AwsCall *call, const char *method, const char *base,
	const char *path, const char *header)
{
	g_autofree char *url = g_strconcat(base, path, NULL);
	const char *const headers[] = {header, NULL};
	struct rgp_http_resp resp;
	if (ask(call, method, url, headers, &resp) != RGP_OK || !is_good(&resp))
		return NULL;
	char *text = g_strchomp(g_strndup(resp.body.data, resp.body.len));
	if (*text && !strpbrk(text, "\r\n"))
		return text;
	g_free(text);
	return NULL;
}

AwsSearch aws_keys_from_metadata(AwsChain *chain, AwsKeys *keys)
{
	const AwsCall *call = chain->call;
	const char *disabled = aws_keys_env(call, "AWS_EC2_METADATA_DISABLED");
	if (disabled && !g_ascii_strcasecmp(disabled, "true")) {
		aws_keys_looked(chain, "the instance's metadata: AWS_EC2_METADATA_DISABLED is set");
		return AWS_KEYS_NOT_HERE;
	}
	const char *endpoint = aws_keys_env(call, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode = aws_keys_env(call, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	bool ipv6 = mode && !g_ascii_strcasecmp(mode, "ipv6");
	g_autofree char *base = g_strdup(endpoint ? endpoint
					 : ipv6	  ? METADATA_HOST_IPV6
						  : METADATA_HOST);
	size_t len = strlen(base);
	if (len && base[len - 1] == '/')
		base[len - 1] = '\0';
	g_autofree char *token = metadata_text(call, "PUT", base, "/latest/api/token",
		"X-aws-ec2-metadata-token-ttl-seconds: 21600");
	if (call->talk.host->canceled(call->talk.call))
		return AWS_KEYS_CANCELED;
	if (!token) {
		aws_keys_looked(chain, "the instance's metadata: no answer from %s", base);
		return AWS_KEYS_NOT_HERE;
	}
	aws_keys_hide(call, token);
	g_autofree char *header = g_strconcat("X-aws-ec2-metadata-token: ", token, NULL);
	g_autofree char *role = metadata_text(call, "GET", base, ROLE_PATH, header);
	if (!role) {
		aws_keys_looked(chain, "the instance's metadata: the instance has no profile");
		return AWS_KEYS_NOT_HERE;
	}
	g_autofree char *escaped = g_uri_escape_string(role, NULL, false);
	g_autofree char *url = g_strconcat(base, ROLE_PATH, escaped, NULL);
	const char *const headers[] = {header, NULL};
	struct rgp_http_resp resp;
	rgp_status status = ask(call, "GET", url, headers, &resp);
	if (status == RGP_CANCELED)
		return AWS_KEYS_CANCELED;
	if (status != RGP_OK || !is_good(&resp))
		return aws_keys_broken(call, NULL,
			"the instance's metadata has a role %s, but not its keys", role);
	return aws_keys_from_json(call, "the instance's metadata", resp.body, "Token", keys);
}
