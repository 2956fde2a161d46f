/* Which instance type a pool gets: the one that the spec names; the pinned one while the spec
 * allows it; else the best offer. Plan and state keep the reason. */
#include <string.h>
#include "fit/internal.h"
#include "fit/offers.h"

#define NEAR_LISTED 5

/* Shared by all steps of one choice. */
typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes;
	const RgShape *shape;
	RgWish wish;
	RgDiags *diags;
} Choice;

/* An explicit type may be anything in the catalog, even if raygpu cannot run Ray on it yet. */
static bool check_type(const Choice *choice, const RgInstanceType *type)
{
	const RgPool *pool = choice->shape->pool;
	if (type->gpu && (!g_str_equal(type->gpu->vendor, "NVIDIA") || type->gpu_fraction != 1)) {
		RgDiag *diag = rg_diags_error(choice->diags, "fit.gpu-not-supported",
			"%s has %s%s %s, on which raygpu cannot run Ray", type->name,
			type->gpu_fraction != 1 ? "a slice of an " : "", type->gpu->vendor,
			type->gpu->name);
		rg_diag_at(diag, pool->shape_source);
		rg_diag_hint(diag, "choose a type with whole NVIDIA GPUs");
		return false;
	}
	if (!g_str_equal(type->arch, "x86_64") && !pool->image) {
		RgDiag *diag = rg_diags_error(choice->diags, "fit.image-arch",
			"%s is an %s host, and the default image is for x86_64", type->name,
			type->arch);
		rg_diag_at(diag, pool->shape_source);
		rg_diag_hint(diag, "set `image` for %s, and a Ray image for it", type->arch);
		return false;
	}
	return true;
}

static bool check_market(const Choice *choice, const RgInstanceType *type)
{
	const RgPool *pool = choice->shape->pool;
	g_autofree char *why =
		choice->wish.reserved ? NULL : rg_offers_reject_market(choice->wish.market, type);
	if (!why)
		return true;
	RgDiag *diag = rg_diags_error(choice->diags, "fit.no-market", "%s is %s", type->name, why);
	rg_diag_at(diag, pool->market.is_spot ? pool->market.source : pool->shape_source);
	if (type->markets & (RG_SOLD(RG_PRICE_ON_DEMAND) | RG_SOLD(RG_PRICE_SPOT)))
		rg_diag_hint(diag, pool->market.is_spot
					   ? "remove `market`, or choose another type"
					   : "write `market: spot`, or choose another type");
	else
		rg_diag_hint(diag, "write `market: {reservation: ID}`, or choose another type");
	return false;
}

/* What depends on the figures of the type is checked when the cloud has been asked. */
static void defer(const Choice *choice)
{
	const RgCluster *cluster = choice->cluster;
	const RgPool *pool = choice->shape->pool;
	RgDiag *diag = rg_diags_warning(choice->diags, "catalog.unlisted-type",
		"\"%s\" is not in the catalog of %s %ss: the cloud will be asked at plan time",
		pool->instance_type, cluster->provider.name,
		rg_catalog_words(choice->shapes->catalog)->instance_type);
	rg_diag_at(diag, pool->shape_source);
	rg_diag_detail(diag, "policies, workloads and images are checked then");
	rg_catalog_hint_type(choice->shapes->catalog, pool->instance_type, diag);
}

static const RgInstanceType *named_type(const Choice *choice)
{
	const RgPool *pool = choice->shape->pool;
	if (choice->shapes->types_later &&
		rg_catalog_may_ask(choice->shapes->catalog, pool->instance_type)) {
		defer(choice);
		return NULL;
	}
	const RgInstanceType *type = rg_catalog_get_type(
		choice->shapes->catalog, pool->instance_type, pool->shape_source, choice->diags);
	if (!type || !check_type(choice, type))
		return NULL;
	g_autofree char *why = rg_offers_reject_network(&choice->wish, type);
	if (!why)
		return check_market(choice, type) &&
				       rg_fit_check_placement(pool, type, choice->diags) &&
				       rg_fit_check_rdma(pool, type, choice->diags)
			       ? type
			       : NULL;
	RgDiag *diag =
		rg_diags_error(choice->diags, "fit.network-too-slow", "%s has %s", type->name, why);
	rg_diag_at(diag, pool->shape_source);
	rg_diag_hint(diag, "choose another type, or lower the pool's `network` requirement");
	return NULL;
}

