/* What the plan takes from the spec itself: how apply is to make and replace the nodes of each pool
 * (RgPlanRule), and the names of its files. */
#include "fit/disabled.h"
#include "pipeline/internal.h"
#include <string.h>

static RgPlanSum sum_of(const RgDisabledSum *sum)
{
	return (RgPlanSum){.nodes = sum->nodes,
		.gpus = sum->gpus,
		.unpriced = sum->unpriced,
		.microusd_hour = sum->microusd_hour};
}

static void disable_rule(RgPlanRule *rule, const RgPass *pass, const RgPool *pool)
{
	rule->disabled = true;
	rule->disabled_at = pool->enabled_source;
	if (!pass->shapes)
		return;
	const RgDisabled would = rg_fit_disabled(pass->shapes, pool);
	const RgPlanSum least = sum_of(&would.least);
	rule->instance_type = would.instance_type;
	rule->accelerator = would.accelerator;
	rule->market = would.market;
	rule->enabled = (RgPlanSide){least, least, sum_of(&would.most)};
}

static void clear_rule(gpointer rule)
{
	g_free(((RgPlanRule *)rule)->again);
}

GArray *pass_rules(const RgPass *pass, bool destroy)
{
	const RgCluster *cluster = pass->cluster;
	GArray *rules = g_array_new(FALSE, FALSE, sizeof(RgPlanRule));
	g_array_set_clear_func(rules, clear_rule);
	for (guint i = 0; cluster && i < cluster->pools->len; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		/* nodes that must be near each other cannot be made one after the other */
		bool rolls = !pool->gang && !rg_fit_is_gathered(pool);
		RgPlanRule rule = {.pool = pool->name,
			.gang = pool->gang,
			.max_unavailable = rolls ? pool->max_unavailable : 0,
			.max_surge = rolls ? pool->max_surge : 0};
		if (pool->is_disabled && !destroy)
			disable_rule(&rule, pass, pool);
		else if (pass->shapes && !destroy)
			rule.again = rg_fit_again(pass->shapes, pool);
		g_array_append_val(rules, rule);
	}
	return rules;
}

json_t *pass_files(const RgCluster *cluster, const char *spec_file)
{
	if (!cluster || cluster->files->len < 2)
		return NULL;
	/* the root of the repository is where the spec's name in plans begins */
	g_autofree char *spec = g_canonicalize_filename(cluster->file, NULL);
	size_t root = g_str_has_suffix(spec, spec_file) ? strlen(spec) - strlen(spec_file) : 0;
	json_t *files = json_object();
	rg_ptr_foreach (const char, file, cluster->files) {
		g_autofree char *full = g_canonicalize_filename(file, NULL);
		bool below = root > 0 && strncmp(full, spec, root) == 0;
		bool own = g_str_equal(file, cluster->file);
		rg_json_set_str(files, file, own ? spec_file : below ? full + root : file);
	}
	return files;
}
