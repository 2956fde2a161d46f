/* A handle on a store elsewhere: rows come into a database in memory, a cluster at a time, when
 * they are needed and when the store's serial says that they are old. With the lock of a cluster
 * nobody else changes its rows, so they are not asked for again. */
#include "state/copy.h"
#include "base/module.h"
#include "state/place.h"
#include <string.h>

/* A cluster of the store. */
typedef struct {
	int64_t id, serial; /* as the store has it; 0: it did not have it when it was locked */
	int64_t loaded;	    /* the serial of the rows in the copy */
	unsigned parts;	    /* of RgPart that the copy has */
	bool stale;	    /* the lock was just taken */
} Seen;

static const RgRemoteModule *find_module(
	const char *url, const RgObjectStores *stores, RgDiags *diags)
{
	if (!place_is_postgres(url) && stores)
		return rg_documents_module();
	if (!place_is_postgres(url)) {
		place_refuse(url, diags);
		return NULL;
	}
#ifdef RG_MODULES_BUILTIN
	return raygpu_postgres_module();
#else
	const RgRemoteModule *module = rg_module_load(
		"remote", "raygpu-postgres.so", RG_POSTGRES_SYMBOL, "state.module", diags);
	if (module &&
		(module->size != sizeof *module || !g_str_equal(module->version, RG_VERSION))) {
		RgDiag *diag = rg_diags_error(diags, "state.module",
			"raygpu-postgres.so does not belong to this build of raygpu");
		rg_diag_hint(diag, "reinstall raygpu");
		return NULL;
	}
	return module;
#endif
}

static bool ask_canceled(void *data)
{
	const RgStore *store = data;
	return store->canceled && store->canceled(store->canceled_data);
}

static void tell_away(void *data, unsigned left_s)
{
	const RgStore *store = data;
	if (store->waiting)
		store->waiting(store->waiting_data, NULL, NULL, left_s);
}

/* ---- tables */

static bool read_shape(RgStore *store, RgShape *shape, const char *name, RgDiags *diags)
{
	g_autoptr(GStrvBuilder) columns = g_strv_builder_new();
	shape->name = name;
	shape->keys = g_array_new(FALSE, FALSE, sizeof(guint));
	Sql q = sql_with(store, "SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid", diags,
		TEXT(name));
	for (; sql_next(&q); shape->n++) {
		g_strv_builder_add(columns, sql_column_text(&q, 0));
		if (sql_column_int(&q, 1) > 0)
			g_array_append_val(shape->keys, shape->n);
	}
	shape->columns = g_strv_builder_end(columns);
	return sql_ok(&q);
}

static void set_shape(RgShape *shape, const char *name, const char *const *columns)
{
	shape->name = name;
	shape->columns = g_strdupv((char **)(uintptr_t)columns);
	shape->n = 3;
	shape->keys = g_array_new(FALSE, FALSE, sizeof(guint));
	for (guint i = 0; i < 2; i++)
		g_array_append_val(shape->keys, i);
}

static bool read_shapes(RgStore *store, RgDiags *diags)
{
	static const char *const blobs[] = {"cluster", "sha256", "bytes", NULL};
	static const char *const sums[] = {"cluster", "name", "sum", NULL};
	static const char own[] =
		"CREATE TABLE remote_blobs (cluster INTEGER NOT NULL, sha256 BLOB NOT NULL,"
		" PRIMARY KEY (cluster, sha256)) STRICT, WITHOUT ROWID;"
		"CREATE TABLE remote_sums (cluster INTEGER NOT NULL, name TEXT NOT NULL,"
		" sum INTEGER NOT NULL, stored INTEGER NOT NULL DEFAULT 1,"
		" PRIMARY KEY (cluster, name)) STRICT, WITHOUT ROWID;"
		"PRAGMA foreign_keys = OFF;";
	int rc = sqlite3_exec(store->db, own, NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		sql_error(store, rc, diags);
		return false;
	}
	bool ok = true;
	for (guint i = 0; i < SUM_TABLES && ok; i++)
		ok = read_shape(store, &store->copy->shapes[i], sums_table_name(i), diags);
	set_shape(&store->copy->shapes[COPY_BLOBS], "blobs", blobs);
	set_shape(&store->copy->shapes[COPY_SUMS], "sums", sums);
	return ok;
}

/* ---- opening */

