#include "render/text/cost.h"
#include "base/clock.h"
#include "base/money.h"
#include "plan/plan.h"
#include "render/text/csv.h"
#include "render/text/paint.h"
#include <string.h>

static const char *by_word(const RgSpend *spend)
{
	static const char *const words[] = {"cluster", "pool", "market", "label"};
	return words[spend->by];
}

/* "12.5": hours to the hundredth, as on a bill. */
static char *hours_text(int64_t seconds)
{
	int64_t hundredths = (seconds + 18) / 36;
	return g_strdup_printf(
		"%" G_GINT64_FORMAT ".%02" G_GINT64_FORMAT, hundredths / 100, hundredths % 100);
}

/* Nothing spent has no price to mark. */
static char *money_text(int64_t microusd, bool least, bool most, const char *marks)
{
	g_autofree char *text = rg_money_format(microusd);
	return g_strconcat(least  ? ">= "
			   : most ? "<= "
				  : "",
		text, microusd > 0 ? marks : "", NULL);
}

static void spend_add_row(GPtrArray *rows, const RgSpendRow *row, const char *name,
	RgPriceMarks *seen, const char *today)
{
	const char *marks =
		rg_price_mark(seen, row->derived > 0 ? "derived" : NULL, row->oldest_date, today);
	/* both at once bound neither side; the notes have them */
	bool least = row->unpriced_s > 0 || row->forgotten > 0, most = row->gone > 0;
	g_autofree char *what =
		row->cluster ? g_strdup_printf("%s/%s", row->cluster, name) : g_strdup(name);
	g_autofree char *nodes = g_strdup_printf("%u", row->nodes);
	g_autofree char *hour = money_text(row->microusd_hour, row->unpriced > 0, false, marks);
	g_autofree char *month =
		money_text(row->microusd_hour * RG_MONTH_HOURS, row->unpriced > 0, false, marks);
	g_autofree char *spent =
		money_text(row->microusd_spent, least && !most, most && !least, marks);
	g_autofree char *hours = hours_text(row->node_s);
	table_add(rows, what, nodes, hour, month, spent, hours, NULL);
}

static void add_notes(
	GString *text, const RgSpend *spend, int64_t history_from_s, const RgStyle *style)
{
	const RgSpendRow *total = &spend->total;
	g_autofree char *now = rg_clock_format(spend->now_s);
	g_autofree char *since = spend->since_s > 0 ? rg_clock_format(spend->since_s) : NULL;
	wrapf(text, style, "",
		"At %s, spent since %s, at the prices of each node's creation; a month has %d "
		"hours. Nodes only: no disks, traffic or taxes.",
		now, since ? since : "the beginning", RG_MONTH_HOURS);
	if (total->unpriced_s > 0) {
		g_autofree char *hours = hours_text(total->unpriced_s);
		wrapf(text, style, "", "%s node hours without a known price are not included.",
			hours);
	}
	if (total->gone > 0)
		wrapf(text, style, "",
			"%u node%s found missing: counted until that was noticed, so the sum is an "
			"upper bound.",
			total->gone, total->gone == 1 ? " was" : "s were");
	if (total->forgotten > 0)
		wrapf(text, style, "",
			"%u record%s removed from the state: not counted since then, though the "
			"node may still run.",
			total->forgotten, total->forgotten == 1 ? " was" : "s were");
	if (history_from_s > spend->since_s) {
		g_autofree char *from = rg_clock_format(history_from_s);
		wrapf(text, style, "",
			"Before %s, only nodes that still existed then are known: the sum is a "
			"lower bound.",
			from);
	}
}

char *rg_render_cost(const RgSpend *spend, int64_t history_from_s, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	static const char *const heads[] = {"CLUSTER", "POOL", "MARKET", NULL};
	const TableLook look = {.numbers = 5, .total = true};
	g_autoptr(GPtrArray) rows = table_new("?,NODES,PER HOUR,PER MONTH,SPENT,NODE HOURS");
	RgPriceMarks seen = {0};
	char **head = rows->pdata[0];
	g_free(*head);
	*head = spend->label ? clean(spend->label) : g_strdup(heads[spend->by]);
	rg_ptr_foreach (const RgSpendRow, row, spend->rows)
		spend_add_row(rows, row, row->key ? row->key : "(without)", &seen, style->today);
	spend_add_row(rows, &spend->total, "total", &seen, style->today);
	paint_table(text, rows, &look, style);
	add_price_legend(text, &seen, style);
	g_string_append_c(text, '\n');
	add_notes(text, spend, history_from_s, style);
	return text_finish(text, style);
}

