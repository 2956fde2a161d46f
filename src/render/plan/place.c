#include "render/text/paint.h"
#include "base/money.h"

/* Why the cluster is where it is, if its spec left a choice (src/pipeline/place.h). */

#define OTHERS_SHOWN 3

char *price_dates(const char *oldest, const char *newest)
{
	const char *from = oldest ? oldest : newest;
	if (!newest)
		return g_strdup("");
	int n = (int)MIN(strlen(from), strlen(newest)); /* of a row that has only the year */
	return strncmp(from, newest, (size_t)n) == 0
		       ? g_strdup_printf("%.*s", n, newest)
		       : g_strdup_printf("%.*s to %.*s", n, from, n, newest);
}

/* "$45.35~ per hour"; "about": uses prices of other places where a price is missing */
static char *price_text(const json_t *row, RgPriceMarks *seen, const RgStyle *style)
{
	const json_t *known = json_object_get(row, "microusd_hour");
	const json_t *estimate = json_object_get(row, "estimate_microusd_hour");
	bool whole = json_is_integer(estimate);
	bool nothing =
		!whole && json_integer_value(known) == 0 && rg_json_int(row, "unpriced", 0) > 0;
	if (!json_is_integer(known) || nothing)
		return g_strdup("price unknown");
	g_autofree char *money = rg_money_format(json_integer_value(whole ? estimate : known));
	const char *about = rg_json_int(row, "unpriced", 0) == 0 ? ""
			    : whole				 ? "about "
								 : "at least ";
	const RgPriceBasis basis = {.oldest = rg_json_str(row, "oldest_price_date", NULL),
		.derived = rg_json_int(row, "derived", 0) > 0};
	return g_strdup_printf(
		"%s%s%s per hour", about, money, rg_price_mark_sum(seen, &basis, style->today));
}

static char *place_text(const json_t *row)
{
	return rg_place_text(rg_json_str(row, "provider", "?"), rg_json_str(row, "region", NULL));
}

static bool is_chosen(const json_t *choice, const json_t *row)
{
	return json_equal(json_object_get(choice, "provider"), json_object_get(row, "provider")) &&
	       json_equal(json_object_get(choice, "region"), json_object_get(row, "region"));
}

/* How many of them could be chosen. */
static unsigned add_others(
	GString *text, const json_t *choice, RgPriceMarks *seen, const RgStyle *style)
{
	g_autoptr(GString) line = g_string_new(NULL);
	unsigned n = 0, good = 0;
	rg_json_foreach (row, json_object_get(choice, "candidates")) {
		const char *rejected = rg_json_str(row, "rejected", NULL);
		good += !rejected && !is_chosen(choice, row);
		if (is_chosen(choice, row) || n++ >= OTHERS_SHOWN)
			continue;
		g_autofree char *price = price_text(row, seen, style);
		g_autofree char *place = place_text(row);
		const char *lost = rg_json_str(row, "lost", NULL);
		g_string_append_printf(line, "%s%s%s%s %s%s%s", line->len ? "; " : "",
			rejected ? "not " : "", place, rejected ? ":" : "",
			rejected ? rejected : price, lost ? ", but " : "", lost ? lost : "");
	}
	if (n > OTHERS_SHOWN)
		g_string_append_printf(line, "; %u more", n - OTHERS_SHOWN);
	if (line->len)
		wrapf(text, style, "       ", "%s", line->str);
	return good;
}

void add_placing(GString *text, const RgPlan *plan, RgPriceMarks *told, const RgStyle *style)
{
	RgPriceMarks seen = {0};
	const json_t *choice = json_object_get(plan->facts, "place");
	const char *reason = rg_json_str(choice, "reason", NULL);
	if (!choice || !reason || g_str_equal(plan->command, "destroy"))
		return;
	g_autofree char *price = price_text(choice, &seen, style);
	const char *date = rg_json_str(choice, "price_date", NULL);
	g_autofree char *dates = price_dates(rg_json_str(choice, "oldest_price_date", NULL), date);
	bool priced = json_is_integer(json_object_get(choice, "microusd_hour"));
	g_autofree char *place = place_text(choice);
	wrapf(text, style, "", "Place: %s, %s", place, reason);
	if (priced)
		wrapf(text, style, "       ", "%s%s%s", price, date ? ", prices of " : "", dates);
	unsigned others = add_others(text, choice, &seen, style);
	if (others && !rg_plan_sum(plan, NULL, false).most.nodes)
		wrapf(text, style, "       ", "fallback if there is no capacity here");
	add_new_legend(text, &seen, told, style);
}
