/* Settings of the provider module in the head and the pools. With several places, each setting is
 * for the modules that have it; one that none of them has is a mistake. */
#include "pipeline/internal.h"
#include "spec/words.h"

/* const char*: the settings that a module of the places has, NULL-ended. */
static GPtrArray *known_settings(RgProviderHost *providers, const RgCluster *cluster)
{
	GPtrArray *names = g_ptr_array_new();
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* the place's own check reports it */
	rg_ptr_foreach (const RgProviderRef, place, cluster->places) {
		const RgSchema *schema =
			rg_provider_has(providers, place->name, "schema.json")
				? rg_provider_schema(providers, place->name, unsaid)
				: NULL;
		const json_t *rules = schema ? rg_schema_pool_config(schema) : NULL;
		json_t *settings = json_object_get(rules, "properties");
		rg_json_foreach_member (name, rule, settings)
			if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
				g_ptr_array_add(names, (gpointer)(uintptr_t)name);
	}
	g_ptr_array_add(names, NULL);
	return names;
}

static void report_unknown(
	const RgCluster *cluster, const char *name, const GPtrArray *known, RgDiag *diag)
{
	const char *near = rg_nearest_word(name, (const char *const *)known->pdata);
	g_autofree char *all = g_strjoinv(", ", (char **)known->pdata);
	const char *whose = cluster->places->len > 1 ? "their" : "its";
	if (near)
		rg_diag_hint(diag, "did you mean \"%s\"?", near);
	else if (*all != '\0')
		rg_diag_hint(diag, "%s pool settings are %s", whose, all);
	else
		rg_diag_hint(diag, "%s has no pool settings: remove `provider` here",
			cluster->places->len > 1 ? "none of them" : "it");
}

static bool check_known(
	const RgCluster *cluster, const RgPool *pool, const GPtrArray *known, RgDiags *diags)
{
	g_autofree char *base = g_strconcat(pool->origin, "/provider", NULL);
	bool ok = true;
	rg_json_foreach_member (name, value, pool->config) {
		if (g_strv_contains((const char *const *)known->pdata, name))
			continue;
		g_autofree char *shown = rg_words_quote(name),
				*at = rg_json_pointer_add(base, name);
		RgDiag *diag = cluster->places->len > 1
				       ? rg_diags_error(diags, "provider.bad-config",
						 "no candidate of provider.any_of has a pool "
						 "setting %s",
						 shown)
				       : rg_diags_error(diags, "provider.bad-config",
						 "provider \"%s\" has no pool setting %s",
						 cluster->provider.name, shown);
		report_unknown(cluster, name, known, diag);
		rg_diag_origin(diag, at);
		ok = false;
	}
	return ok;
}

bool pass_check_pool_settings(
	RgProviderHost *providers, const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	g_autoptr(GPtrArray) known = known_settings(providers, cluster);
	const RgPool *pool;
	bool ok = true;
	for (guint i = 0; (pool = rg_cluster_pool(cluster, i)) != NULL; i++) {
		g_autofree char *origin = g_strconcat(pool->origin, "/provider", NULL);
		json_auto_t *own = rg_schema_own_settings(schema, pool->config);
		ok = check_known(cluster, pool, known, diags) && ok;
		if (json_object_size(own) > 0)
			ok = rg_provider_check_pool(
				     providers, cluster->provider.name, origin, own, diags) &&
			     ok;
	}
	return ok;
}

json_t *pass_pool_settings(const RgCluster *cluster, const RgSchema *schema)
{
	json_t *by_pool = json_object();
	const RgPool *pool;
	for (guint i = 0; (pool = rg_cluster_pool(cluster, i)) != NULL; i++) {
		json_auto_t *own = rg_schema_own_settings(schema, pool->config);
		if (json_object_size(own) > 0)
			json_object_set(by_pool, pool->name, own);
	}
	return by_pool;
}

json_t *pass_pool_marked(const RgCluster *cluster, const RgSchema *schema, const char *mark)
{
	json_t *rules = json_object_get(rg_schema_pool_config(schema), "properties");
	json_t *by_pool = json_object();
	const RgPool *pool;
	for (guint i = 0; (pool = rg_cluster_pool(cluster, i)) != NULL; i++) {
		json_auto_t *marked = json_object();
		rg_json_foreach_member (name, rule, rules) {
			json_t *value = json_object_get(pool->config, name);
			if (value && rg_json_bool(rule, mark, false))
				json_object_set(marked, name, value);
		}
		if (json_object_size(marked) > 0)
			json_object_set(by_pool, pool->name, marked);
	}
	return by_pool;
}

json_t *pass_pool_cpus(const RgCluster *cluster, const RgSchema *schema)
{
	json_t *rules = json_object_get(rg_schema_pool_config(schema), "properties");
	json_t *by_pool = json_object();
	const RgPool *pool;
	for (guint i = 0; (pool = rg_cluster_pool(cluster, i)) != NULL; i++) {
		json_auto_t *cpus = json_object();
		rg_json_foreach_member (name, rule, rules) {
			json_t *value = json_object_get(pool->config, name);
			const char *how = rg_json_str(rule, "x-raygpu-cpus", NULL);
			if (value && how)
				json_object_set(cpus, how, value);
		}
		if (json_object_size(cpus) > 0)
			json_object_set(by_pool, pool->name, cpus);
	}
	return by_pool;
}
