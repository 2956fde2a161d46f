/* The state as a document. The order of keys and rows is the file's own, so that the same state
 * produces the same bytes. */
#include "transfer/document.h"
#include "base/redact.h"
#include "transfer/tables.h"
#include <string.h>

/* User data alone is 16 KiB and the same for all nodes of a pool: longer values than this are in
 * "blobs", once. */
#define LONG_VALUE 512

typedef struct {
	RgStore *store;
	const RgStateRedactor *redactor; /* NULL: nothing is removed */
	const RgSchema *schema;		 /* of the current cluster, with a redactor */
	json_t *blobs;			 /* NULL: long values stay where they are */
	GHashTable *read;		 /* kind and JSON text -> json_t*: rows share values */
	RgDiags *diags;
} Puller;

static json_t *redacted_new(void)
{
	return json_pack("{s:b}", "$redacted", 1);
}

/* In "blobs": long values, and values that look like a reference to one. */
static bool goes_to_blobs(const json_t *value)
{
	if (!json_is_object(value) && !json_is_array(value))
		return json_string_length(value) > LONG_VALUE;
	if (json_object_get(value, "$blob"))
		return true;
	g_autofree char *text = rg_json_canonical(value);
	return strlen(text) > LONG_VALUE;
}

/* A long value that the cloud does not report is user data: it may contain what people put into
 * env. */
static bool is_hidden(const Puller *puller, const char *kind, const char *name, const json_t *value)
{
	const RgKind *known = rg_schema_kind(puller->schema, kind);
	const RgAttribute *attribute = known ? rg_kind_attribute(known, name) : NULL;
	if (json_is_integer(value) || json_is_null(value))
		return false;
	return rg_schema_hides(puller->schema, kind, name) ||
	       (attribute && attribute->unreadable && goes_to_blobs(value));
}

static void hide(const Puller *puller, const char *kind, json_t *values)
{
	const char *name;
	void *next;
	json_t *value;
	json_object_foreach_safe (values, next, name, value) {
		if (!is_hidden(puller, kind, name, value))
			continue;
		if (g_str_equal(kind, RG_SECRET_KIND) && json_is_string(value))
			rg_redact_add(json_string_value(value), json_string_length(value));
		json_object_set_new(values, name, redacted_new());
	}
}

static void pack(const Puller *puller, json_t *values)
{
	const char *name;
	void *next;
	json_t *value;
	json_object_foreach_safe (values, next, name, value) {
		if (!goes_to_blobs(value))
			continue;
		g_autofree char *digest = rg_json_digest(value);
		json_object_set(puller->blobs, digest, value);
		json_object_set_new(values, name, json_pack("{s:s}", "$blob", digest));
	}
}

/* A column of JSON; `kind` NULL: it contains no attributes. New reference, NULL and a
 * diagnostic. */
static json_t *read_json(const Puller *puller, Sql *q, int column, const char *kind)
{
	const char *text = sql_column_text(q, column);
	if (!text)
		return json_null();
	g_autofree char *key = g_strconcat(kind ? kind : "", " ", text, NULL);
	json_t *value = g_hash_table_lookup(puller->read, key);
	if (value)
		return json_incref(value);
	if (!sql_column_json(q, column, &value))
		return NULL;
	if (kind && puller->redactor)
		hide(puller, kind, value);
	if (kind && puller->blobs)
		pack(puller, value);
	g_hash_table_insert(puller->read, g_steal_pointer(&key), json_incref(value));
	return value;
}

static json_t *read_values(const Puller *puller, Sql *q, int column, const char *address)
{
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	if (!rg_address_parse(address, &kind, &name, &index)) {
		sql_corrupt(puller->store, "a record has no address", puller->diags);
		return NULL;
	}
	return read_json(puller, q, column, kind);
}

