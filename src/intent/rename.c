/* `renamed_from`: the records of a pool follow it to its new name, in the snapshot that is planned
 * from, and in the state when the plan is carried out. */
#include "intent/internal.h"
#include "state/move.h"
#include <string.h>

/* The kind of a pool's recorded nodes; NULL: none is recorded. *whole: one resource stands for all
 * of them, under the pool's name. */
static const char *recorded_kind(const RgResourceSet *recorded, const char *pool, bool *whole)
{
	rg_resource_foreach (one, recorded) {
		if (g_strcmp0(one->group, pool) == 0 && g_str_equal(one->name, pool)) {
			*whole = one->index < 0;
			return one->kind;
		}
	}
	return NULL;
}

static RgDiag *refuse(const RgIntent *intent, const char *pool, RgDiags *diags, const char *summary)
{
	g_autofree char *at = g_strconcat("/pools/", pool, "/renamed_from", NULL);
	RgDiag *diag = rg_diags_error(diags, "plan.bad-rename", "%s", summary);
	return intent->cluster ? rg_diag_at(diag, rg_cluster_source(intent->cluster, at)) : diag;
}

/* One pool's records, in the snapshot. */
static bool rename_records(
	const RgIntent *intent, const char *from, const char *to, GPtrArray *all, RgDiags *diags)
{
	bool whole = false;
	const char *kind = recorded_kind(intent->snapshot->recorded, from, &whole);
	g_autofree char *both = g_strdup_printf("pool %s cannot be renamed to %s", from, to);
	if (!kind) {
		refuse(intent, to, diags, both);
		return false;
	}
	if (whole) {
		RgDiag *diag = refuse(intent, to, diags, both);
		rg_diag_detail(diag, "%s.%s has its name in the cloud too", kind, from);
		rg_diag_hint(diag, "keep the name, or remove `renamed_from`: raygpu then "
				   "creates new nodes and removes the old ones");
		return false;
	}
	g_autofree char *old = g_strdup_printf("%s.%s", kind, from);
	g_autofree char *new = g_strdup_printf("%s.%s", kind, to);
	g_autoptr(RgMoves) moves = rg_readdress(intent->snapshot, old, new, diags);
	if (!moves || !rg_readdress_snapshot(intent->snapshot, moves, diags))
		return false;
	g_ptr_array_add(all, g_steal_pointer(&moves));
	return true;
}

bool rg_intent_rename(
	const RgIntent *intent, const json_t *renames, GPtrArray **moves, RgDiags *diags)
{
	if (json_array_size(renames) && !*moves)
		*moves = g_ptr_array_new_with_free_func((GDestroyNotify)rg_moves_free);
	rg_json_foreach (item, renames)
		if (!rename_records(intent, rg_json_str(item, "from", ""),
			    rg_json_str(item, "to", ""), *moves, diags))
			return false;
	return true;
}

/* ---- what the spec requests */

static bool is_former(const RgCluster *cluster, const char *name)
{
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		if (pool->renamed_from &&
			g_strv_contains((const char *const *)pool->renamed_from, name))
			return true;
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
static GPtrArray *leaving_pools(const RgIntent *intent)
{
	GPtrArray *names = g_ptr_array_new();
	const RgResourceSet *recorded = intent->snapshot->recorded;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const char *pool = rg_resource_set_get(recorded, i)->group;
		if (pool && !has_pool(intent->cluster, pool) &&
			!rg_intent_find_removed(intent->cluster, pool) &&
			!is_former(intent->cluster, pool) &&
			!g_ptr_array_find_with_equal_func(names, pool, g_str_equal, NULL))
			g_ptr_array_add(names, (gpointer)(uintptr_t)pool);
	}
	return names;
}

/* Neither of its names is recorded. */
static bool check_unknown(const RgIntent *intent, const RgPool *pool, RgDiags *diags)
{
	g_autoptr(GPtrArray) leaving = leaving_pools(intent);
	if (!leaving->len)
		return true; /* another environment of the same spec never had it */
	g_ptr_array_add(leaving, NULL);
	g_autofree char *list = g_strjoinv(", ", (char **)leaving->pdata);
	g_autofree char *said =
		g_strdup_printf("pool %s was renamed from %s, but no such pool is recorded",
			pool->name, pool->renamed_from[0]);
	RgDiag *diag = refuse(intent, pool->name, diags, said);
	rg_diag_detail(diag, "recorded, and not in the spec: %s", list);
	rg_diag_hint(diag, "name the pool as it was, or remove `renamed_from`");
	return false;
}

static bool want_rename(const RgIntent *intent, const RgPool *pool, json_t *renames, RgDiags *diags)
{
	bool whole = false,
	     is_there = recorded_kind(intent->snapshot->recorded, pool->name, &whole) != NULL;
	const char *from = NULL;
	for (size_t i = 0; pool->renamed_from[i] && !from; i++)
		if (recorded_kind(intent->snapshot->recorded, pool->renamed_from[i], &whole))
			from = pool->renamed_from[i];
	if (from && is_there) {
		g_autofree char *said = g_strdup_printf(
			"pool %s cannot be renamed to %s: both are recorded", from, pool->name);
		rg_diag_hint(refuse(intent, pool->name, diags, said),
			"remove `renamed_from` to remove pool %s", from);
		return false;
	}
	if (from)
		json_array_append_new(
			renames, json_pack("{s:s, s:s}", "from", from, "to", pool->name));
	else if (!is_there)
		return check_unknown(intent, pool, diags);
	else
		once_note_rename(intent->cluster, pool, diags);
	return true;
}

