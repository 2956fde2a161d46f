#include "gcp/gcs.h"
#include <string.h>
#include "common/open.h"
#include "gcp/call.h"
#include "gcp/credentials.h"
#include "gcp/data.h"

#define EMULATOR_ENV "STORAGE_EMULATOR_HOST"

struct GcpStore {
	ModBucket at;
	char *base;	 /* "https://storage.googleapis.com/" */
	char *kms_query; /* "&kmsKeyName=...", or "" */
	ModErrors *errors;
	ModRest rest;
};

static const char *const codes[] = {
	"/error/errors/0/reason", "/error/details/0/reason", "/error/status", NULL};
static const char *const messages[] = {"/error/message", "/error/errors/0/message", NULL};

/* ---- the place */

static bool is_url(const char *text)
{
	g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_NONE, NULL);
	return uri && g_uri_get_host(uri) && *g_uri_get_host(uri) && !g_uri_get_userinfo(uri) &&
	       !g_uri_get_query(uri) && !g_uri_get_fragment(uri) &&
	       (g_str_equal(g_uri_get_scheme(uri), "http") ||
		       g_str_equal(g_uri_get_scheme(uri), "https"));
}

/* As Google's libraries read it: HOST:PORT, or a URL. */
static char *emulator(const ModTalk *talk)
{
	const char *host = mod_open_env(talk, EMULATOR_ENV);
	return strstr(host, "://") || !*host ? g_strdup(host) : g_strconcat("http://", host, NULL);
}

/* Who has the URL of a state chooses who gets the access token, so it must be Google, this machine,
 * or allowed. An emulator gets none. */
static bool find_base(const GcpCall *call, GcpStore *store, const char *named)
{
	const ModTalk *talk = &call->talk;
	g_autofree char *other = *named ? g_strdup(named) : emulator(talk);
	if (*other && !is_url(other))
		return mod_bucket_refuse(talk, "write it as https://HOST or http://HOST:PORT",
			g_strdup_printf("%s is not a URL: \"%s\"",
				*named ? "endpoint of the state's URL" : EMULATOR_ENV, other));
	if (*named && !gcp_url_is_trusted(named, call->inst->universe) &&
		!mod_open_allows(talk, named))
		return mod_bucket_refuse(talk, "add the URL to RAYGPU_ALLOW_ENDPOINTS to allow it",
			g_strdup_printf("endpoint of the state's URL would get Google's access "
					"token: \"%s\"",
				named));
	store->base = *other ? g_strconcat(other, g_str_has_suffix(other, "/") ? "" : "/", NULL)
			     : g_strdup_printf("https://storage.%s/", call->inst->universe);
	store->rest.lease = *other && !*named ? NULL : call->inst->lease;
	return true;
}

static bool read_key(const GcpCall *call, GcpStore *store, const char *key)
{
	if (!*key) {
		store->kms_query = g_strdup("");
		return true;
	}
	if (!g_regex_match_simple(
		    "^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", key,
		    G_REGEX_DOLLAR_ENDONLY, 0))
		return mod_bucket_refuse(&call->talk,
			"write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
			g_strdup("kms_key_name in the state's URL is not the name of a key"));
	g_autofree char *escaped = gcp_escape(key);
	store->kms_query = g_strconcat("&kmsKeyName=", escaped, NULL);
	return true;
}

GcpStore *gcp_store_open(const GcpCall *call, const json_t *given)
{
	const json_t *parameters = json_object_get(given, "parameters");
	GcpStore *store = g_new0(GcpStore, 1);
	store->errors = mod_errors_new(gcp_data_find("gcs_errors.csv")->data, NULL);
	if (!mod_bucket_open(&call->talk, given, "gs://BUCKET/PREFIX", &store->at) ||
		!find_base(call, store, mod_str(parameters, "endpoint")) ||
		!read_key(call, store, mod_str(parameters, "kms_key_name"))) {
		gcp_store_free(store);
		return NULL;
	}
	store->rest.cloud = "Cloud Storage";
	store->rest.base = store->base;
	store->rest.connection = call->inst->connection;
	store->rest.errors = store->errors;
	store->rest.codes = codes;
	store->rest.messages = messages;
	return store;
}

void gcp_store_free(GcpStore *store)
{
	if (!store)
		return;
	mod_bucket_clear(&store->at);
	mod_errors_free(store->errors);
	g_free(store->base);
	g_free(store->kms_query);
	g_free(store);
}

const ModBucket *gcp_store_at(const GcpCall *call)
{
	return &call->inst->store->at;
}

/* ---- requests */

char *gcs_url_bucket(const GcpCall *call)
{
	return g_strconcat("storage/v1/b/", call->inst->store->at.bucket, NULL);
}

char *gcs_url_object(const GcpCall *call, const char *key)
{
	g_autofree char *escaped = gcp_escape(key);
	return g_strconcat("storage/v1/b/", call->inst->store->at.bucket, "/o/", escaped, NULL);
}

char *gcs_url_insert(const GcpCall *call, const char *generation)
{
	g_autofree char *escaped = gcp_escape(generation);
	return g_strconcat("upload/storage/v1/b/", call->inst->store->at.bucket,
		"/o?uploadType=multipart&fields=generation&ifGenerationMatch=", escaped,
		call->inst->store->kms_query, NULL);
}

rgp_status gcs_send(const GcpCall *call, const ModRestRequest *request, ModRestAnswer *answer)
{
	return mod_rest_send(&call->talk, &call->inst->store->rest, request, answer);
}

rgp_status gcs_report(
	const GcpCall *call, const ModRestRequest *request, const ModRestAnswer *answer)
{
	return mod_rest_report(
		&call->talk, &call->inst->store->rest, request->what, &answer->failure);
}

rgp_status gcs_pages(const GcpCall *call, const ModRestRequest *request,
	rgp_status (*page)(void *data, const json_t *body), void *data)
{
	static const ModRestPaging paging = {"/nextPageToken", "pageToken", "storage#objects"};
	return mod_rest_pages(&call->talk, &call->inst->store->rest, request, &paging, page, data);
}
