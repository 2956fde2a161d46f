/* Ray needs its nodes close together, so the cluster uses one zone where possible. */
#include <string.h>
#include "fit/internal.h"
#include "base/words.h"

/* How good a zone is for a pool without a preference; compared in this order. */
typedef struct {
	guint own, cluster; /* existing nodes of the pool, of the cluster */
	guint serves;	    /* pools that could be there */
	int64_t spot;	    /* micro-USD per hour of their spot nodes there, as far as known */
} Rank;

static const json_t *offered_zones(const json_t *facts, const RgInstanceType *type)
{
	return json_object_get(json_object_get(facts, "offerings"), type->name);
}

/* A type that the facts do not mention counts as offered: if it is not, the cloud will say so. */
static bool is_offered(const json_t *facts, const RgInstanceType *type, const char *zone)
{
	const json_t *zones = offered_zones(facts, type);
	return !zones || rg_json_has_text(zones, zone);
}

bool rg_fit_has_zone(const json_t *facts, const char *zone)
{
	return rg_json_has_text(json_object_get(facts, "zones"), zone);
}

bool rg_fit_zone_works(const json_t *facts, const RgInstanceType *type, const char *zone)
{
	return rg_fit_has_zone(facts, zone) && is_offered(facts, type, zone);
}

/* `type`: of the shape, for which there may be another. */
static Rank rank_zone(const RgShapes *shapes, const RgShape *shape, const RgInstanceType *type,
	const json_t *facts, const char *zone)
{
	Rank rank = {.own = GPOINTER_TO_UINT(g_hash_table_lookup(shape->nodes_in, zone))};
	rg_ptr_foreach (const RgShape, other, shapes->shapes) {
		const RgInstanceType *its = other == shape ? type : other->type;
		unsigned count = rg_fit_count(other->pool);
		rank.cluster += GPOINTER_TO_UINT(g_hash_table_lookup(other->nodes_in, zone));
		if (count == 0 || !rg_fit_zone_works(facts, its, zone) ||
			!rg_fit_admits_zone(other, zone))
			continue;
		rank.serves++;
		rank.spot += rg_fit_spot_sum(
			shapes->cluster, other, its, rg_fit_zone_id(facts, zone), count);
	}
	return rank;
}

static bool is_better(Rank a, Rank b)
{
	if (a.own != b.own)
		return a.own > b.own;
	if (a.cluster != b.cluster)
		return a.cluster > b.cluster;
	if (a.serves != b.serves)
		return a.serves > b.serves;
	return a.spot < b.spot;
}

typedef struct {
	const char *zone;
	Rank rank;
} Ranked;

static int by_zone_rank(gconstpointer left, gconstpointer right)
{
	const Ranked *a = left, *b = right;
	if (is_better(a->rank, b->rank) || is_better(b->rank, a->rank))
		return is_better(a->rank, b->rank) ? -1 : 1;
	return strcmp(a->zone, b->zone);
}

static GPtrArray *free_zones(const RgShapes *shapes, const RgShape *shape,
	const RgInstanceType *type, const json_t *facts)
{
	g_autoptr(GArray) ranked = g_array_new(FALSE, FALSE, sizeof(Ranked));
	GPtrArray *zones = g_ptr_array_new();
	rg_json_foreach (name, json_object_get(facts, "zones")) {
		const char *zone = json_string_value(name);
		if (!rg_fit_zone_works(facts, type, zone) || !rg_fit_admits_zone(shape, zone))
			continue;
		const Ranked one = {zone, rank_zone(shapes, shape, type, facts, zone)};
		g_array_append_val(ranked, one);
	}
	g_array_sort(ranked, by_zone_rank);
	for (size_t i = 0; i < ranked->len; i++)
		g_ptr_array_add(zones, (void *)(uintptr_t)g_array_index(ranked, Ranked, i).zone);
	return zones;
}

