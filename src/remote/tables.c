/* The tables, as src/state/schema.c has them, and their migrations under the same numbers. Keys
 * that a transaction may exchange between rows are checked at its end. */
#include "remote/postgres.h"
#include <string.h>

#define FIRST_VERSION 9 /* the first that was ever created here */
#define TRIES 3

static const char *const v9[] = {
	"CREATE TABLE %s.state (one bigint PRIMARY KEY CHECK (one = 1), version bigint NOT NULL,"
	" moved_to text)",
	"INSERT INTO %s.state (one, version) VALUES (1, 9)",
	"CREATE SEQUENCE %s.ids AS bigint MINVALUE 1048576 INCREMENT BY 1048576 NO CYCLE",
	"CREATE TABLE %s.clusters (id bigint PRIMARY KEY, name text NOT NULL UNIQUE,"
	" lineage text NOT NULL, serial bigint NOT NULL, provider text NOT NULL,"
	" region text NOT NULL, config text NOT NULL, facts text,"
	" history_from_s bigint NOT NULL DEFAULT 0, account text)",
	"CREATE TABLE %s.blobs (cluster bigint NOT NULL REFERENCES %s.clusters"
	" DEFERRABLE INITIALLY DEFERRED, sha256 bytea NOT NULL CHECK (length(sha256) = 32),"
	" bytes text NOT NULL, PRIMARY KEY (cluster, sha256))",
	"CREATE TABLE %s.resources (id bigint PRIMARY KEY, cluster bigint NOT NULL"
	" REFERENCES %s.clusters DEFERRABLE INITIALLY DEFERRED, address text NOT NULL,"
	" kind text NOT NULL, name text NOT NULL, idx bigint, pool text, cloud_id text,"
	" ownership text NOT NULL CHECK (ownership IN ('created', 'adopted', 'shared')),"
	" attrs bytea NOT NULL, outputs text, depends_on text, origin text, pin text,"
	" generation bigint NOT NULL, protect bigint NOT NULL DEFAULT 0,"
	" leaving bigint NOT NULL DEFAULT 0, created_s bigint NOT NULL,"
	" updated_s bigint NOT NULL, schema_version bigint NOT NULL DEFAULT 1, marked text,"
	" updating bigint NOT NULL DEFAULT 0, joined text,"
	" UNIQUE (cluster, address) DEFERRABLE INITIALLY DEFERRED,"
	" FOREIGN KEY (cluster, attrs) REFERENCES %s.blobs DEFERRABLE INITIALLY DEFERRED)",
	"CREATE INDEX resources_attrs ON %s.resources (cluster, attrs)",
	"CREATE TABLE %s.identities (cluster bigint NOT NULL REFERENCES %s.clusters"
	" DEFERRABLE INITIALLY DEFERRED, address text NOT NULL, generation bigint NOT NULL,"
	" attempt bigint NOT NULL, PRIMARY KEY (cluster, address))",
	"CREATE TABLE %s.tombstones (cluster bigint NOT NULL REFERENCES %s.clusters"
	" DEFERRABLE INITIALLY DEFERRED, id text NOT NULL, removed_s bigint NOT NULL,"
	" PRIMARY KEY (cluster, id))",
	"CREATE TABLE %s.hardware (cluster bigint NOT NULL REFERENCES %s.clusters"
	" DEFERRABLE INITIALLY DEFERRED, gpu text NOT NULL, cloud_id text NOT NULL, serial text,"
	" address text NOT NULL, instance_type text, zone text, code bigint,"
	" reason text NOT NULL, run text, failed_s bigint NOT NULL,"
	" PRIMARY KEY (cluster, gpu, cloud_id))",
	"CREATE TABLE %s.runs (seq bigint PRIMARY KEY, id text NOT NULL UNIQUE,"
	" cluster bigint NOT NULL REFERENCES %s.clusters DEFERRABLE INITIALLY DEFERRED,"
	" started_s bigint NOT NULL, ended_s bigint, outcome text, meta text NOT NULL)",
	"CREATE INDEX runs_cluster ON %s.runs (cluster)",
	"CREATE TABLE %s.run_changes (seq bigint PRIMARY KEY, run bigint NOT NULL"
	" REFERENCES %s.runs DEFERRABLE INITIALLY DEFERRED, address text NOT NULL,"
	" action text NOT NULL, outcome text NOT NULL, at_s bigint NOT NULL, node text)",
	"CREATE INDEX run_changes_run ON %s.run_changes (run)",
	"CREATE TABLE %s.journal (id bigint PRIMARY KEY, cluster bigint NOT NULL"
	" REFERENCES %s.clusters DEFERRABLE INITIALLY DEFERRED, run text, kind text NOT NULL,"
	" token text NOT NULL, input text NOT NULL, started_s bigint NOT NULL)",
	"CREATE INDEX journal_cluster ON %s.journal (cluster)",
	"CREATE TABLE %s.journal_members (cluster bigint NOT NULL REFERENCES %s.clusters"
	" DEFERRABLE INITIALLY DEFERRED, address text NOT NULL, journal bigint NOT NULL"
	" REFERENCES %s.journal DEFERRABLE INITIALLY DEFERRED, place bigint NOT NULL,"
	" generation bigint NOT NULL, attempt bigint NOT NULL, attrs bytea NOT NULL,"
	" body text NOT NULL, PRIMARY KEY (cluster, address),"
	" FOREIGN KEY (cluster, attrs) REFERENCES %s.blobs DEFERRABLE INITIALLY DEFERRED)",
	"CREATE INDEX journal_members_journal ON %s.journal_members (journal)",
	"CREATE INDEX journal_members_attrs ON %s.journal_members (cluster, attrs)",
	"CREATE TABLE %s.lifetimes (id bigint PRIMARY KEY, cluster bigint NOT NULL"
	" REFERENCES %s.clusters DEFERRABLE INITIALLY DEFERRED, resource bigint UNIQUE"
	" DEFERRABLE INITIALLY DEFERRED, address text NOT NULL, pool text, cloud_id text,"
	" pin text NOT NULL, labels text, began_s bigint NOT NULL, ended_s bigint, ending text)",
	"CREATE INDEX lifetimes_cluster ON %s.lifetimes (cluster, ended_s)",
	"CREATE TABLE %s.sums (cluster bigint NOT NULL REFERENCES %s.clusters"
	" DEFERRABLE INITIALLY DEFERRED, name text NOT NULL, sum bigint NOT NULL,"
	" PRIMARY KEY (cluster, name))",
	"CREATE TABLE %s.locks (cluster text PRIMARY KEY, \"user\" text NOT NULL,"
	" host text NOT NULL, pid bigint NOT NULL, command text NOT NULL,"
	" started_s bigint NOT NULL, token text NOT NULL)",
	NULL,
};

