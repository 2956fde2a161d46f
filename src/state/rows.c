/* All rows of a cluster, with other ids. */
#include "state/internal.h"
#include <string.h>

/* A table, in the order in which rows may refer to those before. */
typedef struct {
	SumTable table;
	const char *where, *order;
	const char *own; /* its ids: each store has its own, in the same order */
	const char *ref; /* a column with those of another table */
	SumTable ref_to;
} Part;

#define OF_CLUSTER "cluster = ?1"

static const Part parts[] = {
	{SUM_CLUSTERS, "id = ?1", "id", "id", NULL, 0},
	{SUM_RESOURCES, OF_CLUSTER, "id", "id", NULL, 0},
	{SUM_IDENTITIES, OF_CLUSTER, "address", NULL, NULL, 0},
	{SUM_TOMBSTONES, OF_CLUSTER, "id", NULL, NULL, 0},
	{SUM_HARDWARE, OF_CLUSTER, "gpu, cloud_id", NULL, NULL, 0},
	{SUM_RUNS, OF_CLUSTER, "seq", "seq", NULL, 0},
	{SUM_CHANGES, "run IN (SELECT seq FROM runs WHERE cluster = ?1)", "seq", "seq", "run",
		SUM_RUNS},
	{SUM_JOURNAL, OF_CLUSTER, "id", "id", NULL, 0},
	{SUM_MEMBERS, OF_CLUSTER, "address", NULL, "journal", SUM_JOURNAL},
	{SUM_LIFETIMES, OF_CLUSTER, "id", "id", "resource", SUM_RESOURCES},
};

static const char blobs_text[] =
	"SELECT sha256, bytes FROM blobs WHERE sha256 IN"
	" (SELECT attrs FROM resources WHERE cluster = ?1 UNION"
	" SELECT attrs FROM journal_members WHERE cluster = ?1) ORDER BY sha256";

/* What a column holds. */
typedef enum { PLAIN, OWN, REF, SERIAL, MARK } Role;

static Role role_of(const Part *part, const char *column, SumTable *ref_to)
{
	*ref_to = part->ref_to;
	if (g_strcmp0(column, part->own) == 0)
		return OWN;
	if (g_strcmp0(column, part->ref) == 0)
		return REF;
	*ref_to = SUM_CLUSTERS;
	if (g_str_equal(column, "cluster"))
		return REF;
	if (part->table != SUM_CLUSTERS)
		return PLAIN;
	return g_str_equal(column, "serial") ? SERIAL : g_str_equal(column, "moved") ? MARK : PLAIN;
}

typedef struct Walk {
	RgStore *store;
	int64_t cluster;
	GHashTable *ids[SUM_TABLES]; /* int64_t* of the row -> int64_t*: in the other store, or its
					rank */
	bool (*take)(struct Walk *walk, const Part *part, sqlite3_stmt *row);
	void *data;
	RgDiags *diags;
} Walk;

static void note_id(Walk *walk, SumTable table, int64_t id, int64_t other)
{
	g_hash_table_insert(
		walk->ids[table], g_memdup2(&id, sizeof(id)), g_memdup2(&other, sizeof(other)));
}

/* A reference to a row that is not there: NULL. */
static const int64_t *other_id(const Walk *walk, SumTable table, int64_t id)
{
	return g_hash_table_lookup(walk->ids[table], &id);
}

