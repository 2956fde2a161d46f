/* Rows as JSON: {"resources": {"columns": [name, ...], "keys": [index, ...], "new": [row, ...],
 * "set": [row, ...], "drop": [[key, ...], ...]}}. Bytes are {"base64": text}. A reader goes by the
 * names of columns: what it does not know is left out, what is missing is null. */
#include "remote/documents.h"
#include <string.h>

typedef struct {
	json_t *columns, *keys;
	GHashTable *rows; /* char* -> json_t* (array) */
} DocTable;

struct DocModel {
	GHashTable *tables; /* char* -> DocTable* */
};

static void table_free(gpointer data)
{
	DocTable *table = data;
	json_decref(table->columns);
	json_decref(table->keys);
	g_hash_table_unref(table->rows);
	g_free(table);
}

DocModel *doc_model_new(void)
{
	DocModel *model = g_new0(DocModel, 1);
	model->tables = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, table_free);
	return model;
}

void doc_model_free(DocModel *model)
{
	if (!model)
		return;
	g_hash_table_unref(model->tables);
	g_free(model);
}

/* ---- cells */

static json_t *json_of(const RgCell *cell)
{
	if (cell->type == RG_CELL_NULL)
		return json_null();
	if (cell->type == RG_CELL_INT)
		return json_integer(cell->number);
	json_t *text = cell->type == RG_CELL_TEXT
			       ? json_stringn(cell->bytes ? cell->bytes : "", cell->len)
			       : NULL;
	if (text)
		return text;
	g_autofree char *base64 = g_base64_encode((const guchar *)cell->bytes, cell->len);
	return json_pack("{s:s}", cell->type == RG_CELL_TEXT ? "text64" : "base64", base64);
}

/* Text is borrowed, bytes are in *owned. */
static RgCell cell_of(const json_t *value, char **owned)
{
	const char *base64 = rg_json_str(value, "base64", rg_json_str(value, "text64", NULL));
	if (json_is_integer(value))
		return (RgCell){.type = RG_CELL_INT, .number = json_integer_value(value)};
	if (json_is_string(value))
		return (RgCell){.type = RG_CELL_TEXT,
			.bytes = (char *)(uintptr_t)json_string_value(value),
			.len = json_string_length(value)};
	if (!base64)
		return (RgCell){.type = RG_CELL_NULL};
	gsize len = 0;
	*owned = (char *)g_base64_decode(base64, &len);
	return (RgCell){.type = json_object_get(value, "text64") ? RG_CELL_TEXT : RG_CELL_BLOB,
		.bytes = *owned,
		.len = len};
}

