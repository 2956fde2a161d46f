#include "command.h"

/* raygpu state orphans: resources with our lineage but without a record. Reads only. */

static json_t *row_of(const RgResource *orphan)
{
	json_t *row = json_object();
	rg_json_set_str(row, "kind", orphan->kind);
	rg_json_set_str(row, "id", orphan->id);
	/* from its marks: another state, or an earlier resource at the address, created it */
	rg_json_set_str(row, "address", orphan->address);
	rg_json_set_str(row, "status", orphan->status);
	rg_json_set_str(row, "token", orphan->token);
	return row;
}

static void print_text(const RgPass *pass, json_t *rows)
{
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach (row, rows) {
		const char *address = rg_json_str(row, "address", NULL);
		const char *status = rg_json_str(row, "status", NULL);
		g_string_append_printf(text, "%s %s%s%s%s%s\n", rg_json_str(row, "kind", ""),
			rg_json_str(row, "id", ""), address ? ", tagged as " : "",
			address ? address : "", status ? ", " : "", status ? status : "");
	}
	if (!text->len && !pass->strangers->len) /* a warning lists those */
		g_string_append_printf(text,
			"No orphans: everything with the ownership tags of cluster %s is "
			"recorded.\n",
			pass->snapshot->cluster);
	out_text(text->str);
}

int state_orphans(Context *context)
{
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	g_autofree char *cluster = context_one_cluster(context);
	g_autoptr(RgPass) pass =
		cluster ? rg_pipeline_observe(&context->session, cluster, context->diags) : NULL;
	status_clear(context);
	if (!pass)
		return rg_diags_exit_code(context->diags);
	const GPtrArray *extras = rg_resource_set_extras(pass->observed);
	json_auto_t *rows = json_array();
	rg_ptr_foreach (const RgResource, orphan, extras)
		if (orphan->unmanaged)
			json_array_append_new(rows, row_of(orphan));
	if (context->json)
		out_json(rows);
	/* what could not be read may contain orphans: "none" would be false */
	else if (json_array_size(rows) || !rg_diags_has_errors(context->diags))
		print_text(pass, rows);
	if (rg_diags_has_errors(context->diags))
		return rg_diags_exit_code(context->diags);
	return json_array_size(rows) ? EXIT_CHANGES : EXIT_FINE;
}
