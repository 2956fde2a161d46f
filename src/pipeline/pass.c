/* What the arrows share: the pass itself, and what each asks of its spec. */
#include "pipeline/internal.h"

static void free_plan(RgPass *pass)
{
	rg_refresh_drop(pass->reading); /* it uses what is freed below */
	rg_plan_free(pass->plan);
	rg_diff_free(pass->diff);
	if (pass->quiet)
		g_hash_table_unref(pass->quiet);
	rg_resource_set_free(pass->observed);
	if (pass->strangers)
		g_ptr_array_unref(pass->strangers);
	rg_resource_set_free(pass->desired);
	rg_fit_shapes_free(pass->shapes);
	json_decref(pass->pins);
	json_decref(pass->fitted);
	json_decref(pass->fit);
	json_decref(pass->facts);
	json_decref(pass->place);
	json_decref(pass->leases);
	pass_forget_account(pass);
	g_free(pass->account);
	g_free(pass->acting);
	rg_provider_close(pass->provider);
	json_decref(pass->renames);
	if (pass->moves)
		g_ptr_array_unref(pass->moves);
	if (pass->importing)
		g_ptr_array_unref(pass->importing);
	if (pass->imported)
		g_ptr_array_unref(pass->imported);
	json_decref(pass->imports);
	rg_snapshot_free(pass->snapshot);
}

void pass_begin_again(RgPass *pass)
{
	const RgPass loaded = {.cluster = pass->cluster,
		.project = pass->project,
		.provenance = pass->provenance,
		.tables = pass->tables};
	free_plan(pass);
	*pass = loaded;
}

void rg_pass_free(RgPass *pass)
{
	if (!pass)
		return;
	free_plan(pass);
	rg_tables_free(pass->tables);
	rg_provenance_free(pass->provenance);
	rg_project_free(pass->project);
	rg_cluster_free(pass->cluster);
	g_free(pass);
}

void pass_tell(RgSession *session, const char *stage, const char *what, size_t n, bool done)
{
	if (session->progress)
		session->progress(session->progress_data, stage, what, n, done);
}

RgProviderRef pass_place(const RgPass *pass)
{
	const RgSnapshot *snapshot = pass->snapshot;
	if (pass->cluster)
		return pass->cluster->provider;
	return (RgProviderRef){
		.name = snapshot->provider, .region = snapshot->region, .config = snapshot->config};
}

RgIntent pass_intent(const RgSession *session, const RgPass *pass)
{
	return (RgIntent){.cluster = pass->cluster,
		.snapshot = pass->snapshot,
		.provider = pass->provider,
		.desired = pass->desired,
		.observed = pass->observed,
		.diff = pass->diff,
		.plan = pass->plan,
		.renames = pass->renames,
		.leases = pass->leases,
		.moves = pass->moves,
		.importing = pass->importing,
		.imported = pass->imported,
		.strangers = pass->strangers,
		.destroy = session->diff.destroy,
		.looking = session->diff.looking};
}

RgTables *pass_tables(RgSession *session, RgPass *pass)
{
	if (!pass->tables)
		pass->tables = rg_tables_new(session->providers, pass->project);
	if (pass->snapshot)
		rg_tables_describe(pass->tables, pass->snapshot->provider,
			json_object_get(pass->snapshot->facts, "types"));
	return pass->tables;
}

RgSource pass_source(const void *cluster, const char *pointer)
{
	return cluster ? rg_cluster_source(cluster, pointer) : (RgSource){0};
}

void pass_locate(const RgCluster *cluster, RgDiags *diags)
{
	rg_diags_locate(diags, pass_source, cluster);
}

bool pass_fits(const json_t *rule, const char *text)
{
	return !rule || g_regex_match_simple(
				rg_json_str(rule, "pattern", ""), text, G_REGEX_DOLLAR_ENDONLY, 0);
}

char *pass_list(const json_t *texts)
{
	GString *list = g_string_new(NULL);
	rg_json_foreach_at (i, text, texts)
		g_string_append_printf(list, "%s%s", i ? ", " : "", json_string_value(text));
	return g_string_free(list, FALSE);
}
