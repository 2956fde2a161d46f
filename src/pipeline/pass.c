/* What the arrows share: the pass itself, and what each asks of its spec. */
#include "pipeline/internal.h"

void rg_pass_free(RgPass *pass)
{
	if (!pass)
		return;
	rg_refresh_drop(pass->reading); /* it uses what is freed below */
	rg_plan_free(pass->plan);
	rg_diff_free(pass->diff);
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

RgTables *pass_tables(RgSession *session, RgPass *pass)
{
	if (!pass->tables)
		pass->tables = rg_tables_new(session->providers, pass->project);
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
	size_t i;
	json_t *text;
	json_array_foreach (texts, i, text)
		g_string_append_printf(list, "%s%s", i ? ", " : "", json_string_value(text));
	return g_string_free(list, FALSE);
}

const RgPool *pass_find_pool(const RgCluster *cluster, const char *name)
{
	if (g_strcmp0(name, cluster->head->name) == 0)
		return cluster->head;
	for (guint i = 0; i < cluster->pools->len; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		if (g_strcmp0(name, pool->name) == 0)
			return pool;
	}
	return NULL;
}
