#include "command.h"
#include "intent/readdress.h"
#include "state/write.h"
#include "state/move.h"

/* raygpu state mv: one record, or all of a pool, to another address (src/intent/readdress.h). */

static void move_warn(Context *context, const RgSnapshot *snapshot, const RgMoves *moves)
{
	const RgMove *first = &g_array_index(moves->moves, RgMove, 0);
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	g_autoptr(RgDiags) unread = rg_diags_new();
	context_open_providers(context);
	const RgSchema *schema = snapshot->provider ? rg_provider_schema(context->providers,
							      snapshot->provider, unread)
						    : NULL;
	rg_address_parse(first->to, &kind, &name, &index);
	const RgKind *known = schema ? rg_schema_kind(schema, kind) : NULL;
	if (!known || !known->updates_marks)
		rg_diags_warning(context->diags, "state.not-told",
			"the provider cannot update the ownership tags of existing resources: a "
			"`state rebuild` would find the old addresses");
	if (moves->renames)
		rg_diags_note(context->diags, "state.not-told",
			"running nodes keep reporting the old name of their pool to Ray "
			"(RAY_NODE_TYPE_NAME, ray.io/node-group) until they are replaced");
}

static void print_moves(const Context *context, const RgMoves *moves, bool dry_run)
{
	json_auto_t *rows = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	for (guint i = 0; i < moves->moves->len; i++) {
		const RgMove *move = &g_array_index(moves->moves, RgMove, i);
		json_array_append_new(
			rows, json_pack("{s:s, s:s}", "from", move->from, "to", move->to));
		g_string_append_printf(text, "%s \"%s\" to \"%s\"\n",
			dry_run ? "Would move" : "Move", move->from, move->to);
	}
	if (!dry_run)
		g_string_append_printf(
			text, "Successfully moved %u object(s).\n", moves->moves->len);
	if (context->json)
		out_json(rows);
	else
		out_text(text->str);
}

static bool store_moves(Context *context, const RgSnapshot *snapshot, const RgMoves *moves)
{
	const RgRunBegin begin = {.cluster = snapshot->cluster,
		.provider = snapshot->provider,
		.region = snapshot->region};
	g_autofree char *run = note_begin(context, "state mv", &begin);
	return run && note_end(context, run,
			      rg_store_move(context->store, snapshot->cluster,
				      (const RgMove *)(void *)moves->moves->data, moves->moves->len,
				      (const RgMoveEdit *)(void *)moves->edits->data,
				      moves->edits->len, context->diags));
}

int state_move(Context *context, const RgSnapshot *snapshot, char **addresses, bool dry_run)
{
	g_autoptr(RgMoves) moves =
		rg_readdress(snapshot, addresses[0], addresses[1], context->diags);
	if (!moves || (!dry_run && !store_moves(context, snapshot, moves)))
		return rg_diags_exit_code(context->diags);
	print_moves(context, moves, dry_run);
	move_warn(context, snapshot, moves);
	return EXIT_FINE;
}
