/* Moves: one record, or all of a pool, to another address; references in other records follow. The
 * cloud is not called; the next apply writes the marks in place. */
#include "intent/readdress.h"
#include "boot/boot.h"
#include "resource/expr.h"
#include "state/move.h"
#include <string.h>

typedef struct {
	RgMoves *all;
	const RgSnapshot *snapshot;
	GHashTable *renamed; /* char* old address -> char* new one */
	GHashTable *groups;  /* char* old address -> char* new pool */
	GHashTable *shared;  /* attributes as recorded, and pools -> json_t*: nodes share them */
	RgDiags *diags;
} Moving;

static bool move_refuse(Moving *moving, const char *address, const char *why, const char *hint)
{
	RgDiag *diag = rg_diags_error(moving->diags, "usage.bad-argument", "%s %s", address, why);
	rg_diag_address(diag, address, NULL);
	if (hint)
		rg_diag_hint(diag, "%s", hint);
	return false;
}

static json_t *keep_value(Moving *moving, json_t *value)
{
	g_ptr_array_add(moving->all->values, value);
	return value;
}

/* "/pools/train" and what is below it, of the new pool; else as it is. */
static const char *moved_origin(const RgResource *from, const char *name)
{
	g_autofree char *pool = g_strconcat("/pools/", from->name, NULL);
	if (!from->origin || !g_str_has_prefix(from->origin, pool))
		return from->origin;
	g_autofree char *origin = g_strconcat("/pools/", name, from->origin + strlen(pool), NULL);
	return g_intern_string(origin);
}

/* The nodes that it stands for move with their pool; NULL: it has none. */
static const json_t *moved_pin(Moving *moving, const RgResource *from, const char *name)
{
	if (!from->group || !json_is_array(json_object_get(from->pin, "nodes")))
		return NULL;
	json_t *pin = keep_value(moving, json_deep_copy(from->pin));
	rg_json_foreach (entry, json_object_get(pin, "nodes")) {
		if (g_str_equal(rg_json_str(entry, "pool", ""), from->group))
			rg_json_set_str(entry, "pool", name);
	}
	return pin;
}

static void add_move(Moving *moving, const RgResource *from, const char *name, int64_t index)
{
	g_autofree char *to = rg_address_format(from->kind, name, index);
	RgMove move = {.from = g_intern_string(from->address),
		.to = g_intern_string(to),
		.group = from->group ? g_intern_string(name) : NULL,
		.origin = moved_origin(from, name),
		.pin = moved_pin(moving, from, name)};
	g_array_append_val(moving->all->moves, move);
	g_hash_table_insert(moving->renamed, from->address, (gpointer)(uintptr_t)move.to);
	if (from->group && !g_str_equal(from->group, name)) {
		g_hash_table_insert(moving->groups, from->address, (gpointer)(uintptr_t)move.group);
		moving->all->renames = true;
	}
}

/* Its attributes with the new name of its pool and the new addresses of others; borrowed. */
static json_t *edited_attrs(Moving *moving, const RgResource *resource)
{
	const char *group = g_hash_table_lookup(moving->groups, resource->address);
	g_autofree char *key =
		g_strdup_printf("%p %s", (void *)resource->attrs, group ? resource->group : "");
	json_t *attrs = g_hash_table_lookup(moving->shared, key);
	if (attrs)
		return attrs;
	json_auto_t *named = group ? rg_boot_rename_pool(resource->attrs, resource->group, group)
				   : json_incref(resource->attrs);
	attrs = keep_value(moving, rg_expr_rename_refs(named, moving->renamed));
	g_hash_table_insert(moving->shared, g_steal_pointer(&key), attrs);
	return attrs;
}

/* NULL if none of them moves. */
static json_t *edited_needs(Moving *moving, const RgResource *resource)
{
	bool moves = false;
	json_t *needs = keep_value(moving, json_array());
	for (char **need = resource->depends_on; need && *need; need++) {
		const char *to = g_hash_table_lookup(moving->renamed, *need);
		json_array_append_new(needs, json_string(to ? to : *need));
		moves = moves || to;
	}
	return moves ? needs : NULL;
}

/* An open creation has the old addresses in what was sent. */
static bool add_edit(Moving *moving, const RgResource *resource)
{
	const char *to = g_hash_table_lookup(moving->renamed, resource->address);
	RgMoveEdit edit = {.address = to ? to : g_intern_string(resource->address)};
	edit.attrs = edited_attrs(moving, resource);
	edit.depends_on = edited_needs(moving, resource);
	if (edit.attrs == resource->attrs)
		edit.attrs = NULL;
	if (!edit.attrs && !edit.depends_on)
		return true;
	if (resource->presence == RG_PENDING && !to) {
		RgDiag *diag = rg_diags_error(moving->diags, "state.moved",
			"%s refers to the record to move, and its creation is still open",
			resource->address);
		rg_diag_hint(diag, "`raygpu apply` resolves it");
		return false;
	}
	g_array_append_val(moving->all->edits, edit);
	return true;
}

/* Other resources of a pool under its name, such as its placement group. */
static bool goes_along(const RgResource *resource, const char *kind, const char *pool)
{
	g_autofree char *origin = g_strconcat("/pools/", pool, "/", NULL);
	return resource->index < 0 && g_str_equal(resource->name, pool) &&
	       !g_str_equal(resource->kind, kind) && resource->origin &&
	       g_str_has_prefix(resource->origin, origin);
}

