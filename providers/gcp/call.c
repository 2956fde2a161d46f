#include "gcp/call.h"
#include <string.h>

/* operations.wait returns after two minutes at most (its description). */
#define WAIT_MS 150000
#define OPERATION_S 1800
#define RUNNING "OPERATION_RUNNING"
#define OPERATIONS_MAX 500
#define FORGOTTEN "OPERATION_FORGOTTEN"

ModRestRequest gcp_get(const GcpCall *call, const char *what, const char *url)
{
	return (ModRestRequest){.what = what,
		.method = "GET",
		.url = url,
		.headers = call->inst->headers,
		.reading = true};
}

ModRestRequest gcp_change(const GcpCall *call, const char *what, const char *method,
	const char *url, const json_t *body)
{
	return (ModRestRequest){.what = what,
		.method = method,
		.url = url,
		.headers = call->inst->headers,
		.body = body};
}

rgp_status gcp_send(const GcpCall *call, const ModRestRequest *request, ModRestAnswer *answer)
{
	return mod_rest_send(&call->talk, &call->inst->rest, request, answer);
}

/* compute#instanceList, compute#instanceAggregatedList, ... */
const ModRestPaging gcp_paging = {"/nextPageToken", "pageToken", "List"};

rgp_status gcp_pages(const GcpCall *call, const ModRestRequest *request,
	rgp_status (*page)(void *data, const json_t *body), void *data)
{
	return mod_rest_pages(&call->talk, &call->inst->rest, request, &gcp_paging, page, data);
}

rgp_status gcp_complete(const GcpCall *call, const ModRestRequest *request, ModRestAnswer *answer)
{
	return mod_rest_complete(
		&call->talk, &call->inst->rest, request, &gcp_paging, "items", answer);
}

rgp_status gcp_report(const GcpCall *call, const char *what, const ModRestAnswer *answer)
{
	return mod_rest_report(&call->talk, &call->inst->rest, what, &answer->failure);
}

char *gcp_escape(const char *text)
{
	return g_uri_escape_string(text, NULL, FALSE);
}

const char *gcp_path_of(const char *url)
{
	const char *path = strstr(url, "/projects/");
	return path ? path + 1 : url;
}

const char *gcp_last_of(const char *url)
{
	const char *slash = strrchr(url, '/');
	return slash ? slash + 1 : url;
}

char *gcp_request_id(const char *token, const char *step)
{
	guint8 digest[32];
	gsize len = sizeof digest;
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_checksum_update(sum, (const guchar *)token, (gssize)strlen(token));
	g_checksum_update(sum, (const guchar *)step, (gssize)strlen(step));
	g_checksum_get_digest(sum, digest, &len);
	digest[6] = (guint8)((digest[6] & 0x0f) | 0x40);
	digest[8] = (guint8)((digest[8] & 0x3f) | 0x80);
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < 16; i++)
		g_string_append_printf(text, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", digest[i]);
	return g_string_free(text, FALSE);
}

/* ---- operations */

/* VM_MIN_COUNT_NOT_REACHED often comes first and hides the cause. */
static const json_t *telling_error(const json_t *operation)
{
	const json_t *errors = json_object_get(json_object_get(operation, "error"), "errors");
	mod_foreach (error, errors)
		if (strcmp(mod_str(error, "code"), "VM_MIN_COUNT_NOT_REACHED"))
			return error;
	return json_array_get(errors, 0);
}

/* "; quota compute.googleapis.com/nvidia_a100_gpus, limit 0, region us-central1" */
static void append_quota(GString *text, const json_t *error)
{
	mod_foreach (detail, json_object_get(error, "errorDetails")) {
		const json_t *quota = json_object_get(detail, "quotaInfo");
		if (!quota)
			continue;
		g_string_append_printf(text, "; quota %s, limit %g", mod_str(quota, "metricName"),
			json_number_value(json_object_get(quota, "limit")));
		mod_foreach_member (name, value, json_object_get(quota, "dimensions"))
			if (json_is_string(value))
				g_string_append_printf(
					text, ", %s %s", name, json_string_value(value));
	}
}

/* Of one instance, or of many at once. */
static bool creates_instances(const json_t *operation)
{
	const char *type = mod_str(operation, "operationType");
	return g_str_equal(type, "bulkInsert") ||
	       (g_str_equal(type, "insert") &&
		       strstr(mod_str(operation, "targetLink"), "/instances/"));
}

