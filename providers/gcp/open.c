/* Opens an instance: settings of the spec and the environment. No network. */
#include "gcp/open.h"
#include <string.h>
#include "base/loopback.h"
#include "common/open.h"
#include "gcp/call.h"
#include "gcp/credentials.h"
#include "gcp/data.h"
#include "gcp/gcs.h"

#define ENDPOINT_ENV "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"
#define TRIES 10 /* requests are limited per minute: the next one must be reached */

/* Reasons of an error (cloud.google.com/apis/design/errors, and the older form of Compute Engine).
 */
static const char *const codes[] = {"/error/errors/0/reason", "/error/details/0/reason",
	"/error/details/1/reason", "/error/status", NULL};
static const char *const messages[] = {"/error/message", "/error/errors/0/message", NULL};

static void find_endpoint(const ModTalk *talk, struct rgp_inst *inst)
{
	const char *named = mod_str(inst->config, "endpoint");
	if (!*named)
		named = mod_open_env(talk, ENDPOINT_ENV);
	inst->base = *named ? g_strconcat(named, g_str_has_suffix(named, "/") ? "" : "/", NULL)
			    : g_strdup_printf("https://compute.%s/compute/v1/", inst->universe);
}

/* Where Compute Engine is another server, Google's Resource Manager knows nothing about it. */
static void find_resources(const ModTalk *talk, struct rgp_inst *inst)
{
	const char *named = mod_open_env(talk, GCP_RESOURCES_ENV);
	bool other = *mod_str(inst->config, "endpoint") || *mod_open_env(talk, ENDPOINT_ENV);
	if (*named)
		inst->resources_base =
			g_strconcat(named, g_str_has_suffix(named, "/") ? "" : "/", NULL);
	else if (!other)
		inst->resources_base =
			g_strdup_printf("https://cloudresourcemanager.%s/", inst->universe);
	inst->resources = inst->rest;
	inst->resources.cloud = "Resource Manager";
	inst->resources.base = inst->resources_base;
	inst->resources.max_tries = 0;
}

/* Without TLS, anyone on the network path can read the access token. */
static rgp_status check_plain(const ModTalk *talk, const char *url)
{
	if (!url || g_ascii_strncasecmp(url, "http://", 7) != 0 || rg_is_loopback_url(url) ||
		mod_open_allows(talk, url))
		return RGP_OK;
	g_autofree char *summary = g_strdup_printf(
		"the endpoint \"%s\" would get Google's access token without TLS", url);
	mod_report_text(talk, RGP_CLASS_INVALID, summary, NULL,
		"use https, or add the URL to RAYGPU_ALLOW_ENDPOINTS");
	return RGP_FAIL;
}

void gcp_close(struct rgp_inst *inst)
{
	if (!inst)
		return;
	gcp_store_free(inst->store);
	mod_errors_free(inst->errors);
	mod_lease_free(inst->lease);
	g_free(inst->region);
	json_decref(inst->config);
	g_free(inst->base);
	g_free(inst->resources_base);
	g_free(inst->connection);
	g_free(inst->key_path);
	json_decref(inst->key);
	g_free(inst->key_fault);
	g_free(inst->universe);
	g_free(inst->user_project);
	g_free(inst->project);
	pthread_mutex_destroy(&inst->lock);
	g_free(inst);
}

rgp_status gcp_open(const struct rgp_host *host, struct rgp_call *call, const struct rgp_args *args,
	struct rgp_inst **out)
{
	const ModTalk talk = {host, call};
	json_auto_t *input = mod_open_input(&talk, args, "a Google Cloud", "us-central1");
	if (!input)
		return RGP_FAIL;
	struct rgp_inst *inst = g_new0(struct rgp_inst, 1);
	pthread_mutex_init(&inst->lock, NULL);
	inst->region = g_strdup(mod_str(input, "region"));
	inst->config = json_deep_copy(json_object_get(input, "config"));
	gcp_credentials_find(&talk, inst);
	find_endpoint(&talk, inst);
	inst->connection =
		mod_open_connection(mod_open_env(&talk, "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE"));
	gcp_project_find(&talk, inst);
	inst->headers[0] = inst->user_project;
	inst->errors = mod_errors_new(gcp_data_find("errors.csv")->data, NULL);
	inst->lease = gcp_credentials_lease(inst);
	inst->rest = (ModRest){.cloud = "Compute Engine",
		.base = inst->base,
		.connection = inst->connection,
		.lease = inst->lease,
		.errors = inst->errors,
		.codes = codes,
		.messages = messages,
		.max_tries = TRIES,
		.refine = gcp_answer_refine};
	find_resources(&talk, inst);
	const GcpCall opened = {talk, inst};
	const json_t *store = json_object_get(input, "store");
	if (check_plain(&talk, inst->base) != RGP_OK ||
		check_plain(&talk, inst->resources_base) != RGP_OK ||
		(store && !(inst->store = gcp_store_open(&opened, store)))) {
		gcp_close(inst);
		return RGP_FAIL;
	}
	*out = inst;
	return RGP_OK;
}
