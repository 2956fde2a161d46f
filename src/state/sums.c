#include "state/copy.h"
#include <string.h>
#include <xxhash.h>

/* A sum over all rows of each table, stored with them: a flipped bit, a row that a damaged page no
 * longer shows, or one that it shows twice, changes the sum. SQLite itself does not check content.
 * The sum does not depend on the order of rows, so that a change costs only its own rows: SQLite
 * provides each row before and after its change. It does not protect against people: a sum is not a
 * signature. */

typedef struct {
	const char *name, *select, *rewrite, *indexes;
} Summed;

/* NOT INDEXED: the content of the table, whatever its indexes say; SQLite compares those. */
#define SUMMED(table, column)                                                                      \
	{                                                                                          \
		table, "SELECT * FROM " table " NOT INDEXED",                                      \
			"UPDATE " table " SET " column " = " column,                               \
			"PRAGMA integrity_check(" table ")"                                        \
	}

/* In the order of SumTable. */
static const Summed summed[SUM_TABLES] = {
	SUMMED("clusters", "serial"),
	SUMMED("resources", "generation"),
	SUMMED("identities", "generation"),
	SUMMED("tombstones", "removed_s"),
	SUMMED("hardware", "failed_s"),
	SUMMED("journal", "kind"),
	SUMMED("journal_members", "place"),
	SUMMED("lifetimes", "address"),
	SUMMED("runs", "meta"),
	SUMMED("run_changes", "action"),
};

const char *sums_table_name(SumTable table)
{
	return summed[table].name;
}

unsigned sums_of_version(unsigned version)
{
	return version < 8 ? SUMS_ALL & ~(1u << SUM_HARDWARE) : SUMS_ALL;
}

static uint64_t add_word(uint64_t sum, uint64_t word)
{
	uint64_t bytes = GUINT64_TO_LE(word);
	return XXH3_64bits_withSeed(&bytes, sizeof(bytes), sum);
}

static uint64_t add_value(uint64_t sum, sqlite3_value *value)
{
	int type = sqlite3_value_type(value);
	sum = add_word(sum, (uint64_t)type);
	if (type == SQLITE_NULL)
		return sum;
	if (type == SQLITE_INTEGER)
		return add_word(sum, (uint64_t)sqlite3_value_int64(value));
	const void *bytes = sqlite3_value_blob(value);
	return XXH3_64bits_withSeed(bytes, (size_t)sqlite3_value_bytes(value), sum);
}

typedef int (*ReadOld)(sqlite3 *, int, sqlite3_value **);

/* The row of a change, before or after it. */
static uint64_t changed_row(RgStore *store, ReadOld read)
{
	uint64_t sum = 1;
	for (int i = 0; i < sqlite3_preupdate_count(store->db); i++) {
		sqlite3_value *value = NULL;
		if (read(store->db, i, &value) != SQLITE_OK || !value)
			store->sums_failed = true;
		else
			sum = add_value(sum, value);
	}
	return sum;
}

static void on_change(void *data, sqlite3 *db, int operation, const char *schema, const char *table,
	sqlite3_int64 old_row, sqlite3_int64 new_row)
{
	RgStore *store = data;
	for (size_t i = 0; i < SUM_TABLES; i++) {
		if (!g_str_equal(summed[i].name, table))
			continue;
		uint64_t delta = 0;
		if (operation != SQLITE_INSERT)
			delta -= changed_row(store, sqlite3_preupdate_old);
		if (operation != SQLITE_DELETE)
			delta += changed_row(store, sqlite3_preupdate_new);
		store->sums[i] += delta;
		if (store->copy)
			changes_record(store, i, operation, delta);
	}
}

void sums_watch(RgStore *store)
{
	sqlite3_preupdate_hook(store->db, on_change, store);
}

void sums_begin(RgStore *store)
{
	memset(store->sums, 0, sizeof(store->sums));
	store->sums_failed = false;
}

static bool read_table(RgStore *store, size_t table, uint64_t *sum, RgDiags *diags)
{
	Sql q = sql_new(store, summed[table].select, diags);
	*sum = 0;
	while (sql_next(&q)) {
		uint64_t row = 1;
		for (int i = 0; i < sqlite3_column_count(q.statement); i++)
			row = add_value(row, sqlite3_column_value(q.statement, i));
		*sum += row;
	}
	return sql_ok(&q);
}

