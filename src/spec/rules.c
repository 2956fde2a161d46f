#include "spec/check.h"

#include <string.h>
#include "base/caps.h"
#include "base/redact.h"
#include "base/words.h"
#include "spec/disk.h"
#include "spec/words.h"

/* A finding about a key rather than its value. */
static void report_key(RgDocument *document, const char *pointer, const char *code,
	const char *summary, const char *hint, RgDiags *diags)
{
	RgDiag *diag = rg_spec_report(document, pointer, code, diags, "%s", summary);
	rg_diag_at(diag, rg_document_key_source(document, pointer));
	if (hint)
		rg_diag_hint(diag, "%s", hint);
}

/* Why a name may not be used, or NULL; *hint may be set. */
typedef const char *(*NameRule)(const char *name, const char **hint);

static const char *judge_tag(const char *name, const char **hint)
{
	return g_ascii_strncasecmp(name, "raygpu", strlen("raygpu")) == 0
		       ? "keys that start with raygpu are raygpu's ownership tags"
		       : NULL;
}

static const char *judge_node_label(const char *name, const char **hint)
{
	if (!g_str_has_prefix(name, "ray.io/"))
		return NULL;
	*hint = "raygpu sets accelerator, zone, region, market and pool there";
	return "keys under ray.io/ are Ray's";
}

static const char *judge_resource(const char *name, const char **hint)
{
	static const char *const sizes[] = {"memory", "object_store_memory", NULL};
	if (g_str_equal(name, "CPU")) {
		*hint = "use num_cpus, such as `num_cpus: 0` for a head without tasks";
		return "Ray counts it itself";
	}
	if (g_strv_contains(sizes, name)) {
		*hint = "use ray_start, such as `ray_start: {object_store_memory: 16GB}`";
		return "Ray counts it itself";
	}
	if (g_str_equal(name, "GPU")) {
		*hint = "it follows from the instance type; remove it";
		return "Ray counts it itself";
	}
	if (g_str_has_prefix(name, "accelerator_type:")) {
		*hint = "it follows from accelerators; remove it";
		return "raygpu sets it";
	}
	if (g_str_has_prefix(name, "node:"))
		return "names that start with node: are Ray's";
	return NULL;
}

/* Variables that carry a node's identity, authentication and GPUs (Ray's
 * src/ray/common/constants.h, its documentation of token authentication, NVIDIA's container
 * toolkit): raygpu sets them itself.
 */
static const char *judge_variable(const char *name, const char **hint)
{
	static const char *const own[] = {"RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME",
		"RAY_CLOUD_INSTANCE_TYPE_NAME", "RAY_OVERRIDE_RESOURCES", "RAY_OVERRIDE_LABELS",
		"NVIDIA_VISIBLE_DEVICES", NULL};
	if (g_str_has_prefix(name, "RAY_AUTH_")) {
		*hint = "use ray: {auth: token}; raygpu generates and distributes the token";
		return "RAY_AUTH_ variables are set by raygpu";
	}
	if (g_strv_contains(own, name) || g_str_has_prefix(name, "RAYGPU_"))
		return "raygpu sets it on each node";
	return NULL;
}

/* No field here is meant for secrets; if someone put one here, it must not be shown with the
 * refused line. */
static void hide_secrets(const json_t *place)
{
	const char *endpoint = rg_json_str(place, "endpoint", NULL);
	const char *user = endpoint ? strstr(endpoint, "://") : NULL;
	const char *host = user ? strrchr(user, '@') : NULL;
	if (host)
		rg_redact_add(user + 3, (size_t)(host - user) - 3);
}

static void check_names(RgDocument *document, const char *pointer, NameRule judge, const char *code,
	const char *what, RgDiags *diags)
{
	json_t *map = rg_json_at(document->value, pointer);
	rg_json_foreach_member (name, value, map) {
		g_autofree char *at = rg_json_pointer_add(pointer, name);
		const char *hint = NULL;
		const char *why = judge(name, &hint);
		if (json_is_string(value) && g_str_has_prefix(name, "RAY_AUTH_TOKEN"))
			rg_redact_add(json_string_value(value), json_string_length(value));
		if (!why || rg_document_is_spoiled(document, at))
			continue;
		g_autofree char *quoted = rg_words_quote(name);
		g_autofree char *summary =
			g_strdup_printf("the %s %s is reserved: %s", what, quoted, why);
		report_key(document, at, code, summary, hint, diags);
	}
}

