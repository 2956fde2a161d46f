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

/* Members of a group or of its pods. NODE stands for the pool's place in the spec, SETTINGS for
 * that of its settings. */
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
	{"resources", "SETTINGS"},
	{"nodeSelector", "SETTINGS/node_selector"},
	{"tolerations", "SETTINGS/tolerations"},
	{"serviceAccountName", "/provider/service_account"},
	{"runtimeClassName", "SETTINGS/runtime_class"},
	{"priorityClassName", "SETTINGS/priority_class"},
	{"securityContext", "/provider/security_context"},
};

/* The path begins with the field, and with whole members of it. */
static const char *after(const char *path, const char *field)
{
	size_t len = strlen(field);
	bool whole = !strncmp(path, field, len) && strchr(".[", path[len]);
	return whole ? path + len : NULL;
}

typedef struct {
	const char *pool, *node; /* its name, and its place in the spec */
	const json_t *settings;	 /* of the provider */
} Group;

/* A pool has settings in one place only (lower.c). */
static char *fill(const char *origin, const Group *group)
{
	bool former = json_object_get(json_object_get(group->settings, "pods"), group->pool);
	g_autofree char *settings = former ? g_strconcat("/provider/pods/", group->pool, NULL)
					   : g_strconcat(group->node, "/provider", NULL);
	g_autoptr(GString) text = g_string_new(origin);
	g_string_replace(text, "SETTINGS", settings, 0);
	g_string_replace(text, "NODE", group->node, 0);
	return g_strdup(text->str);
}

static char *origin_in_group(const char *rest, const Group *group)
{
	g_auto(GStrv) parts = g_strsplit_set(rest, ".[]", -1);
	for (size_t n = 0; parts[n]; n++)
		for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
			if (g_str_equal(parts[n], members[i].member))
				return fill(members[i].origin, group);
	return g_strdup(group->node);
}

static char *origin_of_worker(const json_t *body, const json_t *settings, const char *rest)
{
	size_t index = *rest == '[' ? (size_t)g_ascii_strtoull(rest + 1, NULL, 10) : 0;
	const json_t *groups = mod_at(body, "/spec/workerGroupSpecs");
	const char *name = mod_str(json_array_get(groups, index), "groupName");
	const char *end = strchr(rest, ']');
	if (*rest != '[' || !end || !*name)
		return g_strdup("/pools");
	g_autofree char *node = g_strconcat("/pools/", name, NULL);
	return origin_in_group(end + 1, &(Group){name, node, settings});
}

char *kube_field_origin(
	const char *kind, const json_t *body, const json_t *settings, const char *field)
{
	if (!g_str_equal(kind, KUBE_RAY_CLUSTER))
		return g_str_equal(kind, KUBE_SECRET) ? NULL : g_strdup("/provider/queue");
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		if (after(field, fields[i].field))
			return g_strdup(fields[i].origin);
	const char *rest = after(field, "spec.workerGroupSpecs");
	if (rest)
		return origin_of_worker(body, settings, rest);
	rest = after(field, "spec.headGroupSpec");
	return rest ? origin_in_group(rest, &(Group){"head", "/head", settings}) : NULL;
}
