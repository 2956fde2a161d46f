#include "kubernetes/sim/cloud.h"

/* An imitation would lack what matters of Kubernetes, such as server-side apply. The tests use the
 * real API server (tests/kube), and raygpu-sim refuses the API's requests. */

static bool claims(const RgSimRequest *request)
{
	static const char *const paths[] = {"/api", "/apis", "/openapi", "/version"};
	for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
		size_t length = strlen(paths[i]);
		const char *rest = request->path + length;
		if (g_str_has_prefix(request->path, paths[i]) && (!*rest || *rest == '/'))
			return true;
	}
	return false;
}

static bool has_place(const void *data, const char *name)
{
	return false;
}

static bool admit(RgSimCall *call)
{
	return rg_sim_fail(call, 501, "NotImplemented",
		"raygpu-sim does not simulate Kubernetes: use a cluster, such as one of kind or "
		"k3s");
}

/* As a Status of the API, so that its clients print the text. */
static void answer(const RgSimCall *call)
{
	json_auto_t *status = json_pack("{s:s, s:s, s:{}, s:s, s:s*, s:s*, s:i}", "kind", "Status",
		"apiVersion", "v1", "metadata", "status", "Failure", "message", call->message,
		"reason", call->code, "code", call->status);
	char *text = json_dumps(status, JSON_COMPACT);
	call->reply->status = call->status;
	g_string_assign(call->reply->body, text);
	free(text);
	rg_sim_reply_header(call->reply, "Content-Type", "application/json");
}

const RgSimCloud kubernetes_sim_cloud = {
	.name = "kubernetes",
	.section = "kubernetes",
	.claims = claims,
	.has_place = has_place,
	.admit = admit,
	.answer = answer,
};