static void check_disk(RgDocument *document, const char *pointer, RgDiags *diags)
{
	const json_t *size = rg_json_at(document->value, pointer);
	int64_t gib = size ? rg_disk_gib(size) : 0;
	if (rg_document_is_spoiled(document, pointer) || gib <= RG_DISK_MAX_GIB)
		return;
	g_autofree char *path = rg_spec_path(document, pointer);
	g_autofree char *got = rg_words_of_value(size);
	rg_spec_report(document, pointer, "spec.out-of-range", diags,
		"%s must be at most %d GiB, not %s", path, RG_DISK_MAX_GIB, got);
}

static void check_health(RgDocument *document, const char *pointer, RgDiags *diags)
{
	const json_t *health = rg_json_at(document->value, pointer);
	g_autofree char *diag = rg_json_pointer_add(pointer, "diag");
	if (json_is_false(json_object_get(health, "gate")) && json_object_get(health, "diag"))
		report_key(document, diag, "spec.conflict",
			"health.diag is a part of the gate, and health.gate is false",
			"remove one of them", diags);
}

/* What the container cannot do without, and what raygpu puts there. */
static bool is_reserved_path(const char *path)
{
	static const char *const whole[] = {"/bin", "/boot", "/etc", "/home", "/lib", "/lib32",
		"/lib64", "/opt", "/root", "/run", "/sbin", "/tmp", "/usr", "/var", NULL};
	static const char *const trees[] = {"/dev", "/etc/raygpu", "/proc", "/sys", "/tmp/ray"};
	for (size_t i = 0; i < G_N_ELEMENTS(trees); i++) {
		const char *rest = path + strlen(trees[i]);
		if (g_str_has_prefix(path, trees[i]) && (*rest == '\0' || *rest == '/'))
			return true;
	}
	return g_strv_contains(whole, path);
}

static void check_mounts(RgDocument *document, const char *pointer, RgDiags *diags)
{
	g_autoptr(GHashTable) paths = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *list = g_strconcat(pointer, "/mounts", NULL);
	const json_t *mounts = rg_json_at(document->value, list);
	rg_json_foreach_at (i, mount, mounts) {
		const char *path = rg_json_str(mount, "path", NULL);
		g_autofree char *at = g_strdup_printf("%s/%zu/path", list, i);
		if (!path || rg_document_is_spoiled(document, at))
			continue;
		if (is_reserved_path(path)) {
			RgDiag *diag = rg_spec_report(document, at, "spec.reserved-name", diags,
				"nothing can be mounted at %s: the container has its own files "
				"there",
				path);
			rg_diag_hint(diag, "choose a path such as /mnt/data");
		} else if (!g_hash_table_add(paths, (void *)(uintptr_t)path)) {
			RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
				"two mounts have the path %s", path);
			rg_diag_hint(diag, "give each mount a path of its own");
		}
	}
}

static void check_pool(RgDocument *document, const char *pointer, RgDiags *diags)
{
	g_autofree char *labels = rg_json_pointer_add(pointer, "labels");
	g_autofree char *resources = rg_json_pointer_add(pointer, "resources");
	g_autofree char *env = rg_json_pointer_add(pointer, "env");
	g_autofree char *size = g_strconcat(pointer, "/disk/size", NULL);
	g_autofree char *health = rg_json_pointer_add(pointer, "health");
	check_disk(document, size, diags);
	check_health(document, health, diags);
	check_mounts(document, pointer, diags);
	check_names(document, labels, judge_node_label, "spec.reserved-label", "label", diags);
	check_names(document, resources, judge_resource, "spec.reserved-name", "resource", diags);
	check_names(document, env, judge_variable, "spec.reserved-name", "variable", diags);
}