/* A code that is not in the table says nothing about other zones: only a missing permission and a
 * rate are the same there. */
static bool may_be_elsewhere(const GcpCall *call, const ModFailure *failure)
{
	return failure->code && !mod_errors_find(call->inst->errors, failure->code) &&
	       failure->class_ != RGP_CLASS_DENIED && failure->class_ != RGP_CLASS_THROTTLED;
}

void gcp_operation_read(const GcpCall *call, const json_t *operation, ModFailure *failure)
{
	const json_t *error = telling_error(operation);
	int64_t status = mod_int(operation, "httpErrorStatusCode");
	bool of_instances = creates_instances(operation);
	mod_failure_clear(failure);
	if (!json_object_get(operation, "error") && !status)
		return;
	const char *code = mod_str(error, "code"), *message = mod_str(error, "message");
	g_autoptr(GString) text =
		g_string_new(*message ? message : mod_str(operation, "httpErrorMessage"));
	append_quota(text, error);
	if (*code) {
		mod_errors_describe(call->inst->errors, code, text->str, failure);
		if (failure->class_ == RGP_CLASS_UNKNOWN)
			failure->class_ = mod_class_of_status((int32_t)status);
	} else {
		mod_failure_set(
			failure, mod_class_of_status((int32_t)status), NULL, "%s", text->str);
	}
	if (!gcp_failure_refine(failure, of_instances) && of_instances &&
		may_be_elsewhere(call, failure))
		gcp_failure_elsewhere(failure);
	failure->definite =
		failure->class_ != RGP_CLASS_TRANSIENT && failure->class_ != RGP_CLASS_UNKNOWN;
}

/* "projects/p/zones/z/operations/NAME" */
static char *operation_url(const GcpCall *call, const json_t *operation)
{
	const char *zone = gcp_last_of(mod_str(operation, "zone"));
	const char *region = gcp_last_of(mod_str(operation, "region"));
	g_autofree char *name = gcp_escape(mod_str(operation, "name"));
	const char *project = gcp_project(call);
	if (!project)
		return NULL;
	if (*zone)
		return g_strdup_printf("projects/%s/zones/%s/operations/%s", project, zone, name);
	if (*region)
		return g_strdup_printf(
			"projects/%s/regions/%s/operations/%s", project, region, name);
	return g_strdup_printf("projects/%s/global/operations/%s", project, name);
}

static void log_warnings(const GcpCall *call, const json_t *operation)
{
	mod_foreach (warning, json_object_get(operation, "warnings")) {
		g_autofree char *text =
			g_strdup_printf("%s: warning %s: %s", mod_str(operation, "name"),
				mod_str(warning, "code"), mod_str(warning, "message"));
		call->talk.host->log(call->talk.call, RGP_LOG_INFO, text);
	}
}

bool gcp_operation_is_done(const json_t *operation)
{
	return g_str_equal(mod_str(operation, "status"), "DONE");
}

/* Operations are deleted after some time; one that is asked for later is unknown. */
static void set_forgotten(const json_t *operation, ModFailure *failure)
{
	mod_failure_set(failure, RGP_CLASS_UNKNOWN, FORGOTTEN,
		"Compute Engine no longer knows the operation %s", mod_str(operation, "name"));
}

bool gcp_is_forgotten(const ModFailure *failure)
{
	return !g_strcmp0(failure->code, FORGOTTEN);
}

bool gcp_is_running(const ModFailure *failure)
{
	return !g_strcmp0(failure->code, RUNNING);
}

/* One operations.wait; the answer replaces *operation. */
static rgp_status wait_once(
	const GcpCall *call, const char *url, json_t **operation, ModFailure *failure)
{
	g_auto(ModRestAnswer) answer = {0};
	ModRestRequest request = gcp_change(call, "operations.wait", "POST", url, NULL);
	request.reading = true;
	request.timeout_ms = WAIT_MS;
	rgp_status status = gcp_send(call, &request, &answer);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ == RGP_CLASS_GONE) {
		set_forgotten(*operation, failure);
	} else if (answer.failure.class_ != RGP_CLASS_OK) {
		mod_failure_copy(failure, &answer.failure);
		failure->definite = false; /* it says nothing about the operation */
	} else {
		json_decref(*operation);
		*operation = json_incref(answer.body);
	}
	return RGP_OK;
}

