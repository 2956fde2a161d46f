#include "fit/fit.h"
#include <string.h>
#include "fit/internal.h"

/* Shared by all steps of one fitting. */
typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes;
	json_t *facts;
	RgDiags *diags;
	const json_t *suits; /* RgStock.suits */
} Fit;

static const char *place_of(const RgCluster *cluster)
{
	return rg_place_name(cluster->provider.name, cluster->provider.region);
}

static void free_group(void *data)
{
	RgFitGroup *group = data;
	json_decref(group->indexes);
	g_free(group);
}

static bool is_at_home(const Fit *fit, const RgFitNode *node)
{
	if (!node->zone)
		return false;
	/* a user's own network may lack the zone in which the node was */
	if (node->same_type)
		return !fit->shapes->moved || rg_fit_has_zone(fit->facts, node->zone);
	return rg_fit_zone_works(fit->facts, node->as->type, node->zone);
}

/* `chosen` NULL: all nodes have their zone. Nodes with a placement move together. */
static const char *zone_of(
	const Fit *fit, const RgShape *shape, const RgFitNode *node, const char *chosen)
{
	if (rg_fit_is_gathered(shape->pool) && chosen)
		return chosen;
	return is_at_home(fit, node) ? node->zone : chosen;
}

/* Where the first pool with nodes is, or will be: Ray's head communicates with all of them. */
static const char *first_pool_zone(const Fit *fit, const char *const *chosen)
{
	for (guint i = 1; i < fit->shapes->shapes->len; i++) {
		const RgShape *shape = fit->shapes->shapes->pdata[i];
		if (rg_fit_count(shape->pool) == 0)
			continue;
		return zone_of(fit, shape, &shape->nodes[0], chosen[i]);
	}
	return NULL;
}

static bool has_homeless(const Fit *fit, const RgShape *shape)
{
	bool all_settled = shape->homeless == 0 && !fit->shapes->moved;
	for (unsigned i = 0; i < rg_fit_count(shape->pool) && !all_settled; i++) {
		if (!is_at_home(fit, &shape->nodes[i]))
			return true;
	}
	return false;
}

/* Fills `chosen` with the zone of each shape's homeless nodes; the head's comes last, because it
 * follows the workers. */
static bool choose_zones(const Fit *fit, const char **chosen)
{
	const GPtrArray *shapes = fit->shapes->shapes;
	bool good = true;
	for (guint step = 1; step <= shapes->len; step++) {
		guint i = step % shapes->len;
		const RgShape *shape = shapes->pdata[i];
		if (!has_homeless(fit, shape))
			continue;
		const char *beside = i == 0 ? first_pool_zone(fit, chosen) : NULL;
		chosen[i] = rg_fit_choose_zone(
			fit->shapes, shape, fit->facts, beside, place_of(fit->cluster), fit->diags);
		good &= chosen[i] != NULL;
	}
	return good;
}

static RgFitGroup *find_group(const GPtrArray *groups, const RgFitGroup *like)
{
	rg_ptr_foreach (RgFitGroup, group, groups)
		if (group->as == like->as && group->price == like->price &&
			g_strcmp0(group->zone, like->zone) == 0 &&
			g_str_equal(group->image_id, like->image_id) &&
			g_strcmp0(group->price_date, like->price_date) == 0 &&
			g_strcmp0(group->price_quality, like->price_quality) == 0)
			return group;
	return NULL;
}

static GPtrArray *make_groups(const Fit *fit, const RgShape *shape, const char *const *zones)
{
	GPtrArray *groups = g_ptr_array_new_with_free_func(free_group);
	for (unsigned i = 0; i < rg_fit_count(shape->pool); i++) {
		RgFitGroup like = {0};
		like.zone = zones[i];
		like.as = shape->nodes[i].as;
		like.image_id = shape->nodes[i].image_id ? shape->nodes[i].image_id
							 : rg_fit_image_of(fit->facts, like.as);
		rg_fit_set_price(fit->cluster, fit->facts, &shape->nodes[i], &like);
		RgFitGroup *group = find_group(groups, &like);
		if (!group) {
			group = g_memdup2(&like, sizeof like);
			group->indexes = json_array();
			g_ptr_array_add(groups, group);
		}
		json_array_append_new(group->indexes, json_integer(i));
	}
	return groups;
}

/* Spot prices change: only the cloud knows whether it sells at the limit now. */
static void warn_above_limit(const Fit *fit, const RgShape *shape, const RgFitGroup *group)
{
	const RgMarket *market = &shape->pool->market;
	g_autofree char *limit = rg_money_exact(market->max_microusd);
	g_autofree char *price = rg_money_exact(group->price);
	RgDiag *diag = rg_diags_warning(fit->diags, "fit.above-max-price",
		"max_price is %s USD per hour, and %s cost %s on spot at the last known price (%s)",
		limit, shape->type->name, price, group->price_date ? group->price_date : "?");
	rg_diag_at(diag, market->source);
	rg_diag_detail(diag, "the cloud creates no node below its current price");
	rg_diag_hint(diag, "raise max_price, or remove it to pay up to the on-demand price");
}

