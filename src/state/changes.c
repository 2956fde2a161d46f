/* The row changes of a transaction on the copy, each row once: what a store elsewhere makes
 * durable. An attribute object goes along with the first row of its cluster that refers to it, and
 * leaves with the last. */
#include "state/copy.h"
#include <string.h>

static void cells_free(RgCell *cells, guint n)
{
	for (guint i = 0; cells && i < n; i++)
		g_free(cells[i].bytes);
	g_free(cells);
}

static void change_free(gpointer data)
{
	RgRowChange *change = data;
	cells_free(change->before, change->shape->n);
	cells_free(change->after, change->shape->n);
	g_free(change);
}

void changes_begin(RgCopy *copy)
{
	changes_end(copy);
	copy->changes = g_ptr_array_new_with_free_func(change_free);
	copy->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	copy->deltas = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	copy->recording = true;
	copy->unreadable = false;
}

void changes_end(RgCopy *copy)
{
	copy->recording = false;
	g_clear_pointer(&copy->changes, g_ptr_array_unref);
	g_clear_pointer(&copy->by_key, g_hash_table_unref);
	g_clear_pointer(&copy->deltas, g_hash_table_unref);
}

static RgCell cell_of(sqlite3_value *value)
{
	RgCell cell = {.type = RG_CELL_NULL};
	int type = sqlite3_value_type(value);
	if (type == SQLITE_INTEGER)
		return (RgCell){.type = RG_CELL_INT, .number = sqlite3_value_int64(value)};
	if (type == SQLITE_NULL)
		return cell;
	cell.type = type == SQLITE_BLOB ? RG_CELL_BLOB : RG_CELL_TEXT;
	const void *bytes = type == SQLITE_BLOB ? sqlite3_value_blob(value)
						: (const void *)sqlite3_value_text(value);
	cell.len = (size_t)sqlite3_value_bytes(value);
	cell.bytes = g_malloc0(cell.len + 1);
	if (cell.len > 0)
		memcpy(cell.bytes, bytes, cell.len);
	return cell;
}

typedef int (*ReadRow)(sqlite3 *, int, sqlite3_value **);

static RgCell *read_cells(RgStore *store, const RgShape *shape, ReadRow read)
{
	RgCell *cells = g_new0(RgCell, shape->n);
	for (guint i = 0; i < shape->n; i++) {
		sqlite3_value *value = NULL;
		if (read(store->db, (int)i, &value) != SQLITE_OK || !value)
			store->copy->unreadable = true;
		else
			cells[i] = cell_of(value);
	}
	return cells;
}

static char *key_of(const RgShape *shape, const RgCell *cells)
{
	GString *key = g_string_new(shape->name);
	for (guint i = 0; i < shape->keys->len; i++) {
		const RgCell *cell = &cells[g_array_index(shape->keys, guint, i)];
		if (cell->type == RG_CELL_INT)
			g_string_append_printf(key, "\n%" G_GINT64_FORMAT, cell->number);
		else
			g_string_append_printf(
				key, "\n%zu:%s", cell->len, cell->bytes ? cell->bytes : "");
	}
	return g_string_free(key, FALSE);
}

/* Takes ownership of both. */
static void merge(RgCopy *copy, const RgShape *shape, RgCell *before, RgCell *after)
{
	g_autofree char *key = key_of(shape, before ? before : after);
	RgRowChange *change = g_hash_table_lookup(copy->by_key, key);
	if (!change) {
		change = g_new0(RgRowChange, 1);
		*change = (RgRowChange){shape, before, after};
		g_ptr_array_add(copy->changes, change);
		g_hash_table_insert(copy->by_key, g_steal_pointer(&key), change);
		return;
	}
	cells_free(before, shape->n);
	cells_free(change->after, shape->n);
	change->after = after;
}

static int column_of(const RgShape *shape, const char *name)
{
	for (guint i = 0; i < shape->n; i++) {
		if (g_str_equal(shape->columns[i], name))
			return (int)i;
	}
	return -1;
}

static int64_t cluster_of(SumTable table, const RgShape *shape, const RgCell *cells)
{
	return cells[column_of(shape, table == SUM_CLUSTERS ? "id" : "cluster")].number;
}