static bool walk_part(Walk *walk, const Part *part)
{
	g_autofree char *text = g_strdup_printf("SELECT * FROM %s WHERE %s ORDER BY %s",
		sums_table_name(part->table), part->where, part->order);
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(walk->store->db, text, -1, &row, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(row, 1, walk->cluster);
	bool ok = rc == SQLITE_OK;
	while (ok && (rc = sqlite3_step(row)) == SQLITE_ROW)
		ok = walk->take(walk, part, row);
	if (ok && rc != SQLITE_DONE)
		sql_error(walk->store, rc, walk->diags);
	sqlite3_finalize(row);
	return ok && rc == SQLITE_DONE;
}

static bool walk_all(Walk *walk)
{
	bool ok = true;
	for (guint i = 0; i < SUM_TABLES; i++)
		walk->ids[i] = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	for (guint i = 0; ok && i < G_N_ELEMENTS(parts); i++)
		ok = walk_part(walk, &parts[i]);
	for (guint i = 0; i < SUM_TABLES; i++)
		g_hash_table_unref(walk->ids[i]);
	return ok;
}

/* ---- the digest */

static void add_number(GChecksum *sum, int64_t number)
{
	int64_t bytes = GINT64_TO_LE(number);
	g_checksum_update(sum, (const guchar *)&bytes, sizeof(bytes));
}

static void add_bytes(GChecksum *sum, sqlite3_stmt *row, int column)
{
	const void *bytes = sqlite3_column_blob(row, column);
	int len = sqlite3_column_bytes(row, column);
	add_number(sum, len);
	if (len > 0)
		g_checksum_update(sum, bytes, len);
}

static void add_plain(GChecksum *sum, sqlite3_stmt *row, int column)
{
	int type = sqlite3_column_type(row, column);
	add_number(sum, type);
	if (type == SQLITE_INTEGER)
		add_number(sum, sqlite3_column_int64(row, column));
	else if (type != SQLITE_NULL)
		add_bytes(sum, row, column);
}

static bool dangling(const Walk *walk, const Part *part)
{
	g_autofree char *what = g_strdup_printf(
		"a row of its table \"%s\" refers to none", sums_table_name(part->table));
	return sql_corrupt(walk->store, what, walk->diags);
}

static bool add_row(Walk *walk, const Part *part, sqlite3_stmt *row)
{
	GChecksum *sum = walk->data;
	add_number(sum, part->table);
	for (int i = 0; i < sqlite3_column_count(row); i++) {
		SumTable ref_to;
		Role role = role_of(part, sqlite3_column_name(row, i), &ref_to);
		int64_t id = sqlite3_column_int64(row, i);
		bool is_null = sqlite3_column_type(row, i) == SQLITE_NULL;
		if (role == PLAIN || (role == REF && is_null))
			add_plain(sum, row, i);
		else if (role == OWN)
			note_id(walk, part->table, id, g_hash_table_size(walk->ids[part->table]));
		else if (role == REF && !other_id(walk, ref_to, id))
			return dangling(walk, part);
		else if (role == REF)
			add_number(sum, *other_id(walk, ref_to, id));
	}
	return true;
}

static bool add_blobs(GChecksum *sum, RgStore *store, int64_t cluster, RgDiags *diags)
{
	Sql q = sql_with(store, blobs_text, diags, INT(cluster));
	while (sql_next(&q)) {
		add_bytes(sum, q.statement, 0);
		add_bytes(sum, q.statement, 1);
	}
	return sql_ok(&q);
}

char *rows_digest(RgStore *store, int64_t cluster, RgDiags *diags)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	Walk walk = {
		.store = store, .cluster = cluster, .take = add_row, .data = sum, .diags = diags};
	if (!walk_all(&walk) || !add_blobs(sum, store, cluster, diags))
		return NULL;
	return g_strdup(g_checksum_get_string(sum));
}

/* ---- the copy */