bool rg_fit_lacks(const RgShapes *shapes, const RgPool *pool, const RgInstanceType *type)
{
	return rg_json_has_text(json_object_get(shapes->lacking, pool->name), type->name);
}

/* ---- pinned */

/* What was best on one market is not on the other, and the nodes can't stay anyway. */
static bool is_of_market(const RgShape *shape, unsigned index, const json_t *pin)
{
	bool is_spot = g_str_equal(rg_json_str(pin, "market", "on-demand"), "spot");
	return rg_fit_admits_market(shape->pool, index, is_spot);
}

/* A pinned type applies while it matches the spec, whatever is best today. The first node's
 * matching one, for all nodes. */
static const RgInstanceType *pinned_type(const Choice *choice, const char **reason)
{
	const RgShape *shape = choice->shape;
	const char *lost = NULL;
	g_autofree char *why_lost = NULL;
	for (unsigned i = 0; i < rg_fit_wanted(shape->pool); i++) {
		const char *name = rg_json_str(shape->nodes[i].pin, "instance_type", NULL);
		const RgInstanceType *type =
			name ? rg_catalog_find_type(choice->shapes->catalog, name) : NULL;
		if (!name || name == lost || !is_of_market(shape, i, shape->nodes[i].pin) ||
			(type && rg_fit_lacks(choice->shapes, shape->pool, type)))
			continue;
		g_autofree char *why =
			type ? rg_offers_judge(&choice->wish,
				       rg_catalog_get_gpus(choice->shapes->catalog), type)
					.why
			     : g_strdup("it is no longer in the catalog");
		if (!why) {
			*reason = rg_json_str(shape->nodes[i].pin, "reason", NULL);
			return type;
		}
		if (!lost) {
			lost = name;
			why_lost = g_steal_pointer(&why);
		}
	}
	if (lost) {
		RgDiag *diag = rg_diags_note(choice->diags, "fit.choice-changed",
			"%s was chosen for %s%s, and no longer fits the spec: %s", lost,
			choice->shape->pool->is_head ? "the " : "pool ", choice->shape->pool->name,
			why_lost);
		rg_diag_at(diag, choice->shape->pool->shape_source);
	}
	return NULL;
}

/* ---- best */

static int by_nearness(gconstpointer left, gconstpointer right)
{
	const RgOffer *a = *(RgOffer *const *)left, *b = *(RgOffer *const *)right;
	if (a->nearness != b->nearness)
		return a->nearness > b->nearness ? -1 : 1;
	return rg_instance_type_compare(a->type, b->type);
}

/* "p4d.24xlarge (8 GPUs, not 4), ...": the nearest ones. */
static void list_nearest(const Choice *choice, const RgPlace *place, RgDiag *diag)
{
	RgWish wish = choice->wish;
	wish.rejected = true;
	g_autoptr(GPtrArray) offers = rg_offers_find(&wish, place, 1);
	g_autoptr(GString) text = g_string_new(NULL);
	g_ptr_array_sort(offers, by_nearness);
	for (guint i = 0; i < offers->len && i < NEAR_LISTED; i++) {
		const RgOffer *offer = offers->pdata[i];
		if (!offer->type->gpu)
			break;
		g_string_append_printf(text, "%s%s (%s)", text->len > 0 ? ", " : "",
			offer->type->name, offer->rejected);
	}
	if (text->len > 0)
		rg_diag_detail(diag, "nearest: %s", text->str);
}

static bool wants_network(const RgWish *wish)
{
	return wish->min_gbps > 0 || wish->placement || wish->rdma;
}

/* One model and a count, without other requirements: rg_catalog_offer describes best what
 * exists. */
static bool is_plain(const Choice *choice)
{
	const GPtrArray *asked = choice->wish.accelerators;
	const RgAccelerator *first = asked->pdata[0];
	return asked->len == 1 &&
	       g_str_has_prefix(first->text, first->names ? first->names[0] : "{") &&
	       !wants_network(&choice->wish) && choice->wish.max_microusd == 0;
}