static json_t *row_json(const RgSpend *spend, const RgSpendRow *row, bool is_total)
{
	json_t *object = json_object();
	if (!is_total && row->cluster)
		rg_json_set_str(object, "cluster", row->cluster);
	if (!is_total)
		rg_json_set_str(object, by_word(spend), row->key);
	json_object_set_new(object, "nodes", json_integer(row->nodes));
	json_object_set_new(object, "unpriced", json_integer(row->unpriced));
	json_object_set_new(object, "microusd_hour", json_integer(row->microusd_hour));
	json_object_set_new(
		object, "microusd_month", json_integer(row->microusd_hour * RG_MONTH_HOURS));
	json_object_set_new(object, "microusd_spent", json_integer(row->microusd_spent));
	json_object_set_new(object, "node_seconds", json_integer(row->node_s));
	json_object_set_new(object, "unpriced_seconds", json_integer(row->unpriced_s));
	json_object_set_new(object, "gone", json_integer(row->gone));
	json_object_set_new(object, "forgotten", json_integer(row->forgotten));
	rg_json_set_str(object, "price_date", row->price_date);
	rg_json_set_str(object, "oldest_price_date", row->oldest_date);
	json_object_set_new(object, "derived", json_integer(row->derived));
	return object;
}

json_t *rg_render_cost_json(const RgSpend *spend, int64_t history_from_s)
{
	json_t *document = json_object(), *rows = json_array();
	for (guint i = 0; i < spend->rows->len; i++)
		json_array_append_new(rows, row_json(spend, spend->rows->pdata[i], false));
	json_object_set_new(document, "format", json_integer(1));
	rg_json_set_str(document, "by", by_word(spend));
	if (spend->label)
		rg_json_set_str(document, "label", spend->label);
	json_object_set_new(document, "since_s",
		spend->since_s > 0 ? json_integer(spend->since_s) : json_null());
	json_object_set_new(document, "now_s", json_integer(spend->now_s));
	json_object_set_new(document, "complete_since_s", json_integer(history_from_s));
	json_object_set_new(document, "rows", rows);
	json_object_set_new(document, "total", row_json(spend, &spend->total, true));
	return document;
}

static void add_csv_row(GString *to, const RgSpend *spend, const RgSpendRow *row)
{
	g_autofree char *hour = rg_money_exact(row->microusd_hour);
	g_autofree char *month = rg_money_exact(row->microusd_hour * RG_MONTH_HOURS);
	g_autofree char *spent = rg_money_exact(row->microusd_spent);
	g_autofree char *nodes = g_strdup_printf("%u", row->nodes);
	g_autofree char *unpriced = g_strdup_printf("%u", row->unpriced);
	g_autofree char *node_s = g_strdup_printf("%" G_GINT64_FORMAT, row->node_s);
	g_autofree char *unpriced_s = g_strdup_printf("%" G_GINT64_FORMAT, row->unpriced_s);
	g_autofree char *gone = g_strdup_printf("%u", row->gone);
	g_autofree char *forgotten = g_strdup_printf("%u", row->forgotten);
	g_autofree char *derived = g_strdup_printf("%u", row->derived);
	const char *key = row->key ? row->key : "";
	const char *date = row->price_date ? row->price_date : "";
	const char *oldest = row->oldest_date ? row->oldest_date : "";
	if (spend->by == RG_SPEND_BY_POOL)
		rg_csv_add_row(to, row->cluster, key, nodes, unpriced, hour, month, spent, node_s,
			unpriced_s, gone, forgotten, date, oldest, derived, (const char *)NULL);
	else
		rg_csv_add_row(to, key, nodes, unpriced, hour, month, spent, node_s, unpriced_s,
			gone, forgotten, date, oldest, derived, (const char *)NULL);
}

char *rg_render_cost_csv(const RgSpend *spend)
{
	GString *text = g_string_new(spend->by == RG_SPEND_BY_POOL ? "cluster," : "");
	g_string_append_printf(text,
		"%s,nodes,unpriced,usd_hour,usd_month,usd_spent,node_seconds,unpriced_seconds,gone,"
		"forgotten,price_date,oldest_price_date,derived\n",
		by_word(spend));
	for (guint i = 0; i < spend->rows->len; i++)
		add_csv_row(text, spend, spend->rows->pdata[i]);
	return g_string_free(text, FALSE);
}
