/* What `list` read and `create` made, for other calls of the same run: pods are listed once. */
#include "kubernetes/pods.h"

static char *name_of(const json_t *cluster)
{
	const json_t *metadata = json_object_get(cluster, "metadata");
	return g_strconcat(mod_str(metadata, "namespace"), "/", kube_name_of(cluster), NULL);
}

void kube_seen_put(const KubeCall *call, const json_t *cluster, const json_t *pods)
{
	struct rgp_inst *inst = call->inst;
	g_autofree char *name = name_of(cluster);
	pthread_mutex_lock(&inst->lock);
	if (!inst->seen)
		inst->seen = json_object();
	json_object_set_new(
		inst->seen, name, json_pack("{s:O, s:O}", "cluster", cluster, "pods", pods));
	pthread_mutex_unlock(&inst->lock);
}

json_t *kube_seen_get(const KubeCall *call, const char *name)
{
	struct rgp_inst *inst = call->inst;
	pthread_mutex_lock(&inst->lock);
	json_t *seen = json_incref(json_object_get(inst->seen, name));
	pthread_mutex_unlock(&inst->lock);
	return seen;
}

void kube_seen_forget(const KubeCall *call, const KubeId *id)
{
	struct rgp_inst *inst = call->inst;
	g_autofree char *name = g_strconcat(id->space ? id->space : "", "/", id->name, NULL);
	pthread_mutex_lock(&inst->lock);
	json_object_del(inst->seen, name);
	pthread_mutex_unlock(&inst->lock);
}