static bool prepare(RgStore *store, RgDiags *diags)
{
	RgCopy *copy = store->copy;
	if (!copy->ops->tables(copy->remote, &copy->version, &copy->moved_to, diags))
		return false;
	if (copy->moved_to && !store->moves)
		return moved_refuse_to(store, NULL, copy->moved_to, diags);
	if (copy->version > store->version) {
		schema_newer_error(store, copy->version, diags);
		return false;
	}
	if (copy->version == store->version || (store->mode == RG_STORE_READ && copy->version == 0))
		return true;
	if (store->mode == RG_STORE_WRITE) {
		copy->version = store->version;
		return copy->ops->migrate(copy->remote, store->version, diags);
	}
	RgDiag *diag = rg_diags_error(diags, "state.unreadable",
		"the tables of the state \"%s\" have version %" G_GINT64_FORMAT
		", this raygpu needs version %u",
		store->shown, copy->version, store->version);
	rg_diag_hint(diag, "`raygpu apply` migrates them");
	return false;
}

bool copy_open(RgStore *store, const char *url, const RgObjectStores *stores, RgDiags *diags)
{
	RgCopy *copy = store->copy = g_new0(RgCopy, 1);
	copy->url = g_strdup(url);
	copy->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	copy->ops = find_module(url, stores, diags);
	if (!copy->ops)
		return false;
	const RgRemoteOpen how = {.url = copy->url,
		.shown = store->shown,
		.stores = stores,
		.writes = store->mode == RG_STORE_WRITE,
		.canceled = ask_canceled,
		.away = tell_away,
		.data = store};
	copy->remote = copy->ops->open(&how, diags);
	sums_watch(store); /* rows are summed while they are loaded */
	return copy->remote && prepare(store, diags) && read_shapes(store, diags);
}

void copy_close(RgCopy *copy)
{
	if (!copy)
		return;
	changes_end(copy);
	if (copy->remote)
		copy->ops->close(copy->remote);
	for (guint i = 0; i < COPY_SHAPES; i++) {
		g_strfreev(copy->shapes[i].columns);
		if (copy->shapes[i].keys)
			g_array_unref(copy->shapes[i].keys);
	}
	g_hash_table_unref(copy->seen);
	g_free(copy->url);
	g_free(copy->moved_to);
	g_free(copy);
}

/* ---- loading */

typedef struct {
	RgStore *store;
	sqlite3_stmt *put[COPY_SHAPES];
	uint64_t kept[SUM_LIFETIMES];
	bool has_kept[SUM_LIFETIMES];
	RgDiags *diags;
} CopyLoad;

static int bind_cell(sqlite3_stmt *statement, int at, const RgCell *cell)
{
	switch (cell->type) {
	case RG_CELL_INT:
		return sqlite3_bind_int64(statement, at, cell->number);
	case RG_CELL_TEXT:
		return sqlite3_bind_text64(
			statement, at, cell->bytes, cell->len, SQLITE_STATIC, SQLITE_UTF8);
	case RG_CELL_BLOB:
		return sqlite3_bind_blob64(statement, at, cell->bytes, cell->len, SQLITE_STATIC);
	case RG_CELL_NULL:
		break;
	}
	return sqlite3_bind_null(statement, at);
}

/* The statement that puts a row of the shape into the copy. */
static sqlite3_stmt *put_of(CopyLoad *load, const RgShape *shape)
{
	size_t at = (size_t)(shape - load->store->copy->shapes);
	if (load->put[at])
		return load->put[at];
	g_autoptr(GString) text = g_string_new("INSERT OR REPLACE INTO ");
	if (at == COPY_BLOBS || at == COPY_SUMS)
		g_string_assign(text,
			at == COPY_BLOBS
				? "INSERT OR IGNORE INTO blobs (sha256, bytes) VALUES (?2, ?3)"
				: "INSERT OR REPLACE INTO remote_sums (cluster, name, sum)"
				  " VALUES (?1, ?2, ?3)");
	else {
		g_string_append_printf(text, "%s VALUES (?", shape->name);
		for (guint i = 1; i < shape->n; i++)
			g_string_append(text, ", ?");
		g_string_append_c(text, ')');
	}
	sqlite3_prepare_v2(load->store->db, text->str, -1, &load->put[at], NULL);
	return load->put[at];
}