rgp_status gcp_operation_wait(const GcpCall *call, const json_t *operation, ModFailure *failure)
{
	json_t *current = json_incref(mod_unconst(operation));
	g_autofree char *path = operation_url(call, operation);
	g_autofree char *url = path ? g_strconcat(path, "/wait", NULL) : NULL;
	ModBackoff backoff = mod_backoff_start(&call->talk, OPERATION_S);
	rgp_status status = url ? RGP_OK : RGP_FAIL;
	mod_failure_clear(failure);
	/* a wait that ends early is repeated after a while, one that took its two minutes too */
	for (bool first = true; status == RGP_OK && !gcp_operation_is_done(current) &&
				failure->class_ == RGP_CLASS_OK;
		first = false) {
		rgp_status time = first ? RGP_OK : mod_backoff_wait(&call->talk, &backoff);
		if (time == RGP_FAIL)
			mod_failure_set(failure, RGP_CLASS_UNKNOWN, RUNNING,
				"the operation %s has not ended after %d s",
				mod_str(operation, "name"), OPERATION_S);
		else
			status = time == RGP_OK ? wait_once(call, url, &current, failure) : time;
	}
	if (status == RGP_OK && gcp_operation_is_done(current)) {
		gcp_operation_read(call, current, failure);
		log_warnings(call, current);
	}
	json_decref(current);
	return status;
}

void gcp_operations_by_name(void *data, json_t *operation)
{
	json_object_set(data, mod_str(operation, "name"), operation);
}

typedef struct {
	void (*each)(void *data, json_t *operation);
	void *data;
	size_t n;
} Operations;

/* Enough of them end the list. */
static rgp_status on_operations(void *data, const json_t *body)
{
	Operations *operations = data;
	size_t i;
	json_t *operation;
	json_array_foreach (json_object_get(body, "items"), i, operation)
		operations->each(operations->data, operation);
	operations->n += i;
	return operations->n < OPERATIONS_MAX ? RGP_OK : RGP_FAIL;
}

static char *operations_url(const GcpCall *call, const char *place, const char *filter)
{
	g_autofree char *escaped = gcp_escape(filter);
	return g_strdup_printf(
		"projects/%s/%s/operations?filter=%s&fields="
		"kind,items(name,status,operationType,targetId,targetLink,zone,region,error,"
		"httpErrorStatusCode,httpErrorMessage),nextPageToken&maxResults=500&orderBy="
		"creationTimestamp%%20desc",
		gcp_project(call), place, escaped);
}

rgp_status gcp_operations_list(const GcpCall *call, const char *place, const char *filter,
	void (*each)(void *data, json_t *operation), void *data)
{
	g_autofree char *url = operations_url(call, place, filter);
	const ModRestRequest request = gcp_get(call, "operations.list", url);
	Operations operations = {each, data, 0};
	rgp_status status = gcp_pages(call, &request, on_operations, &operations);
	return operations.n < OPERATIONS_MAX ? status : RGP_OK;
}

/* A role of an earlier raygpu may not list them: then nothing is known to be running. */
rgp_status gcp_operations_running(
	const GcpCall *call, const char *place, json_t *running, ModFailure *denied)
{
	g_autofree char *url = operations_url(call, place, "status != \"DONE\"");
	const ModRestRequest request = gcp_get(call, "operations.list", url);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = gcp_send(call, &request, &answer);
	if (status == RGP_OK)
		status = gcp_complete(call, &request, &answer);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ == RGP_CLASS_DENIED) {
		if (denied)
			mod_failure_copy(denied, &answer.failure);
		return RGP_OK;
	}
	if (answer.failure.class_ != RGP_CLASS_OK)
		return gcp_report(call, request.what, &answer);
	mod_foreach (operation, json_object_get(answer.body, "items")) {
		json_object_set(running, gcp_path_of(mod_str(operation, "targetLink")), operation);
		json_object_set(running, mod_str(operation, "targetId"), operation);
	}
	return RGP_OK;
}

rgp_status gcp_change_and_wait(
	const GcpCall *call, const ModRestRequest *request, ModFailure *failure)
{
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = gcp_send(call, request, &answer);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ != RGP_CLASS_OK) {
		mod_failure_copy(failure, &answer.failure);
		return RGP_OK;
	}
	return gcp_operation_wait(call, answer.body, failure);
}
