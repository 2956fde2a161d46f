/* GPUs that failed on the cluster's machines, so that getting one of them again is noticed. */
#include "base/clock.h"
#include "state/internal.h"

#define HARDWARE_S (RG_HARDWARE_DAYS * 86400)

static bool purge(RgStore *store, int64_t cluster, RgDiags *diags)
{
	return sql_do(store, "DELETE FROM hardware WHERE cluster = ?1 AND abs(?2 - failed_s) >= ?3",
		diags, INT(cluster), INT(rg_clock_now_s()), INT(HARDWARE_S));
}

/* The run is the one that is open. A machine that fails once more keeps the time and the reason of
 * the first time. */
static bool insert(RgStore *store, int64_t cluster, const json_t *row, RgDiags *diags)
{
	return sql_do(store,
		"INSERT INTO hardware (cluster, gpu, cloud_id, serial, address, instance_type, "
		"zone,"
		" code, reason, run, failed_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, nullif(?8, -1),"
		" ?9, (SELECT id FROM runs WHERE seq = ?10), ?11) ON CONFLICT DO NOTHING",
		diags, INT(cluster), TEXT(rg_json_str(row, "gpu", "")),
		TEXT(rg_json_str(row, "id", "")), TEXT(rg_json_str(row, "serial", NULL)),
		TEXT(rg_json_str(row, "address", "")),
		TEXT(rg_json_str(row, "instance_type", NULL)), TEXT(rg_json_str(row, "zone", NULL)),
		INT(rg_json_int(row, "code", -1)), TEXT(rg_json_str(row, "reason", "")),
		INT(store->run), INT(rg_clock_now_s()));
}

bool rg_store_hardware_failed(
	RgStore *store, const char *cluster, const json_t *rows, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = purge(store, id, diags);
	rg_json_foreach (row, rows)
		ok = ok && insert(store, id, row, diags);
	return tx_end(store, ok, diags);
}

bool rg_store_hardware_forget(RgStore *store, const char *cluster, const char *gpu, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = sql_do(store,
		"DELETE FROM hardware WHERE cluster = ?1 AND (gpu = ?2 OR serial = ?2)", diags,
		INT(id), TEXT(gpu));
	return tx_end(store, ok, diags);
}

bool hardware_clear(RgStore *store, int64_t cluster, const char *address, RgDiags *diags)
{
	return sql_do(store,
		"DELETE FROM hardware WHERE cluster = ?1 AND cloud_id ="
		" (SELECT cloud_id FROM resources WHERE cluster = ?1 AND address = ?2)",
		diags, INT(cluster), TEXT(address));
}

bool hardware_load(RgStore *store, int64_t cluster, json_t *rows, RgDiags *diags)
{
	static const char *const texts[] = {
		"gpu", "id", "serial", "address", "instance_type", "zone", "reason", "run", NULL};
	Sql q = sql_with(store,
		"SELECT gpu, cloud_id, serial, address, instance_type, zone, reason, run, failed_s,"
		" code FROM hardware WHERE cluster = ?1 AND abs(?2 - failed_s) < ?3"
		" ORDER BY failed_s, gpu, cloud_id",
		diags, INT(cluster), INT(rg_clock_now_s()), INT(HARDWARE_S));
	while (sql_next(&q)) {
		json_t *row = json_object();
		for (int i = 0; texts[i]; i++)
			rg_json_set_str(row, texts[i], sql_column_text(&q, i));
		json_object_set_new(row, "failed_s", json_integer(sql_column_int(&q, 8)));
		json_object_set_new(row, "code", sql_column_number(&q, 9));
		json_array_append_new(rows, row);
	}
	return sql_ok(&q);
}