static json_t *read_column(const Puller *puller, Sql *q, int at, ColumnType type, const json_t *row)
{
	json_t *value;
	if (sql_column_is_null(q, at) && type != COLUMN_BLOB)
		return json_null();
	switch (type) {
	case COLUMN_TEXT:
		value = json_string(sql_column_text(q, at));
		if (!value)
			sql_corrupt(
				puller->store, "it contains text that is not UTF-8", puller->diags);
		return value;
	case COLUMN_INT:
		return json_integer(sql_column_int(q, at));
	case COLUMN_FLAG:
		return json_boolean(sql_column_int(q, at) != 0);
	case COLUMN_JSON:
		return read_json(puller, q, at, NULL);
	case COLUMN_VALUES:
	case COLUMN_BLOB:
		value = read_values(puller, q, at, rg_json_str(row, "address", ""));
		if (type == COLUMN_VALUES || !json_is_null(value))
			return value;
		sql_corrupt(puller->store, "attributes of a resource are missing", puller->diags);
		return NULL;
	case COLUMN_END:
		break;
	}
	return NULL;
}

/* The current row as an object, NULL and a diagnostic. */
static json_t *read_row(const Puller *puller, Sql *q, const Column *columns)
{
	json_auto_t *row = json_object();
	for (int i = 0; columns[i].type != COLUMN_END; i++) {
		json_t *value = read_column(puller, q, i, columns[i].type, row);
		if (!value)
			return NULL;
		json_object_set_new(row, columns[i].key, value);
	}
	return g_steal_pointer(&row);
}

/* All rows of `owner` as a list in `object`. `more` (may be NULL) completes each. */
static bool read_table(const Puller *puller, const Table *table, int64_t owner, json_t *object,
	bool (*more)(const Puller *puller, Sql *q, json_t *row))
{
	json_t *rows = json_array();
	json_object_set_new(object, table->key, rows);
	Sql q = sql_with(puller->store, table->select, puller->diags, INT(owner));
	bool ok = true;
	while (ok && sql_next(&q)) {
		json_t *row = read_row(puller, &q, table->columns);
		ok = row && (!more || more(puller, &q, row));
		json_array_append_new(rows, row);
	}
	return sql_ok(&q) && ok;
}

static bool add_changes(const Puller *puller, Sql *q, json_t *run)
{
	return read_table(puller, &table_changes, sql_column_int(q, 5), run, NULL);
}

static bool read_members(const Puller *puller, int64_t journal, json_t *members)
{
	Sql q = sql_with(puller->store,
		"SELECT address, (SELECT bytes FROM blobs WHERE sha256 = attrs), body"
		" FROM journal_members WHERE journal = ?1 ORDER BY place",
		puller->diags, INT(journal));
	bool ok = true;
	while (ok && sql_next(&q)) {
		json_t *member = NULL;
		json_t *attrs = read_values(puller, &q, 1, sql_column_text(&q, 0));
		ok = sql_column_json(&q, 2, &member) && attrs;
		json_object_set_new(member, "attrs", attrs);
		json_array_append_new(members, member);
	}
	return sql_ok(&q) && ok;
}

static const Column journal_columns[] = {
	{COLUMN_TEXT, "run"},
	{COLUMN_TEXT, "kind"},
	{COLUMN_TEXT, "token"},
	{COLUMN_JSON, "input"},
	{COLUMN_INT, "started_s"},
	{COLUMN_END, NULL},
};

/* Only in this direction: nothing open is ever pushed. */
static const Table table_journal = {"journal",
	"SELECT run, kind, token, input, started_s, id FROM journal WHERE cluster = ?1"
	" ORDER BY id",
	NULL, journal_columns};

static bool add_members(const Puller *puller, Sql *q, json_t *row)
{
	json_t *members = json_array();
	json_object_set_new(row, "members", members);
	if (puller->redactor)
		json_object_set_new(row, "input", redacted_new());
	return read_members(puller, sql_column_int(q, 5), members);
}

static const Column cluster_columns[] = {
	{COLUMN_TEXT, "name"},
	{COLUMN_TEXT, "lineage"},
	{COLUMN_INT, "serial"},
	{COLUMN_TEXT, "provider"},
	{COLUMN_TEXT, "region"},
	{COLUMN_JSON, "config"},
	{COLUMN_JSON, "facts"},
	{COLUMN_INT, "history_from_s"},
	{COLUMN_TEXT, "account"},
	{COLUMN_END, NULL},
};

static bool find_schema(Puller *puller, const json_t *cluster)
{
	if (!puller->redactor)
		return true;
	puller->schema = puller->redactor->schema(
		puller->redactor->data, rg_json_str(cluster, "provider", ""), puller->diags);
	return puller->schema != NULL;
}