static bool read_kept(RgStore *store, size_t table, uint64_t *sum, bool *found, RgDiags *diags)
{
	Sql q = sql_with(
		store, "SELECT sum FROM sums WHERE name = ?1", diags, TEXT(summed[table].name));
	*found = sql_next(&q);
	if (*found)
		*sum = (uint64_t)sql_column_int(&q, 0);
	return sql_ok(&q);
}

static bool keep(RgStore *store, size_t table, uint64_t sum, RgDiags *diags)
{
	return sql_do(store,
		"INSERT INTO sums (name, sum) VALUES (?1, ?2)"
		" ON CONFLICT DO UPDATE SET sum = excluded.sum",
		diags, TEXT(summed[table].name), INT((int64_t)sum));
}

bool sums_write(RgStore *store, RgDiags *diags)
{
	bool ok = true, found;
	if (store->copy) /* the store keeps one for each cluster (changes.c) */
		return true;
	for (size_t i = 0; i < SUM_TABLES && ok; i++) {
		uint64_t sum = 0;
		if (store->sums[i] == 0 && !store->sums_failed)
			continue;
		ok = read_kept(store, i, &sum, &found, diags);
		sum += store->sums[i];
		if (ok && (!found || store->sums_failed))
			ok = read_table(store, i, &sum, diags);
		ok = ok && keep(store, i, sum, diags);
	}
	return ok;
}

/* A row from before its table got a column has no value for it: SQLite reports the default when the
 * row is read, but NULL just before it changes. So each is rewritten. */
bool sums_renew(RgStore *store, RgDiags *diags)
{
	bool ok = true;
	for (size_t i = 0; i < SUM_TABLES && ok; i++) {
		uint64_t sum;
		Sql q = sql_new(store, summed[i].rewrite, diags);
		ok = sql_run(&q) && read_table(store, i, &sum, diags) && keep(store, i, sum, diags);
	}
	return ok;
}

static bool corrupt(const RgStore *store, const char *what, size_t table, RgDiags *diags)
{
	g_autofree char *text = g_strdup_printf(
		"%s of its table \"%s\" are not what was written", what, summed[table].name);
	return sql_corrupt(store, text, diags);
}

/* A damaged index hides rows from lookups through it. A reading handle does not use the indexes of
 * the one large table (load.c), and comparing them would cost more than the rest of the load. */
static bool check_indexes(RgStore *store, size_t table, RgDiags *diags)
{
	if (table == SUM_RESOURCES && store->mode == RG_STORE_READ)
		return true;
	Sql q = sql_new(store, summed[table].indexes, diags);
	bool same = sql_next(&q) && g_strcmp0(sql_column_text(&q, 0), "ok") == 0;
	return sql_ok(&q) && (same || corrupt(store, "indexes", table, diags));
}

static bool check_table(RgStore *store, size_t table, RgDiags *diags)
{
	uint64_t sum, kept = 0;
	bool found;
	if (!read_kept(store, table, &kept, &found, diags) ||
		!read_table(store, table, &sum, diags))
		return false;
	if (found && sum != kept)
		return corrupt(store, "rows", table, diags);
	return check_indexes(store, table, diags);
}

bool sums_check(RgStore *store, unsigned tables, RgDiags *diags)
{
	if (store->copy) /* compared when it was loaded */
		return true;
	int64_t moment = 0; /* changes with every change of the file, by us or by others */
	if (!sql_first_int(sql_new(store, "PRAGMA data_version", diags), &moment))
		return false;
	moment += (int64_t)sqlite3_total_changes64(store->db) << 32;
	if (moment != store->checked_at)
		store->checked = 0;
	store->checked_at = moment;
	for (size_t i = 0; i < SUM_TABLES; i++) {
		unsigned bit = 1u << i;
		if (!(tables & bit) || (store->checked & bit))
			continue;
		if (!check_table(store, i, diags))
			return false;
		store->checked |= bit;
	}
	return true;
}

bool sums_check_all(RgStore *store, RgDiags *diags)
{
	return sums_check(store, SUMS_ALL, diags);
}
