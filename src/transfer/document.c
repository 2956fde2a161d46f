/* Text -> document. It may come from anywhere: it is not trusted, and no value is quoted, because
 * it may be a secret. */
#include "transfer/document.h"
#include "base/caps.h"
#include "base/json_place.h"
#include "base/json_schema.h"
#include "transfer/rules.h"
#include <string.h>

#define CODE "state.bad-document"

extern const struct rg_embedded rg_schemas[];

static bool check_size(const Reading *reading)
{
	const char *why = NULL;
	if (reading->len > RG_CAP_STATE_BYTES)
		why = "is larger than a state can be";
	else if (rg_json_count_values(reading->text, reading->len) > RG_CAP_STATE_VALUES)
		why = "has more values than a state can have";
	if (!why)
		return true;
	RgDiag *diag =
		rg_diags_error(reading->diags, "file.too-large", "\"%s\" %s", reading->file, why);
	rg_diag_hint(diag, "pull and push one cluster at a time (--cluster)");
	return false;
}

/* jansson's messages end with a piece of the text. */
static void syntax_error(const Reading *reading)
{
	json_error_t error = {0};
	json_decref(json_loadb(
		reading->text, reading->len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error));
	char *quote = strstr(error.text, " near ");
	if (quote)
		*quote = '\0';
	bool is_deep = error.line <= 0 || json_error_code(&error) == json_error_stack_overflow;
	RgDiag *diag = rg_diags_error(reading->diags, CODE, "\"%s\" is %s%s", reading->file,
		is_deep ? "nested too deep for a state" : "not valid JSON: ",
		is_deep ? "" : error.text);
	if (error.line > 0)
		rg_diag_at(diag, (RgSource){g_intern_string(reading->file), (unsigned)error.line,
					 (unsigned)MAX(error.column, 1), 0});
	rg_diag_hint(diag, "it may be truncated; `raygpu state pull` writes a complete one");
}

/* Before the structure, which another format may have changed. */
static bool check_format(Reading *reading, const json_t *document)
{
	const json_t *format = json_object_get(document, "raygpu_format");
	if (!json_is_integer(format)) {
		RgDiag *diag = reading_error(
			reading, CODE, "", "not a state that `raygpu state pull` wrote");
		rg_diag_hint(diag, json_object_get(document, "terraform_version")
					   ? "it is a Terraform state; `raygpu import` records "
					     "existing resources"
					   : "use a document that `raygpu state pull` wrote");
		return false;
	}
	if (json_integer_value(format) > RG_STATE_FORMAT) {
		RgDiag *diag = reading_error(reading, "state.newer", "/raygpu_format",
			"this version of raygpu supports formats up to %d", RG_STATE_FORMAT);
		rg_diag_hint(diag, "install the newer raygpu that wrote it; nothing was changed");
		return false;
	}
	if (!json_is_true(json_object_get(document, "redacted")))
		return true;
	RgDiag *diag = reading_error(reading, "state.redacted", "/redacted",
		"its secrets were removed: nodes could not join without them");
	rg_diag_hint(diag, "push what `raygpu state pull` writes without --redact");
	return false;
}

static void put_finding(const RgSchemaFinding *found, void *data)
{
	Reading *reading = data;
	g_autofree char *rule = rg_json_canonical(found->rule);
	const char *keyword = found->keyword;
	if (g_str_equal(keyword, "required"))
		reading_error(reading, CODE, found->pointer, "\"%s\" is missing", found->name);
	else if (found->name) {
		g_autofree char *pointer = rg_json_pointer_add(found->pointer, found->name);
		reading_error(reading, CODE, pointer, "unknown key");
	} else if (g_str_equal(keyword, "type"))
		reading_error(reading, CODE, found->pointer, "must be of type %s", rule);
	else if (g_str_equal(keyword, "enum") || g_str_equal(keyword, "const"))
		reading_error(reading, CODE, found->pointer, "must be %s%s",
			*keyword == 'e' ? "one of " : "", rule);
	else if (g_str_equal(keyword, "pattern"))
		reading_error(reading, CODE, found->pointer, "must be of the form %s", rule);
	else
		reading_error(
			reading, CODE, found->pointer, "breaks the rule %s %s", keyword, rule);
}

