#include "transfer/tables.h"

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
	" updated_s, schema_version, joined, kind, name, idx, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
	"?7,"
	" ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, nullif(?22, -1),"
	" ?23)",
	resource_columns, true};

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

static const Column hardware_columns[] = {
	{COLUMN_TEXT, "gpu"},
	{COLUMN_TEXT, "id"},
	{COLUMN_TEXT, "serial"},
	{COLUMN_TEXT, "address"},
	{COLUMN_TEXT, "instance_type"},
	{COLUMN_TEXT, "zone"},
	{COLUMN_INT, "code"},
	{COLUMN_TEXT, "reason"},
	{COLUMN_TEXT, "run"},
	{COLUMN_INT, "failed_s"},
	{COLUMN_END, NULL},
};

const Table table_hardware = {"hardware",
	"SELECT gpu, cloud_id, serial, address, instance_type, zone, code, reason, run, failed_s"
	" FROM hardware WHERE cluster = ?1 ORDER BY gpu, cloud_id",
	"INSERT INTO hardware (cluster, gpu, cloud_id, serial, address, instance_type, zone, code,"
	" reason, run, failed_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
	" ON CONFLICT DO NOTHING",
	hardware_columns};

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
	" ended_s, ending, id) VALUES (?1, ?2, (SELECT id FROM resources WHERE cluster = ?1 AND"
	" address = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	lifetime_columns, true};

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
	"INSERT INTO runs (cluster, id, started_s, ended_s, outcome, meta, seq)"
	" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	run_columns, true};

static const Column change_columns[] = {
	{COLUMN_TEXT, "address"},
	{COLUMN_TEXT, "action"},
	{COLUMN_TEXT, "outcome"},
	{COLUMN_INT, "at_s"},
	{COLUMN_JSON, "node"},
	{COLUMN_END, NULL},
};

const Table table_changes = {"changes",
	"SELECT address, action, outcome, at_s, node FROM run_changes WHERE run = ?1 ORDER BY seq",
	"INSERT INTO run_changes (run, address, action, outcome, at_s, node, seq)"
	" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	change_columns, true};