static void add_delta(RgCopy *copy, int64_t cluster, SumTable table, uint64_t delta)
{
	uint64_t *sums = g_hash_table_lookup(copy->deltas, &cluster);
	if (!sums) {
		sums = g_new0(uint64_t, SUM_LIFETIMES);
		g_hash_table_insert(copy->deltas, g_memdup2(&cluster, sizeof(cluster)), sums);
	}
	sums[table] += delta;
}

void changes_record(RgStore *store, SumTable table, int operation, uint64_t delta)
{
	RgCopy *copy = store->copy;
	const RgShape *shape = &copy->shapes[table];
	if (!copy->recording)
		return;
	RgCell *before =
		operation == SQLITE_INSERT ? NULL : read_cells(store, shape, sqlite3_preupdate_old);
	RgCell *after =
		operation == SQLITE_DELETE ? NULL : read_cells(store, shape, sqlite3_preupdate_new);
	if (table < SUM_LIFETIMES)
		add_delta(copy, cluster_of(table, shape, before ? before : after), table, delta);
	merge(copy, shape, before, after);
}

/* ---- what else a commit consists of */

static RgCell int_cell(int64_t number)
{
	return (RgCell){.type = RG_CELL_INT, .number = number};
}

static RgCell bytes_cell(RgCellType type, const void *bytes, size_t len)
{
	RgCell cell = {.type = type, .len = len, .bytes = g_malloc0(len + 1)};
	memcpy(cell.bytes, bytes, len);
	return cell;
}

static RgCell *three_cells(RgCell a, RgCell b, RgCell c)
{
	RgCell *cells = g_new(RgCell, 3);
	cells[0] = a;
	cells[1] = b;
	cells[2] = c;
	return cells;
}

/* The store's sums of a cluster, in the copy's table of them; cells as in the shape. */
static bool renew_sum(
	RgStore *store, int64_t cluster, SumTable table, uint64_t delta, RgDiags *diags)
{
	const char *name = store->copy->shapes[table].name;
	Sql q = sql_with(store,
		"SELECT sum, stored FROM remote_sums WHERE cluster = ?1 AND name = ?2", diags,
		INT(cluster), TEXT(name));
	bool found = sql_next(&q);
	int64_t old = found ? sql_column_int(&q, 0) : 0, new = (int64_t)((uint64_t)old + delta);
	found = found && sql_column_int(&q, 1) != 0;
	if (!sql_ok(&q) || !sql_do(store,
				   "INSERT OR REPLACE INTO remote_sums (cluster, name, sum)"
				   " VALUES (?1, ?2, ?3)",
				   diags, INT(cluster), TEXT(name), INT(new)))
		return false;
	RgCell *before =
		found ? three_cells(int_cell(cluster), bytes_cell(RG_CELL_TEXT, name, strlen(name)),
				int_cell(old))
		      : NULL;
	merge(store->copy, &store->copy->shapes[COPY_SUMS], before,
		three_cells(int_cell(cluster), bytes_cell(RG_CELL_TEXT, name, strlen(name)),
			int_cell(new)));
	return true;
}

static bool add_sums(RgStore *store, RgDiags *diags)
{
	GHashTableIter iter;
	gpointer cluster, sums;
	bool ok = true;
	g_hash_table_iter_init(&iter, store->copy->deltas);
	while (ok && g_hash_table_iter_next(&iter, &cluster, &sums)) {
		for (guint i = 0; ok && i < SUM_LIFETIMES; i++)
			ok = ((uint64_t *)sums)[i] == 0 ||
			     renew_sum(store, *(int64_t *)cluster, i, ((uint64_t *)sums)[i], diags);
	}
	return ok;
}

