#include "kubernetes/call.h"
#include <string.h>

#define PAGE "500"
#define RESTARTS 5
#define OLDER_CRD                                                                                  \
	"the CRD in the cluster is older than the field; update the operator or leave the "        \
	"setting out"
#define METADATA ";as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1"

const KubeApi kube_pods = {"", "v1", "pods", true};
const KubeApi kube_nodes = {"", "v1", "nodes", false};
const KubeApi kube_events = {"", "v1", "events", true};

/* ---- URLs */

static void add_segment(GString *url, const char *text)
{
	g_string_append_c(url, '/');
	g_string_append_uri_escaped(url, text, NULL, FALSE);
}

char *kube_url(const KubeCall *call, const KubeApi *api, const char *space, const char *name,
	const char *query)
{
	GString *url = g_string_new(*api->group ? "apis" : "api");
	if (*api->group)
		add_segment(url, api->group);
	add_segment(url, api->version);
	if (api->namespaced) {
		g_string_append(url, "/namespaces");
		add_segment(url, space ? space : call->inst->config.namespace);
	}
	add_segment(url, api->plural);
	if (name)
		add_segment(url, name);
	if (query)
		g_string_append_printf(url, "?%s", query);
	return g_string_free(url, FALSE);
}

char *kube_selector(const char *key, const char *value)
{
	g_autofree char *both = g_strconcat(key, "=", value, NULL);
	g_autofree char *escaped = g_uri_escape_string(both, NULL, FALSE);
	return g_strconcat("labelSelector=", escaped, NULL);
}

/* ---- requests */

static rgp_status send(
	const KubeCall *call, ModRestRequest *request, const char *accept, ModRestAnswer *answer)
{
	g_autoptr(GPtrArray) headers = g_ptr_array_new();
	for (size_t i = 0; call->inst->headers[i]; i++)
		g_ptr_array_add(headers, call->inst->headers[i]);
	g_ptr_array_add(headers, (char *)(uintptr_t)accept);
	g_ptr_array_add(headers, NULL);
	request->headers = (const char *const *)headers->pdata;
	return mod_rest_send(&call->talk, &call->inst->rest, request, answer);
}

rgp_status kube_read(const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer)
{
	ModRestRequest request = {.what = what, .method = "GET", .url = url, .reading = true};
	return send(call, &request, "Accept: application/json", answer);
}

rgp_status kube_read_secret(
	const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer)
{
	ModRestRequest request = {
		.what = what, .method = "GET", .url = url, .reading = true, .hide_body = true};
	return send(call, &request, "Accept: application/json", answer);
}

rgp_status kube_read_text(
	const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer)
{
	ModRestRequest request = {
		.what = what, .method = "GET", .url = url, .reading = true, .text = true};
	return send(call, &request, "Accept: text/plain, application/json", answer);
}

static rgp_status read_metadata(const KubeCall *call, const char *what, const char *url,
	const char *list, ModRestAnswer *answer)
{
	ModRestRequest request = {
		.what = what, .method = "GET", .url = url, .reading = true, .hide_body = true};
	g_autofree char *accept = g_strdup_printf("Accept: application/json" METADATA, list);
	return send(call, &request, accept, answer);
}

rgp_status kube_read_metadata(
	const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer)
{
	return read_metadata(call, what, url, "", answer);
}

rgp_status kube_post(const KubeCall *call, const char *what, const char *url, const json_t *body,
	KubeFlags flags, ModRestAnswer *answer)
{
	ModRestRequest request = {.what = what,
		.method = "POST",
		.url = url,
		.body = body,
		.reading = (flags & KUBE_DRY) != 0,
		.hide_body = (flags & KUBE_SECRET_BODY) != 0};
	return send(call, &request, "Accept: application/json", answer);
}

