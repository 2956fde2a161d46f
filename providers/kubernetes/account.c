/* account: the namespace by its uid. Everything that raygpu records is in it or belongs to a
 * cluster in it, the uid is the same for everybody, and who may create objects in a namespace may
 * usually read it; the uid of kube-system, which names the cluster, is often hidden. */
#include "kubernetes/calls.h"

rgp_status kube_account(const KubeCall *call, const json_t *input)
{
	static const KubeApi namespaces = {"", "v1", "namespaces", false};
	const char *name = call->inst->config.namespace;
	g_autofree char *url = kube_url(call, &namespaces, NULL, name, NULL);
	g_auto(ModRestAnswer) answer = {0};
	g_autofree char *acting = kube_login_acting(&call->inst->config);
	mod_give(&call->talk, "credentials", json_pack("{s:s}", "from", acting));
	rgp_status status = kube_read(call, "Namespace.get", url, &answer);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ == RGP_CLASS_GONE ||
		!g_strcmp0(answer.failure.code, "NamespaceNotFound")) {
		g_autofree char *summary = g_strdup_printf("the cluster has no namespace %s", name);
		g_autofree char *hint = g_strdup_printf("`kubectl create namespace %s`", name);
		mod_report_origin(&call->talk, RGP_CLASS_INVALID, "/provider", summary, hint);
		return RGP_FAIL;
	}
	if (answer.failure.class_ != RGP_CLASS_OK)
		return kube_report(call, "Namespace.get", &answer);
	g_autofree char *id = g_strdup_printf("%s (%s)", name, kube_uid_of(answer.body));
	return mod_give(
		&call->talk, "account", json_pack("{s:s, s:s}", "id", id, "acting", acting));
}