static void add_shape_nodes(
	const Fit *fit, const RgShape *shape, const char *const *zones, json_t *nodes)
{
	g_autoptr(GPtrArray) groups = make_groups(fit, shape, zones);
	const RgFitGroup *dear = NULL, *unpriced = NULL;
	rg_ptr_foreach (const RgFitGroup, group, groups) {
		json_array_append_new(nodes, rg_fit_node(fit->cluster, fit->facts, group));
		if (group->price == RG_MONEY_UNKNOWN)
			unpriced = group;
		if (group->price != RG_MONEY_UNKNOWN && group->as->is_spot &&
			shape->pool->market.max_microusd > 0 &&
			group->price > shape->pool->market.max_microusd)
			dear = group;
	}
	if (dear)
		warn_above_limit(fit, dear->as, dear);
	/* no shape of such a provider has a price, which the plan's sums say */
	if (unpriced && !unpriced->as->type->rank) {
		RgDiag *diag = rg_diags_warning(fit->diags, "catalog.no-price",
			"no %sprice is known for %s in %s", unpriced->as->is_spot ? "spot " : "",
			unpriced->as->type->name, place_of(fit->cluster));
		rg_diag_at(diag, shape->pool->shape_source);
		rg_diag_detail(diag, "sums do not include the cost of these nodes");
	}
}

static bool check_node_images(const Fit *fit, const RgShape *shape)
{
	const RgShape *last = NULL;
	bool good = true;
	for (unsigned i = 0; i < rg_fit_count(shape->pool) && good; i++) {
		const RgShape *as = shape->nodes[i].as;
		good = as == last || rg_fit_check_image(fit->facts, as, fit->diags);
		last = as;
	}
	return good;
}

/* The head runs the autoscaler while it has nothing to scale: it would restart otherwise. */
static bool has_disabled_range(const RgCluster *cluster)
{
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		if (pool->is_elastic && pool->is_disabled)
			return true;
	return false;
}

/* Their names, which a module may know from other settings; NULL: there are none. */
static json_t *empty_pools(const RgCluster *cluster)
{
	json_auto_t *names = json_array();
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		if (rg_pool_is_empty(pool))
			json_array_append_new(names, json_string(pool->name));
	return json_array_size(names) ? g_steal_pointer(&names) : NULL;
}

static json_t *document(const Fit *fit, const char *lineage, json_t *nodes)
{
	const RgCluster *cluster = fit->cluster;
	json_t *config = json_object(), *labels = json_object();
	json_object_update(config, cluster->provider.config);
	json_object_update(labels, cluster->labels);
	json_t *scope = json_pack("{s:s, s:s, s:o}", "provider", cluster->provider.name, "region",
		cluster->provider.region, "config", config);
	json_t *ray = json_pack("{s:s, s:s?, s:s, s:s}", "version", cluster->ray.version, "python",
		cluster->ray.python, "image", cluster->ray.image, "auth",
		cluster->ray.auth_token ? "token" : "none");
	if (cluster->ray.registry_user)
		json_object_set_new(ray, "registry",
			json_pack("{s:s, s:s}", "username", cluster->ray.registry_user,
				"password_secret", cluster->ray.registry_secret));
	json_t *elastic = has_disabled_range(cluster) ? json_true() : NULL;
	return json_pack("{s:i, s:s, s:s?, s:o, s:o, s:O, s:o, s:O, s:O*, s:o*, s:o*}", "format", 1,
		"cluster", cluster->name, "lineage", lineage, "scope", scope, "labels", labels,
		"facts", fit->facts, "ray", ray, "nodes", nodes, "jobs", cluster->jobs, "elastic",
		elastic, "disabled", empty_pools(cluster));
}

/* The zone of each node of each shape; false if there is none for one. Free the arrays. */
static bool place_nodes(const Fit *fit, const char ***zones, json_t *lacking)
{
	const GPtrArray *all = fit->shapes->shapes;
	g_autofree const char **chosen = g_new0(const char *, all->len);
	if (!choose_zones(fit, chosen))
		return false;
	for (guint i = 0; i < all->len; i++) {
		const RgShape *shape = all->pdata[i];
		unsigned n = rg_fit_count(shape->pool);
		zones[i] = g_new0(const char *, n + 1);
		for (unsigned k = 0; k < n; k++)
			zones[i][k] = zone_of(fit, shape, &shape->nodes[k], chosen[i]);
	}
	json_auto_t *taken = json_object();
	RgStock stock = {fit->shapes, fit->facts, taken, lacking, fit->suits};
	return rg_fit_take_stock(&stock, zones, fit->diags);
}

json_t *rg_fit(const RgCluster *cluster, const RgShapes *shapes, const json_t *facts,
	const json_t *pins, const char *lineage, json_t *lacking, RgDiags *diags)
{
	json_auto_t *merged = rg_fit_merge_facts(shapes, facts, pins);
	json_auto_t *nodes = json_array();
	Fit fit = {cluster, shapes, merged, diags, json_object_get(facts, "pool_stock")};
	const GPtrArray *all = shapes->shapes;
	if (!json_is_array(json_object_get(merged, "zones"))) {
		RgDiag *diag = rg_diags_error(diags, "fit.bad-facts",
			"the provider did not report which zones can be used");
		rg_diag_at(diag, cluster->provider.source);
		return NULL;
	}
	bool good = true;
	rg_ptr_foreach (const RgShape, shape, all)
		good &= check_node_images(&fit, shape);
	g_autofree const char ***zones = g_new0(const char **, all->len);
	good = place_nodes(&fit, zones, lacking) && good;
	for (guint i = 0; i < all->len; i++) {
		if (good)
			add_shape_nodes(&fit, all->pdata[i], zones[i], nodes);
		g_free(zones[i]);
	}
	return good ? document(&fit, lineage, nodes) : NULL;
}