/* The sum of a row that got a column is another one: the next write enters it. */
static const char *const v10[] = {
	"ALTER TABLE %s.clusters ADD COLUMN moved text",
	"DELETE FROM %s.sums WHERE name = 'clusters'",
	NULL,
};

/* [i]: from version FIRST_VERSION + i - 1; the first, from nothing. */
static const char *const *const steps[] = {v9, v10};

typedef struct {
	int64_t version;
	char *moved_to;
} State;

static bool take_state(void *data, guint statement, const PGresult *rows)
{
	State *state = data;
	if (PQntuples(rows) == 0)
		return true;
	state->version = pg_int(rows, 0, 0);
	if (!PQgetisnull(rows, 0, 1))
		state->moved_to = g_strndup(PQgetvalue(rows, 0, 1), (gsize)PQgetlength(rows, 0, 1));
	return true;
}

/* Whether the schema has the table: a reader may not be allowed to look into it. */
static PgOutcome find_table(RgRemote *pg, bool *found)
{
	const RgCell schema = pg_bind_text(pg->schema);
	int64_t one;
	pg_send_plain(pg,
		"SELECT 1::bigint FROM pg_catalog.pg_class c"
		" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
		" WHERE n.nspname = $1 AND c.relname = 'state' AND c.relkind = 'r'",
		&schema, 1);
	return pg_sync_int(pg, found, &one);
}

static PgOutcome read_state(RgRemote *pg, State *state)
{
	bool found;
	PgOutcome outcome = find_table(pg, &found);
	if (outcome != PG_DONE || !found)
		return outcome;
	pg_send(pg, "SELECT version, moved_to FROM %s.state", NULL, 0);
	return pg_sync(pg, take_state, state);
}

bool pg_tables(RgRemote *pg, int64_t *version, char **moved_to, RgDiags *diags)
{
	State state = {0, NULL};
	*version = 0;
	*moved_to = NULL;
	if (read_state(pg, &state) != PG_DONE)
		return pg_error(pg, diags);
	*version = state.version;
	*moved_to = state.moved_to;
	return true;
}