bool rows_clear(RgStore *store, int64_t cluster, RgDiags *diags)
{
	bool ok = true;
	for (guint i = G_N_ELEMENTS(parts); ok && i > 0; i--) {
		g_autofree char *text = g_strdup_printf("DELETE FROM %s WHERE %s",
			sums_table_name(parts[i - 1].table), parts[i - 1].where);
		sqlite3_stmt *statement = NULL;
		int rc = sqlite3_prepare_v2(store->db, text, -1, &statement, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_bind_int64(statement, 1, cluster);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(statement);
		ok = rc == SQLITE_DONE;
		if (!ok)
			sql_error(store, rc, diags);
		sqlite3_finalize(statement);
	}
	return ok && blobs_purge(store, diags);
}

typedef struct {
	RgStore *to;
	const RowsTarget *target;
	const Part *part;    /* of the statement */
	sqlite3_stmt *write; /* a row of it */
} Writer;

static bool prepare_part(Writer *writer, const Part *part, sqlite3_stmt *row, RgDiags *diags)
{
	if (writer->part == part)
		return true;
	g_autoptr(GString) names = g_string_new(NULL), values = g_string_new(NULL);
	for (int i = 0; i < sqlite3_column_count(row); i++) {
		g_string_append_printf(
			names, "%s\"%s\"", i == 0 ? "" : ", ", sqlite3_column_name(row, i));
		g_string_append(values, i == 0 ? "?" : ", ?");
	}
	g_autofree char *text = g_strdup_printf("INSERT INTO %s (%s) VALUES (%s)",
		sums_table_name(part->table), names->str, values->str);
	sqlite3_finalize(writer->write);
	writer->part = part;
	int rc = sqlite3_prepare_v2(writer->to->db, text, -1, &writer->write, NULL);
	if (rc != SQLITE_OK)
		sql_error(writer->to, rc, diags);
	return rc == SQLITE_OK;
}

static int bind_own(const Writer *writer, int at, int64_t own)
{
	int64_t id = writer->part->table == SUM_CLUSTERS && writer->target->id != 0
			     ? writer->target->id
			     : own;
	return id != 0 ? sqlite3_bind_int64(writer->write, at, id)
		       : sqlite3_bind_null(writer->write, at);
}

/* `own`: the id for the row, 0: SQLite chooses. */
static int bind_column(const Walk *walk, sqlite3_stmt *row, int column, int64_t own)
{
	const Writer *writer = walk->data;
	SumTable ref_to;
	int at = column + 1;
	switch (role_of(writer->part, sqlite3_column_name(row, column), &ref_to)) {
	case OWN:
		return bind_own(writer, at, own);
	case SERIAL:
		return sqlite3_bind_int64(writer->write, at, writer->target->serial);
	case MARK: {
		g_autofree char *text = rg_json_canonical(writer->target->mark);
		return sqlite3_bind_text(writer->write, at, text, -1, SQLITE_TRANSIENT);
	}
	case REF: {
		const int64_t *id = other_id(walk, ref_to, sqlite3_column_int64(row, column));
		if (id)
			return sqlite3_bind_int64(writer->write, at, *id);
		return sqlite3_column_type(row, column) == SQLITE_NULL
			       ? sqlite3_bind_null(writer->write, at)
			       : SQLITE_CORRUPT;
	}
	case PLAIN:
		break;
	}
	return sqlite3_bind_value(writer->write, at, sqlite3_column_value(row, column));
}

static bool write_row(Walk *walk, const Part *part, sqlite3_stmt *row)
{
	Writer *writer = walk->data;
	int64_t own = 0;
	int rc = SQLITE_OK;
	if (!prepare_part(writer, part, row, walk->diags) ||
		(part->own && !copy_take_id(writer->to, &own, walk->diags)))
		return false;
	for (int i = 0; rc == SQLITE_OK && i < sqlite3_column_count(row); i++)
		rc = bind_column(walk, row, i, own);
	if (rc == SQLITE_CORRUPT)
		return dangling(walk, part);
	if (rc == SQLITE_OK && sqlite3_step(writer->write) != SQLITE_DONE)
		rc = sqlite3_extended_errcode(writer->to->db);
	if (rc != SQLITE_OK) {
		sql_error(writer->to, rc, walk->diags);
		return false;
	}
	sqlite3_reset(writer->write);
	if (part->own) /* the column of ids is the first */
		note_id(walk, part->table, sqlite3_column_int64(row, 0),
			sqlite3_last_insert_rowid(writer->to->db));
	return true;
}

static bool copy_blobs(RgStore *from, int64_t cluster, RgStore *to, RgDiags *diags)
{
	Sql q = sql_with(from, blobs_text, diags, INT(cluster));
	bool ok = true;
	while (ok && sql_next(&q)) {
		unsigned char hash[HASH_BYTES];
		sql_column_hash(&q, 0, hash);
		ok = sql_do(to, "INSERT OR IGNORE INTO blobs (sha256, bytes) VALUES (?1, ?2)",
			diags, HASH(hash), TEXT(sql_column_text(&q, 1)));
	}
	return sql_ok(&q) && ok;
}

bool rows_copy(
	RgStore *from, int64_t cluster, RgStore *to, const RowsTarget *target, RgDiags *diags)
{
	Writer writer = {.to = to, .target = target};
	Walk walk = {.store = from,
		.cluster = cluster,
		.take = write_row,
		.data = &writer,
		.diags = diags};
	bool ok = copy_blobs(from, cluster, to, diags) && walk_all(&walk);
	sqlite3_finalize(writer.write);
	return ok;
}
