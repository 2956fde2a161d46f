#include "state/internal.h"

/* Version 1. Columns with JSON are canonical text; README.md explains each table. */
static const char v1[] =
	"CREATE TABLE clusters ("
	" id INTEGER PRIMARY KEY,"
	" name TEXT NOT NULL UNIQUE,"
	" lineage TEXT NOT NULL,"
	" serial INTEGER NOT NULL,"
	" provider TEXT NOT NULL,"
	" region TEXT NOT NULL,"
	" config TEXT NOT NULL,"
	" facts TEXT"
	") STRICT;"
	"CREATE TABLE blobs ("
	" sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),"
	" bytes TEXT NOT NULL"
	") STRICT;"
	"CREATE TABLE resources ("
	" id INTEGER PRIMARY KEY,"
	" cluster INTEGER NOT NULL REFERENCES clusters(id),"
	" address TEXT NOT NULL,"
	" kind TEXT NOT NULL,"
	" name TEXT NOT NULL,"
	" idx INTEGER," /* NULL: not indexed */
	" pool TEXT,"
	" cloud_id TEXT,"
	" ownership TEXT NOT NULL CHECK (ownership IN ('created', 'adopted', 'shared')),"
	" attrs BLOB NOT NULL REFERENCES blobs(sha256),"
	" outputs TEXT,"
	" depends_on TEXT,"
	" origin TEXT,"
	" pin TEXT,"
	" generation INTEGER NOT NULL,"
	" protect INTEGER NOT NULL DEFAULT 0,"
	" leaving INTEGER NOT NULL DEFAULT 0," /* a removal started and its end was not seen */
	" created_s INTEGER NOT NULL,"
	" updated_s INTEGER NOT NULL,"
	" schema_version INTEGER NOT NULL DEFAULT 1,"
	" UNIQUE (cluster, address)"
	") STRICT;"
	"CREATE INDEX resources_attrs ON resources(attrs);"
	"CREATE TABLE identities ("
	" cluster INTEGER NOT NULL REFERENCES clusters(id),"
	" address TEXT NOT NULL,"
	" generation INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" PRIMARY KEY (cluster, address)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE tombstones ("
	" cluster INTEGER NOT NULL REFERENCES clusters(id),"
	" id TEXT NOT NULL,"
	" removed_s INTEGER NOT NULL,"
	" PRIMARY KEY (cluster, id)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE runs ("
	" seq INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL UNIQUE,"
	" cluster INTEGER NOT NULL REFERENCES clusters(id),"
	" started_s INTEGER NOT NULL,"
	" ended_s INTEGER,"
	" outcome TEXT,"
	" meta TEXT NOT NULL"
	") STRICT;"
	"CREATE INDEX runs_cluster ON runs(cluster);"
	"CREATE TABLE run_changes ("
	" seq INTEGER PRIMARY KEY,"
	" run INTEGER NOT NULL REFERENCES runs(seq),"
	" address TEXT NOT NULL,"
	" action TEXT NOT NULL,"
	" outcome TEXT NOT NULL,"
	" at_s INTEGER NOT NULL"
	") STRICT;"
	"CREATE INDEX run_changes_run ON run_changes(run);"
	/* AUTOINCREMENT: a row's number is never used again */
	"CREATE TABLE journal ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" cluster INTEGER NOT NULL REFERENCES clusters(id),"
	" run TEXT,"
	" kind TEXT NOT NULL,"
	" token TEXT NOT NULL,"
	" input TEXT NOT NULL,"
	" started_s INTEGER NOT NULL"
	") STRICT;"
	"CREATE INDEX journal_cluster ON journal(cluster);"
	"CREATE TABLE journal_members ("
	" cluster INTEGER NOT NULL REFERENCES clusters(id),"
	" address TEXT NOT NULL,"
	" journal INTEGER NOT NULL REFERENCES journal(id),"
	" place INTEGER NOT NULL,"
	" generation INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" attrs BLOB NOT NULL REFERENCES blobs(sha256),"
	" body TEXT NOT NULL,"		  /* the member without attrs */
	" PRIMARY KEY (cluster, address)" /* never two open creates of one address */
	") STRICT;"
	"CREATE INDEX journal_members_journal ON journal_members(journal, place);"
	"CREATE INDEX journal_members_attrs ON journal_members(attrs);"
	"CREATE TABLE locks ("
	" cluster TEXT PRIMARY KEY,"
	" user TEXT NOT NULL,"
	" host TEXT NOT NULL,"
	" pid INTEGER NOT NULL,"
	" command TEXT NOT NULL,"
	" started_s INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;";

/* Version 2: the costs of nodes over time survive their records. */
static const char v2[] =
	"CREATE TABLE lifetimes ("
	" id INTEGER PRIMARY KEY,"
	" cluster INTEGER NOT NULL REFERENCES clusters(id),"
	" resource INTEGER UNIQUE," /* resources.id while it exists */
	" address TEXT NOT NULL,"
	" pool TEXT,"
	" cloud_id TEXT,"
	" pin TEXT NOT NULL,"
	" labels TEXT,"
	" began_s INTEGER NOT NULL,"
	" ended_s INTEGER,"
	" ending TEXT"
	") STRICT;"
	"CREATE INDEX lifetimes_cluster ON lifetimes(cluster, ended_s);"
	"INSERT INTO lifetimes (cluster, resource, address, pool, cloud_id, pin, began_s)"
	" SELECT cluster, id, address, pool, cloud_id, pin, created_s FROM resources"
	" WHERE json_type(pin, '$.price_microusd_hour') IS NOT NULL ORDER BY id;"
	"ALTER TABLE clusters ADD COLUMN history_from_s INTEGER NOT NULL DEFAULT 0;"
	"UPDATE clusters SET history_from_s = unixepoch();";

/* Version 3: the address in the ownership marks of a resource, as last written; NULL: none. `state
 * mv` and `import` leave the marks to the next apply. */
static const char v3[] = "ALTER TABLE resources ADD COLUMN marked TEXT;"
			 "UPDATE resources SET marked = address WHERE cloud_id IS NOT NULL;";

/* Version 4: an update started and its end was not seen. */
static const char v4[] = "ALTER TABLE resources ADD COLUMN updating INTEGER NOT NULL DEFAULT 0;";

/* Version 5: sums.c. Sums cannot be computed in SQL: schema_migrate enters them after every
 * migration. */
static const char v5[] = "CREATE TABLE sums ("
			 " name TEXT PRIMARY KEY,"
			 " sum INTEGER NOT NULL"
			 ") STRICT, WITHOUT ROWID;";

/* Version 6: the account that owns a cluster's resources, as the cloud names it; NULL: unknown
 * yet. */
static const char v6[] = "ALTER TABLE clusters ADD COLUMN account TEXT;";

/* Version 7: whether a node joined Ray (RgResource.joined, JSON). Nodes that are already there are
 * not awaited: they may have booted with scripts that report nothing. */
static const char v7[] = "ALTER TABLE resources ADD COLUMN joined TEXT;";

/* Version 8: GPUs that failed (hardware.c), one row for each machine that had them. */
static const char v8[] = "CREATE TABLE hardware ("
			 " cluster INTEGER NOT NULL REFERENCES clusters(id),"
			 " gpu TEXT NOT NULL,"
			 " cloud_id TEXT NOT NULL,"
			 " serial TEXT,"
			 " address TEXT NOT NULL,"
			 " instance_type TEXT,"
			 " zone TEXT,"
			 " code INTEGER,"
			 " reason TEXT NOT NULL,"
			 " run TEXT,"
			 " failed_s INTEGER NOT NULL,"
			 " PRIMARY KEY (cluster, gpu, cloud_id)"
			 ") STRICT, WITHOUT ROWID;";

/* Version 9: the type, zone and market of a node that a change was about (JSON). */
static const char v9[] = "ALTER TABLE run_changes ADD COLUMN node TEXT;";

/* Version 10: clusters that are in another store (moved.c, JSON). */
static const char v10[] = "ALTER TABLE clusters ADD COLUMN moved TEXT;";

const RgMigration rg_state_migrations[] = {
	{v1}, {v2}, {v3}, {v4}, {v5}, {v6}, {v7}, {v8}, {v9}, {v10}};
const unsigned rg_state_migrations_len = G_N_ELEMENTS(rg_state_migrations);

static bool read_int(sqlite3 *db, const char *text, int64_t *value)
{
	sqlite3_stmt *statement = NULL;
	bool ok = sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK &&
		  sqlite3_step(statement) == SQLITE_ROW;
	if (ok)
		*value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return ok;
}

static bool schema_read_version(sqlite3 *db, int64_t *application, int64_t *version, bool *empty)
{
	int64_t objects = 0;
	if (!read_int(db, "PRAGMA application_id", application) ||
		!read_int(db, "PRAGMA user_version", version) ||
		!read_int(db, "SELECT count(*) FROM sqlite_schema", &objects))
		return false;
	*empty = objects == 0;
	return true;
}

/* Settings of a connection, not of the file: rollback journal, every commit durable together with
 * its folder, deleted secrets overwritten, no temporary files, no code in the file is run. A
 * reading connection gets only what SQLite sets without opening the file. */
bool schema_configure(RgStore *store, RgDiags *diags)
{
	static const char reading[] = "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;";
	static const char writing[] = "PRAGMA foreign_keys = ON;"
				      "PRAGMA synchronous = EXTRA;"
				      "PRAGMA secure_delete = ON;";
	sqlite3_extended_result_codes(store->db, 1);
	sqlite3_busy_timeout(store->db, STATE_BUSY_MS);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	int rc = sqlite3_exec(store->db, reading, NULL, NULL, NULL);
	if (rc == SQLITE_OK && store->mode == RG_STORE_WRITE) {
		rc = sqlite3_exec(store->db, writing, NULL, NULL, NULL);
		sums_watch(store);
	}
	if (rc != SQLITE_OK)
		sql_error(store, rc, diags);
	return rc == SQLITE_OK;
}

void schema_newer_error(const RgStore *store, int64_t found, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.newer",
		"the state \"%s\" has version %" G_GINT64_FORMAT
		", this raygpu supports versions up to %u",
		store->shown, found, store->version);
	rg_diag_hint(diag, "install the newer raygpu that wrote it; nothing was changed");
}

