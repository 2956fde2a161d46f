/* What each node cost in which period: kept when its record is deleted, for `raygpu cost`. A
 * lifetime refers to the record's row, so it follows the node to another address. No plan depends
 * on it. */
#include "base/clock.h"
#include "state/internal.h"

static const char *const ends[] = {[END_REMOVED] = "removed",
	[END_GONE] = "gone",
	[END_FORGOTTEN] = "forgotten",
	[END_REPRICED] = "repriced",
	[END_RELABELLED] = "relabelled"};

/* Only nodes with a price, known or not, have a lifetime. */
static bool is_priced(const json_t *pin)
{
	return json_object_get(pin, "price_microusd_hour") || json_object_get(pin, "nodes");
}

bool lifetime_begin(
	RgStore *store, int64_t cluster, int64_t row, const RgResource *resource, RgDiags *diags)
{
	if (!is_priced(resource->pin))
		return true;
	return sql_do(store,
		"INSERT INTO lifetimes (cluster, resource, address, pool, cloud_id, pin, labels,"
		" began_s, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
		" (SELECT json_extract(meta, '$.labels') FROM runs WHERE seq = ?7), ?8, ?9)",
		diags, INT(cluster), INT(row), TEXT(resource->address), TEXT(resource->group),
		TEXT(resource->id), JSON(resource->pin), INT(store->run), INT(rg_clock_now_s()),
		new_row_id(store));
}

bool lifetime_end(RgStore *store, int64_t row, LifetimeEnd end, RgDiags *diags)
{
	return sql_do(store,
		"UPDATE lifetimes SET ended_s = max(?2, began_s), ending = ?3, resource = NULL"
		" WHERE resource = ?1",
		diags, INT(row), INT(rg_clock_now_s()), TEXT(ends[end]));
}

/* Ends the lifetime of a row and starts the next with other values; nothing if it has none. */
static bool split(RgStore *store, int64_t row, LifetimeEnd end, const json_t *pin,
	const json_t *labels, RgDiags *diags)
{
	Sql q = sql_with(store,
		"INSERT INTO lifetimes (cluster, resource, address, pool, cloud_id, pin, labels,"
		" began_s, id) SELECT cluster, -?1, address, pool, cloud_id, coalesce(?2, pin),"
		" coalesce(?3, labels), max(?4, began_s), ?5 FROM lifetimes"
		" WHERE resource = ?1",
		diags, INT(row), JSON(pin), JSON(labels), INT(rg_clock_now_s()), new_row_id(store));
	if (!sql_run(&q) || !lifetime_end(store, row, end, diags))
		return false;
	/* `resource` is unique: the new lifetime took the row after the old one had left it */
	return sql_do(
		store, "UPDATE lifetimes SET resource = ?1 WHERE resource = -?1", diags, INT(row));
}

/* A record that gets its price after its row (adopted ones) starts its lifetime then. */
static bool begin_late(RgStore *store, int64_t row, const json_t *pin, RgDiags *diags)
{
	return sql_do(store,
		"INSERT INTO lifetimes (cluster, resource, address, pool, cloud_id, pin, labels,"
		" began_s, id) SELECT cluster, id, address, pool, cloud_id, ?2,"
		" (SELECT json_extract(meta, '$.labels') FROM runs WHERE seq = ?3), ?4, ?5"
		" FROM resources WHERE id = ?1",
		diags, INT(row), JSON(pin), INT(store->run), INT(rg_clock_now_s()),
		new_row_id(store));
}

/* Whether the pin has another price, type, market or number of nodes than the lifetime of the
 * row. */
static bool find_repriced(RgStore *store, int64_t cluster, const char *address, const json_t *pin,
	int64_t *row, bool *has_lifetime, RgDiags *diags)
{
	Sql q = sql_with(store,
		"SELECT r.id, l.id IS NOT NULL FROM resources r"
		" LEFT JOIN lifetimes l ON l.resource = r.id"
		" WHERE r.cluster = ?1 AND r.address = ?2 AND (l.id IS NULL"
		" OR l.pin ->> '$.price_microusd_hour' IS NOT ?3 ->> '$.price_microusd_hour'"
		" OR l.pin ->> '$.instance_type' IS NOT ?3 ->> '$.instance_type'"
		" OR l.pin ->> '$.market' IS NOT ?3 ->> '$.market'"
		" OR l.pin ->> '$.nodes' IS NOT ?3 ->> '$.nodes')",
		diags, INT(cluster), TEXT(address), JSON(pin));
	*row = 0;
	if (sql_next(&q)) {
		*row = sql_column_int(&q, 0);
		*has_lifetime = sql_column_int(&q, 1) != 0;
	}
	return sql_ok(&q);
}

