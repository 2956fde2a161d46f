#include "kubernetes/field.h"
#include <string.h>
#include "kubernetes/objects.h"
#include "kubernetes/pods.h"

/* Fields of a RayCluster and the settings that they are from; the first that fits. */
static const struct {
	const char *field, *origin;
} fields[] = {
	{"metadata.name", "/cluster"},
	{"metadata.labels.kueue.x-k8s.io/priority-class", "/provider/queue/priority"},
	{"metadata.labels", "/labels"},
	{"spec.rayVersion", "/ray/version"},
	{"spec.authOptions", "/ray/auth"},
	{"spec.networkPolicy", "/provider/network_policy"},
	{"spec.tlsOptions", "/provider/tls"},
	{"spec.gcsFaultToleranceOptions", "/provider/fault_tolerance"},
	{"spec.autoscalerOptions", "/provider/autoscaler"},
	{"spec.historyServerOptions", "/provider/history_server"},
	{"spec.headGroupSpec.serviceType", "/provider/service_type"},
};

/* Members of a group or of its pods. POOL stands for the pool's name, NODE for its place in the
 * spec. */
static const struct {
	const char *member, *origin;
} members[] = {
	{"groupName", "NODE"},
	{"minReplicas", "NODE/nodes"},
	{"maxReplicas", "NODE/nodes"},
	{"replicas", "NODE/nodes"},
	{"labels", "NODE/labels"},
	{"image", "/ray/image"},
	{"imagePullSecrets", "/provider/image_pull_secrets"},
	{"env", "NODE/env"},
	{"resources", "/provider/pods/POOL"},
	{"nodeSelector", "/provider/pods/POOL/node_selector"},
	{"tolerations", "/provider/pods/POOL/tolerations"},
	{"serviceAccountName", "/provider/service_account"},
	{"runtimeClassName", "/provider/pods/POOL/runtime_class"},
	{"priorityClassName", "/provider/pods/POOL/priority_class"},
	{"securityContext", "/provider/security_context"},
};

/* The path begins with the field, and with whole members of it. */
static const char *after(const char *path, const char *field)
{
	size_t len = strlen(field);
	bool whole = !strncmp(path, field, len) && strchr(".[", path[len]);
	return whole ? path + len : NULL;
}

static char *fill(const char *origin, const char *pool, const char *node)
{
	g_autoptr(GString) text = g_string_new(origin);
	g_string_replace(text, "POOL", pool, 0);
	g_string_replace(text, "NODE", node, 0);
	return g_strdup(text->str);
}

static char *origin_in_group(const char *rest, const char *pool, const char *node)
{
	g_auto(GStrv) parts = g_strsplit_set(rest, ".[]", -1);
	for (size_t n = 0; parts[n]; n++)
		for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
			if (g_str_equal(parts[n], members[i].member))
				return fill(members[i].origin, pool, node);
	return g_strdup(node);
}

static char *origin_of_worker(const json_t *body, const char *rest)
{
	size_t index = *rest == '[' ? (size_t)g_ascii_strtoull(rest + 1, NULL, 10) : 0;
	const json_t *groups = mod_at(body, "/spec/workerGroupSpecs");
	const char *name = mod_str(json_array_get(groups, index), "groupName");
	const char *end = strchr(rest, ']');
	if (*rest != '[' || !end || !*name)
		return g_strdup("/pools");
	g_autofree char *node = g_strconcat("/pools/", name, NULL);
	return origin_in_group(end + 1, name, node);
}

char *kube_field_origin(const char *kind, const json_t *body, const char *field)
{
	if (!g_str_equal(kind, KUBE_RAY_CLUSTER))
		return g_str_equal(kind, KUBE_SECRET) ? NULL : g_strdup("/provider/queue");
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		if (after(field, fields[i].field))
			return g_strdup(fields[i].origin);
	const char *rest = after(field, "spec.workerGroupSpecs");
	if (rest)
		return origin_of_worker(body, rest);
	rest = after(field, "spec.headGroupSpec");
	return rest ? origin_in_group(rest, "head", "/head") : NULL;
}
