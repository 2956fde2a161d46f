/* `renamed_from`: the records of a pool follow it to its new name, in the snapshot that is planned
 * from, and in the state when the plan is carried out. */
#include "pipeline/internal.h"
#include "pipeline/readdress.h"

/* The kind of a pool's recorded nodes; NULL: none is recorded. *whole: one resource stands for all
 * of them, under the pool's name. */
static const char *recorded_kind(const RgPass *pass, const char *pool, bool *whole)
{
	const RgResourceSet *recorded = pass->snapshot->recorded;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *one = rg_resource_set_get(recorded, i);
		if (g_strcmp0(one->group, pool) == 0 && g_str_equal(one->name, pool)) {
			*whole = one->index < 0;
			return one->kind;
		}
	}
	return NULL;
}

static RgDiag *refuse(const RgPass *pass, const char *pool, RgDiags *diags, const char *summary)
{
	g_autofree char *at = g_strconcat("/pools/", pool, "/renamed_from", NULL);
	RgDiag *diag = rg_diags_error(diags, "plan.bad-rename", "%s", summary);
	return pass->cluster ? rg_diag_at(diag, rg_cluster_source(pass->cluster, at)) : diag;
}

/* One pool's records, in the snapshot. */
static bool rename_records(RgPass *pass, const char *from, const char *to, RgDiags *diags)
{
	bool whole = false;
	const char *kind = recorded_kind(pass, from, &whole);
	g_autofree char *both = g_strdup_printf("pool %s cannot be renamed to %s", from, to);
	if (!kind) {
		refuse(pass, to, diags, both);
		return false;
	}
	if (whole) {
		RgDiag *diag = refuse(pass, to, diags, both);
		rg_diag_detail(diag, "%s.%s has its name in the cloud too", kind, from);
		rg_diag_hint(diag, "keep the name, or remove `renamed_from`: raygpu then "
				   "creates new nodes and removes the old ones");
		return false;
	}
	g_autofree char *old = g_strdup_printf("%s.%s", kind, from);
	g_autofree char *new = g_strdup_printf("%s.%s", kind, to);
	g_autoptr(RgMoves) moves = rg_readdress(pass->snapshot, old, new, diags);
	if (!moves || !rg_readdress_snapshot(pass->snapshot, moves, diags))
		return false;
	g_ptr_array_add(pass->moves, g_steal_pointer(&moves));
	return true;
}

bool pass_rename(RgPass *pass, const json_t *renames, RgDiags *diags)
{
	size_t i;
	const json_t *item;
	if (json_array_size(renames) && !pass->moves)
		pass->moves = g_ptr_array_new_with_free_func((GDestroyNotify)rg_moves_free);
	json_array_foreach (renames, i, item)
		if (!rename_records(pass, rg_json_str(item, "from", ""),
			    rg_json_str(item, "to", ""), diags))
			return false;
	return true;
}

/* ---- what the spec requests */

static bool is_former(const RgCluster *cluster, const char *name)
{
	for (guint i = 0; i < cluster->pools->len; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		if (pool->renamed_from &&
			g_strv_contains((const char *const *)pool->renamed_from, name))
			return true;
	}
	return false;
}

static bool has_pool(const RgCluster *cluster, const char *name)
{
	for (guint i = 0; i < cluster->pools->len; i++)
		if (g_str_equal(((RgPool *)cluster->pools->pdata[i])->name, name))
			return true;
	return g_str_equal(cluster->head->name, name);
}

/* Recorded pools that the plan would remove: with a wrong old name, the one that was meant is among
 * them. */
static GPtrArray *leaving_pools(const RgPass *pass)
{
	GPtrArray *names = g_ptr_array_new();
	const RgResourceSet *recorded = pass->snapshot->recorded;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const char *pool = rg_resource_set_get(recorded, i)->group;
		if (pool && !has_pool(pass->cluster, pool) && !pass_find_removed(pass, pool) &&
			!is_former(pass->cluster, pool) &&
			!g_ptr_array_find_with_equal_func(names, pool, g_str_equal, NULL))
			g_ptr_array_add(names, (gpointer)(uintptr_t)pool);
	}
	return names;
}

/* Neither of its names is recorded. */
static bool check_unknown(const RgPass *pass, const RgPool *pool, RgDiags *diags)
{
	g_autoptr(GPtrArray) leaving = leaving_pools(pass);
	if (!leaving->len)
		return true; /* another environment of the same spec never had it */
	g_ptr_array_add(leaving, NULL);
	g_autofree char *list = g_strjoinv(", ", (char **)leaving->pdata);
	g_autofree char *said =
		g_strdup_printf("pool %s was renamed from %s, but no such pool is recorded",
			pool->name, pool->renamed_from[0]);
	RgDiag *diag = refuse(pass, pool->name, diags, said);
	rg_diag_detail(diag, "recorded, and not in the spec: %s", list);
	rg_diag_hint(diag, "name the pool as it was, or remove `renamed_from`");
	return false;
}

static bool want_rename(const RgPass *pass, const RgPool *pool, json_t *renames, RgDiags *diags)
{
	bool whole = false, is_there = recorded_kind(pass, pool->name, &whole) != NULL;
	const char *from = NULL;
	for (size_t i = 0; pool->renamed_from[i] && !from; i++)
		if (recorded_kind(pass, pool->renamed_from[i], &whole))
			from = pool->renamed_from[i];
	if (from && is_there) {
		g_autofree char *said = g_strdup_printf(
			"pool %s cannot be renamed to %s: both are recorded", from, pool->name);
		rg_diag_hint(refuse(pass, pool->name, diags, said),
			"remove `renamed_from` to remove pool %s", from);
		return false;
	}
	if (from)
		json_array_append_new(
			renames, json_pack("{s:s, s:s}", "from", from, "to", pool->name));
	else if (!is_there)
		return check_unknown(pass, pool, diags);
	else
		once_note_rename(pass->cluster, pool, diags);
	return true;
}

bool pass_rename_pools(RgPass *pass, RgDiags *diags)
{
	json_auto_t *renames = json_array();
	bool ok = true;
	for (guint i = 0; i < pass->cluster->pools->len; i++) {
		const RgPool *pool = pass->cluster->pools->pdata[i];
		if (pool->renamed_from)
			ok = want_rename(pass, pool, renames, diags) && ok;
	}
	if (json_array_size(renames))
		pass->renames = json_incref(renames);
	return ok && pass_rename(pass, renames, diags);
}

/* ---- when the plan is carried out */

bool pass_store_renames(RgSession *session, const RgPass *pass, RgDiags *diags)
{
	for (guint i = 0; pass->moves && i < pass->moves->len; i++) {
		const RgMoves *moves = pass->moves->pdata[i];
		if (!rg_store_move(session->store, pass->plan->cluster,
			    (const RgMove *)(void *)moves->moves->data, moves->moves->len,
			    (const RgMoveEdit *)(void *)moves->edits->data, moves->edits->len,
			    diags))
			return false;
	}
	return true;
}