bool rg_intent_rename_pools(
	const RgIntent *intent, json_t **renames, GPtrArray **moves, RgDiags *diags)
{
	json_auto_t *wanted = json_array();
	bool ok = true;
	rg_ptr_foreach (const RgPool, pool, intent->cluster->pools)
		if (pool->renamed_from)
			ok = want_rename(intent, pool, wanted, diags) && ok;
	if (json_array_size(wanted))
		*renames = json_incref(wanted);
	return ok && rg_intent_rename(intent, wanted, moves, diags);
}

/* ---- when the plan is carried out */

GHashTable *rg_intent_renamed(const GPtrArray *all)
{
	GHashTable *renamed = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; all && i < all->len; i++) {
		const GArray *moves = ((const RgMoves *)all->pdata[i])->moves;
		for (guint k = 0; k < moves->len; k++) {
			const RgMove *move = &g_array_index(moves, RgMove, k);
			g_hash_table_insert(renamed, (gpointer)(uintptr_t)move->from,
				(gpointer)(uintptr_t)move->to);
		}
	}
	return renamed;
}

/* Only a run that ends the open creations of a pool can move its records. */
bool rg_intent_check_renamed(const RgIntent *intent, RgDiags *diags)
{
	g_autoptr(GHashTable) renamed = rg_intent_renamed(intent->moves);
	g_autoptr(GList) to = g_hash_table_get_values(renamed);
	for (guint i = 0; to && i < intent->diff->changes->len; i++) {
		const RgChange *change = intent->diff->changes->pdata[i];
		const RgResource *recorded = change->recorded;
		if (change->row != RG_ROW_LEFT_OUT || !recorded || !recorded->group ||
			recorded->presence != RG_PENDING ||
			!g_list_find_custom(to, change->address, (GCompareFunc)strcmp))
			continue;
		g_autofree char *said = g_strdup_printf(
			"pool %s cannot be renamed: an interrupted run was creating `%s`, which is "
			"excluded",
			recorded->group, change->address);
		rg_diag_hint(refuse(intent, recorded->group, diags, said),
			"run the command without --target and --exclude");
		return false;
	}
	return true;
}

/* What is recorded now: a request that was sent again may have returned more than was open. *moves
 * NULL: no node is recorded. */
static bool moves_now(const RgSnapshot *now, const json_t *rename, RgMoves **moves, RgDiags *diags)
{
	bool whole = false;
	const char *from = rg_json_str(rename, "from", ""), *to = rg_json_str(rename, "to", "");
	const char *kind = recorded_kind(now->recorded, from, &whole);
	if (!kind)
		return true;
	g_autofree char *old = g_strdup_printf("%s.%s", kind, from);
	g_autofree char *new = g_strdup_printf("%s.%s", kind, to);
	*moves = rg_readdress(now, old, new, diags);
	return *moves != NULL;
}

/* `planned`: without what an open creation turned out not to have made, which has no record. */
static bool store_moves(const RgIntent *intent, RgStore *store, const RgMoves *planned,
	const json_t *rename, RgDiags *diags)
{
	g_autoptr(RgSnapshot) now = rg_store_load(store, intent->plan->cluster, diags);
	g_autoptr(RgMoves) present = NULL;
	if (!now || !moves_now(now, rename, &present, diags))
		return false;
	const RgMoves *all = present ? present : planned;
	g_autoptr(GArray) moves = g_array_new(FALSE, FALSE, sizeof(RgMove));
	g_autoptr(GArray) edits = g_array_new(FALSE, FALSE, sizeof(RgMoveEdit));
	g_autoptr(GHashTable) missing = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < all->moves->len; i++) {
		const RgMove *move = &g_array_index(all->moves, RgMove, i);
		if (rg_resource_set_find(now->recorded, move->from))
			g_array_append_val(moves, *move);
		else
			g_hash_table_add(missing, (gpointer)(uintptr_t)move->to);
	}
	for (guint i = 0; i < all->edits->len; i++) {
		const RgMoveEdit *edit = &g_array_index(all->edits, RgMoveEdit, i);
		if (!g_hash_table_contains(missing, edit->address))
			g_array_append_val(edits, *edit);
	}
	return rg_store_move(store, intent->plan->cluster, (const RgMove *)(void *)moves->data,
		moves->len, (const RgMoveEdit *)(void *)edits->data, edits->len, diags);
}

bool rg_intent_store_renames(const RgIntent *intent, RgStore *store, RgDiags *diags)
{
	for (guint i = 0; intent->moves && i < intent->moves->len; i++)
		if (!store_moves(intent, store, intent->moves->pdata[i],
			    json_array_get(intent->plan->renames, i), diags))
			return false;
	return true;
}
