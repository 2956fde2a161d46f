/* What a RayCluster's spec says beside its groups (ray.io/v1, KubeRay 1.7). */
#include "kubernetes/lower.h"

static json_t *auth_of(const KubeLowering *lowering)
{
	const char *cluster = mod_str(lowering->fitted, "cluster");
	const json_t *ray = json_object_get(lowering->fitted, "ray");
	if (!g_str_equal(mod_str(ray, "auth"), "token"))
		return json_pack("{s:s}", "mode", "disabled");
	g_autofree char *secret = g_strconcat(cluster, "-ray-token", NULL);
	return json_pack("{s:s, s:s}", "mode", "token", "secretName", secret);
}

static json_t *quantity(const json_t *value, const char *otherwise)
{
	return value ? kube_lower_quantity(value) : json_string(otherwise);
}

static json_t *autoscaler_of(const KubeLowering *lowering)
{
	const json_t *settings = kube_lower_setting(lowering, "autoscaler");
	const char *version = mod_str(settings, "version"),
		   *upscaling = mod_str(settings, "upscaling");
	int64_t idle = mod_int(settings, "idle_timeout_s");
	json_t *sizes =
		json_pack("{s:o, s:o}", "cpu", quantity(json_object_get(settings, "cpu"), "500m"),
			"memory", quantity(json_object_get(settings, "memory"), "512Mi"));
	return json_pack("{s:s, s:I, s:s, s:{s:O, s:o}}", "version", *version ? version : "v2",
		"idleTimeoutSeconds", (json_int_t)(idle ? idle : 60), "upscalingMode",
		*upscaling ? upscaling : "Default", "resources", "limits", sizes, "requests",
		sizes);
}

/* {"valueFrom": {"secretKeyRef": ...}} */
static json_t *from_secret(const json_t *secret)
{
	return json_pack("{s:{s:{s:s, s:s}}}", "valueFrom", "secretKeyRef", "name",
		mod_str(secret, "name"), "key", mod_str(secret, "key"));
}

/* Without `backend`, which KubeRay has from 1.7 on. */
static json_t *redis_of(const json_t *redis)
{
	const json_t *password = json_object_get(redis, "password_secret");
	const json_t *username = json_object_get(redis, "username_secret");
	json_t *options = json_pack("{s:s}", "redisAddress", mod_str(redis, "address"));
	if (*mod_str(redis, "username"))
		json_object_set_new(options, "redisUsername",
			json_pack("{s:s}", "value", mod_str(redis, "username")));
	if (username)
		json_object_set_new(options, "redisUsername", from_secret(username));
	if (password)
		json_object_set_new(options, "redisPassword", from_secret(password));
	if (*mod_str(redis, "storage_namespace"))
		json_object_set_new(options, "externalStorageNamespace",
			json_string(mod_str(redis, "storage_namespace")));
	return options;
}

static json_t *volume_of(const json_t *volume)
{
	const char *deletion = mod_str(volume, "deletion");
	json_t *storage = json_object();
	if (*mod_str(volume, "claim"))
		json_object_set(storage, "claimName", json_object_get(volume, "claim"));
	else
		json_object_set_new(
			storage, "size", quantity(json_object_get(volume, "size"), "1Gi"));
	if (*mod_str(volume, "storage_class"))
		json_object_set(
			storage, "storageClassName", json_object_get(volume, "storage_class"));
	if (*mod_str(volume, "sub_path"))
		json_object_set(storage, "subPath", json_object_get(volume, "sub_path"));
	if (json_object_get(volume, "access_modes"))
		json_object_set(storage, "accessModes", json_object_get(volume, "access_modes"));
	json_object_set_new(
		storage, "deletionPolicy", json_string(*deletion ? deletion : "DeleteWithCluster"));
	return json_pack("{s:s, s:o}", "backend", "rocksdb", "storage", storage);
}

/* The collector that KubeRay puts beside Ray in each pod; it reads its storage from `env`. */
static json_t *history_of(const json_t *history)
{
	json_t *env = json_array(), *collector = json_object(), *sizes = json_object();
	static const char *const names[] = {"cpu", "memory"};
	mod_foreach_member (name, value, json_object_get(history, "env"))
		json_array_append_new(env, json_pack("{s:s, s:O}", "name", name, "value", value));
	mod_foreach_member (name, value, json_object_get(history, "secrets")) {
		json_t *one = from_secret(value);
		json_object_set_new(one, "name", json_string(name));
		json_array_append_new(env, one);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (json_object_get(history, names[i]))
			json_object_set_new(sizes, names[i],
				kube_lower_quantity(json_object_get(history, names[i])));
	if (json_object_get(history, "image"))
		json_object_set(collector, "image", json_object_get(history, "image"));
	if (json_array_size(env))
		json_object_set(collector, "env", env);
	if (json_object_size(sizes))
		json_object_set_new(collector, "resources",
			json_pack("{s:O, s:O}", "limits", sizes, "requests", sizes));
	json_decref(env);
	json_decref(sizes);
	return json_pack("{s:o}", "collectorOptions", collector);
}

json_t *kube_lower_options(KubeLowering *lowering)
{
	const json_t *kept = kube_lower_setting(lowering, "fault_tolerance");
	const json_t *redis = json_object_get(kept, "redis"),
		     *volume = json_object_get(kept, "volume");
	const json_t *history = kube_lower_setting(lowering, "history_server");
	json_t *policy = kube_lower_setting(lowering, "network_policy");
	json_t *options = json_pack("{s:o}", "authOptions", auth_of(lowering));
	if (kube_lower_has_elastic(lowering))
		json_object_set_new(options, "autoscalerOptions", autoscaler_of(lowering));
	else if (kube_lower_setting(lowering, "autoscaler"))
		kube_lower_refuse(lowering, "/provider/autoscaler",
			"give a pool nodes: {min, max}, or remove it",
			"provider.autoscaler is for clusters with elastic pools, and this one has "
			"none");
	if (json_object_get(redis, "username") && json_object_get(redis, "username_secret"))
		kube_lower_refuse(lowering, "/provider/fault_tolerance/redis/username_secret",
			"remove one of them", "the user of Redis is given twice");
	if (redis)
		json_object_set_new(options, "gcsFaultToleranceOptions", redis_of(redis));
	if (volume)
		json_object_set_new(options, "gcsFaultToleranceOptions", volume_of(volume));
	if (json_is_true(kube_lower_setting(lowering, "tls")))
		json_object_set_new(options, "tlsOptions", json_pack("{s:b}", "enabled", 1));
	if (history)
		json_object_set_new(options, "historyServerOptions", history_of(history));
	if (policy)
		json_object_set_new(options, "networkPolicy", json_pack("{s:O}", "mode", policy));
	return options;
}
