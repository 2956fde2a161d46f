/* A document replaces its clusters in the file: one transaction, after a copy. */
#include "transfer/look.h"
#include "transfer/tables.h"

/* A JSON number that the schema calls an integer may be written as 5.0. */
static int64_t number(const json_t *object, const char *key)
{
	return (int64_t)json_number_value(json_object_get(object, key));
}

static SqlValue plain_value(const Column *column, const json_t *row)
{
	const json_t *value = json_object_get(row, column->key);
	if (!value || json_is_null(value) || column->type == COLUMN_TEXT)
		return (SqlValue)TEXT(json_string_value(value));
	if (column->type == COLUMN_INT)
		return (SqlValue)INT(number(row, column->key));
	if (column->type == COLUMN_FLAG)
		return (SqlValue)INT(json_is_true(value));
	return (SqlValue)JSON(value);
}

/* The values of a row after those already bound; `hash` keeps what is bound for a blob. */
static bool bind_row(Sql *q, const Column *columns, const json_t *row, unsigned char *hash)
{
	for (; columns->type != COLUMN_END; columns++) {
		bool is_blob = columns->type == COLUMN_BLOB;
		if (is_blob &&
			!blob_put(q->store, json_object_get(row, columns->key), hash, q->diags))
			return false;
		const SqlValue value = is_blob ? (SqlValue)HASH(hash) : plain_value(columns, row);
		sql_bind(q, &value);
	}
	return true;
}

/* As it is written: a new reference, NULL and diagnostics. */
static json_t *row_to_write(
	RgStore *store, const Table *table, int64_t owner, const json_t *row, RgDiags *diags)
{
	const char *address = rg_json_str(row, "address", "");
	json_t *outputs = NULL;
	if (table != &table_resources || !sealed_is_secret(address))
		return json_incref(rg_json_unconst(row));
	bool ok = seal_outputs(
		store, owner, address, json_object_get(row, "outputs"), &outputs, diags);
	json_t *copy = ok ? json_copy(rg_json_unconst(row)) : NULL;
	json_object_set_new(copy, "outputs", outputs ? outputs : json_null());
	return copy;
}

/* For a resource, kind, name and index follow from the address. */
static bool insert_row(
	RgStore *store, const Table *table, int64_t owner, const json_t *given, RgDiags *diags)
{
	unsigned char hash[HASH_BYTES];
	json_auto_t *row = row_to_write(store, table, owner, given, diags);
	if (!row)
		return false;
	Sql q = sql_with(store, table->insert, diags, INT(owner));
	bool bound = bind_row(&q, table->columns, row, hash);
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index = -1;
	if (table == &table_resources) {
		bool is_address =
			rg_address_parse(rg_json_str(row, "address", ""), &kind, &name, &index);
		g_assert(is_address);
		const SqlValue address[] = {TEXT(kind), TEXT(name), INT(index)};
		for (size_t i = 0; i < G_N_ELEMENTS(address); i++)
			sql_bind(&q, &address[i]);
	}
	if (table->has_id) {
		const SqlValue id = new_row_id(store);
		sql_bind(&q, &id);
	}
	return sql_run(&q) && bound;
}

static bool insert_table(
	RgStore *store, const Table *table, int64_t owner, const json_t *object, RgDiags *diags)
{
	rg_json_foreach (row, json_object_get(object, table->key)) {
		if (!insert_row(store, table, owner, row, diags))
			return false;
	}
	return true;
}

/* The name of a run belongs to one cluster in the file. */
static bool check_run(RgStore *store, const char *id, RgDiags *diags)
{
	Sql q = sql_with(store, "SELECT 1 FROM runs WHERE id = ?1", diags, TEXT(id));
	bool taken = sql_next(&q);
	if (!sql_ok(&q))
		return false;
	if (!taken)
		return true;
	RgDiag *diag = rg_diags_error(
		diags, "state.push-refused", "the run %s is in the log of another cluster", id);
	rg_diag_hint(diag, "the document is a copy of that cluster: remove \"runs\" from it");
	return false;
}

static bool insert_runs(RgStore *store, int64_t cluster, const json_t *object, RgDiags *diags)
{
	rg_json_foreach (run, json_object_get(object, "runs")) {
		if (!check_run(store, rg_json_str(run, "id", ""), diags) ||
			!insert_row(store, &table_runs, cluster, run, diags) ||
			!insert_table(store, &table_changes, sql_last_id(store), run, diags))
			return false;
	}
	return true;
}

static bool clear(RgStore *store, const char *text, int64_t cluster, RgDiags *diags)
{
	return sql_do(store, text, diags, INT(cluster));
}

/* Not the identities: what was used once is used, whatever the document says. Tombstones that may
 * still be needed stay. */
