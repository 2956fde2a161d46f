/* raygpu's state in a bucket of Cloud Storage (JSON API, storage.v1): the place that the URL names,
 * and requests to it. */
#pragma once
#include "common/blob.h"
#include "gcp/gcp.h"

typedef struct GcpStore GcpStore;

/* From open's "store"; NULL after a diagnostic. No network. */
GcpStore *gcp_store_open(const GcpCall *call, const json_t *store);
void gcp_store_free(GcpStore *store);
/* The place of the call's store. */
const ModBucket *gcp_store_at(const GcpCall *call);

/* A URL below the API's root, g_free: of the bucket; of its object with this key. */
char *gcs_url_bucket(const GcpCall *call);
char *gcs_url_object(const GcpCall *call, const char *key);
/* Of objects.insert, on the condition that the object has this generation ("0": that there is
 * none). */
char *gcs_url_insert(const GcpCall *call, const char *generation);

/* RGP_OK: an answer came. */
rgp_status gcs_send(const GcpCall *call, const ModRestRequest *request, ModRestAnswer *answer);
/* Reports why; returns RGP_FAIL. */
rgp_status gcs_report(
	const GcpCall *call, const ModRestRequest *request, const ModRestAnswer *answer);
rgp_status gcs_pages(const GcpCall *call, const ModRestRequest *request,
	rgp_status (*page)(void *data, const json_t *body), void *data);

/* gcs_blob.c: the calls. */
rgp_status gcp_blob_get(const GcpCall *call, const json_t *input);
rgp_status gcp_blob_put(const GcpCall *call, const struct rgp_args *args);
rgp_status gcp_blob_delete(const GcpCall *call, const json_t *input);
rgp_status gcp_blob_list(const GcpCall *call, const json_t *input);