/* Only the columns that the statement has are bound. */
static bool put_row(void *data, const RgShape *shape, const RgCell *cells)
{
	CopyLoad *load = data;
	RgStore *store = load->store;
	sqlite3_stmt *put = put_of(load, shape);
	int first = shape == &store->copy->shapes[COPY_BLOBS] ? 1 : 0, rc = SQLITE_OK;
	for (guint i = (guint)first; put && i < shape->n && rc == SQLITE_OK; i++)
		rc = bind_cell(put, (int)i + 1, &cells[i]);
	if (!put || rc != SQLITE_OK || sqlite3_step(put) != SQLITE_DONE)
		return sql_corrupt(store, "a row of it is not what was written", load->diags);
	sqlite3_reset(put);
	sqlite3_clear_bindings(put);
	if (first == 1 && cells[1].len == HASH_BYTES)
		return sql_do(store,
			"INSERT OR IGNORE INTO remote_blobs (cluster, sha256) VALUES (?1, ?2)",
			load->diags, INT(cells[0].number),
			HASH((const unsigned char *)cells[1].bytes));
	for (guint i = 0; shape == &store->copy->shapes[COPY_SUMS] && i < SUM_LIFETIMES; i++) {
		if (!g_str_equal(store->copy->shapes[i].name, cells[1].bytes))
			continue;
		load->kept[i] = (uint64_t)cells[2].number;
		load->has_kept[i] = true;
	}
	return true;
}

/* The hook of sums.c has added up what was put. */
static bool check_sums(const CopyLoad *load)
{
	for (guint i = 0; i < SUM_LIFETIMES; i++) {
		if (!load->has_kept[i] || load->kept[i] == load->store->sums[i])
			continue;
		g_autofree char *what =
			g_strdup_printf("rows of its table \"%s\" are not what was written",
				load->store->copy->shapes[i].name);
		return sql_corrupt(load->store, what, load->diags);
	}
	return true;
}

/* Someone has deleted a sum to edit rows, or a migration has: the next change of the table writes
 * the sum of what is there now. */
static bool add_missing_sums(const CopyLoad *load, int64_t cluster)
{
	bool ok = true;
	for (guint i = 0; ok && i < SUM_LIFETIMES; i++)
		ok = load->has_kept[i] ||
		     sql_do(load->store,
			     "INSERT INTO remote_sums (cluster, name, sum, stored)"
			     " VALUES (?1, ?2, ?3, 0)",
			     load->diags, INT(cluster), TEXT(load->store->copy->shapes[i].name),
			     INT((int64_t)load->store->sums[i]));
	return ok;
}

static bool clear_rows(RgStore *store, int64_t id, RgDiags *diags)
{
	bool ok = sql_do(store,
		"DELETE FROM run_changes WHERE run IN (SELECT seq FROM runs WHERE cluster = ?1)",
		diags, INT(id));
	for (guint i = 0; ok && i < COPY_SHAPES; i++) {
		if (i == SUM_CHANGES)
			continue;
		const char *name = i == COPY_BLOBS  ? "remote_blobs"
				   : i == COPY_SUMS ? "remote_sums"
						    : sums_table_name(i);
		g_autofree char *text =
			g_strdup_printf("DELETE FROM %s WHERE %s = %" G_GINT64_FORMAT, name,
				i == SUM_CLUSTERS ? "id" : "cluster", id);
		ok = sqlite3_exec(store->db, text, NULL, NULL, NULL) == SQLITE_OK;
	}
	return ok;
}

static bool load_rows(RgStore *store, int64_t id, unsigned parts, bool check, RgDiags *diags)
{
	const RgShape *shapes[COPY_SHAPES];
	for (guint i = 0; i < COPY_SHAPES; i++)
		shapes[i] = &store->copy->shapes[i];
	CopyLoad load = {.store = store, .diags = diags};
	sums_begin(store);
	bool ok = store->copy->ops->load(store->copy->remote, id, shapes, COPY_SHAPES, parts,
			  put_row, &load, diags) &&
		  (!check || (check_sums(&load) && add_missing_sums(&load, id)));
	for (guint i = 0; i < COPY_SHAPES; i++)
		sqlite3_finalize(load.put[i]);
	return ok;
}