static bool clear_cluster(RgStore *store, int64_t cluster, RgDiags *diags)
{
	if (!clear(store, "DELETE FROM lifetimes WHERE cluster = ?1", cluster, diags) ||
		!clear(store, "DELETE FROM hardware WHERE cluster = ?1", cluster, diags) ||
		!clear(store, "DELETE FROM resources WHERE cluster = ?1", cluster, diags) ||
		!clear(store,
			"DELETE FROM run_changes WHERE run IN"
			" (SELECT seq FROM runs WHERE cluster = ?1)",
			cluster, diags) ||
		!clear(store, "DELETE FROM runs WHERE cluster = ?1", cluster, diags))
		return false;
	return purge_tombstones(store, cluster, diags);
}

/* The row of the cluster, new or with the document's values. */
static bool put_cluster(
	RgStore *store, const json_t *cluster, int64_t serial, int64_t *id, RgDiags *diags)
{
	const json_t *facts = json_object_get(cluster, "facts");
	Sql q = sql_with(store,
		"INSERT INTO clusters (name, lineage, serial, provider, region, config, facts,"
		" history_from_s, account, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
		" ON CONFLICT (name) DO"
		" UPDATE SET lineage = ?2, serial = ?3, provider = ?4, region = ?5, config = ?6,"
		" facts = ?7, history_from_s = ?8, account = coalesce(?9, account) RETURNING id",
		diags, TEXT(rg_json_str(cluster, "name", "")),
		TEXT(rg_json_str(cluster, "lineage", "")), INT(serial),
		TEXT(rg_json_str(cluster, "provider", "")),
		TEXT(rg_json_str(cluster, "region", "")), JSON(json_object_get(cluster, "config")),
		JSON(json_is_null(facts) ? NULL : facts), INT(number(cluster, "history_from_s")),
		TEXT(rg_json_str(cluster, "account", NULL)), /* older documents have none */
		new_row_id(store));
	*id = 0;
	return sql_first_int(q, id) && *id != 0;
}

static bool replace_cluster(
	RgStore *store, const json_t *cluster, int64_t serial, int64_t *id, RgDiags *diags)
{
	return sealed_check_document(store, cluster, diags) &&
	       put_cluster(store, cluster, serial, id, diags) && clear_cluster(store, *id, diags) &&
	       insert_table(store, &table_resources, *id, cluster, diags) &&
	       insert_table(store, &table_identities, *id, cluster, diags) &&
	       insert_table(store, &table_tombstones, *id, cluster, diags) &&
	       clear(store, /* what has a record is not gone */
		       "DELETE FROM tombstones WHERE cluster = ?1 AND id IN"
		       " (SELECT cloud_id FROM resources WHERE cluster = ?1)",
		       *id, diags) &&
	       insert_table(store, &table_hardware, *id, cluster, diags) &&
	       insert_table(store, &table_lifetimes, *id, cluster, diags) &&
	       insert_runs(store, *id, cluster, diags);
}

/* A forced push is recorded in the log, with what it lost. */
static bool note_forced(
	RgStore *store, int64_t cluster, const json_t *report, const json_t *meta, RgDiags *diags)
{
	if (!json_is_true(json_object_get(report, "forced")))
		return true;
	if (!run_insert_done(store, cluster, meta, diags))
		return false;
	bool ok = true;
	rg_json_foreach (row, json_object_get(report, "lost"))
		ok = ok && run_note(store, cluster, rg_json_str(row, "address", ""), "forget",
				   "done", diags);
	run_leave(store);
	return ok;
}

static bool push_all(RgStore *store, const json_t *document, const json_t *reports,
	const json_t *meta, RgDiags *diags)
{
	const json_t *clusters = json_object_get(document, "clusters");
	rg_json_foreach_at (i, report, reports) {
		int64_t id;
		if (json_is_false(json_object_get(report, "changed")))
			continue;
		if (!replace_cluster(store, json_array_get(clusters, i), number(report, "serial"),
			    &id, diags) ||
			!note_forced(store, id, report, meta, diags))
			return false;
	}
	return blobs_purge(store, diags);
}

static bool any_changed(const json_t *reports)
{
	rg_json_foreach (report, reports) {
		if (json_is_true(json_object_get(report, "changed")))
			return true;
	}
	return false;
}

json_t *rg_state_push(RgStore *store, const json_t *document, bool force, const json_t *meta,
	char **backup, RgDiags *diags)
{
	rg_json_foreach (cluster, json_object_get(document, "clusters"))
		store_check_writer(store, rg_json_str(cluster, "name", ""));
	*backup = NULL;
	if (!copy_need(store, NULL, COPY_ALL, diags) || !tx_begin(store, diags))
		return NULL;
	json_auto_t *reports = look(store, document, force, diags);
	bool ok = reports != NULL;
	if (ok && any_changed(reports))
		ok = store_keep_copy(store, backup, diags) &&
		     push_all(store, document, reports, meta, diags);
	return tx_end(store, ok, diags) ? g_steal_pointer(&reports) : NULL;
}
