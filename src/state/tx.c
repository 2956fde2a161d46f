#include "state/copy.h"

static bool simple(RgStore *store, const char *text, RgDiags *diags)
{
	Sql q = sql_new(store, text, diags);
	return sql_run(&q);
}

static void rollback(RgStore *store)
{
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

/* The first read of a transaction takes SQLite's lock, so this is also where a hot journal is
 * noticed. */
static int read_version(RgStore *store, int64_t *version)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	Sql q = sql_new(store, "PRAGMA user_version", unused);
	*version = sql_next(&q) ? sql_column_int(&q, 0) : -1;
	int rc = q.rc == SQLITE_ROW ? SQLITE_OK : q.rc;
	int extended = rc == SQLITE_OK ? rc : sqlite3_extended_errcode(store->db);
	sql_end(&q);
	return extended;
}

static bool check_version(RgStore *store, int rc, int64_t version, RgDiags *diags)
{
	if (rc != SQLITE_OK)
		sql_error(store, rc, diags);
	else if (version > store->version)
		schema_newer_error(store, version, diags);
	else
		return true;
	return false;
}

bool tx_begin_read(RgStore *store, RgDiags *diags)
{
	int64_t version = -1;
	int rc = SQLITE_OK;
	store_check_thread(store);
	if (store->group == GROUP_BEGUN)
		return true; /* it reads what the group wrote */
	for (int tries = 0; tries < 3; tries++) {
		if (!simple(store, "BEGIN", diags))
			return false;
		rc = read_version(store, &version);
		if (rc != SQLITE_READONLY_ROLLBACK)
			break;
		/* a reading handle cannot roll back what a killed writer left: it reads a copy */
		rollback(store);
		sqlite3 *copy = recover_copy(store, diags);
		if (!copy || !store_use_copy(store, copy, diags))
			return false;
	}
	if (check_version(store, rc, version, diags))
		return true;
	rollback(store);
	return false;
}

void tx_end_read(RgStore *store)
{
	if (store->group != GROUP_BEGUN)
		rollback(store);
}

static bool begin(RgStore *store, RgDiags *diags)
{
	int64_t version;
	if (!copy_begin(store, diags) || !simple(store, "BEGIN IMMEDIATE", diags))
		return false;
	sums_begin(store);
	int rc = read_version(store, &version);
	if (check_version(store, rc, version, diags))
		return true;
	rollback(store);
	return false;
}

static bool end(RgStore *store, bool ok, RgDiags *diags)
{
	ok = ok && sums_write(store, diags) && (!store->copy || changes_commit(store, diags)) &&
	     simple(store, "COMMIT", diags);
	if (store->copy)
		changes_end(store->copy);
	rollback(store);
	return ok;
}

bool tx_begin(RgStore *store, RgDiags *diags)
{
	store_check_writer(store, NULL);
	if (store->group == GROUP_BEGUN)
		return true;
	if (store->group == GROUP_FAILED) {
		RgDiag *diag = rg_diags_error(diags, "state.unwritable",
			"nothing more is written to the state \"%s\"", store->shown);
		rg_diag_hint(diag, "a change before this one failed: see the error above");
		return false;
	}
	bool ok = begin(store, diags);
	if (store->group == GROUP_EMPTY)
		store->group = ok ? GROUP_BEGUN : GROUP_FAILED;
	return ok;
}

bool tx_end(RgStore *store, bool ok, RgDiags *diags)
{
	if (store->group == GROUP_BEGUN && ok)
		return true;
	if (store->group == GROUP_BEGUN)
		store->group = GROUP_FAILED;
	return end(store, ok, diags);
}

void rg_store_group_begin(RgStore *store)
{
	store_check_writer(store, NULL);
	g_assert(store->group == GROUP_NONE);
	store->group = GROUP_EMPTY;
}

bool rg_store_group_end(RgStore *store, RgDiags *diags)
{
	Group was = store->group;
	store_check_writer(store, NULL);
	store->group = GROUP_NONE;
	return was == GROUP_BEGUN ? end(store, true, diags) : was == GROUP_EMPTY;
}

bool tx_begin_cluster(RgStore *store, const char *cluster, int64_t *id, RgDiags *diags)
{
	store_check_writer(store, cluster);
	if (!copy_need(store, cluster, COPY_LIVE, diags) || !tx_begin(store, diags))
		return false;
	*id = 0;
	if (!sql_first_int(
		    sql_with(store,
			    "UPDATE clusters SET serial = serial + 1 WHERE name = ?1 RETURNING id",
			    diags, TEXT(cluster)),
		    id))
		return tx_end(store, false, diags);
	if (*id != 0 && !moved_check(store, cluster, diags))
		return tx_end(store, false, diags);
	if (*id != 0)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.no-such-cluster",
		"the state \"%s\" has no cluster \"%s\"", store->shown, cluster);
	rg_diag_hint(diag,
		"check that it is the right file; --state FILE or RAYGPU_STATE selects another");
	return tx_end(store, false, diags);
}