static bool read_tables(const Puller *puller, int64_t id, json_t *cluster)
{
	return read_table(puller, &table_resources, id, cluster, NULL) &&
	       read_table(puller, &table_identities, id, cluster, NULL) &&
	       read_table(puller, &table_tombstones, id, cluster, NULL) &&
	       read_table(puller, &table_hardware, id, cluster, NULL) &&
	       read_table(puller, &table_lifetimes, id, cluster, NULL) &&
	       read_table(puller, &table_runs, id, cluster, add_changes) &&
	       read_table(puller, &table_journal, id, cluster, add_members);
}

static json_t *read_cluster(Puller *puller, const char *name)
{
	json_auto_t *cluster = NULL;
	int64_t id = 0;
	Sql q = sql_with(puller->store,
		"SELECT name, lineage, serial, provider, region, config, facts, history_from_s,"
		" account, id"
		" FROM clusters WHERE name = ?1",
		puller->diags, TEXT(name));
	bool found = sql_next(&q);
	if (found) {
		cluster = read_row(puller, &q, cluster_columns);
		id = sql_column_int(&q, 9);
	}
	if (!sql_ok(&q) || !cluster || !moved_check(puller->store, name, puller->diags) ||
		!find_schema(puller, cluster) || !read_tables(puller, id, cluster))
		return NULL;
	return g_steal_pointer(&cluster);
}

static GHashTable *values_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rg_json_unref);
}

json_t *pull_cluster(RgStore *store, const char *name, RgDiags *diags)
{
	g_autoptr(GHashTable) read = values_new();
	Puller puller = {.store = store, .read = read, .diags = diags};
	return read_cluster(&puller, name);
}

static bool read_names(const Puller *puller, GPtrArray *names)
{
	Sql q = sql_new(puller->store, "SELECT name FROM clusters ORDER BY name", puller->diags);
	while (sql_next(&q))
		g_ptr_array_add(names, g_strdup(sql_column_text(&q, 0)));
	return sql_ok(&q);
}

/* An empty document would look like a backup. */
static void no_cluster(const Puller *puller, const char *name)
{
	RgDiag *diag = rg_diags_error(puller->diags, "state.no-such-cluster",
		"the state \"%s\" has no cluster%s%s", store_shown(puller->store), name ? " " : "",
		name ? name : "");
	rg_diag_hint(diag, name ? "without --cluster `raygpu state pull` writes all clusters"
				: "check that it is the right file; --state FILE or RAYGPU_STATE "
				  "selects another");
}

static bool read_clusters(Puller *puller, const char *cluster, json_t *clusters)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	if (cluster)
		g_ptr_array_add(names, g_strdup(cluster));
	else if (!read_names(puller, names))
		return false;
	size_t before = rg_diags_count(puller->diags);
	for (guint i = 0; i < names->len; i++) {
		json_t *one = read_cluster(puller, names->pdata[i]);
		if (!one)
			break;
		json_array_append_new(clusters, one);
	}
	if (json_array_size(clusters) == names->len && names->len > 0)
		return true;
	if (rg_diags_count(puller->diags) == before)
		no_cluster(puller, cluster);
	return false;
}

json_t *rg_state_pull(
	RgStore *store, const char *cluster, const RgStateRedactor *redactor, RgDiags *diags)
{
	g_autoptr(GHashTable) read = values_new();
	json_auto_t *document = json_pack("{s:i}", "raygpu_format", RG_STATE_FORMAT);
	json_t *clusters = json_array(), *blobs = json_object();
	if (redactor)
		json_object_set_new(document, "redacted", json_true());
	json_object_set_new(document, "clusters", clusters);
	json_object_set_new(document, "blobs", blobs);
	Puller puller = {
		.store = store, .redactor = redactor, .blobs = blobs, .read = read, .diags = diags};
	if (!copy_need(store, cluster, COPY_ALL, diags) || !tx_begin_read(store, diags))
		return NULL;
	bool ok = sums_check_all(store, diags) && blobs_check(store, diags) &&
		  read_clusters(&puller, cluster, clusters);
	tx_end_read(store);
	return ok ? g_steal_pointer(&document) : NULL;
}
