#include "command.h"
#include "base/money.h"
#include "base/price.h"

/* Compares the candidates of provider.any_of: what `raygpu offers SPEC` shows before the offers of
 * each pool. */

/* "$1.44"; "about": uses prices of other places where one is missing; ">=": without them. */
static char *money_of(const json_t *row, int64_t hours, const char *marks)
{
	const json_t *known = json_object_get(row, "microusd_hour");
	const json_t *estimate = json_object_get(row, "estimate_microusd_hour");
	bool whole = json_is_integer(estimate), unpriced = rg_json_int(row, "unpriced", 0) > 0;
	if (!json_is_integer(known) || (unpriced && !whole && json_integer_value(known) == 0))
		return g_strdup("-");
	g_autofree char *money =
		rg_money_format(json_integer_value(whole ? estimate : known) * hours);
	return g_strdup_printf("%s%s%s", !unpriced ? "" : whole ? "about " : ">=", money, marks);
}

static char *kilograms_of(const json_t *row)
{
	const json_t *mg = json_object_get(row, "carbon_mg_hour");
	if (!json_is_integer(mg))
		return g_strdup("-");
	return g_strdup_printf("%s%.3f", rg_json_int(row, "uncounted", 0) > 0 ? ">=" : "",
		(double)json_integer_value(mg) / 1e6);
}

static bool is_taken(const json_t *choice, const json_t *row)
{
	return json_equal(json_object_get(choice, "provider"), json_object_get(row, "provider")) &&
	       json_equal(json_object_get(choice, "region"), json_object_get(row, "region"));
}

static void add_words(GString *text, const RgStyle *style, const char *what, const char *words)
{
	g_autofree char *line = g_strconcat(what, words, NULL);
	g_autofree char *wrapped = rg_render_wrapped(line, "  ", style);
	g_string_append(text, wrapped);
}

void places_print(const json_t *choice, const RgStyle *style)
{
	g_autoptr(GString) text = g_string_new(NULL);
	json_t *rows = json_object_get(choice, "candidates");
	RgPriceMarks seen = {0};
	bool guessed = false;
	g_string_append_printf(text, "the whole cluster: %zu candidate%s\n\n%-28s %12s %14s %10s\n",
		json_array_size(rows), json_array_size(rows) == 1 ? "" : "s", "PLACE", "USD/h",
		"USD/month", "kgCO2e/h");
	rg_json_foreach (row, rows) {
		const char *rejected = rg_json_str(row, "rejected", NULL);
		g_autofree char *place = rg_place_text(
			rg_json_str(row, "provider", "?"), rg_json_str(row, "region", NULL));
		const char *marks =
			rg_price_mark(&seen, rg_json_int(row, "derived", 0) > 0 ? "derived" : NULL,
				rg_json_str(row, "oldest_price_date", NULL), style->today);
		g_autofree char *hour = money_of(row, 1, marks), *month = money_of(row, 730, marks);
		g_autofree char *carbon = kilograms_of(row);
		g_string_append_printf(text, "%-28s %12s %14s %10s\n", place, hour, month, carbon);
		if (rejected)
			add_words(text, style, "rejected: ", rejected);
		else if (is_taken(choice, row))
			add_words(text, style, "chosen: ", rg_json_str(choice, "reason", ""));
		else if (rg_json_str(row, "lost", NULL))
			add_words(text, style, "costs less, but ", rg_json_str(row, "lost", NULL));
		guessed |= rg_json_int(row, "unpriced", 0) > 0;
	}
	const char *legend = rg_price_legend(&seen);
	if (legend)
		g_string_append_printf(text, "\n%s\n", legend);
	if (guessed)
		g_string_append(text, "\nabout: nodes of unknown price are counted with the lowest "
				      "price\nknown anywhere.\n");
	g_string_append_c(text, '\n');
	out_text(text->str);
}

bool places_have(const RgCluster *cluster, const char *provider, const char *region)
{
	rg_ptr_foreach (const RgProviderRef, place, cluster->places)
		if (g_str_equal(place->name, provider) && g_str_equal(place->region, region))
			return true;
	return false;
}
