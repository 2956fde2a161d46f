#include "state/internal.h"

/* An identity is the (generation, attempt) that the next create of an address will use. It advances
 * in the transaction that records a definite outcome, and survives the resource: a token whose
 * resource ended in the cloud is never sent for a new one. */

bool identity_read(RgStore *store, int64_t cluster, const char *address, int64_t *generation,
	int64_t *attempt, RgDiags *diags)
{
	Sql q = sql_with(store,
		"SELECT generation, attempt FROM identities WHERE cluster = ?1 AND address = ?2",
		diags, INT(cluster), TEXT(address));
	*generation = *attempt = 0;
	while (sql_next(&q)) {
		*generation = sql_column_int(&q, 0);
		*attempt = sql_column_int(&q, 1);
	}
	return sql_ok(&q);
}

bool identity_raise(RgStore *store, int64_t cluster, const char *address, int64_t generation,
	int64_t attempt, RgDiags *diags)
{
	return sql_do(store,
		"INSERT INTO identities (cluster, address, generation, attempt)"
		" VALUES (?1, ?2, ?3, ?4)"
		" ON CONFLICT DO UPDATE SET generation = excluded.generation,"
		" attempt = excluded.attempt"
		" WHERE (excluded.generation, excluded.attempt) > (generation, attempt)",
		diags, INT(cluster), TEXT(address), INT(generation), INT(attempt));
}

bool rg_store_identities(RgStore *store, const char *cluster, const char *const *addresses,
	size_t n, int64_t *generations, int64_t *attempts, RgDiags *diags)
{
	int64_t id = 0;
	if (!copy_need(store, cluster, COPY_LIVE, diags) || !tx_begin_read(store, diags))
		return false;
	bool ok = sql_first_int(
		sql_with(store, "SELECT id FROM clusters WHERE name = ?1", diags, TEXT(cluster)),
		&id);
	for (size_t i = 0; ok && i < n; i++)
		ok = identity_read(store, id, addresses[i], &generations[i], &attempts[i], diags);
	tx_end_read(store);
	return ok;
}

bool rg_store_identity(RgStore *store, const char *cluster, const char *address,
	int64_t *generation, int64_t *attempt, RgDiags *diags)
{
	*generation = *attempt = 0;
	return rg_store_identities(store, cluster, &address, 1, generation, attempt, diags);
}