static bool load_cluster(RgStore *store, Seen *seen, unsigned parts, RgDiags *diags)
{
	/* rows that this run has written itself may already be there: sums are of all rows */
	bool all = seen->stale || seen->loaded != seen->serial ||
		   (parts & ~seen->parts & RG_PART_LIVE) != 0;
	unsigned want = all ? seen->parts | parts : parts & ~seen->parts;
	if (!all && want == 0)
		return true;
	bool ok = sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
		  (!all || clear_rows(store, seen->id, diags)) &&
		  load_rows(store, seen->id, want, (want & RG_PART_LIVE) != 0, diags);
	if (sqlite3_exec(store->db, ok ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK)
		ok = false;
	if (!ok)
		return false;
	seen->loaded = seen->serial;
	seen->parts |= want;
	seen->stale = false;
	return true;
}

static void see(void *data, int64_t id, const char *name, int64_t serial)
{
	RgCopy *copy = data;
	Seen *seen = g_hash_table_lookup(copy->seen, name);
	if (!seen) {
		seen = g_new0(Seen, 1);
		seen->loaded = -1;
		g_hash_table_insert(copy->seen, g_strdup(name), seen);
	}
	seen->id = id;
	seen->serial = serial;
}

/* Our own commits have raised the serial of what we hold. */
static bool note_own(RgStore *store, const char *name, Seen *seen, RgDiags *diags)
{
	return !g_hash_table_contains(store->locked, name) || seen->stale ||
	       sql_first_int(sql_with(store, "SELECT serial FROM clusters WHERE name = ?1", diags,
				     TEXT(name)),
		       &seen->loaded);
}

static bool has_all(const RgStore *store, const char *cluster, unsigned parts)
{
	const Seen *seen = cluster ? g_hash_table_lookup(store->copy->seen, cluster) : NULL;
	return seen && !seen->stale && g_hash_table_contains(store->locked, cluster) &&
	       (seen->parts & parts) == parts;
}

/* With its lock, nobody else creates it: all of its rows will be ours. */
static void see_absent(const RgStore *store, const char *cluster)
{
	if (!cluster || !g_hash_table_contains(store->locked, cluster) ||
		g_hash_table_contains(store->copy->seen, cluster))
		return;
	Seen *seen = g_new0(Seen, 1);
	seen->parts = COPY_ALL;
	g_hash_table_insert(store->copy->seen, g_strdup(cluster), seen);
}

static bool load_wanted(RgStore *store, const char *cluster, unsigned parts, RgDiags *diags)
{
	GHashTableIter iter;
	gpointer name, seen;
	bool ok = true;
	g_hash_table_iter_init(&iter, store->copy->seen);
	while (ok && g_hash_table_iter_next(&iter, &name, &seen)) {
		if (((Seen *)seen)->id != 0 && (!cluster || g_str_equal(cluster, name)))
			ok = note_own(store, name, seen, diags) &&
			     load_cluster(store, seen, parts, diags);
	}
	return ok;
}

bool copy_need(RgStore *store, const char *cluster, unsigned parts, RgDiags *diags)
{
	RgCopy *copy = store->copy;
	if (!copy || copy->version == 0 || has_all(store, cluster, parts))
		return true;
	store_check_thread(store);
	bool ok = copy->ops->begin(copy->remote, cluster, see, copy, diags) &&
		  load_wanted(store, cluster, parts, diags);
	copy->ops->end(copy->remote);
	if (ok)
		see_absent(store, cluster);
	return ok;
}

void copy_locked(RgStore *store, const char *cluster)
{
	Seen *seen = g_hash_table_lookup(store->copy->seen, cluster);
	if (seen)
		seen->stale = true;
}

/* ---- row ids: each handle gets its own */

bool copy_begin(RgStore *store, RgDiags *diags)
{
	RgCopy *copy = store->copy;
	if (!copy)
		return true;
	if (copy->broken) {
		RgDiag *diag = rg_diags_error(diags, "state.unwritable",
			"it is unknown whether the state \"%s\" has the last change", store->shown);
		rg_diag_hint(diag, "run the command again: it reads what the state has");
		return false;
	}
	if (copy->end_id - copy->next_id < RG_ID_BLOCK / 2) {
		if (!copy->ops->ids(copy->remote, &copy->next_id, diags))
			return false;
		copy->end_id = copy->next_id + RG_ID_BLOCK;
	}
	changes_begin(copy);
	return true;
}

bool copy_take_id(RgStore *store, int64_t *id, RgDiags *diags)
{
	RgCopy *copy = store->copy;
	*id = 0;
	if (!copy)
		return true;
	if (copy->next_id == copy->end_id) {
		if (!copy->ops->ids(copy->remote, &copy->next_id, diags))
			return false;
		copy->end_id = copy->next_id + RG_ID_BLOCK;
	}
	*id = copy->next_id++;
	return true;
}

SqlValue new_row_id(RgStore *store)
{
	if (!store->copy)
		return (SqlValue)TEXT(NULL);
	return (SqlValue)INT(store->copy->next_id++);
}

/* ---- the whole store has moved */

const char *copy_moved_to(const RgStore *store)
{
	return store->copy ? store->copy->moved_to : NULL;
}

bool copy_mark_moved(RgStore *store, const char *to, RgDiags *diags)
{
	RgCopy *copy = store->copy;
	if (!copy->ops->mark_moved(copy->remote, to, diags))
		return false;
	g_free(copy->moved_to);
	copy->moved_to = g_strdup(to);
	return true;
}
