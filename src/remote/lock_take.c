#include "remote/postgres.h"

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

RgLockResult pg_lock(RgRemote *pg, const char *cluster, const RgHolder *holder, RgDiags *diags)
{
	bool taken;
	PgOutcome outcome = pg_lock_try(pg, cluster, &taken);
	if (outcome == PG_LOST && pg_reconnect(pg, diags))
		outcome = pg_lock_try(pg, cluster, &taken);
	if (outcome == PG_DONE && !taken)
		return RG_LOCK_HELD;
	char *token = rg_remote_token();
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
		pg_lock_release(pg, cluster);
	return RG_LOCK_BROKEN;
}
