#include "state/tables.h"

static const Column resource_columns[] = {
	{COLUMN_TEXT, "address"},
	{COLUMN_TEXT, "id"},
	{COLUMN_TEXT, "pool"},
	{COLUMN_TEXT, "ownership"},
	{COLUMN_BLOB, "attributes"},
	{COLUMN_VALUES, "outputs"},
	{COLUMN_JSON, "depends_on"},
	{COLUMN_TEXT, "origin"},
	{COLUMN_JSON, "pin"},
	{COLUMN_INT, "generation"},
	{COLUMN_TEXT, "marked"},
	{COLUMN_FLAG, "protect"},
	{COLUMN_FLAG, "leaving"},
	{COLUMN_FLAG, "updating"},
	{COLUMN_INT, "created_s"},
	{COLUMN_INT, "updated_s"},
	{COLUMN_INT, "schema_version"},
	{COLUMN_JSON, "joined"},
	{COLUMN_END, NULL},
};

const Table table_resources = {"resources",
	"SELECT address, cloud_id, pool, ownership,"
	" (SELECT bytes FROM blobs WHERE sha256 = attrs), outputs, depends_on, origin, pin,"
	" generation, marked, protect, leaving, updating, created_s, updated_s, schema_version,"
	" joined FROM resources WHERE cluster = ?1 ORDER BY kind, name, idx",
	"INSERT INTO resources (cluster, address, cloud_id, pool, ownership, attrs, outputs,"
	" depends_on, origin, pin, generation, marked, protect, leaving, updating, created_s,"
	" updated_s, schema_version, joined, kind, name, idx) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
	" ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, nullif(?22, -1))",
	resource_columns};

static const Column identity_columns[] = {
	{COLUMN_TEXT, "address"},
	{COLUMN_INT, "generation"},
	{COLUMN_INT, "attempt"},
	{COLUMN_END, NULL},
};

/* An identity only advances, whatever the document says. */
const Table table_identities = {"identities",
	"SELECT address, generation, attempt FROM identities WHERE cluster = ?1 ORDER BY address",
	"INSERT INTO identities (cluster, address, generation, attempt) VALUES (?1, ?2, ?3, ?4)"
	" ON CONFLICT DO UPDATE SET generation = excluded.generation, attempt = excluded.attempt"
	" WHERE (excluded.generation, excluded.attempt) > (generation, attempt)",
	identity_columns};

static const Column tombstone_columns[] = {
	{COLUMN_TEXT, "id"},
	{COLUMN_INT, "removed_s"},
	{COLUMN_END, NULL},
};

const Table table_tombstones = {"tombstones",
	"SELECT id, removed_s FROM tombstones WHERE cluster = ?1 ORDER BY id",
	"INSERT INTO tombstones (cluster, id, removed_s) VALUES (?1, ?2, ?3)"
	" ON CONFLICT DO UPDATE SET removed_s = max(removed_s, excluded.removed_s)",
	tombstone_columns};

static const Column lifetime_columns[] = {
	{COLUMN_TEXT, "address"},
	{COLUMN_TEXT, "resource"},
	{COLUMN_TEXT, "pool"},
	{COLUMN_TEXT, "id"},
	{COLUMN_JSON, "pin"},
	{COLUMN_JSON, "labels"},
	{COLUMN_INT, "began_s"},
	{COLUMN_INT, "ended_s"},
	{COLUMN_TEXT, "ending"},
	{COLUMN_END, NULL},
};

const Table table_lifetimes = {"lifetimes",
	"SELECT l.address, r.address, l.pool, l.cloud_id, l.pin, l.labels, l.began_s, l.ended_s,"
	" l.ending FROM lifetimes l LEFT JOIN resources r ON r.id = l.resource"
	" WHERE l.cluster = ?1 ORDER BY l.id",
	"INSERT INTO lifetimes (cluster, address, resource, pool, cloud_id, pin, labels, began_s,"
	" ended_s, ending) VALUES (?1, ?2, (SELECT id FROM resources WHERE cluster = ?1 AND"
	" address = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	lifetime_columns};

static const Column run_columns[] = {
	{COLUMN_TEXT, "id"},
	{COLUMN_INT, "started_s"},
	{COLUMN_INT, "ended_s"},
	{COLUMN_TEXT, "outcome"},
	{COLUMN_JSON, "meta"},
	{COLUMN_END, NULL},
};

const Table table_runs = {"runs",
	"SELECT id, started_s, ended_s, outcome, meta, seq FROM runs WHERE cluster = ?1"
	" ORDER BY seq",
	"INSERT INTO runs (cluster, id, started_s, ended_s, outcome, meta)"
	" VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	run_columns};

static const Column change_columns[] = {
	{COLUMN_TEXT, "address"},
	{COLUMN_TEXT, "action"},
	{COLUMN_TEXT, "outcome"},
	{COLUMN_INT, "at_s"},
	{COLUMN_END, NULL},
};

const Table table_changes = {"changes",
	"SELECT address, action, outcome, at_s FROM run_changes WHERE run = ?1 ORDER BY seq",
	"INSERT INTO run_changes (run, address, action, outcome, at_s)"
	" VALUES (?1, ?2, ?3, ?4, ?5)",
	change_columns};
