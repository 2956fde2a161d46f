#include "render/paint.h"
#include "base/money.h"

/* What apply requests if the cloud has no nodes for a pool: one line per pool. */

#define KINDS_SHOWN 3

static const json_t *offer_of(const json_t *candidates, size_t i)
{
	return json_object_get(json_object_get(json_array_get(candidates, i), "node"), "offer");
}

static bool is_like(const json_t *a, const json_t *b, const char *member)
{
	return json_equal(json_object_get(a, member), json_object_get(b, member));
}

/* "on-demand p4de.24xlarge, $40.97 per hour, in "; what is as in the first choice is left out. */
static void add_kind(GString *line, const json_t *offer, const json_t *first)
{
	int64_t price = rg_json_int(offer, "price_microusd_hour", RG_MONEY_UNKNOWN);
	g_autofree char *money = price == RG_MONEY_UNKNOWN ? NULL : rg_money_format(price);
	bool same_type = is_like(offer, first, "instance_type");
	bool same_market = is_like(offer, first, "market");
	if (same_type && same_market)
		return;
	g_string_append_printf(line, "%s%s%s", same_market ? "" : rg_json_str(offer, "market", ""),
		same_market || same_type ? "" : " ",
		same_type ? "" : rg_json_str(offer, "instance_type", ""));
	g_string_append_printf(
		line, " (%s%s) in ", money ? money : "price unknown", money ? " per hour" : "");
}

/* How many from `i` on differ in their zone alone. */
static size_t run_of(const json_t *candidates, size_t i)
{
	const json_t *first = offer_of(candidates, i);
	size_t n = 1;
	while (i + n < json_array_size(candidates) &&
		is_like(offer_of(candidates, i + n), first, "instance_type") &&
		is_like(offer_of(candidates, i + n), first, "market"))
		n++;
	return n;
}

static char *candidates_text(const json_t *candidates, bool all)
{
	GString *line = g_string_new(NULL);
	const json_t *first = offer_of(candidates, 0);
	unsigned kinds = 0;
	for (size_t i = 1, n; i < json_array_size(candidates); i += n) {
		n = run_of(candidates, i);
		if (kinds++ >= KINDS_SHOWN && !all) {
			g_string_append_printf(
				line, "; %zu more (--verbose)", json_array_size(candidates) - i);
			break;
		}
		g_string_append(line, i > 1 ? "; then " : "");
		add_kind(line, offer_of(candidates, i), first);
		if (i > 1 && n > 1 && !all) {
			g_string_append_printf(line, "%zu zones", n);
			continue;
		}
		for (size_t k = 0; k < n; k++)
			g_string_append_printf(line, "%s%s", k ? ", " : "",
				rg_json_str(offer_of(candidates, i + k), "zone", "?"));
	}
	return g_string_free(line, FALSE);
}

/* One line a reason. */
static void add_left_out(GString *text, const json_t *pool, const RgStyle *style)
{
	const json_t *items = json_object_get(pool, "left_out"), *item;
	g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);
	size_t i;
	json_array_foreach (items, i, item) {
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

void add_capacity(GString *text, const RgPlan *plan, const RgStyle *style)
{
	size_t i;
	const json_t *pool;
	json_array_foreach (json_object_get(plan->capacity, "pools"), i, pool) {
		g_autofree char *then = candidates_text(
			json_object_get(pool, "candidates"), style->detail == RG_DETAIL_VERBOSE);
		if (*then)
			wrapf(text, style, "", "If %s cannot be had: %s",
				rg_json_str(pool, "pool", "?"), then);
		add_left_out(text, pool, style);
	}
}
