/* Existing resources become records. Nothing in the cloud has been changed for it, so a run that is
 * killed before the commit has changed nothing at all. */
#include "state/internal.h"

char *rg_store_find_holder(RgStore *store, const char *provider, const char *region,
	const char *kind, const char *id, RgDiags *diags)
{
	/* within a transaction its caller has asked for all */
	if (sqlite3_get_autocommit(store->db) && !copy_need(store, NULL, COPY_LIVE, diags))
		return NULL;
	Sql q = sql_with(store,
		"SELECT resources.address || ' of cluster ' || clusters.name FROM resources"
		" JOIN clusters ON clusters.id = resources.cluster"
		" WHERE resources.kind = ?1 AND resources.cloud_id = ?2"
		" AND clusters.provider = ?3 AND clusters.region = ?4",
		diags, TEXT(kind), TEXT(id), TEXT(provider), TEXT(region));
	char *holder = sql_next(&q) ? g_strdup(sql_column_text(&q, 0)) : NULL;
	sql_end(&q);
	return holder;
}

/* Another cluster's import may have been faster: each has its own lock. */
static bool check_free(RgStore *store, int64_t cluster, const RgResource *resource, RgDiags *diags)
{
	Sql q = sql_with(
		store, "SELECT provider, region FROM clusters WHERE id = ?1", diags, INT(cluster));
	g_autofree char *provider = NULL, *region = NULL;
	if (sql_next(&q)) {
		provider = g_strdup(sql_column_text(&q, 0));
		region = g_strdup(sql_column_text(&q, 1));
	}
	if (!sql_ok(&q))
		return false;
	g_autofree char *holder =
		rg_store_find_holder(store, provider, region, resource->kind, resource->id, diags);
	if (!holder)
		return true;
	RgDiag *diag = rg_diags_error(
		diags, "import.refused", "%s is already recorded, as %s", resource->id, holder);
	rg_diag_address(diag, resource->address, NULL);
	rg_diag_hint(diag, "a resource has one record: `raygpu state rm` forgets it");
	return false;
}

/* The core's own kind is never "adopted": only raygpu knows its value. */
static bool import_secret(RgStore *store, int64_t cluster, const RgResource *secret, RgDiags *diags)
{
	unsigned char attrs[HASH_BYTES];
	return blob_put(store, secret->attrs, attrs, diags) &&
	       resource_insert(store, cluster, secret, attrs, "created", diags);
}

static bool import_one(RgStore *store, int64_t cluster, RgResource *resource, RgDiags *diags)
{
	int64_t attempt;
	if (!identity_read(
		    store, cluster, resource->address, &resource->generation, &attempt, diags))
		return false;
	bool ok = resource->id ? check_free(store, cluster, resource, diags) &&
					 resource_adopt(store, cluster, resource, diags)
			       : import_secret(store, cluster, resource, diags);
	return ok && run_note(store, cluster, resource->address, "import", "done", diags);
}

bool rg_store_import(RgStore *store, const char *cluster, const GPtrArray *records, RgDiags *diags)
{
	int64_t id;
	if (!copy_need(store, NULL, COPY_LIVE, diags) ||
		!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = true;
	for (guint i = 0; i < records->len && ok; i++)
		ok = import_one(store, id, records->pdata[i], diags);
	return tx_end(store, ok, diags);
}
