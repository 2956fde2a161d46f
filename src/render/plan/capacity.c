#include "render/text/paint.h"
#include "base/money.h"

/* What apply requests if the cloud has no nodes for a pool: one line for all pools; with --verbose,
 * one line per pool. */

static const json_t *offer_of(const json_t *candidates, size_t i)
{
	return json_object_get(json_object_get(json_array_get(candidates, i), "node"), "offer");
}

static bool is_like(const json_t *a, const json_t *b, const char *member)
{
	return json_equal(json_object_get(a, member), json_object_get(b, member));
}

/* The line of one pool. */
typedef struct {
	GString *line;
	const json_t *first; /* the offer that is asked for first */
	RgPriceMarks *seen;
	const RgStyle *style;
} Kinds;

static int64_t amount_of(const json_t *offer)
{
	return rg_json_int(offer, "price_microusd_hour", RG_MONEY_UNKNOWN);
}

/* "$40.97~" */
static char *price_of(const Kinds *kinds, const json_t *offer)
{
	if (amount_of(offer) == RG_MONEY_UNKNOWN)
		return g_strdup("price unknown");
	g_autofree char *money = rg_money_format(amount_of(offer));
	return g_strconcat(money,
		rg_price_mark(kinds->seen, rg_json_str(offer, "price_quality", NULL),
			rg_json_str(offer, "price_date", NULL), kinds->style->today),
		NULL);
}

/* Candidates that differ in their zone, and perhaps in its price, alone. */
typedef struct {
	const json_t *candidates;
	size_t from, n;
	const json_t *least, *most; /* offers with the lowest and highest known price */
	bool differ;		    /* in their prices */
} Run;

/* "$40.97~ per hour", "$1.21 to $1.84 per hour" */
static char *prices_of(const Kinds *kinds, const Run *run)
{
	g_autofree char *least = price_of(kinds, run->least), *most = price_of(kinds, run->most);
	if (amount_of(run->least) == RG_MONEY_UNKNOWN)
		return g_steal_pointer(&least);
	return g_str_equal(least, most) ? g_strdup_printf("%s per hour", least)
					: g_strdup_printf("%s to %s per hour", least, most);
}

/* "on-demand p4de.24xlarge ($40.97 per hour) in "; what is as in the first choice is left out. */
static void add_kind(const Kinds *kinds, const Run *run)
{
	const json_t *offer = offer_of(run->candidates, run->from);
	bool same_type = is_like(offer, kinds->first, "instance_type");
	bool same_market = is_like(offer, kinds->first, "market");
	if (same_type && same_market)
		return;
	g_autofree char *price = prices_of(kinds, run);
	g_string_append_printf(kinds->line, "%s%s%s (%s) in ",
		same_market ? "" : rg_json_str(offer, "market", ""),
		same_market || same_type ? "" : " ",
		same_type ? "" : rg_json_str(offer, "instance_type", ""), price);
}

static void note_price(Run *run, const json_t *offer)
{
	const int64_t price = amount_of(offer);
	run->differ |= price != amount_of(run->least) || price != amount_of(run->most);
	if (price == RG_MONEY_UNKNOWN)
		return;
	if (amount_of(run->least) == RG_MONEY_UNKNOWN || price < amount_of(run->least))
		run->least = offer;
	if (amount_of(run->most) == RG_MONEY_UNKNOWN || price > amount_of(run->most))
		run->most = offer;
}

static Run run_of(const json_t *candidates, size_t i)
{
	const json_t *first = offer_of(candidates, i);
	Run run = {candidates, i, 1, first, first, false};
	for (; i + run.n < json_array_size(candidates); run.n++) {
		const json_t *offer = offer_of(candidates, i + run.n);
		if (!is_like(offer, first, "instance_type") || !is_like(offer, first, "market"))
			break;
		note_price(&run, offer);
	}
	return run;
}

/* "us-1a, us-1b", each with its price if they differ. */
static void add_zones(const Kinds *kinds, const Run *run)
{
	const json_t *first = kinds->first;
	const json_t *second = offer_of(run->candidates, run->from);
	const bool of_first =
		is_like(first, second, "instance_type") && is_like(first, second, "market");
	const bool priced =
		run->differ || (of_first && !is_like(first, second, "price_microusd_hour"));
	for (size_t k = 0; k < run->n; k++) {
		const json_t *offer = offer_of(run->candidates, run->from + k);
		g_autofree char *price = price_of(kinds, offer);
		g_string_append_printf(kinds->line, "%s%s%s%s%s", k ? ", " : "",
			rg_json_str(offer, "zone", "?"), priced ? " (" : "", priced ? price : "",
			priced ? ")" : "");
	}
}

static char *candidates_text(const json_t *candidates, RgPriceMarks *seen, const RgStyle *style)
{
	GString *line = g_string_new(NULL);
	const Kinds kinds = {line, offer_of(candidates, 0), seen, style};
	for (size_t i = 1, n; i < json_array_size(candidates); i += n) {
		const Run run = run_of(candidates, i);
		n = run.n;
		g_string_append(line, i > 1 ? "; then " : "");
		add_kind(&kinds, &run);
		add_zones(&kinds, &run);
	}
	return g_string_free(line, FALSE);
}

/* One line a reason. */
static void add_left_out(GString *text, const json_t *pool, const RgStyle *style)
{
	const json_t *items = json_object_get(pool, "left_out");
	g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);
	rg_json_foreach_at (i, item, items) {
		const char *why = rg_json_str(item, "why", "?");
		g_autoptr(GString) names = g_string_new(NULL);
		if (!g_hash_table_add(told, (char *)(uintptr_t)why))
			continue;
		for (size_t k = i; k < json_array_size(items); k++) {
			const json_t *other = json_array_get(items, k);
			if (g_str_equal(rg_json_str(other, "why", "?"), why))
				g_string_append_printf(names, "%s%s %s", names->len ? ", " : "",
					rg_json_str(other, "market", ""),
					rg_json_str(other, "instance_type", ""));
		}
		wrapf(text, style, "  ", "  not %s: %s", names->str, why);
	}
}

/* "head, train": the pools that have a fallback. */
static char *pools_with_candidates(const RgPlan *plan)
{
	GString *names = g_string_new(NULL);
	rg_json_foreach (pool, json_object_get(plan->capacity, "pools"))
		if (json_array_size(json_object_get(pool, "candidates")) > 1)
			g_string_append_printf(names, "%s%s", names->len ? ", " : "",
				rg_json_str(pool, "pool", "?"));
	return g_string_free(names, FALSE);
}

void add_capacity(GString *text, const RgPlan *plan, RgPriceMarks *told, const RgStyle *style)
{
	RgPriceMarks seen = {0};
	if (style->detail != RG_DETAIL_VERBOSE) {
		g_autofree char *names = pools_with_candidates(plan);
		if (*names)
			wrapf(text, style, "", "Fallbacks: %s (--verbose)", names);
		return;
	}
	rg_json_foreach (pool, json_object_get(plan->capacity, "pools")) {
		g_autofree char *then =
			candidates_text(json_object_get(pool, "candidates"), &seen, style);
		if (*then)
			wrapf(text, style, "", "If %s is unavailable: %s",
				rg_json_str(pool, "pool", "?"), then);
		add_left_out(text, pool, style);
	}
	add_new_legend(text, &seen, told, style);
}