/* Ray's autoscaler asks for an elastic pool's nodes one by one, by one template. */
static void check_market(RgDocument *document, const char *pointer, RgDiags *diags)
{
	static const char *const names[] = {"on_demand_floor", "fallback"};
	g_autofree char *count = rg_json_pointer_add(pointer, "nodes");
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *at = g_strconcat(pointer, "/market/spot/", names[i], NULL);
		if (!json_is_object(rg_json_at(document->value, count)) ||
			!rg_json_at(document->value, at) || rg_document_is_spoiled(document, at))
			continue;
		g_autofree char *path = rg_spec_path(document, at);
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			"%s is for pools with a fixed number of nodes", path);
		rg_diag_hint(diag, "give the pool a fixed `nodes`, or remove `%s`", names[i]);
	}
}

/* A reservation is in one place, and nowhere else. */
static void check_reservation(RgDocument *document, const char *pointer, RgDiags *diags)
{
	g_autofree char *at = g_strconcat(pointer, "/market/reservation", NULL);
	if (!rg_json_at(document->value, at) || rg_document_is_spoiled(document, at) ||
		!rg_json_at(document->value, "/provider/any_of"))
		return;
	RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
		"a reservation is in one region, but provider.any_of leaves the region open");
	rg_diag_hint(diag, "name the provider and region of the reservation");
}

/* Which pool a record of that name belongs to must be certain. */
static void check_former(
	RgDocument *document, GHashTable *formers, const char *at, const char *name, RgDiags *diags)
{
	g_autofree char *pool = rg_json_pointer_add("/pools", name);
	g_autofree char *path = rg_spec_path(document, at);
	const char *other = g_hash_table_lookup(formers, name);
	const char *taken =
		json_object_get(json_object_get(document->value, "pools"), name) ? pool : other;
	if (rg_document_is_spoiled(document, at))
		return;
	if (g_str_equal(name, "head")) {
		rg_spec_report(
			document, at, "spec.conflict", diags, "%s: the head is not a pool", path);
	} else if (taken) {
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			taken == pool ? "%s: the spec still has a pool \"%s\""
				      : "%s: another pool was renamed from \"%s\" too",
			path, name);
		rg_diag_related(diag, rg_document_key_source(document, taken),
			taken == pool ? "the pool" : "the other one");
	}
	g_hash_table_replace(formers, g_strdup(name), g_strdup(at));
}

static void check_renames(RgDocument *document, RgDiags *diags)
{
	g_autoptr(GHashTable) formers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	json_t *pools = json_object_get(document->value, "pools");
	rg_json_foreach_member (name, pool, pools) {
		g_autofree char *pointer = rg_json_pointer_add("/pools", name);
		g_autofree char *all = g_strconcat(pointer, "/renamed_from", NULL);
		json_t *value = json_object_get(pool, "renamed_from");
		if (json_is_string(value))
			check_former(document, formers, all, json_string_value(value), diags);
		rg_json_foreach_at (i, former, value) {
			g_autofree char *at = g_strdup_printf("%s/%zu", all, i);
			if (json_is_string(former))
				check_former(
					document, formers, at, json_string_value(former), diags);
		}
	}
}

/* A pool that says of itself that it is enabled, while all are disabled. */
static void check_enabled(RgDocument *document, const char *pointer, RgDiags *diags)
{
	static const char all[] = "/workers/enabled";
	g_autofree char *at = rg_json_pointer_add(pointer, "enabled");
	if (!json_is_true(rg_json_at(document->value, at)) ||
		!json_is_false(rg_json_at(document->value, all)))
		return;
	g_autofree char *path = rg_spec_path(document, at);
	RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
		"%s is true, but workers.enabled is false", path);
	rg_diag_related(diag, rg_document_source(document, all), "all pools are disabled here");
	rg_diag_hint(diag, "remove one of them; to enable only some pools, set `enabled: false` of "
			   "the others");
}

static void check_head_enabled(RgDocument *document, RgDiags *diags)
{
	static const char at[] = "/head/enabled";
	if (!json_is_false(rg_json_at(document->value, at)))
		return;
	RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
		"the head cannot be disabled: a cluster cannot be without it");
	rg_diag_hint(diag, "`workers: {enabled: false}` removes the nodes of all pools; `raygpu "
			   "destroy` removes the cluster");
}

