/* The options of a deployment of Ray Serve (@serve.deployment, .options()). A replica with a
 * placement group is the actor in its first bundle; it starts the others. */
#include "workloads/emit_internal.h"

/* An amount that any node with this GPU has enough of: ray.util.accelerators. */
static void add_trace(const RgEmitEntry *entry, json_t *resources)
{
	if (!entry->ray_type)
		return;
	g_autofree char *name = g_strconcat("accelerator_type:", entry->ray_type, NULL);
	if (!json_object_get(resources, name))
		json_object_set_new(resources, name, json_real(0.001));
}

/* A bundle as the resources of a placement group. */
static json_t *bundle_resources(const RgEmitEntry *entry, const json_t *bundle)
{
	json_t *resources = json_copy(json_object_get(bundle, "resources"));
	if (!rg_emit_has(entry, "serve_actor", "label_selector"))
		add_trace(entry, resources);
	return resources;
}

/* Serve adds one CPU unless num_cpus says otherwise. */
static json_t *actor_options(const RgEmitEntry *entry)
{
	const json_t *bundle = json_array_get(entry->bundles, 0);
	json_auto_t *resources = bundle_resources(entry, bundle), *custom = json_object();
	json_t *options = json_object();
	json_t *cpus = json_object_get(resources, "CPU");
	json_object_set_new(options, "num_cpus", cpus ? json_incref(cpus) : json_integer(0));
	rg_json_foreach_member (name, amount, resources) {
		if (g_str_equal(name, "GPU"))
			json_object_set(options, "num_gpus", amount);
		else if (g_str_equal(name, "memory"))
			json_object_set(options, "memory", amount);
		else if (!g_str_equal(name, "CPU"))
			json_object_set(custom, name, amount);
	}
	if (json_object_size(custom) > 0)
		json_object_set(options, "resources", custom);
	json_t *selector = json_object_get(bundle, "label_selector");
	if (!entry->strategy && json_object_size(selector) > 0 &&
		rg_emit_has(entry, "serve_actor", "label_selector"))
		json_object_set(options, "label_selector", selector);
	return options;
}

static void add_group(const RgEmitEntry *entry, json_t *arguments)
{
	json_t *bundles = json_array();
	rg_json_foreach (bundle, entry->bundles) {
		for (int64_t k = 0; k < rg_json_int(bundle, "count", 1); k++)
			json_array_append_new(bundles, bundle_resources(entry, bundle));
	}
	json_object_set_new(arguments, "placement_group_bundles", bundles);
	rg_json_set_str(arguments, "placement_group_strategy", entry->strategy);
	json_auto_t *selectors = rg_emit_selectors(entry);
	if (selectors && rg_emit_has(entry, "serve", "placement_group_bundle_label_selector"))
		json_object_set(arguments, "placement_group_bundle_label_selector", selectors);
}

/* Where elastic pools have room for some replicas only at their maximum, Serve's autoscaler follows
 * the load between the two. */
static void add_replicas(const RgEmitEntry *entry, json_t *arguments)
{
	int64_t least = rg_json_int(entry->said, "at_once_min", 0) / entry->each;
	int64_t most = rg_json_int(entry->said, "at_once", 0) / entry->each;
	if (!entry->alone || least >= MIN(most, entry->replicas))
		json_object_set_new(arguments, "num_replicas", json_integer(entry->replicas));
	else
		json_object_set_new(arguments, "autoscaling_config",
			json_pack("{s:I, s:I}", "min_replicas", (json_int_t)least, "max_replicas",
				(json_int_t)entry->replicas));
}

json_t *rg_emit_serve(const RgEmitEntry *entry)
{
	json_t *arguments = json_object();
	add_replicas(entry, arguments);
	json_object_set_new(arguments, "ray_actor_options", actor_options(entry));
	if (entry->strategy)
		add_group(entry, arguments);
	return arguments;
}