static void add_key(GString *key, const json_t *value)
{
	const char *text = json_is_string(value)
				   ? json_string_value(value)
				   : rg_json_str(value, "base64", rg_json_str(value, "text64", ""));
	if (json_is_integer(value))
		g_string_append_printf(
			key, "%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
	else
		g_string_append_printf(key, "%zu:%s\n", strlen(text), text);
}

/* ---- from a commit */

static json_t *row_json(const RgShape *shape, const RgCell *cells)
{
	json_t *row = json_array();
	for (guint i = 0; i < shape->n; i++)
		json_array_append_new(row, json_of(&cells[i]));
	return row;
}

static json_t *keys_json(const RgShape *shape, const RgCell *cells)
{
	json_t *row = json_array();
	for (guint i = 0; i < shape->keys->len; i++)
		json_array_append_new(row, json_of(&cells[g_array_index(shape->keys, guint, i)]));
	return row;
}

static json_t *table_of(json_t *rows, const RgShape *shape)
{
	json_t *table = json_object_get(rows, shape->name);
	if (table)
		return table;
	json_t *columns = json_array(), *keys = json_array();
	for (guint i = 0; i < shape->n; i++)
		json_array_append_new(columns, json_string(shape->columns[i]));
	for (guint i = 0; i < shape->keys->len; i++)
		json_array_append_new(keys, json_integer(g_array_index(shape->keys, guint, i)));
	table = json_pack("{s:o, s:o, s:[], s:[], s:[]}", "columns", columns, "keys", keys, "new",
		"set", "drop");
	json_object_set_new(rows, shape->name, table);
	return table;
}

static const RgCell *cell_named(const RgShape *shape, const RgCell *cells, const char *name)
{
	for (guint i = 0; i < shape->n; i++) {
		if (g_str_equal(shape->columns[i], name))
			return &cells[i];
	}
	return NULL;
}

/* A row of run_changes names its run only; of several clusters at once, none has such rows whose
 * run is not in the same commit. */
static bool run_is_of(const RgCommit *commit, int64_t run, int64_t cluster)
{
	rg_ptr_foreach (const RgRowChange, change, commit->changes) {
		const RgCell *cells = change->after ? change->after : change->before;
		if (g_str_equal(change->shape->name, "runs") &&
			cell_named(change->shape, cells, "seq")->number == run)
			return cell_named(change->shape, cells, "cluster")->number == cluster;
	}
	return commit->guards->len == 1;
}

static bool is_of(const RgCommit *commit, const RgRowChange *change, const RgGuard *guard)
{
	const RgCell *cells = change->after ? change->after : change->before;
	const RgShape *shape = change->shape;
	if (commit->guards->len == 1)
		return true;
	if (g_str_equal(shape->name, "run_changes"))
		return run_is_of(commit, cell_named(shape, cells, "run")->number, guard->id);
	const char *column = g_str_equal(shape->name, "clusters") ? "id" : "cluster";
	return cell_named(shape, cells, column)->number == guard->id;
}

json_t *doc_rows_of_commit(const RgCommit *commit, const RgGuard *guard)
{
	json_t *rows = json_object();
	rg_ptr_foreach (const RgRowChange, change, commit->changes) {
		if (!is_of(commit, change, guard))
			continue;
		json_t *table = table_of(rows, change->shape);
		if (!change->after)
			json_array_append_new(json_object_get(table, "drop"),
				keys_json(change->shape, change->before));
		else
			json_array_append_new(
				json_object_get(table, change->before ? "set" : "new"),
				row_json(change->shape, change->after));
	}
	return rows;
}

/* ---- the model */

static bool is_list(const json_t *table, const char *member)
{
	const json_t *value = json_object_get(table, member);
	return !value || json_is_array(value);
}

static bool table_is_sound(const json_t *table)
{
	const json_t *columns = json_object_get(table, "columns");
	const json_t *keys = json_object_get(table, "keys");
	if (!json_is_array(columns) || !json_is_array(keys) || !is_list(table, "new") ||
		!is_list(table, "set") || !is_list(table, "drop"))
		return false;
	rg_json_foreach (key, keys) {
		if (!json_is_integer(key) || json_integer_value(key) < 0 ||
			(size_t)json_integer_value(key) >= json_array_size(columns))
			return false;
	}
	return true;
}

/* The table in the model, with the columns of `source`; rows of a change are in the columns of the
 * program that wrote it, which a newer one has migrated in the meantime. */
static DocTable *model_table(DocModel *model, const char *name, const json_t *source)
{
	DocTable *table = g_hash_table_lookup(model->tables, name);
	json_t *columns = json_object_get(source, "columns");
	if (!table) {
		table = g_new0(DocTable, 1);
		table->columns = json_incref(columns);
		table->keys = json_incref(json_object_get(source, "keys"));
		table->rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rg_json_unref);
		g_hash_table_insert(model->tables, g_strdup(name), table);
	} else if (json_array_size(columns) > json_array_size(table->columns)) {
		json_decref(table->columns); /* columns are appended only */
		table->columns = json_incref(columns);
	}
	return table;
}

static char *key_of_row(const json_t *keys, const json_t *row)
{
	GString *text = g_string_new(NULL);
	rg_json_foreach (key, keys)
		add_key(text, json_array_get(row, (size_t)json_integer_value(key)));
	return g_string_free(text, FALSE);
}

static char *key_of_drop(const json_t *drop)
{
	GString *text = g_string_new(NULL);
	rg_json_foreach (value, drop)
		add_key(text, value);
	return g_string_free(text, FALSE);
}

static void apply_table(DocTable *table, const json_t *source, bool *strange)
{
	rg_json_foreach (row, json_object_get(source, "drop")) {
		g_autofree char *key = key_of_drop(row);
		if (!g_hash_table_remove(table->rows, key))
			*strange = true;
	}
	rg_json_foreach (row, json_object_get(source, "new"))
		g_hash_table_replace(table->rows, key_of_row(table->keys, row), json_incref(row));
	rg_json_foreach (row, json_object_get(source, "set")) {
		char *key = key_of_row(table->keys, row);
		if (!g_hash_table_contains(table->rows, key))
			*strange = true;
		g_hash_table_replace(table->rows, key, json_incref(row));
	}
}

bool doc_model_apply(DocModel *model, const json_t *document, bool *strange)
{
	json_t *rows = json_object_get(document, "rows");
	if (rows && !json_is_object(rows))
		return false;
	rg_json_foreach_member (name, source, rows) {
		if (!table_is_sound(source))
			return false;
		apply_table(model_table(model, name, source), source, strange);
	}
	return true;
}