static bool add_blob(RgStore *store, int64_t cluster, const RgCell *hash, RgDiags *diags)
{
	const unsigned char *bytes = (const unsigned char *)hash->bytes;
	if (!sql_do(store, "INSERT OR IGNORE INTO remote_blobs (cluster, sha256) VALUES (?1, ?2)",
		    diags, INT(cluster), HASH(bytes)))
		return false;
	if (sqlite3_changes64(store->db) == 0)
		return true;
	Sql q = sql_with(store, "SELECT bytes FROM blobs WHERE sha256 = ?1", diags, HASH(bytes));
	if (sql_next(&q)) {
		const char *text = sql_column_text(&q, 0);
		merge(store->copy, &store->copy->shapes[COPY_BLOBS], NULL,
			three_cells(int_cell(cluster), bytes_cell(RG_CELL_BLOB, bytes, HASH_BYTES),
				bytes_cell(RG_CELL_TEXT, text, strlen(text))));
	}
	return sql_ok(&q);
}

static bool drop_blob(RgStore *store, int64_t cluster, const RgCell *hash, RgDiags *diags)
{
	const unsigned char *bytes = (const unsigned char *)hash->bytes;
	if (!sql_do(store,
		    "DELETE FROM remote_blobs WHERE cluster = ?1 AND sha256 = ?2"
		    " AND NOT EXISTS (SELECT 1 FROM resources WHERE cluster = ?1 AND attrs = ?2)"
		    " AND NOT EXISTS (SELECT 1 FROM journal_members WHERE cluster = ?1 AND attrs = "
		    "?2)",
		    diags, INT(cluster), HASH(bytes)))
		return false;
	if (sqlite3_changes64(store->db) > 0)
		merge(store->copy, &store->copy->shapes[COPY_BLOBS],
			three_cells(int_cell(cluster), bytes_cell(RG_CELL_BLOB, bytes, HASH_BYTES),
				(RgCell){.type = RG_CELL_NULL}),
			NULL);
	return true;
}

static bool refers(const RgRowChange *change)
{
	return g_str_equal(change->shape->name, "resources") ||
	       g_str_equal(change->shape->name, "journal_members");
}

static bool add_blobs(RgStore *store, RgDiags *diags)
{
	const GPtrArray *changes = store->copy->changes;
	guint n = changes->len; /* merge appends */
	bool ok = true;
	for (guint pass = 0; pass < 2; pass++) {
		for (guint i = 0; ok && i < n; i++) {
			const RgRowChange *change = changes->pdata[i];
			const RgCell *cells = pass == 0 ? change->after : change->before;
			if (!refers(change) || !cells)
				continue;
			int64_t cluster = cells[column_of(change->shape, "cluster")].number;
			const RgCell *hash = &cells[column_of(change->shape, "attrs")];
			ok = hash->len == HASH_BYTES &&
			     (pass == 0 ? add_blob(store, cluster, hash, diags)
					: drop_blob(store, cluster, hash, diags));
		}
	}
	return ok;
}

static GArray *guards_of(const RgCopy *copy)
{
	GArray *guards = g_array_new(FALSE, TRUE, sizeof(RgGuard));
	const RgShape *shape = &copy->shapes[SUM_CLUSTERS];
	int serial = column_of(shape, "serial"), name = column_of(shape, "name");
	rg_ptr_foreach (const RgRowChange, change, copy->changes) {
		if (change->shape != shape || !change->after)
			continue;
		RgGuard guard = {.id = change->after[column_of(shape, "id")].number,
			.before = change->before ? change->before[serial].number : 0,
			.after = change->after[serial].number,
			.name = change->after[name].bytes};
		g_array_append_val(guards, guard);
	}
	return guards;
}

static void drop_empty(GPtrArray *changes)
{
	for (guint i = changes->len; i > 0; i--) {
		const RgRowChange *change = changes->pdata[i - 1];
		if (!change->before && !change->after)
			g_ptr_array_remove_index(changes, i - 1);
	}
}

bool changes_commit(RgStore *store, RgDiags *diags)
{
	RgCopy *copy = store->copy;
	if (copy->unreadable)
		return sql_corrupt(store, "a changed row could not be read", diags);
	copy->recording = false;
	if (!add_blobs(store, diags) || !add_sums(store, diags))
		return false;
	g_hash_table_remove_all(copy->by_key);
	drop_empty(copy->changes);
	if (copy->changes->len == 0)
		return true;
	g_autoptr(GArray) guards = guards_of(copy);
	const RgCommit commit = {copy->changes, guards};
	return copy->ops->commit(copy->remote, &commit, &copy->broken, diags);
}