rgp_status kube_patch(const KubeCall *call, const char *what, const char *url, const char *type,
	const json_t *body, KubeFlags flags, ModRestAnswer *answer)
{
	g_autofree char *media = g_strconcat(
		"application/", type, g_str_equal(type, "apply-patch") ? "+yaml" : "+json", NULL);
	ModRestRequest request = {.what = what,
		.method = "PATCH",
		.url = url,
		.body = body,
		.content_type = media,
		.reading = (flags & KUBE_DRY) != 0,
		.hide_body = (flags & KUBE_SECRET_BODY) != 0};
	return send(call, &request, "Accept: application/json", answer);
}

rgp_status kube_delete(const KubeCall *call, const char *what, const char *url, const char *uid,
	ModRestAnswer *answer)
{
	json_auto_t *body = json_pack("{s:s, s:s, s:s}", "apiVersion", "v1", "kind",
		"DeleteOptions", "propagationPolicy", "Background");
	if (uid && *uid)
		json_object_set_new(body, "preconditions", json_pack("{s:s}", "uid", uid));
	ModRestRequest request = {.what = what, .method = "DELETE", .url = url, .body = body};
	/* the answer may be the object */
	request.hide_body = strstr(url, "/secrets/") != NULL;
	return send(call, &request, "Accept: application/json", answer);
}

rgp_status kube_report(const KubeCall *call, const char *what, const ModRestAnswer *answer)
{
	return mod_rest_report(&call->talk, &call->inst->rest, what, &answer->failure);
}

/* ---- errors */

static void recode(ModFailure *failure, int32_t class_, const char *code, const char *hint)
{
	g_free(failure->code);
	failure->code = g_strdup(code);
	failure->class_ = class_;
	failure->hint = hint;
}

static bool has_cause(const json_t *body, const char *reason)
{
	const json_t *causes = json_object_get(json_object_get(body, "details"), "causes");
	mod_foreach (cause, causes)
		if (g_str_equal(mod_str(cause, "reason"), reason))
			return true;
	return false;
}

static void refine_missing(const json_t *body, ModFailure *failure)
{
	const json_t *details = json_object_get(body, "details");
	/* the full server answers requests to an API that it lacks with a Status whose details name
	 * nothing; others answer with text */
	if (!body || !*mod_str(details, "name")) {
		recode(failure, RGP_CLASS_INVALID, "NoSuchApi", NULL);
	} else if (g_str_equal(mod_str(details, "kind"), "namespaces")) {
		recode(failure, RGP_CLASS_INVALID, "NamespaceNotFound",
			"create the namespace: `kubectl create namespace`");
	}
}

/* Texts of k8s.io/apiserver's admission plug-ins (resourcequota, namespace lifecycle, webhook). */
static void refine_refused(const json_t *body, const char *message, ModFailure *failure)
{
	if (strstr(message, "exceeded quota"))
		recode(failure, RGP_CLASS_QUOTA, "QuotaExceeded",
			"ask the namespace's owner for a larger ResourceQuota");
	else if (has_cause(body, "NamespaceTerminating") || strstr(message, "is being terminated"))
		recode(failure, RGP_CLASS_CONFLICT, "NamespaceTerminating",
			"wait until the namespace is deleted; `kubectl get namespace -o yaml` "
			"shows what holds it");
}

/* Of a POST, and of an apply, although it is answered with 500: repeating it cannot help. */
static bool is_undeclared(int32_t status, const char *message)
{
	return (status == 400 && strstr(message, "strict decoding error: unknown field")) ||
	       (status == 500 && (strstr(message, "field not declared in schema") ||
					 strstr(message, "failed to create typed patch object")));
}

void kube_refine(int32_t status, const json_t *body, ModFailure *failure)
{
	const char *message = failure->message ? failure->message : "";
	if (strstr(message, "admission webhook") && strstr(message, "denied the request"))
		recode(failure, RGP_CLASS_DENIED, "WebhookDenied",
			"a policy of the cluster refuses the object");
	else if (strstr(message, "failed calling webhook"))
		recode(failure, RGP_CLASS_TRANSIENT, "WebhookUnreachable",
			"the webhook's service does not answer; `kubectl get "
			"validatingwebhookconfigurations` names it");
	else if (status == 404)
		refine_missing(body, failure);
	else if (status == 403)
		refine_refused(body, message, failure);
	else if (status == 409 && has_cause(body, "FieldManagerConflict"))
		recode(failure, RGP_CLASS_CONFLICT, "FieldManagerConflict",
			"let its manager give the field up, or take it over: `raygpu apply "
			"--force-conflicts`");
	else if (is_undeclared(status, message))
		recode(failure, RGP_CLASS_INVALID, "UndeclaredField", OLDER_CRD);
}