/* CREATE SCHEMA IF NOT EXISTS needs a permission even if it exists. */
static PgOutcome ensure_schema(RgRemote *pg)
{
	const RgCell schema = pg_bind_text(pg->schema);
	bool found;
	int64_t one;
	pg_send_plain(
		pg, "SELECT 1::bigint FROM pg_catalog.pg_namespace WHERE nspname = $1", &schema, 1);
	PgOutcome outcome = pg_sync_int(pg, &found, &one);
	if (outcome != PG_DONE || found)
		return outcome;
	pg_send(pg, "CREATE SCHEMA %s", NULL, 0);
	return pg_sync(pg, NULL, NULL);
}

static PgOutcome run_steps(RgRemote *pg, int64_t version)
{
	State state = {0, NULL};
	PgOutcome outcome = ensure_schema(pg);
	if (outcome == PG_DONE)
		outcome = read_state(pg, &state);
	g_free(state.moved_to);
	if (outcome != PG_DONE)
		return outcome;
	int64_t from = state.version == 0 ? FIRST_VERSION - 1 : state.version;
	for (int64_t i = from; i < version; i++) {
		const char *const *texts = steps[i + 1 - FIRST_VERSION];
		for (size_t k = 0; texts[k]; k++)
			pg_send(pg, texts[k], NULL, 0);
	}
	if (from >= version)
		return PG_DONE;
	const RgCell cell = pg_bind_int(version);
	pg_send(pg, "UPDATE %s.state SET version = $1", &cell, 1);
	return pg_sync(pg, NULL, NULL);
}

/* One after the other: the row of "state", which only who may write can lock; of those that find no
 * tables, the second to create them waits for the first. Not an advisory lock: anyone can hold one.
 */
static PgOutcome lock_tables(RgRemote *pg)
{
	bool found;
	PgOutcome outcome = find_table(pg, &found);
	if (outcome != PG_DONE || !found)
		return outcome;
	pg_send(pg, "SELECT 1 FROM %s.state FOR UPDATE", NULL, 0);
	return pg_sync(pg, NULL, NULL);
}

/* In one transaction. */
static PgOutcome migrate(RgRemote *pg, int64_t version)
{
	pg_send_plain(pg, "BEGIN", NULL, 0);
	PgOutcome outcome = lock_tables(pg);
	if (outcome == PG_DONE)
		outcome = run_steps(pg, version);
	if (outcome != PG_DONE)
		return outcome;
	pg_send_plain(pg, "COMMIT", NULL, 0);
	return pg_sync(pg, NULL, NULL);
}

static void roll_back(RgRemote *pg)
{
	pg_send_plain(pg, "ROLLBACK", NULL, 0);
	pg_sync(pg, NULL, NULL);
}

/* While we waited: unique_violation of a catalog, duplicate_schema, duplicate_table. */
static bool is_there_now(const RgRemote *pg)
{
	static const char *const states[] = {"23505", "42P06", "42P07", NULL};
	return g_strv_contains(states, pg->sqlstate);
}

bool pg_migrate(RgRemote *pg, int64_t version, RgDiags *diags)
{
	g_assert(version < FIRST_VERSION + (int64_t)G_N_ELEMENTS(steps));
	PgOutcome outcome = migrate(pg, version);
	for (int tries = 1; outcome == PG_REFUSED && is_there_now(pg) && tries < TRIES; tries++) {
		roll_back(pg);
		outcome = migrate(pg, version);
	}
	if (outcome == PG_DONE)
		return true;
	pg_error(pg, diags);
	roll_back(pg);
	return false;
}

/* The row of "state" is locked first: a commit that adds a cluster (commit.c) comes before, and is
 * seen here, or after, and is refused. Division by zero refuses. */
bool pg_mark_moved(RgRemote *pg, const char *to, RgDiags *diags)
{
	const RgCell cell = pg_bind_text(to);
	pg_send(pg, "UPDATE %s.state SET moved_to = $1::text", &cell, 1);
	if (to)
		pg_send(pg, "SELECT 1 / (1 - sign(count(*))) FROM %s.clusters WHERE moved IS NULL",
			NULL, 0);
	if (pg_sync(pg, NULL, NULL) == PG_DONE)
		return true;
	if (!g_str_equal(pg->sqlstate, "22012"))
		return pg_error(pg, diags);
	return rg_remote_has_more(pg->shown, diags);
}