static void add_pool(Moving *moving, const char *kind, const char *pool, const char *name)
{
	const RgResourceSet *recorded = moving->snapshot->recorded;
	size_t n = rg_resource_set_size(recorded);
	for (size_t i = 0; i < n; i++) {
		const RgResource *resource = rg_resource_set_get(recorded, i);
		if (resource->index >= 0 && g_str_equal(resource->kind, kind) &&
			g_str_equal(resource->name, pool))
			add_move(moving, resource, name, resource->index);
	}
	for (size_t i = 0; moving->all->renames && i < n; i++) {
		const RgResource *resource = rg_resource_set_get(recorded, i);
		if (goes_along(resource, kind, pool))
			add_move(moving, resource, name, -1);
	}
}

static bool add_moves(Moving *moving, const char *from, const char *to)
{
	g_autofree char *from_kind = NULL, *from_name = NULL, *to_kind = NULL, *to_name = NULL;
	int64_t from_index, to_index;
	if (!rg_address_parse(from, &from_kind, &from_name, &from_index))
		return move_refuse(
			moving, from, "is not an address", "KIND.NAME or KIND.NAME[INDEX]");
	if (!rg_address_parse(to, &to_kind, &to_name, &to_index))
		return move_refuse(
			moving, to, "is not an address", "KIND.NAME or KIND.NAME[INDEX]");
	if (!g_str_equal(from_kind, to_kind))
		return move_refuse(moving, to, "is of another kind", "a record keeps its kind");
	if (g_str_equal(from_kind, RG_SECRET_KIND))
		return move_refuse(
			moving, from, "belongs to raygpu itself and cannot be moved", NULL);
	const RgResource *one = rg_resource_set_find(moving->snapshot->recorded, from);
	if (one)
		add_move(moving, one, to_name, to_index);
	else if (from_index < 0 && to_index < 0)
		add_pool(moving, from_kind, from_name, to_name);
	if (moving->all->moves->len) {
		const RgResourceSet *recorded = moving->snapshot->recorded;
		bool ok = true;
		for (size_t i = 0; i < rg_resource_set_size(recorded); i++)
			ok = add_edit(moving, rg_resource_set_get(recorded, i)) && ok;
		return ok;
	}
	RgDiag *diag = rg_diags_error(moving->diags, "state.no-such-resource",
		"the state of cluster %s has no %s", moving->snapshot->cluster, from);
	rg_diag_hint(diag, "`raygpu state list` lists its records");
	return false;
}

RgMoves *rg_readdress(const RgSnapshot *snapshot, const char *from, const char *to, RgDiags *diags)
{
	g_autoptr(RgMoves) all = g_new0(RgMoves, 1);
	all->moves = g_array_new(FALSE, TRUE, sizeof(RgMove));
	all->edits = g_array_new(FALSE, TRUE, sizeof(RgMoveEdit));
	all->values = g_ptr_array_new_with_free_func(rg_json_unref);
	g_autoptr(GHashTable) renamed = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) groups = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) shared = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Moving moving = {all, snapshot, renamed, groups, shared, diags};
	return add_moves(&moving, from, to) ? g_steal_pointer(&all) : NULL;
}

void rg_moves_free(RgMoves *moves)
{
	if (!moves)
		return;
	g_array_unref(moves->moves);
	g_array_unref(moves->edits);
	g_ptr_array_unref(moves->values);
	g_free(moves);
}

/* As rg_store_load would return the row after rg_store_move. */
static RgResource *readdressed(RgResource *resource, const RgMove *move)
{
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	if (!rg_address_parse(move->to, &kind, &name, &index))
		return resource;
	if (!resource->mismarked) {
		resource->mismarked = true;
		resource->marked_as = g_strdup(resource->address);
	}
	g_free(resource->address);
	resource->address = g_strdup(move->to);
	resource->name = g_intern_string(name);
	resource->index = index;
	resource->group = move->group;
	resource->origin = move->origin;
	if (move->pin) {
		json_decref(resource->pin);
		resource->pin = json_incref(rg_json_unconst(move->pin));
	}
	return resource;
}

static void edit(RgResource *resource, const RgMoveEdit *edit)
{
	if (edit->attrs) {
		json_decref(resource->attrs);
		resource->attrs = json_incref(rg_json_unconst(edit->attrs));
	}
	if (edit->depends_on) {
		g_strfreev(resource->depends_on);
		resource->depends_on = rg_json_texts(edit->depends_on);
	}
}

bool rg_readdress_snapshot(RgSnapshot *snapshot, const RgMoves *moves, RgDiags *diags)
{
	g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < moves->moves->len; i++) {
		const RgMove *move = &g_array_index(moves->moves, RgMove, i);
		const RgResource *old = rg_resource_set_find(snapshot->recorded, move->from);
		if (rg_resource_set_find(snapshot->recorded, move->to) || !old) {
			RgDiag *diag = rg_diags_error(diags, "state.moved",
				"%s cannot become %s, which an interrupted run was removing",
				move->from, move->to);
			rg_diag_hint(diag,
				"`raygpu apply` of the spec with the old name completes that run");
			return false;
		}
		g_hash_table_insert(
			known, (gpointer)(uintptr_t)move->from, (gpointer)(uintptr_t)move);
	}
	g_autoptr(GPtrArray) resources = rg_resource_set_release(&snapshot->recorded);
	rg_ptr_foreach (RgResource, resource, resources) {
		const RgMove *move = g_hash_table_lookup(known, resource->address);
		rg_resource_set_add(
			snapshot->recorded, move ? readdressed(resource, move) : resource);
	}
	for (guint i = 0; i < moves->edits->len; i++) {
		const RgMoveEdit *one = &g_array_index(moves->edits, RgMoveEdit, i);
		edit(rg_resource_set_find(snapshot->recorded, one->address), one);
	}
	return true;
}