GPtrArray *rg_fit_rank_zones(const RgShapes *shapes, const RgShape *shape,
	const RgInstanceType *type, const json_t *facts)
{
	const RgPool *pool = shape->pool;
	if (!pool->zones)
		return free_zones(shapes, shape, type, facts);
	GPtrArray *zones = g_ptr_array_new();
	for (size_t i = 0; pool->zones[i]; i++) {
		if (rg_fit_zone_works(facts, type, pool->zones[i]) &&
			rg_fit_admits_zone(shape, pool->zones[i]))
			g_ptr_array_add(zones, pool->zones[i]);
	}
	return zones;
}

/* "east-1a, east-1d": usable zones (that have the type); g_free the result. */
static char *list_zones(const json_t *facts, const RgInstanceType *type)
{
	g_autoptr(GPtrArray) zones = g_ptr_array_new();
	rg_json_foreach (name, json_object_get(facts, "zones")) {
		const char *zone = json_string_value(name);
		if (!type || is_offered(facts, type, zone))
			g_ptr_array_add(zones, (void *)(uintptr_t)zone);
	}
	g_ptr_array_sort(zones, rg_by_text);
	g_ptr_array_add(zones, NULL);
	return g_strjoinv(", ", (char **)zones->pdata);
}

static bool any_offered(const RgShape *shape, const json_t *facts)
{
	const json_t *offered = offered_zones(facts, shape->type);
	if (!offered)
		return true;
	if (!shape->pool->zones)
		return json_array_size(offered) > 0;
	for (size_t i = 0; shape->pool->zones[i] != NULL; i++) {
		if (is_offered(facts, shape->type, shape->pool->zones[i]))
			return true;
	}
	return false;
}

static void zone_report(const RgShapes *shapes, const RgShape *shape, const json_t *facts,
	const char *region, RgDiags *diags)
{
	const char *word = rg_catalog_words(shapes->catalog)->zone;
	const RgPool *pool = shape->pool;
	const char *type = shape->type->name;
	g_autofree char *listed = pool->zones ? g_strjoinv(", ", pool->zones) : NULL;
	g_autofree char *usable = list_zones(facts, shape->type);
	g_autofree char *reached = list_zones(facts, NULL);
	bool offered = any_offered(shape, facts);
	const char *reserved = rg_json_str(shape->reservation, "zone", NULL);
	RgDiag *diag;
	if (reserved)
		diag = rg_diags_error(diags, "fit.no-zone",
			"no %s for pool %s: the network does not reach %s, where reservation %s is",
			word, pool->name, reserved, pool->market.reservation);
	else if (!offered && listed)
		diag = rg_diags_error(
			diags, "fit.zone-not-offered", "%s is not offered in %s", type, listed);
	else if (!offered)
		diag = rg_diags_error(diags, "fit.zone-not-offered",
			"%s is not offered in any %s of %s", type, word, region);
	else if (listed)
		diag = rg_diags_error(diags, "fit.no-zone",
			"no %s for %s%s: the network does not reach %s", word,
			pool->is_head ? "the " : "pool ", pool->name, listed);
	else
		diag = rg_diags_error(diags, "fit.no-zone",
			"no %s for %s%s: the network reaches no %s that offers %s", word,
			pool->is_head ? "the " : "pool ", pool->name, word, type);
	rg_diag_at(diag, reserved ? pool->market.source
			 : listed ? pool->zones_source
				  : pool->shape_source);
	if (usable[0] != '\0')
		rg_diag_detail(diag, "%ss that the network reaches and that offer %s: %s", word,
			type, usable);
	else
		rg_diag_detail(diag, "%ss that the network reaches: %s", word,
			reached[0] != '\0' ? reached : "none");
}

const char *rg_fit_choose_zone(const RgShapes *shapes, const RgShape *shape, const json_t *facts,
	const char *beside, const char *region, RgDiags *diags)
{
	const char *zone = NULL;
	g_autoptr(GPtrArray) zones = rg_fit_rank_zones(shapes, shape, shape->type, facts);
	if (shape->gathered && rg_fit_zone_works(facts, shape->type, shape->gathered))
		zone = shape->gathered;
	else if (!shape->pool->zones && beside && rg_fit_admits_zone(shape, beside) &&
		 rg_fit_zone_works(facts, shape->type, beside))
		zone = beside;
	else if (zones->len)
		zone = zones->pdata[0];
	if (!zone)
		zone_report(shapes, shape, facts, region, diags);
	return zone;
}