static void report_none(const Choice *choice, const RgPlace *place)
{
	const RgPool *pool = choice->shape->pool;
	const RgAccelerator *first = pool->accelerators->pdata[0];
	const RgWords *words = rg_catalog_words(place->catalog);
	bool plain = is_plain(choice) && first->names;
	if (plain && !rg_catalog_offer(choice->shapes->catalog, place->region, first->names[0],
			     first->count, pool->shape_source, choice->diags))
		return;
	/* what exists is not sold on the pool's market */
	const char *market = !plain ? "" : pool->market.is_spot ? " on spot" : " on demand";
	const char *network =
		wants_network(&choice->wish) ? " with the network that the pool requires" : "";
	RgDiag *diag = rg_diags_error(choice->diags, "catalog.no-offer",
		"no %s %s in %s has %s%s%s%s", place->provider, words->instance_type,
		rg_place_name(place->provider, place->region),
		pool->accelerators->len > 1 ? "any of the accelerators" : first->text, market,
		network, choice->wish.max_microusd > 0 ? " for max_price" : "");
	rg_diag_at(diag, pool->shape_source);
	list_nearest(choice, place, diag);
	if (*place->region)
		rg_diag_hint(diag, "`raygpu offers` lists what other %ss have", words->region);
}

/* What made the best one first. Without carbon figures it is the price. */
static const char *rank_word(const Choice *choice, const RgMerit *best, bool priced)
{
	RgOptimize by =
		best->carbon_mg_hour == INT64_MAX ? RG_OPTIMIZE_COST : choice->wish.optimize;
	if (priced || by == RG_OPTIMIZE_CARBON)
		return rg_merit_word(by);
	if (best->microusd_hour == INT64_MAX)
		return "first";
	return by == RG_OPTIMIZE_COST ? "cheapest elsewhere"
				      : "best balance of carbon and prices elsewhere";
}

static char *choice_reason(const Choice *choice, const GPtrArray *offers)
{
	const RgOffer *best = offers->pdata[0];
	guint n = 0, priced = 0;
	for (; n < offers->len; n++) {
		const RgOffer *offer = offers->pdata[n];
		if (offer->preference != best->preference)
			break;
		priced += offer->price != RG_MONEY_UNKNOWN;
	}
	const RgAccelerator *asked = choice->wish.accelerators->pdata[best->preference];
	g_autofree char *which =
		choice->wish.accelerators->len > 1
			? g_strdup_printf(", choice %u of %u", best->preference + 1,
				  choice->wish.accelerators->len)
			: g_strdup("");
	const char *market = choice->wish.market == RG_PRICE_SPOT ? " on spot" : "";
	const char *where = rg_place_name(best->provider, best->region);
	if (n == 1)
		return g_strdup_printf(
			"the only offer of %s in %s%s%s", asked->text, where, market, which);
	RgMerit merit = rg_offer_merit(best);
	const char *word = rank_word(choice, &merit, priced > 0);
	g_autofree char *what =
		g_strdup_printf("offers of %s in %s%s%s", asked->text, where, market, which);
	if (priced == n)
		return g_strdup_printf("%s of %u %s", word, n, what);
	if (priced == 0)
		return g_strdup_printf("%s of %u %s; no price is known there", word, n, what);
	return g_strdup_printf(
		"%s of %u %s; %u of them without a known price", word, n, what, n - priced);
}

/* "a, b": those of which too few are free; NULL: there are none. */
static char *drop_lacking(const Choice *choice, GPtrArray *offers)
{
	GString *names = NULL;
	for (guint i = 0; i < offers->len;) {
		const RgInstanceType *type = ((RgOffer *)offers->pdata[i])->type;
		if (!rg_fit_lacks(choice->shapes, choice->shape->pool, type)) {
			i++;
			continue;
		}
		if (!names)
			names = g_string_new(NULL);
		g_string_append_printf(names, "%s%s", names->len ? ", " : "", type->name);
		g_ptr_array_remove_index(offers, i);
	}
	return names ? g_string_free(names, FALSE) : NULL;
}

