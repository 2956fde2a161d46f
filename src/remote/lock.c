/* The lock of a cluster is an advisory lock of the connection: the server releases it when the
 * connection ends. Its row in "locks" says who, and its token lets a reconnected run see whether
 * someone else had the lock in the meantime. */
#include "remote/postgres.h"
#include <string.h>
#include <sys/random.h>

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

static PgOutcome try_lock(RgRemote *pg, const char *cluster, bool *taken)
{
	const RgCell key = pg_bind_int(pg_lock_key(pg, cluster));
	*taken = false;
	pg_send_plain(pg, "SELECT pg_try_advisory_lock($1)", &key, 1);
	return pg_sync(pg, take_bool, taken);
}

static PgOutcome write_holder(
	RgRemote *pg, const char *cluster, const char *token, const RgHolder *holder)
{
	const RgCell cells[] = {pg_bind_text(cluster), pg_bind_text(holder->user),
		pg_bind_text(holder->host), pg_bind_int(holder->pid), pg_bind_text(holder->command),
		pg_bind_int(holder->started_s), pg_bind_text(token)};
	pg_send(pg,
		"INSERT INTO %s.locks (cluster, \"user\", host, pid, command, started_s, token)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (cluster) DO UPDATE SET"
		" \"user\" = $2, host = $3, pid = $4, command = $5, started_s = $6, token = $7",
		cells, G_N_ELEMENTS(cells));
	return pg_sync(pg, NULL, NULL);
}

static char *token_new(void)
{
	guint64 words[2] = {0, 0};
	if (getrandom(words, sizeof(words), 0) != (ssize_t)sizeof(words))
		words[0] = ((guint64)g_random_int() << 32) | g_random_int();
	return g_strdup_printf(
		"%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", words[0], words[1]);
}

static void release(RgRemote *pg, const char *cluster)
{
	const RgCell key = pg_bind_int(pg_lock_key(pg, cluster));
	pg_send_plain(pg, "SELECT pg_advisory_unlock($1)", &key, 1);
	pg_sync(pg, NULL, NULL);
}

RgLockResult pg_lock(RgRemote *pg, const char *cluster, const RgHolder *holder, RgDiags *diags)
{
	bool taken;
	PgOutcome outcome = try_lock(pg, cluster, &taken);
	if (outcome == PG_LOST && pg_reconnect(pg, diags))
		outcome = try_lock(pg, cluster, &taken);
	if (outcome == PG_DONE && !taken)
		return RG_LOCK_HELD;
	char *token = token_new();
	if (outcome == PG_DONE)
		outcome = write_holder(pg, cluster, token, holder);
	if (outcome == PG_DONE) {
		g_hash_table_insert(pg->locks, g_strdup(cluster), token);
		return RG_LOCK_TAKEN;
	}
	g_free(token);
	if (!rg_diags_has_errors(diags))
		pg_error(pg, diags);
	if (taken)
		release(pg, cluster);
	return RG_LOCK_BROKEN;
}

void pg_unlock(RgRemote *pg, const char *cluster)
{
	const char *token = g_hash_table_lookup(pg->locks, cluster);
	if (pg->conn && token) {
		const RgCell cells[] = {pg_bind_text(cluster), pg_bind_text(token)};
		pg_send(pg, "DELETE FROM %s.locks WHERE cluster = $1 AND token = $2", cells, 2);
		release(pg, cluster);
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

/* An advisory lock of 64 bits is listed as two halves, objsubid 1 (pg_locks). */
bool pg_look(RgRemote *pg, const char *cluster, RgHolderSeen seen, void *data, bool *known,
	RgDiags *diags)
{
	const RgCell cells[] = {pg_bind_text(cluster), pg_bind_int(pg_lock_key(pg, cluster))};
	Teller teller = {.seen = seen, .data = data};
	*known = true;
	pg_send(pg,
		"SELECT \"user\", host, pid, command, started_s, (SELECT count(*) FROM pg_locks"
		" WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database ="
		" (SELECT oid FROM pg_database WHERE datname = current_database())"
		" AND classid::bigint = ($2::bigint >> 32) & 4294967295"
		" AND objid::bigint = $2::bigint & 4294967295)"
		" FROM %s.locks WHERE cluster = $1",
		cells, G_N_ELEMENTS(cells));
	return pg_sync(pg, tell, &teller) == PG_DONE || pg_error(pg, diags);
}

PgOutcome pg_lock_again(RgRemote *pg, const char *cluster, const char *token)
{
	const RgCell cells[] = {pg_bind_text(cluster), pg_bind_text(token)};
	bool taken, found;
	int64_t one;
	PgOutcome outcome = try_lock(pg, cluster, &taken);
	if (outcome != PG_DONE)
		return outcome;
	if (!taken)
		return PG_REFUSED;
	pg_send(pg, "SELECT 1::bigint FROM %s.locks WHERE cluster = $1 AND token = $2", cells, 2);
	outcome = pg_sync_int(pg, &found, &one);
	return outcome == PG_DONE && !found ? PG_REFUSED : outcome;
}
