#include "state/sealed.h"

/* ---- all secrets of a cluster, again: to seal them, or with another key */

typedef struct {
	RgStore *store;
	bool open; /* none is sealed any more; else all are, with the current key */
	SealPlace place;
	size_t n;
	RgDiags *diags;
} Renewal;

static bool is_due(const Renewal *renewal, const json_t *value)
{
	const char *text = sealed_text(value);
	if (!text || renewal->open)
		return renewal->open == (text != NULL);
	g_autofree char *id = rg_seal_id(text);
	return g_strcmp0(id, rg_keys_id(renewal->store->keys)) != 0;
}

static bool cannot_open(const Renewal *renewal, const char *text)
{
	g_autofree char *id = rg_seal_id(text);
	RgDiag *diag = rg_diags_error(renewal->diags, "state.sealed",
		"a secret of cluster %s can't be opened: its key is not given",
		renewal->place.cluster);
	sealed_explain(diag, renewal->store, id);
	return false;
}

/* A new reference; NULL: an error. */
static json_t *renew_value(Renewal *renewal, const json_t *value, const char *bound)
{
	const char *text = sealed_text(value);
	json_auto_t *opened = NULL;
	if (!is_due(renewal, value))
		return json_incref(rg_json_unconst(value));
	renewal->n++;
	if (text) {
		RgSealResult result =
			sealed_open(renewal->store, text, bound, &opened, renewal->diags);
		if (result != RG_SEAL_OPENED) {
			if (result == RG_SEAL_NO_KEY)
				cannot_open(renewal, text);
			return NULL;
		}
	}
	return renewal->open ? g_steal_pointer(&opened)
			     : sealed_value(renewal->store, opened ? opened : value, bound);
}

static json_t *renew_outputs(Renewal *renewal, const char *address, const json_t *outputs)
{
	json_auto_t *all = json_object();
	rg_json_foreach_member (key, value, outputs) {
		g_autofree char *bound = sealed_bound_output(&renewal->place, address, key);
		json_t *news = renew_value(renewal, value, bound);
		if (!news)
			return NULL;
		json_object_set_new(all, key, news);
	}
	return g_steal_pointer(&all);
}

typedef struct {
	int64_t id;
	char *name; /* address or token */
	json_t *value;
} SecretRow;

static void row_free(gpointer data)
{
	SecretRow *row = data;
	g_free(row->name);
	json_decref(row->value);
	g_free(row);
}

/* Rows are not changed while they are read. */
static GPtrArray *read_rows(Sql q)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(row_free);
	bool ok = true;
	while (ok && sql_next(&q)) {
		SecretRow *row = g_new0(SecretRow, 1);
		g_ptr_array_add(rows, row);
		row->id = sql_column_int(&q, 0);
		row->name = g_strdup(sql_column_text(&q, 1));
		ok = sql_column_json(&q, 2, &row->value);
	}
	return sql_ok(&q) && ok ? g_steal_pointer(&rows) : NULL;
}

/* updated_s stays: for saved plans it is the same resource. */
static bool renew_records(Renewal *renewal, int64_t cluster)
{
	g_autoptr(GPtrArray) rows = read_rows(sql_with(renewal->store,
		"SELECT id, address, outputs FROM resources WHERE cluster = ?1"
		" AND address >= '" RG_SECRET_KIND ".' AND address < '" RG_SECRET_KIND "/'"
		" AND outputs IS NOT NULL",
		renewal->diags, INT(cluster)));
	bool ok = rows != NULL;
	for (guint i = 0; ok && i < rows->len; i++) {
		const SecretRow *row = rows->pdata[i];
		json_auto_t *news = renew_outputs(renewal, row->name, row->value);
		ok = news && (json_equal(news, row->value) ||
				     sql_do(renewal->store,
					     "UPDATE resources SET outputs = ?2 WHERE id = ?1",
					     renewal->diags, INT(row->id), JSON(news)));
	}
	return ok;
}