static const RgInstanceType *best_type(const Choice *choice, char **reason, unsigned *preference)
{
	RgPlace place = {choice->cluster->provider.name, choice->shapes->catalog,
		choice->cluster->provider.region};
	const GPtrArray *asked = choice->shape->pool->accelerators;
	bool good = true;
	rg_ptr_foreach (const RgAccelerator, accelerator, asked) {
		for (size_t n = 0; accelerator->names && accelerator->names[n]; n++)
			good &= rg_catalog_check_accelerator(choice->shapes->catalog,
				accelerator->names[n], accelerator->source, choice->diags);
	}
	if (!good)
		return NULL;
	g_autoptr(GPtrArray) offers = rg_offers_find(&choice->wish, &place, 1);
	g_autofree char *lacking = drop_lacking(choice, offers);
	if (offers->len == 0) {
		report_none(choice, &place);
		return NULL;
	}
	g_autofree char *first = choice_reason(choice, offers);
	*reason = lacking ? g_strdup_printf("%s; too few free of %s", first, lacking)
			  : g_steal_pointer(&first);
	const RgOffer *best = offers->pdata[0];
	*preference = best->preference;
	return best->type;
}

/* What is reserved leaves no choice. */
static const RgInstanceType *reserved_type(const Choice *choice, RgShape *shape, char **reason)
{
	const RgInstanceType *type =
		rg_fit_reserved_type(choice->shapes, shape, &choice->wish, choice->diags);
	if (!type || !check_type(choice, type) ||
		!rg_fit_check_placement(shape->pool, type, choice->diags) ||
		!rg_fit_check_rdma(shape->pool, type, choice->diags))
		return NULL;
	*reason = g_strdup_printf("of reservation %s", shape->pool->market.reservation);
	return type;
}

RgWish rg_wish_of_pool(const RgCluster *cluster, const RgPool *pool, const RgCarbon *carbon)
{
	return (RgWish){.accelerators = pool->accelerators,
		.market = pool->market.is_spot ? RG_PRICE_SPOT : RG_PRICE_ON_DEMAND,
		.max_microusd = pool->market.max_microusd,
		.min_gbps = pool->min_gbps,
		.placement = pool->placement,
		.rdma = pool->rdma,
		.reserved = pool->market.reservation != NULL,
		.optimize = cluster->optimize,
		.carbon = carbon};
}

bool rg_fit_choose_type(RgShapes *shapes, const RgCluster *cluster, RgShape *shape, RgDiags *diags)
{
	const RgPool *pool = shape->pool;
	Choice choice = {
		cluster, shapes, shape, rg_wish_of_pool(cluster, pool, shapes->carbon), diags};
	const char *pinned = NULL;
	char *reason = NULL;
	const RgInstanceType *type = NULL;
	if (pool->market.reservation && shapes->reservations && !rg_pool_is_empty(pool)) {
		type = reserved_type(&choice, shape, &reason);
	} else if (pool->instance_type) {
		type = named_type(&choice);
		reason = g_strdup("named in the spec");
	} else if (!shapes->reoptimize && (type = pinned_type(&choice, &pinned))) {
		reason = g_strdup(pinned);
	} else {
		type = best_type(&choice, &reason, &shape->preference);
	}
	shape->type = type;
	shape->is_spot = pool->market.is_spot;
	shape->reason = reason;
	return type != NULL;
}

bool rg_fit_keeps_type(const RgShapes *shapes, const RgCluster *cluster, const RgShape *shape,
	const RgInstanceType *type)
{
	/* a type of which none is free is not the best one for new nodes, but those that have it
	 * stay */
	bool best = shapes->reoptimize && !rg_fit_lacks(shapes, shape->pool, type);
	if (type == shape->type || !shape->pool->accelerators || best)
		return type == shape->type;
	RgWish wish = rg_wish_of_pool(cluster, shape->pool, shapes->carbon);
	g_autofree char *why =
		rg_offers_judge(&wish, rg_catalog_get_gpus(shapes->catalog), type).why;
	return !why;
}

bool rg_fit_admits_market(const RgPool *pool, unsigned index, bool is_spot)
{
	bool first = rg_pool_is_spot(pool, index);
	return is_spot == first || (first && pool->market.falls_back);
}
