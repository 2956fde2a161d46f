/* The lock of a cluster is an advisory lock of the connection: the server releases it when the
 * connection ends. Its row in "locks" says who, and its token lets a reconnected run see whether
 * someone else had the lock in the meantime.
 *
 * The server lets everyone who can connect take an advisory lock. So only the locks of those count
 * who may write the row: sessions of users that have, or can switch to, a role with UPDATE on
 * "locks". If someone else has a cluster's number, a run takes a spare one: a pair of the first
 * half of the number, which is the same for all spares of a cluster, and a random half. Every run
 * first takes its lock and then looks for the other's, so of two that come at the same time at
 * least one sees the other. */
#include "remote/postgres.h"
#include <string.h>

/* 64 bits of a hash: the lock's number is all that the server compares. */
int64_t pg_lock_key(const RgRemote *pg, const char *cluster)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	guint8 digest[32];
	gsize len = sizeof(digest);
	guint64 key;
	g_checksum_update(sum, (const guchar *)"raygpu lock\n", -1);
	g_checksum_update(sum, (const guchar *)pg->schema, -1);
	g_checksum_update(sum, (const guchar *)"\n", 1);
	g_checksum_update(sum, (const guchar *)cluster, -1);
	g_checksum_get_digest(sum, digest, &len);
	memcpy(&key, digest, sizeof(key));
	return (int64_t)GUINT64_FROM_BE(key);
}

static bool take_bool(void *data, guint statement, const PGresult *rows)
{
	if (PQntuples(rows) > 0 && PQgetlength(rows, 0, 0) == 1)
		*(bool *)data = *PQgetvalue(rows, 0, 0) != 0;
	return true;
}

/* Locks of the cluster with the key $1 in this database: a key of 64 bits is listed as two halves
 * with objsubid 1, a pair with objsubid 2 (pg_locks). $2: the schema. */
#define LOCKS_OF_WRITERS                                                                           \
	" FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid"          \
	" WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid"                \
	" FROM pg_catalog.pg_database WHERE datname = current_database())"                         \
	" AND l.classid::bigint = ($1::bigint >> 32) & 4294967295 AND (l.objsubid = 2"             \
	" OR l.objsubid = 1 AND l.objid::bigint = $1::bigint & 4294967295)"                        \
	" AND EXISTS (SELECT 1 FROM pg_catalog.pg_roles r, pg_catalog.pg_class c"                  \
	" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $2"           \
	" AND c.relname = 'locks' AND c.relkind = 'r' AND has_table_privilege(r.oid, c.oid,"       \
	" 'UPDATE') AND pg_has_role(a.usesysid, r.oid, 'MEMBER'))"

/* *held: by another session that counts. */
static PgOutcome is_held(RgRemote *pg, const char *cluster, bool *held)
{
	const RgCell cells[] = {pg_bind_int(pg_lock_key(pg, cluster)), pg_bind_text(pg->schema)};
	*held = false;
	pg_send_plain(pg, "SELECT count(*) > 0" LOCKS_OF_WRITERS " AND l.pid <> pg_backend_pid()",
		cells, G_N_ELEMENTS(cells));
	return pg_sync(pg, take_bool, held);
}

void pg_lock_release(RgRemote *pg, const char *cluster)
{
	const RgCell key = pg_bind_int(pg_lock_key(pg, cluster));
	pg_send_plain(pg,
		"SELECT CASE WHEN objsubid = 1 THEN pg_advisory_unlock($1::bigint) ELSE"
		" pg_advisory_unlock(($1::bigint >> 32)::integer, objid::bigint::bit(32)::integer)"
		" END FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND granted"
		" AND pid = pg_backend_pid() AND database = (SELECT oid FROM"
		" pg_catalog.pg_database WHERE datname = current_database())"
		" AND classid::bigint = ($1::bigint >> 32) & 4294967295 AND (objsubid = 2"
		" OR objsubid = 1 AND objid::bigint = $1::bigint & 4294967295)",
		&key, 1);
	pg_sync(pg, NULL, NULL);
}

static PgOutcome take(RgRemote *pg, const char *cluster, bool spare, bool *taken)
{
	const RgCell cells[] = {
		pg_bind_int(pg_lock_key(pg, cluster)), pg_bind_int((int32_t)g_random_int())};
	*taken = false;
	if (spare)
		pg_send_plain(pg,
			"SELECT pg_try_advisory_lock(($1::bigint >> 32)::integer,"
			" ($2::bigint)::integer)",
			cells, 2);
	else
		pg_send_plain(pg, "SELECT pg_try_advisory_lock($1)", cells, 1);
	return pg_sync(pg, take_bool, taken);
}

