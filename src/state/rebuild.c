/* A cluster whose record was lost, recorded again from the cloud's marks: completely or not at
 * all. */
#include "base/clock.h"
#include "state/internal.h"

static bool insert_cluster(RgStore *store, const RgRebuilt *rebuilt, int64_t *id, RgDiags *diags)
{
	json_auto_t *no_config = json_object();
	Sql q = sql_with(store,
		"INSERT INTO clusters (name, lineage, serial, provider, region, config, facts,"
		" history_from_s, account, id) VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
		" ON CONFLICT DO NOTHING"
		" RETURNING id",
		diags, TEXT(rebuilt->cluster), TEXT(rebuilt->lineage), TEXT(rebuilt->provider),
		TEXT(rebuilt->region), JSON(rebuilt->config ? rebuilt->config : no_config),
		JSON(rebuilt->facts), INT(rg_clock_now_s()), TEXT(rebuilt->account),
		new_row_id(store));
	*id = 0;
	if (!sql_first_int(q, id))
		return false;
	if (*id != 0)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.not-empty",
		"the state \"%s\" already has cluster %s", store->shown, rebuilt->cluster);
	rg_diag_hint(diag, "choose another file with --state to see the rebuilt state");
	return false;
}

static bool insert_all(RgStore *store, const RgRebuilt *rebuilt, int64_t id, RgDiags *diags)
{
	unsigned char attrs[HASH_BYTES];
	bool ok = true;
	for (size_t i = 0; ok && i < rg_resource_set_size(rebuilt->resources); i++) {
		const RgResource *resource = rg_resource_set_get(rebuilt->resources, i);
		ok = blob_put(store, resource->attrs, attrs, diags) &&
		     resource_insert(store, id, resource, attrs, "created", diags);
	}
	return ok;
}

/* Which generations were used is lost too, and a token must never be used again: generations start
 * at the current second, which no number of replacements has reached. */
static bool raise_identities(RgStore *store, const RgRebuilt *rebuilt, int64_t id, RgDiags *diags)
{
	bool ok = true;
	int64_t now_s = rg_clock_now_s();
	for (size_t i = 0; ok && i < rg_resource_set_size(rebuilt->resources); i++)
		ok = identity_raise(store, id, rg_resource_set_get(rebuilt->resources, i)->address,
			now_s, 0, diags);
	for (size_t i = 0; ok && i < rg_resource_set_size(rebuilt->desired); i++)
		ok = identity_raise(store, id, rg_resource_set_get(rebuilt->desired, i)->address,
			now_s, 0, diags);
	return ok;
}

bool rg_store_rebuild(RgStore *store, const RgRebuilt *rebuilt, RgDiags *diags)
{
	store_check_writer(store, rebuilt->cluster);
	int64_t id;
	if (!copy_need(store, rebuilt->cluster, COPY_LIVE, diags) || !tx_begin(store, diags))
		return false;
	bool ok = insert_cluster(store, rebuilt, &id, diags) &&
		  insert_all(store, rebuilt, id, diags) &&
		  /* from now on the spec's labels get the costs, as after an apply */
		  sql_do(store, "UPDATE lifetimes SET labels = ?2 WHERE cluster = ?1", diags,
			  INT(id), JSON(rebuilt->labels)) &&
		  raise_identities(store, rebuilt, id, diags);
	return tx_end(store, ok, diags);
}
