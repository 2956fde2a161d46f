/* `state mv`: records at other addresses. `marked` stays what the cloud has. */
#include "state/internal.h"

static bool moved_refuse(const char *address, const char *why, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.moved", "%s %s", address, why);
	rg_diag_address(diag, address, NULL);
	rg_diag_hint(diag, "`raygpu state list` lists the records");
	return false;
}

static bool check_one(RgStore *store, int64_t cluster, const RgMove *move, RgDiags *diags)
{
	bool found;
	g_autofree char *id = NULL;
	if (!resource_check_settled(store, cluster, move->from, diags) ||
		!resource_check_settled(store, cluster, move->to, diags) ||
		!resource_find_id(store, cluster, move->to, &found, &id, diags))
		return false;
	return !found ||
	       moved_refuse(move->to, "is already recorded: nothing can be moved there", diags);
}

/* The row keeps its number, so its lifetime goes with it. */
static bool rename_row(RgStore *store, int64_t cluster, const RgMove *move, int64_t *row,
	int64_t *generation, RgDiags *diags)
{
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	bool is_address = rg_address_parse(move->to, &kind, &name, &index);
	g_assert(is_address);
	Sql q = sql_with(store,
		"UPDATE resources SET address = ?3, name = ?4, idx = nullif(?5, -1), pool = ?6,"
		" origin = ?7, pin = coalesce(?9, pin), updated_s = updated_s + 1"
		" WHERE cluster = ?1 AND address = ?2"
		" AND kind = ?8 RETURNING id, generation",
		diags, INT(cluster), TEXT(move->from), TEXT(move->to), TEXT(name), INT(index),
		TEXT(move->group), TEXT(move->origin), TEXT(kind), JSON(move->pin));
	*row = 0;
	if (sql_next(&q)) {
		*row = sql_column_int(&q, 0);
		*generation = sql_column_int(&q, 1);
	}
	if (!sql_run(&q))
		return false;
	return *row != 0 || moved_refuse(move->from, "cannot be moved: it is gone", diags);
}

/* The marks stay as last written, and an unfinished update stays marked. */
static bool edit_one(RgStore *store, int64_t cluster, const RgMoveEdit *edit, RgDiags *diags)
{
	unsigned char old[HASH_BYTES], now[HASH_BYTES];
	bool found;
	if (!resource_find_attrs(store, cluster, edit->address, old, &found, diags))
		return false;
	if (!found)
		return moved_refuse(edit->address, "is no longer recorded", diags);
	if (edit->attrs && !blob_put(store, edit->attrs, now, diags))
		return false;
	Sql q = sql_with(store,
		"UPDATE resources SET attrs = coalesce(?3, attrs), depends_on = coalesce(?4,"
		" depends_on), updated_s = updated_s + 1 WHERE cluster = ?1 AND address = ?2",
		diags, INT(cluster), TEXT(edit->address), HASH(edit->attrs ? now : NULL),
		JSON(edit->depends_on));
	return sql_run(&q) && blob_drop(store, old, diags);
}

/* A record has used its identity at its address: no token of it is used again. */
static bool move_one(RgStore *store, int64_t cluster, const RgMove *move, RgDiags *diags)
{
	int64_t row, generation = 0;
	return check_one(store, cluster, move, diags) &&
	       rename_row(store, cluster, move, &row, &generation, diags) &&
	       sql_do(store,
		       "UPDATE lifetimes SET address = ?2, pool = ?3, pin = coalesce(?4, pin)"
		       " WHERE resource = ?1",
		       diags, INT(row), TEXT(move->to), TEXT(move->group), JSON(move->pin)) &&
	       identity_raise(store, cluster, move->from, generation + 1, 0, diags) &&
	       identity_raise(store, cluster, move->to, generation + 1, 0, diags) &&
	       run_note(store, cluster, move->to, "move", "done", diags);
}

bool rg_store_move(RgStore *store, const char *cluster, const RgMove *moves, size_t n,
	const RgMoveEdit *edits, size_t n_edits, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = true;
	for (size_t i = 0; i < n && ok; i++)
		ok = move_one(store, id, &moves[i], diags);
	for (size_t i = 0; i < n_edits && ok; i++)
		ok = edit_one(store, id, &edits[i], diags);
	return tx_end(store, ok, diags);
}
