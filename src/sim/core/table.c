#include "sim/core/table.h"

static void clear_version(void *version)
{
	json_decref(((RgSimVersion *)version)->doc);
}

static void item_free(void *data)
{
	RgSimItem *item = data;
	g_free(item->id);
	g_array_unref(item->versions);
	g_free(item->text);
	g_free(item);
}

RgSimTable *rg_sim_table_new(void)
{
	RgSimTable *table = g_new0(RgSimTable, 1);
	table->by_id = g_hash_table_new(g_str_hash, g_str_equal);
	table->order = g_ptr_array_new_with_free_func(item_free);
	table->next_seq = 1;
	g_queue_init(&table->graves);
	return table;
}

void rg_sim_table_free(RgSimTable *table)
{
	if (!table)
		return;
	g_queue_clear(&table->graves);
	g_hash_table_unref(table->by_id);
	g_ptr_array_unref(table->order);
	g_free(table);
}

RgSimItem *rg_sim_table_item(const RgSimTable *table, const char *id)
{
	return id ? g_hash_table_lookup(table->by_id, id) : NULL;
}

static RgSimVersion *item_newest(const RgSimItem *item)
{
	return &g_array_index(item->versions, RgSimVersion, item->versions->len - 1);
}

json_t *rg_sim_table_find(const RgSimTable *table, const char *id)
{
	RgSimItem *item = rg_sim_table_item(table, id);
	return item ? item_newest(item)->doc : NULL;
}

json_t *rg_sim_item_view(const RgSimItem *item, gint64 as_of_ms)
{
	if (item->born_ms > as_of_ms)
		return NULL;
	for (unsigned i = item->versions->len; i-- > 0;) {
		const RgSimVersion *version = &g_array_index(item->versions, RgSimVersion, i);
		if (version->at_ms <= as_of_ms)
			return version->doc;
	}
	/* Older ones were dropped under a shorter delay: the oldest kept is the best available. */
	return g_array_index(item->versions, RgSimVersion, 0).doc;
}

static void add_version(RgSimItem *item, json_t *doc, gint64 now_ms)
{
	RgSimVersion version = {now_ms, doc};
	g_array_append_val(item->versions, version);
	g_clear_pointer(&item->text, g_free);
}

static void drop_old_versions(RgSimItem *item, gint64 keep_since_ms)
{
	unsigned useless = 0;
	while (useless + 1 < item->versions->len &&
		g_array_index(item->versions, RgSimVersion, useless + 1).at_ms <= keep_since_ms)
		useless++;
	if (useless)
		g_array_remove_range(item->versions, 0, useless);
}

void rg_sim_table_put(
	RgSimTable *table, const char *id, json_t *doc, gint64 now_ms, gint64 keep_since_ms)
{
	RgSimItem *item = rg_sim_table_item(table, id);
	if (!item) {
		item = g_new0(RgSimItem, 1);
		item->seq = table->next_seq++;
		item->id = g_strdup(id);
		item->born_ms = now_ms;
		item->versions = g_array_new(FALSE, FALSE, sizeof(RgSimVersion));
		g_array_set_clear_func(item->versions, clear_version);
		g_hash_table_insert(table->by_id, item->id, item);
		g_ptr_array_add(table->order, item);
	} else if (!item_newest(item)->doc) { /* an id that is used again */
		g_queue_remove(&table->graves, item);
	}
	add_version(item, doc, now_ms);
	drop_old_versions(item, keep_since_ms);
}

void rg_sim_table_remove(RgSimTable *table, const char *id, gint64 now_ms)
{
	RgSimItem *item = rg_sim_table_item(table, id);
	if (!item || !item_newest(item)->doc)
		return;
	add_version(item, NULL, now_ms);
	g_queue_push_tail(&table->graves, item);
}

static int find_seq(const RgSimTable *table, guint64 seq)
{
	int low = 0;
	int high = (int)table->order->len - 1;
	while (low < high) {
		int middle = (low + high) / 2;
		RgSimItem *item = g_ptr_array_index(table->order, middle);
		if (item->seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void rg_sim_table_purge(RgSimTable *table, gint64 keep_since_ms)
{
	RgSimItem *item;
	while ((item = g_queue_peek_head(&table->graves)) &&
		item_newest(item)->at_ms <= keep_since_ms) {
		g_queue_pop_head(&table->graves);
		g_hash_table_remove(table->by_id, item->id);
		g_ptr_array_remove_index(table->order, (unsigned)find_seq(table, item->seq));
	}
}

const char *rg_sim_item_text(RgSimItem *item)
{
	if (!item->text && item_newest(item)->doc)
		item->text = json_dumps(item_newest(item)->doc, JSON_COMPACT);
	return item->text;
}
