#include "base/clock.h"
#include "base/log.h"
#include "remote/postgres.h"
#include <poll.h>

#define RECONNECT_MS 30000
#define SILENT_MS 1000
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 2000

/* Ends early when canceled. */
static void wait_a_while(const RgRemote *pg, int64_t ms)
{
	int64_t until = rg_clock_monotonic_ms() + ms;
	while (rg_clock_monotonic_ms() < until && !pg->canceled(pg->data))
		poll(NULL, 0, (int)MIN(50, ms));
}

static PgOutcome lock_all_again(RgRemote *pg, const char **lost)
{
	rg_hash_foreach (cluster, void, token, pg->locks) {
		PgOutcome outcome = pg_lock_again(pg, cluster, token);
		*lost = cluster;
		if (outcome != PG_DONE)
			return outcome;
	}
	return PG_DONE;
}

/* The server may not have noticed yet that the old connection, which has the lock, is gone. */
bool pg_reconnect(RgRemote *pg, RgDiags *diags)
{
	int64_t begun = rg_clock_monotonic_ms(), until = begun + RECONNECT_MS;
	int64_t pause_ms = PAUSE_FIRST_MS;
	bool told = false;
	const char *lost = NULL;
	PgOutcome outcome = PG_LOST;
	rg_log(RG_LOG_DEBUG, "connects to the state again: %s", pg->message);
	while (rg_clock_monotonic_ms() < until && !pg->canceled(pg->data)) {
		outcome = pg->conn || pg_connect(pg) ? lock_all_again(pg, &lost) : PG_LOST;
		if (outcome == PG_DONE)
			return true;
		if (outcome == PG_LOST && g_str_has_prefix(pg->sqlstate, "28"))
			break;
		int64_t now = rg_clock_monotonic_ms();
		if (!told && now + pause_ms - begun > SILENT_MS && now < until) {
			pg->away(pg->data, (unsigned)((until - now + 999) / 1000));
			told = true;
		}
		wait_a_while(pg, pause_ms);
		pause_ms = MIN(2 * pause_ms, PAUSE_MAX_MS);
	}
	return outcome == PG_REFUSED ? rg_remote_lost_lock(pg->shown, lost, diags)
				     : pg_error(pg, diags);
}