static bool renew_inputs(Renewal *renewal, int64_t cluster)
{
	g_autoptr(GPtrArray) rows = read_rows(
		sql_with(renewal->store, "SELECT id, token, input FROM journal WHERE cluster = ?1",
			renewal->diags, INT(cluster)));
	bool ok = rows != NULL;
	for (guint i = 0; ok && i < rows->len; i++) {
		const SecretRow *row = rows->pdata[i];
		g_autofree char *bound = sealed_bound_input(&renewal->place, row->name);
		json_auto_t *news = renew_value(renewal, row->value, bound);
		ok = news &&
		     (json_equal(news, row->value) ||
			     sql_do(renewal->store, "UPDATE journal SET input = ?2 WHERE id = ?1",
				     renewal->diags, INT(row->id), JSON(news)));
	}
	return ok;
}

static bool reseal_cluster(RgStore *store, int64_t cluster, bool open, size_t *n, RgDiags *diags)
{
	Renewal renewal = {.store = store, .open = open, .diags = diags};
	bool ok = seal_place_read(store, cluster, &renewal.place, diags) &&
		  renew_records(&renewal, cluster) && renew_inputs(&renewal, cluster);
	seal_place_clear(&renewal.place);
	*n = renewal.n;
	return ok;
}

bool rg_store_rekey(RgStore *store, const char *cluster, bool open, size_t *n, RgDiags *diags)
{
	int64_t id;
	*n = 0;
	if (!open && !rg_keys_id(store->keys)) {
		RgDiag *diag = rg_diags_error(
			diags, "state.sealed", "there is no key to seal the state with");
		rg_diag_hint(diag, "give it in RAYGPU_STATE_KEY: raygpu-state(5), SEALED SECRETS");
		return false;
	}
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = reseal_cluster(store, id, open, n, diags);
	bool writes = ok && *n > 0;
	return (tx_end(store, writes, diags) || !writes) && ok;
}

/* ---- documents */

static bool check_sealed(RgStore *store, const SealPlace *place, const char *address,
	const char *key, const char *text, RgDiags *diags)
{
	json_auto_t *opened = NULL;
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autofree char *bound = sealed_bound_output(place, address, key);
	RgSealResult result = sealed_open(store, text, bound, &opened, unused);
	if (result == RG_SEAL_OPENED || (result == RG_SEAL_NO_KEY && !store->keys))
		return true;
	g_autofree char *id = rg_seal_id(text);
	if (result == RG_SEAL_NO_KEY) {
		RgDiag *diag = rg_diags_error(diags, "state.sealed",
			"%s of the document can't be opened with the key that is given", address);
		sealed_explain(diag, store, id);
		return false;
	}
	RgDiag *diag = rg_diags_error(diags, "state.bad-document",
		"the sealed secret of %s is damaged, or it was sealed for another cluster",
		address);
	rg_diag_hint(diag, "push what `raygpu state pull` wrote, unchanged; with the cluster's own "
			   "name and lineage");
	return false;
}

static bool check_clear(
	RgStore *store, int64_t cluster, const json_t *outputs, const char *address, RgDiags *diags)
{
	json_auto_t *written = NULL;
	return rg_keys_id(store->keys) ||
	       seal_outputs(store, cluster, address, outputs, &written, diags);
}

/* `cluster`: of the state, 0: it has none of that name. */
static bool check_record(RgStore *store, const SealPlace *place, int64_t cluster,
	const json_t *record, RgDiags *diags)
{
	const char *address = rg_json_str(record, "address", "");
	json_t *outputs = json_object_get(record, "outputs");
	if (!sealed_is_secret(address))
		return true;
	rg_json_foreach_member (key, value, outputs) {
		const char *text = sealed_text(value);
		if (text && !check_sealed(store, place, address, key, text, diags))
			return false;
	}
	return cluster == 0 || check_clear(store, cluster, outputs, address, diags);
}

bool sealed_check_document(RgStore *store, const json_t *cluster, RgDiags *diags)
{
	int64_t id = 0;
	const char *name = rg_json_str(cluster, "name", "");
	const SealPlace place = {
		(char *)(uintptr_t)rg_json_str(cluster, "lineage", ""), (char *)(uintptr_t)name};
	bool ok = sql_first_int(
		sql_with(store, "SELECT id FROM clusters WHERE name = ?1", diags, TEXT(name)), &id);
	rg_json_foreach (record, json_object_get(cluster, "resources"))
		ok = ok && check_record(store, &place, id, record, diags);
	return ok;
}