bool lifetime_reprice(
	RgStore *store, int64_t cluster, const char *address, const json_t *pin, RgDiags *diags)
{
	int64_t row;
	bool has_lifetime = false;
	if (!is_priced(pin))
		return true;
	if (!find_repriced(store, cluster, address, pin, &row, &has_lifetime, diags))
		return false;
	if (row == 0)
		return true;
	return has_lifetime ? split(store, row, END_REPRICED, pin, NULL, diags)
			    : begin_late(store, row, pin, diags);
}

bool lifetimes_relabel(RgStore *store, int64_t cluster, const json_t *labels, RgDiags *diags)
{
	if (!json_is_object(labels))
		return true;
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(int64_t));
	Sql q = sql_with(store,
		"SELECT resource FROM lifetimes WHERE cluster = ?1 AND resource IS NOT NULL"
		" AND coalesce(labels, '{}') <> ?2",
		diags, INT(cluster), JSON(labels));
	while (sql_next(&q)) {
		int64_t row = sql_column_int(&q, 0);
		g_array_append_val(rows, row);
	}
	bool ok = sql_ok(&q);
	for (guint i = 0; ok && i < rows->len; i++)
		ok = split(store, g_array_index(rows, int64_t, i), END_RELABELLED, NULL, labels,
			diags);
	return ok;
}

/* ---- reading */

static bool read_lifetime(Sql *q, json_t *list)
{
	json_auto_t *pin = NULL, *labels = NULL;
	if (!sql_column_json(q, 4, &pin) || !sql_column_json(q, 5, &labels))
		return false;
	json_t *item = json_object();
	rg_json_set_str(item, "cluster", sql_column_text(q, 0));
	rg_json_set_str(item, "address", sql_column_text(q, 1));
	rg_json_set_str(item, "pool", sql_column_text(q, 2));
	rg_json_set_str(item, "id", sql_column_text(q, 3));
	json_object_set_new(item, "pin", json_is_object(pin) ? json_incref(pin) : json_object());
	json_object_set_new(
		item, "labels", json_is_object(labels) ? json_incref(labels) : json_object());
	json_object_set_new(item, "began_s", sql_column_number(q, 6));
	json_object_set_new(item, "ended_s", sql_column_number(q, 7));
	rg_json_set_str(item, "ending", sql_column_text(q, 8));
	json_array_append_new(list, item);
	return true;
}

json_t *rg_store_lifetimes(RgStore *store, const char *cluster, int64_t since_s, RgDiags *diags)
{
	json_auto_t *list = json_array();
	if (!copy_need(store, cluster, COPY_ALL, diags) || !tx_begin_read(store, diags))
		return NULL;
	Sql q = sql_with(store,
		"SELECT c.name, coalesce(r.address, l.address), l.pool, l.cloud_id, l.pin,"
		" l.labels, l.began_s, l.ended_s, l.ending FROM lifetimes l"
		" JOIN clusters c ON c.id = l.cluster LEFT JOIN resources r ON r.id = l.resource"
		" WHERE c.name = ?1 AND (l.ended_s IS NULL OR l.ended_s > ?2) ORDER BY l.id",
		diags, TEXT(cluster), INT(since_s));
	bool ok = sums_check(store, SUMS_OF_COST, diags);
	while (ok && sql_next(&q))
		ok = read_lifetime(&q, list);
	ok = sql_ok(&q) && ok;
	tx_end_read(store);
	return ok ? g_steal_pointer(&list) : NULL;
}

bool rg_store_history_from(RgStore *store, const char *cluster, int64_t *from_s, RgDiags *diags)
{
	*from_s = 0;
	if (!copy_need(store, cluster, COPY_LIVE, diags) || !tx_begin_read(store, diags))
		return false;
	bool ok =
		sql_first_int(sql_with(store, "SELECT history_from_s FROM clusters WHERE name = ?1",
				      diags, TEXT(cluster)),
			from_s);
	tx_end_read(store);
	return ok;
}