int64_t schema_find_version(RgStore *store, RgDiags *diags)
{
	int64_t application, version;
	bool empty;
	if (!schema_read_version(store->db, &application, &version, &empty)) {
		sql_error(store, sqlite3_errcode(store->db), diags);
	} else if (application != STATE_APPLICATION_ID || version < 1) {
		RgDiag *diag = rg_diags_error(diags, "state.not-a-state",
			"\"%s\" is %s, not a raygpu state", store->shown,
			empty ? "an empty database" : "the SQLite file of another program");
		rg_diag_hint(diag, "select the right file with --state or RAYGPU_STATE");
	} else if (version > store->version) {
		schema_newer_error(store, version, diags);
	} else {
		return version;
	}
	return -1;
}

static bool execute(RgStore *store, const char *text, RgDiags *diags)
{
	int rc = sqlite3_exec(store->db, text, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		sql_error(store, rc, diags);
	return rc == SQLITE_OK;
}

/* Damaged rows must not get a new sum. */
static bool migrate_from(RgStore *store, unsigned from, RgDiags *diags)
{
	bool ok = from < SUMS_VERSION || from >= store->version ||
		  sums_check(store, sums_of_version(from), diags);
	for (unsigned i = from; ok && i < store->version; i++)
		ok = execute(store, store->migrations[i].sql, diags);
	return ok && (from >= store->version || sums_renew(store, diags));
}

/* All steps and the new version number in one transaction: the file is old or new, never between.
 * Another process may have migrated it while we waited for SQLite's lock. */
bool schema_migrate(RgStore *store, unsigned from, RgDiags *diags)
{
	int64_t found = from;
	if (!execute(store, "BEGIN EXCLUSIVE", diags))
		return false;
	bool ok = read_int(store->db, "PRAGMA user_version", &found);
	if (!ok)
		sql_error(store, sqlite3_errcode(store->db), diags);
	ok = ok && migrate_from(store, (unsigned)found, diags);
	g_autofree char *stamp =
		g_strdup_printf("PRAGMA application_id = %d; PRAGMA user_version = %u; COMMIT",
			STATE_APPLICATION_ID, MAX(store->version, (unsigned)found));
	ok = ok && execute(store, stamp, diags);
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return ok;
}
