/* Clusters that are in another store: `moved` of a cluster's row, NULL while it is here. {"to":
 * place}: it was moved there. {"from": place}: it is being moved here, and is not complete. Both
 * are refused by everything but the move itself (src/transfer). */
#include "state/internal.h"

bool moved_read(RgStore *store, const char *cluster, json_t **mark, RgDiags *diags)
{
	Sql q = sql_with(store, "SELECT moved FROM clusters WHERE name = ?1 AND moved IS NOT NULL",
		diags, TEXT(cluster));
	bool ok = true;
	*mark = NULL;
	if (sql_next(&q))
		ok = sql_column_json(&q, 0, mark);
	return sql_ok(&q) && ok;
}

bool moved_refuse_to(const RgStore *store, const char *cluster, const char *to, RgDiags *diags)
{
	RgDiag *diag = cluster ? rg_diags_error(diags, "state.migrated",
					 "cluster %s of the state \"%s\" was moved to \"%s\"",
					 cluster, store->shown, to)
			       : rg_diags_error(diags, "state.migrated",
					 "the state \"%s\" was moved to \"%s\"", store->shown, to);
	rg_diag_hint(diag, "use that one: --state, RAYGPU_STATE, or `state` in the project file");
	return false;
}

bool moved_tell(const RgStore *store, const char *cluster, const json_t *mark, RgDiags *diags)
{
	const char *to = rg_json_str(mark, "to", NULL), *from = rg_json_str(mark, "from", "?");
	if (to)
		return moved_refuse_to(store, cluster, to, diags);
	RgDiag *diag = rg_diags_error(diags, "state.half-moved",
		"cluster %s in the state \"%s\" is not complete: its move from \"%s\" has not "
		"ended",
		cluster, store->shown, from);
	rg_diag_hint(diag, "`raygpu state migrate %s %s` completes it", from, store->shown);
	return false;
}

bool moved_check(RgStore *store, const char *cluster, RgDiags *diags)
{
	json_auto_t *mark = NULL;
	if (store->moves)
		return true;
	if (!moved_read(store, cluster, &mark, diags))
		return false;
	return !mark || moved_tell(store, cluster, mark, diags);
}