static void check_pools(RgDocument *document, RgDiags *diags)
{
	json_t *pools = json_object_get(document->value, "pools");
	double nodes = 1;
	rg_json_foreach_member (name, pool, pools) {
		g_autofree char *pointer = rg_json_pointer_add("/pools", name);
		check_pool(document, pointer, diags);
		check_market(document, pointer, diags);
		check_reservation(document, pointer, diags);
		check_enabled(document, pointer, diags);
		g_autofree char *count = rg_json_pointer_add(pointer, "nodes");
		nodes += rg_spec_check_nodes(document, count, diags);
		if (g_str_equal(name, "head"))
			report_key(document, pointer, "spec.reserved-name",
				"the pool name \"head\" is reserved for the head node",
				"choose another name", diags);
	}
	if (nodes <= RG_CAP_NODES || rg_document_is_spoiled(document, "/pools"))
		return;
	g_autofree char *summary = g_strdup_printf(
		"the cluster has %.0f nodes; at most %d are allowed", nodes, RG_CAP_NODES);
	report_key(document, "/pools", "spec.out-of-range", summary, NULL, diags);
}

/* The state could not distinguish which of two candidates of one region was chosen. */
static void check_twice(RgDocument *document, const json_t *any_of, size_t i, RgDiags *diags)
{
	const json_t *place = json_array_get(any_of, i);
	const char *name = rg_json_str(place, "name", NULL);
	const char *region = rg_json_str(place, "region", "");
	g_autofree char *at = g_strdup_printf("/provider/any_of/%zu", i);
	for (size_t k = 0; k < i && name; k++) {
		const json_t *other = json_array_get(any_of, k);
		if (!g_str_equal(rg_json_str(other, "name", ""), name) ||
			!g_str_equal(rg_json_str(other, "region", ""), region))
			continue;
		g_autofree char *place_text = rg_place_text(name, region);
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			"provider.any_of names %s twice", place_text);
		rg_diag_hint(diag, "name each provider and region once");
		return;
	}
}

static void check_places(RgDocument *document, RgDiags *diags)
{
	const json_t *any_of = rg_json_at(document->value, "/provider/any_of");
	for (size_t i = 0; i < json_array_size(any_of); i++)
		check_twice(document, any_of, i, diags);
}

/* A limit of a pool that does not exist would limit nothing, and nobody would notice. */
static void check_budget(RgDocument *document, RgDiags *diags)
{
	json_t *limits = rg_json_at(document->value, "/budget/pools");
	const json_t *pools = json_object_get(document->value, "pools");
	rg_json_foreach_member (name, limit, limits) {
		g_autofree char *at = rg_json_pointer_add("/budget/pools", name);
		if (g_str_equal(name, "head") || json_object_get(pools, name) ||
			rg_document_is_spoiled(document, at))
			continue;
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			"budget.pools names \"%s\", but the spec has no such pool", name);
		rg_diag_at(diag, rg_document_key_source(document, at));
		g_autoptr(GPtrArray) words = g_ptr_array_new();
		g_ptr_array_add(words, (gpointer)(uintptr_t) "head");
		rg_json_foreach_member (pool, value, pools)
			g_ptr_array_add(words, (gpointer)(uintptr_t)pool);
		g_ptr_array_add(words, NULL);
		const char *near = rg_nearest_word(name, (const char *const *)words->pdata);
		if (near)
			rg_diag_hint(diag, "did you mean `%s`?", near);
	}
}

void rg_spec_check_rules(RgDocument *document, RgDiags *diags)
{
	json_t *provider = json_object_get(document->value, "provider");
	hide_secrets(provider);
	rg_json_foreach (place, json_object_get(provider, "any_of"))
		hide_secrets(place);
	check_names(document, "/labels", judge_tag, "spec.reserved-label", "label", diags);
	check_places(document, diags);
	rg_spec_check_ray(document, diags);
	check_budget(document, diags);
	check_mounts(document, "", diags);
	check_pool(document, "/head", diags);
	check_head_enabled(document, diags);
	check_pools(document, diags);
	check_renames(document, diags);
	rg_spec_check_leases(document, diags);
	rg_spec_check_once(document, diags);
	rg_spec_check_workloads(document, diags);
}
