#include "command.h"
#include "base/redact.h"
#include "state/write.h"
#include <string.h>

/* raygpu state rebuild: restores a lost state from the cloud's marks. Writes only the state: the
 * transport allows only reading calls. */

static json_t *report_new(const RgPass *pass)
{
	const RgResourceSet *found = pass->snapshot->recorded;
	json_t *report = json_object(), *rows = json_array();
	rg_resource_foreach (resource, found) {
		json_t *row = json_object();
		rg_json_set_str(row, "address", resource->address);
		rg_json_set_str(row, "id", resource->id);
		json_array_append_new(rows, row);
	}
	rg_json_set_str(report, "cluster", pass->snapshot->cluster);
	rg_json_set_str(report, "lineage", pass->snapshot->lineage);
	json_object_set_new(report, "recorded", rows);
	return report;
}

static void print_text(const RgPass *pass, json_t *report)
{
	const json_t *rows = json_object_get(report, "recorded");
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach (row, rows)
		g_string_append_printf(text, "  %s (%s)\n", rg_json_str(row, "address", ""),
			rg_json_str(row, "id", ""));
	g_string_append_printf(text,
		"\nCluster %s, lineage %s: %zu resource%s recorded. `raygpu plan` shows how they "
		"differ from the spec.\n",
		pass->snapshot->cluster, pass->snapshot->lineage, json_array_size(rows),
		json_array_size(rows) == 1 ? "" : "s");
	out_text(text->str);
}

/* Under the lock of the spec's cluster. */
static RgPass *rebuild(Context *context, const char *spec, const char *lineage, const char *token,
	unsigned timeout_ms)
{
	g_autoptr(RgPass) pass = rg_pipeline_load(spec, NULL, NULL, context->diags);
	if (!pass)
		return NULL;
	context_use_spec(context, spec);
	if (!context_open_session(context, RG_STORE_WRITE))
		return NULL;
	context->session.http.read_only = true;
	g_autoptr(RgLock) lock = rg_lock_take(
		context->store, pass->cluster->name, "state rebuild", timeout_ms, context->diags);
	if (!lock || !rg_adopt_rebuild(&context->session, pass, lineage, token, context->diags))
		return NULL;
	const RgProviderRef *place = &pass->cluster->provider;
	const RgRunBegin begin = {
		.cluster = pass->cluster->name, .provider = place->name, .region = place->region};
	g_autofree char *run = note_begin(context, "state rebuild", &begin);
	return run && note_end(context, run, true) ? g_steal_pointer(&pass) : NULL;
}

/* As in /etc/raygpu/token of a node; a line feed at its end is accepted. */
static bool read_token(Context *context, const char *path, char **token)
{
	g_autoptr(GError) error = NULL;
	*token = NULL;
	if (!path)
		return true;
	if (!g_file_get_contents(path, token, NULL, &error)) {
		report_unreadable(context, path, error);
		return false;
	}
	g_strchomp(*token);
	if (g_regex_match_simple("^[A-Za-z0-9]{16,256}$", *token, 0, 0)) {
		rg_redact_add(*token, strlen(*token));
		return true;
	}
	rg_diags_error(context->diags, "usage.bad-argument",
		"\"%s\" does not contain a Ray token: 16 to 256 letters and digits", path);
	return false;
}

int state_rebuild(Context *context, const char *spec, const char *lineage, const char *token_file,
	unsigned timeout_ms)
{
	if (spec && g_str_equal(spec, "-")) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"raygpu state rebuild cannot read the spec from standard input");
		return EXIT_USAGE;
	}
	g_autofree char *token = NULL;
	g_autoptr(RgPass) pass = NULL;
	if (read_token(context, token_file, &token))
		pass = rebuild(context, spec ? spec : "cluster.yaml", lineage, token, timeout_ms);
	status_clear(context);
	if (!pass)
		return rg_diags_exit_code(context->diags);
	json_auto_t *report = report_new(pass);
	if (context->json)
		out_json(report);
	else
		print_text(pass, report);
	return rg_diags_exit_code(context->diags);
}
