#include "plan/spend.h"
#include "base/money.h"
#include <string.h>

bool rg_spend_by_parse(const char *text, RgSpendBy *by, char **label)
{
	static const char *const words[] = {"cluster", "pool", "market"};
	*label = NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
		if (g_str_equal(text, words[i])) {
			*by = (RgSpendBy)i;
			return true;
		}
	}
	if (!g_str_has_prefix(text, "label:") || text[6] == '\0')
		return false;
	*by = RG_SPEND_BY_LABEL;
	*label = g_strdup(text + 6);
	return true;
}

static void row_free(gpointer data)
{
	RgSpendRow *row = data;
	g_free(row->key);
	g_free(row->cluster);
	g_free(row);
}

RgSpend *rg_spend_new(RgSpendBy by, const char *label, int64_t since_s, int64_t now_s)
{
	RgSpend *spend = g_new0(RgSpend, 1);
	spend->by = by;
	spend->label = g_strdup(label);
	spend->since_s = since_s;
	spend->now_s = now_s;
	spend->rows = g_ptr_array_new_with_free_func(row_free);
	return spend;
}

void rg_spend_free(RgSpend *spend)
{
	if (!spend)
		return;
	g_free(spend->label);
	g_ptr_array_unref(spend->rows);
	g_free(spend);
}

static const char *key_of(const RgSpend *spend, const json_t *life)
{
	switch (spend->by) {
	case RG_SPEND_BY_CLUSTER:
		return rg_json_str(life, "cluster", "?");
	case RG_SPEND_BY_POOL:
		return rg_json_str(life, "pool", "?");
	case RG_SPEND_BY_MARKET:
		return rg_json_str(json_object_get(life, "pin"), "market", "on-demand");
	case RG_SPEND_BY_LABEL:
		break;
	}
	const json_t *own = json_object_get(json_object_get(life, "pin"), "labels");
	const char *cluster_wide = rg_json_str(json_object_get(life, "labels"), spend->label, NULL);
	return rg_json_str(own, spend->label, cluster_wide);
}

static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const RgSpendRow *x = *(RgSpendRow *const *)a, *y = *(RgSpendRow *const *)b;
	int order = g_strcmp0(x->cluster, y->cluster);
	if (order != 0)
		return order;
	if (!x->key || !y->key)
		return (!x->key) - (!y->key);
	return strcmp(x->key, y->key);
}

static RgSpendRow *find_row(RgSpend *spend, const json_t *life)
{
	const char *key = key_of(spend, life);
	const char *cluster =
		spend->by == RG_SPEND_BY_POOL ? rg_json_str(life, "cluster", "?") : NULL;
	for (guint i = 0; i < spend->rows->len; i++) {
		RgSpendRow *row = spend->rows->pdata[i];
		if (g_strcmp0(row->key, key) == 0 && g_strcmp0(row->cluster, cluster) == 0)
			return row;
	}
	RgSpendRow *row = g_new0(RgSpendRow, 1);
	row->key = g_strdup(key);
	row->cluster = g_strdup(cluster);
	g_ptr_array_add(spend->rows, row);
	return row;
}

/* Micro-USD of so many seconds, half up; a price is capped where it is read. */
static int64_t cost_of(int64_t microusd_hour, int64_t seconds)
{
	return (int64_t)(((__int128)microusd_hour * seconds + 1800) / 3600);
}

static void add_to(RgSpendRow *row, const RgSpend *spend, const json_t *life)
{
	int64_t price =
		rg_json_int(json_object_get(life, "pin"), "price_microusd_hour", RG_MONEY_UNKNOWN);
	bool lives = json_is_null(json_object_get(life, "ended_s"));
	const char *ending = rg_json_str(life, "ending", "");
	int64_t from = MAX(rg_json_int(life, "began_s", 0), spend->since_s);
	int64_t to = MIN(rg_json_int(life, "ended_s", spend->now_s), spend->now_s);
	int64_t seconds = MAX(to - from, 0); /* a clock that went back lengthens nothing */
	bool known = price != RG_MONEY_UNKNOWN && price >= 0;
	row->nodes += lives;
	row->unpriced += lives && !known;
	row->microusd_hour += lives && known ? price : 0;
	row->microusd_spent += known ? cost_of(price, seconds) : 0;
	row->node_s += seconds;
	row->unpriced_s += known ? 0 : seconds;
	row->gone += g_str_equal(ending, "gone");
	row->forgotten += g_str_equal(ending, "forgotten");
}

void rg_spend_add(RgSpend *spend, const json_t *lifetimes)
{
	size_t i;
	json_t *life;
	json_array_foreach (lifetimes, i, life) {
		bool over = rg_json_int(life, "ended_s", INT64_MAX) <= spend->since_s;
		if (over || rg_json_int(life, "began_s", 0) > spend->now_s)
			continue;
		add_to(find_row(spend, life), spend, life);
		add_to(&spend->total, spend, life);
	}
	g_ptr_array_sort(spend->rows, compare_rows);
}
