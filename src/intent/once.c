/* Lines of a spec that act once (`renamed_from`, `imports`, `removed`), when they have done their
 * work: notes at these lines, of a plan and of `validate`. */
#include "intent/internal.h"

void once_note_rename(const RgCluster *cluster, const RgPool *pool, RgDiags *diags)
{
	g_autofree char *at = g_strconcat(pool->origin, "/renamed_from", NULL);
	rg_diag_at(rg_diags_note(diags, "plan.renamed",
			   "pool %s has its new name: `renamed_from` can be removed", pool->name),
		rg_cluster_source(cluster, at));
}

void once_note_import(const RgCluster *cluster, const RgSpecImport *entry, RgDiags *diags)
{
	RgDiag *diag = rg_diags_note(diags, "plan.imported",
		"%s has been imported: its entry of `imports` can be removed", entry->address);
	rg_diag_address(diag, entry->address, NULL);
	rg_diag_at(diag, rg_cluster_source(cluster, entry->origin));
}

void once_note_removed(const RgCluster *cluster, const RgSpecRemoved *removed, RgDiags *diags)
{
	rg_diag_at(rg_diags_note(diags, "plan.forgotten",
			   "pool %s is no longer in the state: delete its `removed` entry",
			   removed->pool),
		rg_cluster_source(cluster, removed->origin));
}

bool once_has_pool(const RgSnapshot *snapshot, const char *pool)
{
	rg_resource_foreach (record, snapshot->recorded) {
		if (g_strcmp0(record->group, pool) == 0)
			return true;
	}
	return false;
}

static bool is_renamed(const RgSnapshot *snapshot, const RgPool *pool)
{
	for (size_t i = 0; pool->renamed_from && pool->renamed_from[i]; i++)
		if (once_has_pool(snapshot, pool->renamed_from[i]))
			return false;
	return pool->renamed_from && once_has_pool(snapshot, pool->name);
}

bool rg_intent_acts_once(const RgCluster *cluster)
{
	bool acts = cluster->imports->len || cluster->removed->len;
	for (guint i = 0; i < cluster->pools->len; i++)
		acts |= ((RgPool *)cluster->pools->pdata[i])->renamed_from != NULL;
	return acts;
}

void rg_intent_tell_spent(const RgCluster *cluster, const RgSnapshot *snapshot, RgDiags *diags)
{
	for (guint i = 0; i < cluster->pools->len; i++)
		if (is_renamed(snapshot, cluster->pools->pdata[i]))
			once_note_rename(cluster, cluster->pools->pdata[i], diags);
	rg_ptr_foreach (const RgSpecImport, entry, cluster->imports) {
		const RgResource *record = rg_resource_set_find(snapshot->recorded, entry->address);
		if (record && g_strcmp0(record->id, entry->id) == 0)
			once_note_import(cluster, entry, diags);
	}
	for (guint i = 0; snapshot->lineage && i < cluster->removed->len; i++) {
		const RgSpecRemoved *removed = cluster->removed->pdata[i];
		if (!once_has_pool(snapshot, removed->pool))
			once_note_removed(cluster, removed, diags);
	}
}
