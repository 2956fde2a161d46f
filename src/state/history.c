/* What earlier runs did, for people: no plan depends on it. */
#include "state/internal.h"

/* {"create": 4, "failed": 1}: how many changes of each kind succeeded, and how many failed. */
static bool count_changes(RgStore *store, int64_t run, json_t *counts, RgDiags *diags)
{
	Sql q = sql_with(store,
		"SELECT iif(outcome = 'done', action, 'failed'), count(*) FROM run_changes"
		" WHERE run = ?1 GROUP BY 1",
		diags, INT(run));
	while (sql_next(&q))
		json_object_set_new(
			counts, sql_column_text(&q, 0), json_integer(sql_column_int(&q, 1)));
	return sql_ok(&q);
}

static bool read_run(RgStore *store, Sql *q, json_t *runs, RgDiags *diags)
{
	json_auto_t *run = NULL;
	if (!sql_column_json(q, 5, &run))
		return false;
	if (!json_is_object(run)) {
		json_decref(run);
		run = json_object();
	}
	json_t *counts = json_object();
	rg_json_set_str(run, "id", sql_column_text(q, 1));
	rg_json_set_str(run, "cluster", sql_column_text(q, 6));
	json_object_set_new(run, "started_s", sql_column_number(q, 2));
	json_object_set_new(run, "ended_s", sql_column_number(q, 3));
	rg_json_set_str(run, "outcome", sql_column_text(q, 4));
	json_object_set_new(run, "changes", counts);
	json_array_append(runs, run);
	return count_changes(store, sql_column_int(q, 0), counts, diags);
}

/* The order of a cluster's runs is that of their numbers. Those of different clusters do not say,
 * in stores of documents, which was first. */
json_t *rg_store_runs(RgStore *store, const char *cluster, RgDiags *diags)
{
	json_auto_t *runs = json_array();
	if (!copy_need(store, cluster, COPY_ALL, diags) || !tx_begin_read(store, diags))
		return NULL;
	Sql q = sql_with(store,
		"SELECT r.seq, r.id, r.started_s, r.ended_s, r.outcome, r.meta, c.name"
		" FROM runs r JOIN clusters c ON c.id = r.cluster WHERE ?1 IS NULL OR c.name = ?1"
		" ORDER BY max(r.started_s) OVER (PARTITION BY r.cluster ORDER BY r.seq) DESC,"
		" r.seq DESC",
		diags, TEXT(cluster));
	bool ok = sums_check(store, SUMS_OF_HISTORY, diags);
	while (ok && sql_next(&q))
		ok = read_run(store, &q, runs, diags);
	ok = sql_ok(&q) && ok;
	tx_end_read(store);
	return ok ? g_steal_pointer(&runs) : NULL;
}

json_t *rg_store_run_changes(RgStore *store, const char *run_id, RgDiags *diags)
{
	json_auto_t *changes = json_array();
	if (!copy_need(store, NULL, COPY_ALL, diags) || !tx_begin_read(store, diags))
		return NULL;
	Sql q = sql_with(store,
		"SELECT c.address, c.action, c.outcome, c.at_s, c.node FROM run_changes c"
		" JOIN runs r ON r.seq = c.run WHERE r.id = ?1 ORDER BY c.seq",
		diags, TEXT(run_id));
	bool whole = sums_check(store, SUMS_OF_HISTORY, diags);
	while (whole && sql_next(&q)) {
		json_t *change = json_object(), *node = NULL;
		whole = sql_column_json(&q, 4, &node) && whole;
		if (node && !json_is_null(node))
			json_object_set(change, "node", node);
		json_decref(node);
		rg_json_set_str(change, "address", sql_column_text(&q, 0));
		rg_json_set_str(change, "action", sql_column_text(&q, 1));
		rg_json_set_str(change, "outcome", sql_column_text(&q, 2));
		json_object_set_new(change, "at_s", sql_column_number(&q, 3));
		json_array_append_new(changes, change);
	}
	bool ok = sql_ok(&q) && whole;
	tx_end_read(store);
	return ok ? g_steal_pointer(&changes) : NULL;
}

GStrv rg_store_clusters(RgStore *store, RgDiags *diags)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	if (!copy_need(store, NULL, COPY_LIVE, diags) || !tx_begin_read(store, diags))
		return NULL;
	Sql q = sql_new(store, "SELECT name FROM clusters ORDER BY name", diags);
	bool whole = sums_check(store, 1u << SUM_CLUSTERS, diags);
	while (whole && sql_next(&q))
		g_strv_builder_add(names, sql_column_text(&q, 0));
	bool ok = sql_ok(&q) && whole;
	tx_end_read(store);
	return ok ? g_strv_builder_end(names) : NULL;
}
