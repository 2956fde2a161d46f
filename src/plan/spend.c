#include "plan/spend.h"
#include "base/money.h"
#include "resource/nodes.h"
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

/* Of nodes with that pin, of a pool. */
static const char *key_of(
	const RgSpend *spend, const json_t *life, const json_t *pin, const char *pool)
{
	switch (spend->by) {
	case RG_SPEND_BY_CLUSTER:
		return rg_json_str(life, "cluster", "?");
	case RG_SPEND_BY_POOL:
		return pool;
	case RG_SPEND_BY_MARKET:
		return rg_json_str(pin, "market", "on-demand");
	case RG_SPEND_BY_LABEL:
		break;
	}
	const json_t *own = json_object_get(pin, "labels");
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

static RgSpendRow *find_row(RgSpend *spend, const json_t *life, const char *key)
{
	const char *cluster =
		spend->by == RG_SPEND_BY_POOL ? rg_json_str(life, "cluster", "?") : NULL;
	rg_ptr_foreach (RgSpendRow, row, spend->rows)
		if (g_strcmp0(row->key, key) == 0 && g_strcmp0(row->cluster, cluster) == 0)
			return row;
	RgSpendRow *row = g_new0(RgSpendRow, 1);
	row->key = g_strdup(key);
	row->cluster = g_strdup(cluster);
	g_ptr_array_add(spend->rows, row);
	return row;
}

/* Micro-USD for a number of seconds, rounded half up; prices are limited where they are read. */
static int64_t cost_of(int64_t microusd_hour, int64_t seconds)
{
	return (int64_t)(((__int128)microusd_hour * seconds + 1800) / 3600);
}

static void add_price(RgSpendRow *row, const json_t *pin, unsigned n)
{
	const char *date = rg_json_str(pin, "price_date", NULL);
	row->derived += g_str_equal(rg_json_str(pin, "price_quality", ""), "derived") ? n : 0;
	if (date && g_strcmp0(date, row->price_date) > 0)
		row->price_date = g_intern_string(date);
	if (date && (!row->oldest_date || strcmp(date, row->oldest_date) < 0))
		row->oldest_date = g_intern_string(date);
}

static void add_to(
	RgSpendRow *row, const RgSpend *spend, const json_t *life, const json_t *pin, unsigned n)
{
	int64_t price = rg_json_int(pin, "price_microusd_hour", RG_MONEY_UNKNOWN);
	bool lives = json_is_null(json_object_get(life, "ended_s"));
	const char *ending = rg_json_str(life, "ending", "");
	int64_t from = MAX(rg_json_int(life, "began_s", 0), spend->since_s);
	int64_t to = MIN(rg_json_int(life, "ended_s", spend->now_s), spend->now_s);
	int64_t seconds = MAX(to - from, 0); /* a clock that went back extends nothing */
	bool known = price != RG_MONEY_UNKNOWN && price >= 0;
	if (known && n > 0)
		add_price(row, pin, n);
	row->nodes += lives ? n : 0;
	row->unpriced += lives && !known ? n : 0;
	row->microusd_hour += lives && known ? price * n : 0;
	row->microusd_spent += known ? cost_of(price, seconds) * n : 0;
	row->node_s += seconds * n;
	row->unpriced_s += known ? 0 : seconds * n;
	row->gone += g_str_equal(ending, "gone") ? n : 0;
	row->forgotten += g_str_equal(ending, "forgotten") ? n : 0;
}

/* For an elastic pool, the number of nodes that ran when they were recorded: nobody records when
 * Ray adds and removes some. */
static void add_life(RgSpend *spend, const json_t *life)
{
	const RgResource record = {.name = rg_json_str(life, "pool", "?"),
		.index = -1,
		.pin = json_object_get(life, "pin")};
	static const RgKind machine = {.node = true}; /* nothing else has lifetimes */
	for (size_t i = 0; i < rg_nodes_pools(&record, &machine); i++) {
		const RgPoolNodes nodes = rg_nodes_get(&record, i);
		unsigned n = rg_nodes_now(&nodes, NULL);
		add_to(find_row(spend, life, key_of(spend, life, nodes.pin, nodes.pool)), spend,
			life, nodes.pin, n);
		add_to(&spend->total, spend, life, nodes.pin, n);
	}
}

void rg_spend_add(RgSpend *spend, const json_t *lifetimes)
{
	rg_json_foreach (life, lifetimes) {
		bool over = rg_json_int(life, "ended_s", INT64_MAX) <= spend->since_s;
		if (over || rg_json_int(life, "began_s", 0) > spend->now_s)
			continue;
		add_life(spend, life);
	}
	g_ptr_array_sort(spend->rows, compare_rows);
}
