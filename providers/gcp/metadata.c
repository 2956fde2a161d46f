/* The metadata server of the machine that we run on, if Google runs it
 * (cloud.google.com/compute/docs/metadata/overview). */
#include <string.h>
#include "common/oauth.h"
#include "gcp/credentials.h"

/* A machine without this service does not answer at all. */
#define TIMEOUT_MS 1000
#define NOT_THERE_TRIES 2

static bool is_failing(int32_t status)
{
	return status == 429 || status >= 500;
}

/* *answer: of the last try. It carries the header that only Google's server sends: another server
 * at this address must not supply credentials. NULL: it has none. g_free */
static char *metadata_try(
	const ModTalk *talk, const char *path, uint32_t tries, struct rgp_http_resp *answer)
{
	static const char *const headers[] = {"Metadata-Flavor: Google", NULL};
	const char *host = talk->host->env(talk->call, "GCE_METADATA_HOST");
	g_autofree char *url = g_strdup_printf("http://%s/computeMetadata/v1/%s",
		host && *host ? host : "metadata.google.internal", path);
	const struct rgp_http_req request = {.size = sizeof request,
		.flags = RGP_HTTP_READING | RGP_HTTP_HIDE_BODY | RGP_HTTP_PROBE,
		.method = "GET",
		.url = url,
		.headers = headers,
		/* nobody in between may see the machine's token */
		.connection = mod_bytes("{\"proxy_url\":\"\"}"),
		.what = "GetMetadata",
		.timeout_ms = TIMEOUT_MS,
		.max_tries = tries};
	*answer = (struct rgp_http_resp){.size = sizeof *answer};
	if (talk->host->http(talk->call, &request, answer) != RGP_OK || answer->status != 200)
		return NULL;
	json_auto_t *got = json_loadb(answer->headers.data, answer->headers.len, 0, NULL);
	if (strcmp(mod_str(got, "metadata-flavor"), "Google"))
		return NULL;
	return g_strndup(answer->body.data, answer->body.len);
}

/* *status: 0 if nothing answers at that address. A server that does answer is there, and is asked
 * as often as any other. */
static char *metadata_text(const ModTalk *talk, const char *path, int32_t *status)
{
	struct rgp_http_resp answer;
	char *text = metadata_try(talk, path, NOT_THERE_TRIES, &answer);
	if (is_failing(answer.status))
		text = metadata_try(talk, path, 0, &answer);
	*status = answer.status;
	return text;
}

static rgp_status report_failing(
	const ModTalk *talk, const char *what, int32_t status, const char *hint)
{
	g_autofree char *summary = g_strdup_printf(
		"the metadata server gives no %s: HTTP status %d", what, (int)status);
	mod_report_text(talk, RGP_CLASS_TRANSIENT, summary, NULL, hint);
	return RGP_FAIL;
}

rgp_status gcp_token_metadata(const ModTalk *talk, const struct rgp_inst *inst, GcpToken *token)
{
	ModTalk quiet = *talk;
	quiet.quiet = true;
	int32_t status;
	g_autofree char *text =
		metadata_text(&quiet, "instance/service-accounts/default/token", &status);
	if (talk->host->canceled(talk->call))
		return RGP_CANCELED;
	if (text)
		return mod_oauth_read(talk, "the metadata server",
			(struct rgp_bytes){text, strlen(text)}, &token->auth, &token->expires_s);
	if (is_failing(status))
		return report_failing(talk, "credentials", status,
			"try again; on a machine that is not Google's, run `gcloud auth "
			"application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a "
			"credentials file");
	mod_report_text(talk, RGP_CLASS_DENIED, "no Google credentials were found",
		"looked at provider.credentials, GOOGLE_APPLICATION_CREDENTIALS, the file of "
		"`gcloud auth application-default login`, and the metadata server",
		"run `gcloud auth application-default login`, or set "
		"GOOGLE_APPLICATION_CREDENTIALS to a credentials file");
	return RGP_FAIL;
}

rgp_status gcp_project_metadata(const ModTalk *talk, char **project)
{
	int32_t status;
	char *text = metadata_text(talk, "project/project-id", &status);
	*project = text ? g_strstrip(text) : NULL;
	return text || !is_failing(status) ? RGP_OK
					   : report_failing(talk, "project", status,
						     "try again, or set `project` of provider");
}