/* Restores long values where they are used; they are shared, not copied. */
static bool unpack(Reading *reading, const json_t *blobs, json_t *values, const char *pointer)
{
	const char *name;
	void *next;
	json_t *value;
	bool ok = true;
	json_object_foreach_safe (values, next, name, value) {
		const char *blob = rg_json_str(value, "$blob", NULL);
		if (!blob || json_object_size(value) != 1)
			continue;
		json_t *whole = json_object_get(blobs, blob);
		if (!whole) {
			g_autofree char *below = rg_json_pointer_add(pointer, name);
			reading_error(reading, CODE, below, "refers to no value in \"blobs\"");
			ok = false;
		}
		json_object_set(values, name, whole);
	}
	return ok;
}

static bool unpack_all(Reading *reading, json_t *document)
{
	const json_t *blobs = json_object_get(document, "blobs");
	bool ok = true;
	rg_json_foreach_at (i, cluster, json_object_get(document, "clusters")) {
		rg_json_foreach_at (k, row, json_object_get(cluster, "resources")) {
			g_autofree char *at = g_strdup_printf("/clusters/%zu/resources/%zu", i, k);
			g_autofree char *attributes = g_strconcat(at, "/attributes", NULL);
			g_autofree char *outputs = g_strconcat(at, "/outputs", NULL);
			ok = unpack(reading, blobs, json_object_get(row, "attributes"),
				     attributes) &&
			     unpack(reading, blobs, json_object_get(row, "outputs"), outputs) && ok;
		}
	}
	json_object_del(document, "blobs");
	return ok;
}

static gint by_address(gconstpointer a, gconstpointer b)
{
	return rg_address_compare(rg_json_str(*(json_t *const *)a, "address", ""),
		rg_json_str(*(json_t *const *)b, "address", ""));
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(rg_json_str(*(json_t *const *)a, "name", ""),
		rg_json_str(*(json_t *const *)b, "name", ""));
}

static void sort(json_t *list, GCompareFunc compare)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
	rg_json_foreach (row, list)
		g_ptr_array_add(rows, json_incref(row));
	g_ptr_array_sort(rows, compare);
	json_array_clear(list);
	for (guint k = 0; k < rows->len; k++)
		json_array_append(list, rows->pdata[k]);
}

/* Records appended at the end are the same content as records in their place. */
static void sort_all(json_t *document)
{
	sort(json_object_get(document, "clusters"), by_name);
	rg_json_foreach (cluster, json_object_get(document, "clusters"))
		sort(json_object_get(cluster, "resources"), by_address);
}

json_t *rg_state_document_parse(
	const char *text, size_t len, const char *file, bool force, RgDiags *diags)
{
	Reading reading = {.file = file, .text = text, .len = len, .force = force, .diags = diags};
	if (!check_size(&reading))
		return NULL;
	g_autoptr(RgDiags) unused = rg_diags_new();
	json_auto_t *document = rg_json_parse(text, len, file, CODE, unused);
	if (!document) {
		syntax_error(&reading);
		return NULL;
	}
	g_autoptr(RgJsonSchema) schema = NULL;
	bool ok = check_format(&reading, document) &&
		  (schema = rg_json_schema_embedded(rg_schemas, "state.schema.json", diags)) &&
		  rg_json_schema_check(schema, document, put_finding, &reading) &&
		  unpack_all(&reading, document) && rules_check(&reading, document);
	if (reading.told > TOLD_MAX)
		rg_diags_error(
			diags, CODE, "\"%s\" has %u more errors", file, reading.told - TOLD_MAX);
	if (ok)
		sort_all(document);
	return ok ? g_steal_pointer(&document) : NULL;
}

bool rg_state_document_choose(json_t *document, const char *cluster, RgDiags *diags)
{
	json_t *clusters = json_object_get(document, "clusters");
	for (size_t i = json_array_size(clusters); i > 0; i--) {
		if (!g_str_equal(rg_json_str(json_array_get(clusters, i - 1), "name", ""), cluster))
			json_array_remove(clusters, i - 1);
	}
	if (json_array_size(clusters) > 0)
		return true;
	RgDiag *diag = rg_diags_error(
		diags, "state.no-such-cluster", "the document has no cluster %s", cluster);
	rg_diag_hint(diag, "without --cluster all its clusters are pushed");
	return false;
}

GStrv rg_state_document_clusters(const json_t *document)
{
	GPtrArray *names = g_ptr_array_new();
	rg_json_foreach (cluster, json_object_get(document, "clusters"))
		g_ptr_array_add(names, g_strdup(rg_json_str(cluster, "name", "")));
	g_ptr_array_add(names, NULL);
	return (GStrv)g_ptr_array_free(names, FALSE);
}