PgOutcome pg_lock_try(RgRemote *pg, const char *cluster, bool *taken)
{
	bool held = false;
	PgOutcome outcome = take(pg, cluster, false, taken);
	if (outcome == PG_DONE)
		outcome = is_held(pg, cluster, &held);
	if (outcome == PG_DONE && !held && !*taken) {
		outcome = take(pg, cluster, true, taken);
		if (outcome == PG_DONE)
			outcome = is_held(pg, cluster, &held);
	}
	if (outcome == PG_DONE && held && *taken) {
		pg_lock_release(pg, cluster);
		*taken = false;
	}
	return outcome;
}

void pg_unlock(RgRemote *pg, const char *cluster)
{
	const char *token = g_hash_table_lookup(pg->locks, cluster);
	if (pg->conn && token) {
		const RgCell cells[] = {pg_bind_text(cluster), pg_bind_text(token)};
		pg_send(pg, "DELETE FROM %s.locks WHERE cluster = $1 AND token = $2", cells, 2);
		pg_lock_release(pg, cluster);
	}
	g_hash_table_remove(pg->locks, cluster);
}

typedef struct {
	void (*told)(void *data, const RgHolder *holder);
	RgHolderSeen seen; /* one of the two */
	void *data;
} Teller;

static char *text_at(const PGresult *rows, int column)
{
	return g_strndup(PQgetvalue(rows, 0, column), (gsize)PQgetlength(rows, 0, column));
}

static bool tell(void *data, guint statement, const PGresult *rows)
{
	const Teller *teller = data;
	if (PQntuples(rows) == 0)
		return true;
	g_autofree char *user = text_at(rows, 0), *host = text_at(rows, 1);
	g_autofree char *command = text_at(rows, 3);
	const RgHolder holder = {.user = user,
		.host = host,
		.pid = pg_int(rows, 0, 2),
		.command = command,
		.started_s = pg_int(rows, 0, 4),
		.expires_s = -1};
	if (teller->seen)
		teller->seen(teller->data, &holder, pg_int(rows, 0, 5) == 0);
	else
		teller->told(teller->data, &holder);
	return true;
}

void pg_holder(RgRemote *pg, const char *cluster, void (*told)(void *data, const RgHolder *holder),
	void *data)
{
	const RgCell cell = pg_bind_text(cluster);
	Teller teller = {.told = told, .data = data};
	pg_send(pg,
		"SELECT \"user\", host, pid, command, started_s FROM %s.locks WHERE cluster = $1",
		&cell, 1);
	pg_sync(pg, tell, &teller);
}

bool pg_look(RgRemote *pg, const char *cluster, RgHolderSeen seen, void *data, bool *known,
	RgDiags *diags)
{
	const RgCell cells[] = {pg_bind_int(pg_lock_key(pg, cluster)), pg_bind_text(pg->schema),
		pg_bind_text(cluster)};
	Teller teller = {.seen = seen, .data = data};
	*known = true;
	pg_send(pg,
		"SELECT \"user\", host, pid, command, started_s,"
		" (SELECT count(*)" LOCKS_OF_WRITERS ") FROM %s.locks WHERE cluster = $3",
		cells, G_N_ELEMENTS(cells));
	return pg_sync(pg, tell, &teller) == PG_DONE || pg_error(pg, diags);
}

PgOutcome pg_lock_again(RgRemote *pg, const char *cluster, const char *token)
{
	const RgCell cells[] = {pg_bind_text(cluster), pg_bind_text(token)};
	bool taken, found;
	int64_t one;
	PgOutcome outcome = pg_lock_try(pg, cluster, &taken);
	if (outcome == PG_DONE && taken) {
		pg_send(pg, "SELECT 1::bigint FROM %s.locks WHERE cluster = $1 AND token = $2",
			cells, 2);
		outcome = pg_sync_int(pg, &found, &one);
		if (outcome == PG_DONE && found)
			return PG_DONE;
	}
	if (outcome == PG_LOST)
		return outcome;
	if (taken)
		pg_lock_release(pg, cluster);
	return PG_REFUSED;
}
