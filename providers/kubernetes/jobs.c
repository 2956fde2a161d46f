/* The spec's jobs as RayJobs of a cluster that exists (clusterSelector), so that KubeRay neither
 * makes nor removes a cluster for them (ray-operator/controllers/ray/rayjob_controller.go). */
#include "kubernetes/lower.h"
#include "kubernetes/manifest.h"

/* KubeRay's limit is 47 (ray-operator/controllers/ray/utils/constant.go). */
#define LONGEST 47
#define HASH 8

static json_t *as_text(const json_t *value)
{
	char *text = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
	json_t *made = json_string(text);
	free(text);
	return made;
}

/* runtimeEnvYAML: JSON is YAML. The CRD's texts of objects are JSON as well. */
static json_t *spec_of(const char *cluster, const json_t *job)
{
	static const char *const same[][2] = {{"entrypoint", "entrypoint"},
		{"metadata", "metadata"}, {"entrypoint_num_cpus", "entrypointNumCpus"},
		{"entrypoint_num_gpus", "entrypointNumGpus"},
		{"timeout_s", "activeDeadlineSeconds"}};
	static const char *const texts[][2] = {
		{"runtime_env", "runtimeEnvYAML"}, {"entrypoint_resources", "entrypointResources"}};
	json_t *spec = json_pack(
		"{s:{s:s}, s:i}", "clusterSelector", "ray.io/cluster", cluster, "backoffLimit", 0);
	for (size_t i = 0; i < G_N_ELEMENTS(same); i++)
		if (json_object_get(job, same[i][0]))
			json_object_set(spec, same[i][1], json_object_get(job, same[i][0]));
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		if (json_object_get(job, texts[i][0]))
			json_object_set_new(
				spec, texts[i][1], as_text(json_object_get(job, texts[i][0])));
	return spec;
}

/* CLUSTER-JOB-HASH, the first two cut off if they are too long. */
static char *name_of(const char *cluster, const char *job, const json_t *spec)
{
	char *text = json_dumps(spec, JSON_SORT_KEYS | JSON_COMPACT);
	g_autofree char *all = g_strconcat(cluster, " ", job, " ", text, NULL);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, all, -1);
	g_autofree char *plain = g_strconcat(cluster, "-", job, NULL);
	free(text);
	return g_strdup_printf("%.*s-%.*s", LONGEST - HASH - 1, plain, HASH, hash);
}

/* After the cluster and its groups. */
static json_t *before_jobs(const KubeLowering *lowering)
{
	json_t *addresses = json_array();
	mod_foreach (resource, lowering->resources)
		if (json_object_get(resource, "nodes"))
			json_array_append(addresses, json_object_get(resource, "address"));
	return addresses;
}

void kube_lower_jobs(KubeLowering *lowering)
{
	const char *cluster = mod_str(lowering->fitted, "cluster");
	json_auto_t *before = before_jobs(lowering);
	mod_foreach_member (name, job, json_object_get(lowering->fitted, "jobs")) {
		json_t *spec = spec_of(cluster, job);
		g_autofree char *object = name_of(cluster, name, spec);
		g_autofree char *origin = g_strconcat("/jobs/", name, NULL);
		json_t *attributes = kube_lower_object(lowering, object);
		json_object_set_new(attributes, "spec", spec);
		kube_lower_add(lowering, &(KubeWanted){.kind = KUBE_RAY_JOB,
						 .name = name,
						 .origin = origin,
						 .attributes = attributes,
						 .depends_on = json_incref(before)});
	}
}