static size_t column_of(const DocTable *table, const char *name)
{
	rg_json_foreach_at (i, column, table->columns) {
		if (g_strcmp0(json_string_value(column), name) == 0)
			return i;
	}
	return SIZE_MAX;
}

static bool is_null(const DocTable *table, const json_t *row, const char *column)
{
	const json_t *value = json_array_get(row, column_of(table, column));
	return !value || json_is_null(value);
}

/* As remote.h says: ended lifetimes, finished runs and their changes are history. */
static RgPart part_of(const char *name, const DocTable *table, const json_t *row)
{
	bool past = g_str_equal(name, "run_changes") ||
		    (g_str_equal(name, "lifetimes") && is_null(table, row, "resource")) ||
		    (g_str_equal(name, "runs") && !is_null(table, row, "outcome"));
	return past ? RG_PART_HISTORY : RG_PART_LIVE;
}

json_t *doc_rows_of_model(const DocModel *model, RgPart part)
{
	json_t *rows = json_object();
	rg_hash_foreach (name, DocTable, table, model->tables) {
		json_t *list = json_array();
		rg_hash_values (void, row, table->rows) {
			if (part_of(name, table, row) == part)
				json_array_append(list, row);
		}
		json_object_set_new(rows, name,
			json_pack("{s:O, s:O, s:o}", "columns", table->columns, "keys", table->keys,
				"new", list));
	}
	return rows;
}

bool doc_model_has(const DocModel *model, RgPart part)
{
	rg_hash_foreach (name, const DocTable, table, model->tables) {
		rg_hash_values (void, row, table->rows) {
			if (part_of(name, table, row) == part)
				return true;
		}
	}
	return false;
}

const json_t *doc_model_cluster(const DocModel *model, const char *column)
{
	const DocTable *table = g_hash_table_lookup(model->tables, "clusters");
	GHashTableIter iter;
	gpointer key, row;
	if (!table)
		return NULL;
	g_hash_table_iter_init(&iter, table->rows);
	return g_hash_table_iter_next(&iter, &key, &row)
		       ? json_array_get(row, column_of(table, column))
		       : NULL;
}

/* ---- to the reader */

static bool emit_row(
	const RgShape *shape, const size_t *places, const json_t *row, RgRemoteRow take, void *data)
{
	g_autofree RgCell *cells = g_new0(RgCell, shape->n);
	g_autoptr(GPtrArray) owned = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < shape->n; i++) {
		char *bytes = NULL;
		cells[i] = cell_of(json_array_get(row, places[i]), &bytes);
		if (bytes)
			g_ptr_array_add(owned, bytes);
	}
	return take(data, shape, cells);
}

/* A table that got a column has other sums than those that were written: without one it is trusted,
 * and the next write adds it. */
static bool sum_is_old(
	const DocModel *model, const json_t *row, const RgShape *const *shapes, size_t n)
{
	const char *name = json_string_value(json_array_get(row, 1));
	const DocTable *table = name ? g_hash_table_lookup(model->tables, name) : NULL;
	for (size_t i = 0; table && i < n; i++) {
		if (g_str_equal(shapes[i]->name, name))
			return shapes[i]->n != json_array_size(table->columns);
	}
	return false;
}

static bool emit_table(const DocModel *model, const RgShape *shape, const RgShape *const *shapes,
	size_t n, unsigned parts, RgRemoteRow take, void *data)
{
	DocTable *table = g_hash_table_lookup(model->tables, shape->name);
	GHashTableIter iter;
	gpointer key, row;
	bool ok = true, sums = g_str_equal(shape->name, "sums");
	if (!table)
		return true;
	g_autofree size_t *places = g_new(size_t, shape->n);
	for (guint i = 0; i < shape->n; i++)
		places[i] = column_of(table, shape->columns[i]);
	g_hash_table_iter_init(&iter, table->rows);
	while (ok && g_hash_table_iter_next(&iter, &key, &row)) {
		if ((parts & part_of(shape->name, table, row)) != 0 &&
			!(sums && sum_is_old(model, row, shapes, n)))
			ok = emit_row(shape, places, row, take, data);
	}
	return ok;
}

bool doc_model_emit(const DocModel *model, const RgShape *const *shapes, size_t n, unsigned parts,
	RgRemoteRow row, void *data)
{
	bool ok = true;
	for (size_t i = 0; i < n && ok; i++)
		ok = emit_table(model, shapes[i], shapes, n, parts, row, data);
	return ok;
}