/* ---- lists */

typedef struct {
	const KubeCall *call;
	const char *what, *url;
	bool metadata_only;
	KubePage page;
	void *data;
} Listing;

/* From the first page to the last. */
static rgp_status list_once(const Listing *listing, ModFailure *failure)
{
	g_autofree char *url = g_strconcat(listing->url, "&limit=" PAGE, NULL);
	for (;;) {
		g_auto(ModRestAnswer) answer = {0};
		rgp_status status =
			listing->metadata_only
				? read_metadata(listing->call, listing->what, url, "List", &answer)
				: kube_read(listing->call, listing->what, url, &answer);
		if (status != RGP_OK)
			return status;
		mod_failure_copy(failure, &answer.failure);
		if (failure->class_ != RGP_CLASS_OK)
			return RGP_OK;
		status = listing->page(listing->data, json_object_get(answer.body, "items"));
		const char *next = mod_str(json_object_get(answer.body, "metadata"), "continue");
		if (status != RGP_OK || !*next)
			return status;
		g_autofree char *escaped = g_uri_escape_string(next, NULL, FALSE);
		g_free(url);
		url = g_strdup_printf("%s&limit=" PAGE "&continue=%s", listing->url, escaped);
	}
}

rgp_status kube_pages(const KubeCall *call, const char *what, const char *url, bool metadata_only,
	KubePage page, void *data, ModFailure *failure)
{
	const Listing listing = {call, what, url, metadata_only, page, data};
	for (unsigned again = 0;; again++) {
		rgp_status status = list_once(&listing, failure);
		if (status != RGP_OK || g_strcmp0(failure->code, "Expired") || again == RESTARTS)
			return status;
		status = page(data, NULL);
		if (status != RGP_OK)
			return status;
	}
}

/* ---- discovery */

static json_t *groups_read(const KubeCall *call)
{
	g_auto(ModRestAnswer) answer = {0};
	if (kube_read(call, "APIGroupList", "apis", &answer) != RGP_OK)
		return NULL;
	if (answer.failure.class_ != RGP_CLASS_OK) {
		kube_report(call, "the list of APIs", &answer);
		return NULL;
	}
	json_t *groups = json_object();
	mod_foreach (group, json_object_get(answer.body, "groups")) {
		json_t *versions = json_array();
		mod_foreach (version, json_object_get(group, "versions"))
			json_array_append(versions, json_object_get(version, "version"));
		json_object_set_new(groups, mod_str(group, "name"), versions);
	}
	json_object_set_new(groups, "", json_array());
	return groups;
}

const json_t *kube_versions(const KubeCall *call, const char *group)
{
	struct rgp_inst *inst = call->inst;
	pthread_mutex_lock(&inst->lock);
	if (!inst->groups)
		inst->groups = groups_read(call);
	const json_t *groups = inst->groups; /* set once, never changed */
	pthread_mutex_unlock(&inst->lock);
	const json_t *versions = json_object_get(groups, group);
	return !groups || versions ? versions : json_object_get(groups, "");
}

rgp_status kube_give(const KubeCall *call, const json_t *item, const char *id, json_t *attributes,
	ModFailure *failure)
{
	const char *address = mod_str(item, "address");
	rgp_status status;
	if (failure->class_ == RGP_CLASS_OK) {
		status = mod_give_item(&call->talk, address, "done", id, attributes);
	} else {
		json_decref(attributes);
		status = mod_give_failed(&call->talk, address, id, failure);
	}
	mod_failure_clear(failure);
	return status;
}
