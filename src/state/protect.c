/* Which pools are protected: kept with the records, so that it survives the spec that set it. */
#include "base/clock.h"
#include "state/internal.h"

/* A resource is protected with any of the pools (?2) that it belongs to or has nodes of. */
#define IS_OF_POOLS                                                                                \
	"(coalesce(pool, '') IN (SELECT value FROM json_each(?2)) OR EXISTS (SELECT 1 FROM"        \
	" json_each(pin, '$.nodes') AS nodes WHERE nodes.value ->> '$.pool' IN"                    \
	" (SELECT value FROM json_each(?2))))"

static bool differs(
	RgStore *store, const char *cluster, const json_t *pools, bool *found, RgDiags *diags)
{
	if (!copy_need(store, cluster, COPY_LIVE, diags) || !tx_begin_read(store, diags))
		return false;
	Sql q = sql_with(store,
		"SELECT 1 FROM resources WHERE cluster = (SELECT id FROM clusters WHERE name = ?1)"
		" AND protect <> " IS_OF_POOLS " LIMIT 1",
		diags, TEXT(cluster), JSON(pools));
	*found = sql_next(&q);
	bool ok = sql_ok(&q);
	tx_end_read(store);
	return ok;
}

bool rg_store_protect(RgStore *store, const char *cluster, const json_t *pools, RgDiags *diags)
{
	bool found = false;
	int64_t id;
	if (!differs(store, cluster, pools, &found, diags))
		return false;
	if (!found)
		return true;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	/* updated_s changes too: an earlier saved plan is stale */
	bool ok = sql_do(store,
		"UPDATE resources SET protect = 1 - protect, updated_s = max(?3, updated_s + 1)"
		" WHERE cluster = ?1"
		" AND protect <> " IS_OF_POOLS,
		diags, INT(id), JSON(pools), INT(rg_clock_now_s()));
	return tx_end(store, ok, diags);
}
