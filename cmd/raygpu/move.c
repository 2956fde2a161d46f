#include "command.h"
#include "boot/boot.h"
#include <string.h>

/* raygpu state mv: one record, or all of a pool, under another address. The cloud isn't asked; the
 * next apply writes the marks in place. */

typedef struct {
	Context *context;
	const RgSnapshot *snapshot;
	const RgSchema *schema;
	GArray *moves;	  /* RgMove */
	GPtrArray *owned; /* texts of the moves */
	GPtrArray *attrs; /* json_t* of the moves */
	bool renames;	  /* nodes get another pool */
} Moving;

static bool refuse(Moving *moving, const char *address, const char *why, const char *hint)
{
	RgDiag *diag =
		rg_diags_error(moving->context->diags, "usage.bad-argument", "%s %s", address, why);
	rg_diag_address(diag, address, NULL);
	if (hint)
		rg_diag_hint(diag, "%s", hint);
	return false;
}

static const char *keep_text(Moving *moving, char *text)
{
	g_ptr_array_add(moving->owned, text);
	return text;
}

/* "/pools/train" and what is below it, of the new pool; else as it is. */
static const char *moved_origin(Moving *moving, const RgResource *from, const char *name)
{
	g_autofree char *pool = g_strconcat("/pools/", from->name, NULL);
	if (!from->origin || !g_str_has_prefix(from->origin, pool))
		return from->origin;
	return keep_text(moving, g_strconcat("/pools/", name, from->origin + strlen(pool), NULL));
}

static void add_move(Moving *moving, const RgResource *from, const char *name, int64_t index)
{
	RgMove move = {.from = from->address,
		.to = keep_text(moving, rg_address_format(from->kind, name, index)),
		.group = from->group ? keep_text(moving, g_strdup(name)) : NULL,
		.origin = moved_origin(moving, from, name)};
	if (from->group && !g_str_equal(from->group, name)) {
		json_t *attrs = rg_boot_rename_pool(from->attrs, from->group, name);
		g_ptr_array_add(moving->attrs, attrs);
		move.attrs = attrs;
		moving->renames = true;
	}
	g_array_append_val(moving->moves, move);
}

static bool is_used(const RgResource *by, const char *address)
{
	return by->depends_on && g_strv_contains((const char *const *)by->depends_on, address);
}

/* What others refer to by its address would be lost to them. */
static bool check_users(Moving *moving, const char *address)
{
	const RgResourceSet *recorded = moving->snapshot->recorded;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *other = rg_resource_set_get(recorded, i);
		g_autofree char *why =
			g_strdup_printf("can't be moved: %s refers to it", other->address);
		if (is_used(other, address))
			return refuse(moving, address, why, NULL);
	}
	return true;
}

static bool add_pool(Moving *moving, const char *from, const char *name)
{
	const RgResourceSet *recorded = moving->snapshot->recorded;
	bool ok = true;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *resource = rg_resource_set_get(recorded, i);
		g_autofree char *family = rg_address_format(resource->kind, resource->name, -1);
		if (resource->index < 0 || !g_str_equal(family, from))
			continue;
		ok = check_users(moving, resource->address) && ok;
		add_move(moving, resource, name, resource->index);
	}
	return ok;
}

static bool add_moves(Moving *moving, const char *from, const char *to)
{
	g_autofree char *from_kind = NULL, *from_name = NULL, *to_kind = NULL, *to_name = NULL;
	int64_t from_index, to_index;
	if (!rg_address_parse(from, &from_kind, &from_name, &from_index))
		return refuse(moving, from, "is no address", "KIND.NAME or KIND.NAME[INDEX]");
	if (!rg_address_parse(to, &to_kind, &to_name, &to_index))
		return refuse(moving, to, "is no address", "KIND.NAME or KIND.NAME[INDEX]");
	if (!g_str_equal(from_kind, to_kind))
		return refuse(moving, to, "is of another kind", "a record keeps its kind");
	if (g_str_equal(from_kind, RG_SECRET_KIND))
		return refuse(moving, from, "is raygpu's own and stays where it is", NULL);
	const RgResource *one = rg_resource_set_find(moving->snapshot->recorded, from);
	if (one) {
		add_move(moving, one, to_name, to_index);
		return check_users(moving, from);
	}
	if (from_index < 0 && to_index < 0 && !add_pool(moving, from, to_name))
		return false;
	if (moving->moves->len)
		return true;
	RgDiag *diag = rg_diags_error(moving->context->diags, "state.no-such-resource",
		"the state of cluster %s has no %s", moving->snapshot->cluster, from);
	rg_diag_hint(diag, "`raygpu state list` tells what it has");
	return false;
}

static void warn(const Moving *moving)
{
	const RgMove *first = &g_array_index(moving->moves, RgMove, 0);
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	rg_address_parse(first->to, &kind, &name, &index);
	const RgKind *known = moving->schema ? rg_schema_kind(moving->schema, kind) : NULL;
	if (!known || !known->updates_marks)
		rg_diags_warning(moving->context->diags, "state.not-told",
			"the provider can't mark what exists anew: a `state rebuild` would find "
			"the "
			"old addresses");
	if (moving->renames)
		rg_diags_note(moving->context->diags, "state.not-told",
			"nodes that run go on telling Ray the old name of their pool "
			"(RAY_NODE_TYPE_NAME, ray.io/node-group) until they are replaced");
}

static void print_moves(const Moving *moving, bool dry_run)
{
	g_autoptr(RgJson) rows = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	for (guint i = 0; i < moving->moves->len; i++) {
		const RgMove *move = &g_array_index(moving->moves, RgMove, i);
		json_array_append_new(
			rows, json_pack("{s:s, s:s}", "from", move->from, "to", move->to));
		g_string_append_printf(text, "%s \"%s\" to \"%s\"\n",
			dry_run ? "Would move" : "Move", move->from, move->to);
	}
	if (!dry_run)
		g_string_append_printf(
			text, "Successfully moved %u object(s).\n", moving->moves->len);
	if (moving->context->json)
		out_json(rows);
	else
		out_text(text->str);
}

static bool store_moves(Moving *moving)
{
	Context *context = moving->context;
	const RgSnapshot *snapshot = moving->snapshot;
	const RgRunBegin begin = {.cluster = snapshot->cluster,
		.provider = snapshot->provider,
		.region = snapshot->region};
	g_autofree char *run = note_begin(context, "state mv", &begin);
	return run && note_end(context, run,
			      rg_store_move(context->store, snapshot->cluster,
				      (const RgMove *)(void *)moving->moves->data,
				      moving->moves->len, context->diags));
}

static void unref_json(gpointer value)
{
	json_decref(value);
}

int state_move(Context *context, const RgSnapshot *snapshot, char **addresses, bool dry_run)
{
	g_autoptr(GArray) moves = g_array_new(FALSE, TRUE, sizeof(RgMove));
	g_autoptr(GPtrArray) owned = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) attrs = g_ptr_array_new_with_free_func(unref_json);
	g_autoptr(RgDiags) unread = rg_diags_new();
	Moving moving = {.context = context,
		.snapshot = snapshot,
		.moves = moves,
		.owned = owned,
		.attrs = attrs};
	context_open_providers(context);
	if (snapshot->provider)
		moving.schema = rg_provider_schema(context->providers, snapshot->provider, unread);
	if (!add_moves(&moving, addresses[0], addresses[1]))
		return rg_diags_exit_code(context->diags);
	if (!dry_run && !store_moves(&moving))
		return rg_diags_exit_code(context->diags);
	print_moves(&moving, dry_run);
	warn(&moving);
	return EXIT_FINE;
}
