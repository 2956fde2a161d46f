/* Requests to the Compute Engine API, and the operations that its mutating methods return. */
#pragma once
#include "gcp/gcp.h"

/* A reading request; `url` must live as long. */
ModRestRequest gcp_get(const GcpCall *call, const char *what, const char *url);
/* A changing one: POST, PATCH, DELETE. */
ModRestRequest gcp_change(const GcpCall *call, const char *what, const char *method,
	const char *url, const json_t *body);
rgp_status gcp_send(const GcpCall *call, const ModRestRequest *request, ModRestAnswer *answer);
/* How every list goes on: its fields must contain nextPageToken. */
extern const ModRestPaging gcp_paging;
/* Reads all pages of a list, as mod_rest_pages. */
rgp_status gcp_pages(const GcpCall *call, const ModRestRequest *request,
	rgp_status (*page)(void *data, const json_t *body), void *data);
/* The answer to a list gets the items of all its pages, as with mod_rest_complete. */
rgp_status gcp_complete(const GcpCall *call, const ModRestRequest *request, ModRestAnswer *answer);
/* The answer's failure becomes a diagnostic of the whole call. */
rgp_status gcp_report(const GcpCall *call, const char *what, const ModRestAnswer *answer);
/* A name or a filter as a part of a URL. g_free. */
char *gcp_escape(const char *text);
/* "zones/us-central1-a" of ".../compute/v1/projects/p/zones/us-central1-a": the path from
 * "projects/" on; the whole text if there is none. Borrowed. */
const char *gcp_path_of(const char *url);
/* The last segment of a URL; borrowed. */
const char *gcp_last_of(const char *url);

/* requestId: a UUID (RFC 9562, version 4's bits) from the host's token, one per step of a call, so
 * that a repeated request is recognized. g_free. */
char *gcp_request_id(const char *token, const char *step);

/* Waits for the operation in an answer, half an hour at most. The failure: its error, class OK: it
 * ended well; or why its end is unknown, with its name. RGP_FAIL after a diagnostic. */
rgp_status gcp_operation_wait(const GcpCall *call, const json_t *operation, ModFailure *failure);
/* The API no longer knows the operation: what became of it is seen from the resource. */
bool gcp_is_forgotten(const ModFailure *failure);
/* gcp_operation_wait: it had not ended when the time was over. */
bool gcp_is_running(const ModFailure *failure);
/* The error of an operation that is DONE; class OK: it has none. */
void gcp_operation_read(const GcpCall *call, const json_t *operation, ModFailure *failure);
/* Corrects what the code of a failure says by its text (refine.c); `of_instances`: it is about
 * instances that were to be created. false: nothing is known about the text. */
bool gcp_failure_refine(ModFailure *failure, bool of_instances);
/* For ModRest.refine: the same of an answer. */
void gcp_answer_refine(int32_t status, const json_t *body, ModFailure *failure);
/* An error that raygpu does not know: nodes are requested in other zones. */
void gcp_failure_elsewhere(ModFailure *failure);
/* The newest 500 operations that match the filter, or a few more. `place`: "zones/Z", "regions/R"
 * or "global". */
rgp_status gcp_operations_list(const GcpCall *call, const char *place, const char *filter,
	void (*each)(void *data, json_t *operation), void *data);
/* For gcp_operations_list: collects {name: operation}. */
void gcp_operations_by_name(void *data, json_t *operation);
/* Adds those that have not ended: {number of what they change, or its path: operation}. If the
 * credentials may not list them, there are none, and `denied`, which may be NULL, gets the refusal.
 */
rgp_status gcp_operations_running(
	const GcpCall *call, const char *place, json_t *running, ModFailure *denied);
bool gcp_operation_is_done(const json_t *operation);
/* Sends a change and waits for its operation: the failure of either. `definite` if nothing was
 * changed. */
rgp_status gcp_change_and_wait(
	const GcpCall *call, const ModRestRequest *request, ModFailure *failure);
