#include "convert/internal.h"

#include <string.h>
#include "base/caps.h"
#include "base/embedded.h"
#include "spec/spec.h"

extern const struct rg_embedded rg_convert_data[];

#define TABLE "convert.csv" /* of a module */
#define WHAT "the file"

void rg_converted_free(RgConverted *converted)
{
	if (!converted)
		return;
	g_free(converted->text);
	g_free(converted->form);
	g_free(converted->cluster);
	json_decref(converted->keys);
	g_free(converted);
}

static void free_key(gpointer data)
{
	ConvertKey *key = data;
	g_free(key->pointer);
	g_free(key->to);
	g_free(key->reason);
	g_free(key);
}

static void free_parts(ConvertParts *parts)
{
	for (size_t i = 0; i < CONVERT_PARTS; i++) {
		g_free(parts->parts[i].text);
		g_free(parts->parts[i].pointer);
	}
	g_free(parts->to);
	g_free(parts);
}

static void free_node(gpointer data)
{
	ConvertNode *node = data;
	for (guint i = 0; i < node->parts->len; i++)
		free_parts(node->parts->pdata[i]);
	g_ptr_array_unref(node->parts);
	char *const texts[] = {node->name, node->min_at, node->max_at, node->count_at,
		node->times_at, node->image, node->image_at};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		g_free(texts[i]);
	g_free(node);
}

static void free_default(gpointer data)
{
	ConvertDefault *one = data;
	g_strfreev(one->steps);
	json_decref(one->value);
	g_free(one->pointer);
	g_free(one);
}

static void free_weak(gpointer data)
{
	ConvertWeak *weak = data;
	json_decref(weak->value);
	g_free(weak->pointer);
	g_free(weak);
}

static void begin(Convert *convert, RgProviderHost *providers, RgDiags *diags)
{
	convert->providers = providers;
	convert->diags = diags;
	convert->spec = json_object();
	convert->comments = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	convert->origins = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	convert->owners = g_hash_table_new(g_str_hash, g_str_equal);
	convert->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	convert->keys = g_ptr_array_new_with_free_func(free_key);
	convert->nodes = g_ptr_array_new_with_free_func(free_node);
	convert->defaults = g_ptr_array_new_with_free_func(free_default);
	convert->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_add(convert->names, g_strdup("head"));
	convert->weak = g_ptr_array_new_with_free_func(free_weak);
	convert->zoned = g_ptr_array_new_with_free_func(g_free);
	convert->max_workers = -1;
}

static void end(Convert *convert)
{
	g_hash_table_unref(convert->owners);
	if (convert->others)
		g_ptr_array_unref(convert->others);
	convert_table_free(convert->own);
	convert_table_free(convert->core);
	json_decref(convert->spec);
	g_hash_table_unref(convert->comments);
	g_hash_table_unref(convert->origins);
	g_hash_table_unref(convert->seen);
	g_ptr_array_unref(convert->keys);
	g_ptr_array_unref(convert->nodes);
	g_ptr_array_unref(convert->defaults);
	g_hash_table_unref(convert->names);
	g_ptr_array_unref(convert->weak);
	g_ptr_array_unref(convert->zoned);
	char *const texts[] = {convert->module, convert->form, convert->image, convert->image_at,
		convert->head_image, convert->head_image_at, convert->worker_image,
		convert->worker_image_at, convert->version, convert->version_at, convert->python,
		convert->setup_at, convert->head_setup_at, convert->worker_setup_at,
		convert->init_at};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		g_free(texts[i]);
}

static ConvertTable *table_of(Convert *convert, const char *module)
{
	size_t len = 0;
	const char *text = rg_provider_data(convert->providers, module, TABLE, &len);
	g_autofree char *name = g_strconcat(module, "/" TABLE, NULL);
	return text ? convert_table_new(name, text, len, convert->diags) : NULL;
}

/* The module whose table has a row for this path: "type/NAME", "kind/RayCluster". */
static bool find_module(Convert *convert, const char *group, const char *name)
{
	g_autofree char *path = g_strdup_printf("%s/%s", group, name);
	g_auto(GStrv) modules = rg_provider_host_names(convert->providers);
	for (char **module = modules; *module; module++) {
		g_autoptr(ConvertTable) table = table_of(convert, *module);
		if (!table || !convert_table_find(table, path))
			continue;
		convert->module = g_strdup(*module);
		convert->own = g_steal_pointer(&table);
		g_autoptr(RgDiags) unused = rg_diags_new(); /* validate reports it */
		const RgSchema *schema =
			rg_provider_schema(convert->providers, convert->module, unused);
		convert->is_elastic = schema && rg_schema_elastic(schema);
		return true;
	}
	return false;
}

static bool refuse(Convert *convert, const char *pointer, const char *what, const char *hint)
{
	RgDiag *diag = rg_diags_error(convert->diags, "convert.not-a-cluster", "%s", what);
	rg_diag_at(diag, rg_document_source(convert->document, pointer));
	rg_diag_hint(diag, "%s", hint);
	return false;
}

static void free_table(gpointer table)
{
	convert_table_free(table);
}

/* Keys of other clouds are Ray's too. */
static void read_others(Convert *convert)
{
	g_auto(GStrv) modules = rg_provider_host_names(convert->providers);
	convert->others = g_ptr_array_new_with_free_func(free_table);
	for (char **module = modules; *module; module++) {
		ConvertTable *table = g_strcmp0(*module, convert->module) != 0
					      ? table_of(convert, *module)
					      : NULL;
		if (table)
			g_ptr_array_add(convert->others, table);
	}
}

static bool is_manifest(const json_t *root)
{
	return rg_json_str(root, "kind", NULL) && json_object_get(root, "apiVersion");
}

/* Which kind of file it is, and its table. */
static bool recognize(Convert *convert)
{
	json_t *root = convert->document->value;
	const char *kind = rg_json_str(root, "kind", NULL);
	const char *type = rg_json_str(json_object_get(root, "provider"), "type", NULL);
	if (is_manifest(root)) {
		convert->form = g_strdup(kind);
		return find_module(convert, "kind", kind) ||
		       refuse(convert, "/kind", "this manifest is of another kind",
			       "convert reads RayCluster, RayJob and RayService");
	}
	if (json_object_get(root, "cluster") && json_object_get(root, "ray"))
		return refuse(convert, "/cluster", "this file is already a spec of raygpu",
			"check it with `raygpu validate`");
	if (!type)
		return refuse(convert, "", "this file does not describe a Ray cluster",
			"convert reads the YAML of `ray up`, which has provider.type, and "
			"manifests "
			"of RayCluster, RayJob and RayService");
	convert->form = g_strdup(type);
	find_module(convert, "type", type);
	read_others(convert);
	for (const struct rg_embedded *file = rg_convert_data; file->name; file++)
		convert->core = convert_table_new(
			g_intern_string(file->name), file->data, file->len, convert->diags);
	return convert->core;
}

/* The members of `first` come first, in that order. */
static void reorder(json_t *object, const char *const *first)
{
	if (!json_is_object(object))
		return;
	json_auto_t *old = json_copy(object);
	const char *name;
	json_t *member;
	json_object_clear(object);
	for (; *first; first++) {
		if ((member = json_object_get(old, *first)))
			json_object_set(object, *first, member);
	}
	json_object_foreach (old, name, member) {
		if (!json_object_get(object, name))
			json_object_set(object, name, member);
	}
}

static void reorder_spec(Convert *convert)
{
	static const char *const top[] = {"cluster", "labels", "provider", "ray",
		"initialization_commands", "setup_commands", "mounts", "head", "pools", "jobs",
		NULL};
	static const char *const place[] = {"name", "region", NULL};
	static const char *const node[] = {
		"instance_type", "accelerators", "nodes", "market", "zones", "image", "disk", NULL};
	static const char *const ray[] = {"version", "python", "image", "auth", NULL};
	reorder(convert->spec, top);
	reorder(json_object_get(convert->spec, "provider"), place);
	reorder(json_object_get(convert->spec, "ray"), ray);
	reorder(json_object_get(convert->spec, "head"), node);
	rg_json_foreach_member (name, pool, json_object_get(convert->spec, "pools"))
		reorder(pool, node);
}

static int compare_keys(gconstpointer a, gconstpointer b, gpointer data)
{
	const ConvertKey *x = *(ConvertKey *const *)a, *y = *(ConvertKey *const *)b;
	const RgSource left = rg_document_key_source(data, x->pointer),
		       right = rg_document_key_source(data, y->pointer);
	if (left.line != right.line)
		return left.line < right.line ? -1 : 1;
	if (left.column != right.column)
		return left.column < right.column ? -1 : 1;
	return strcmp(x->pointer, y->pointer);
}

static json_t *list_keys(Convert *convert)
{
	static const char *const outcomes[] = {
		"converted", "same", "changed", "none", "lost", "unknown"};
	json_t *list = json_array();
	g_ptr_array_sort_with_data(convert->keys, compare_keys, convert->document);
	rg_ptr_foreach (const ConvertKey, key, convert->keys) {
		const RgSource source = rg_document_key_source(convert->document, key->pointer);
		g_autofree char *path = rg_spec_path(convert->document, key->pointer);
		json_t *one = json_pack("{s:s, s:s, s:i, s:i, s:s}", "key", path, "pointer",
			key->pointer, "line", (int)source.line, "column", (int)source.column,
			"outcome", outcomes[key->outcome]);
		if (key->to)
			rg_json_set_str(one, "to", key->to);
		if (key->reason)
			rg_json_set_str(one, "reason", key->reason);
		json_array_append_new(list, one);
	}
	return list;
}

/* What a user must look at, at its line. */
static RgDiag *report_key(RgDiags *diags, const ConvertKey *key, const char *path, bool partial)
{
	RgDiag *diag = NULL;
	switch (key->outcome) {
	case CONVERT_DONE:
	case CONVERT_SAME:
		return NULL;
	case CONVERT_UNKNOWN:
		return rg_diags_warning(
			diags, "convert.unknown-key", "%s is not converted: %s", path, key->reason);
	case CONVERT_LOST:
		diag = partial ? rg_diags_warning(diags, "convert.lost", "%s is lost", path)
			       : rg_diags_error(diags, "convert.lost", "%s is lost", path);
		if (!partial)
			rg_diag_hint(diag, "--partial accepts a cluster without it");
		break;
	case CONVERT_NONE:
		diag = rg_diags_note(diags, "convert.not-converted", "%s is not converted", path);
		break;
	case CONVERT_CHANGED:
		diag = rg_diags_note(diags, "convert.changed", "%s is not exactly the same", path);
		break;
	}
	if (key->reason)
		rg_diag_detail(diag, "%s", key->reason);
	return diag;
}

/* Every loss is reported; it decides the exit code. */
static void report_keys(Convert *convert, bool partial)
{
	size_t left = 0, shown = 0;
	if (convert->has_secrets)
		rg_diags_add_text(convert->diags, convert->document->file, "", 0);
	rg_ptr_foreach (const ConvertKey, key, convert->keys) {
		bool plain = key->outcome == CONVERT_DONE || key->outcome == CONVERT_SAME;
		if (!plain && key->outcome != CONVERT_LOST && shown >= RG_CAP_SPEC_FINDINGS) {
			left++;
			continue;
		}
		g_autofree char *path = rg_spec_path(convert->document, key->pointer);
		RgDiag *diag = report_key(convert->diags, key, path, partial);
		if (diag) {
			rg_diag_at(diag, rg_document_key_source(convert->document, key->pointer));
			shown++;
		}
	}
	if (left)
		rg_diags_note(convert->diags, "convert.not-converted",
			"%zu more keys are only listed in the spec", left);
}

static RgConverted *finish(Convert *convert, bool partial)
{
	RgConverted *converted = g_new0(RgConverted, 1);
	convert_nodes_finish(convert);
	convert_commands_finish(convert);
	convert_images_finish(convert);
	convert_sweep(convert);
	reorder_spec(convert);
	converted->form = g_strdup(convert->form);
	converted->cluster = g_strdup(rg_json_str(convert->spec, "cluster", NULL));
	converted->text = rg_spec_write(convert->spec, convert->comments);
	converted->keys = list_keys(convert);
	report_keys(convert, partial);
	return converted;
}

/* Whether a document of a file may be the cluster: a manifest of a kind that a module knows, or the
 * launcher's settings. */
static bool may_be_cluster(Convert *convert, const RgDocument *document)
{
	const json_t *root = document->value;
	if (!is_manifest(root))
		return json_object_get(json_object_get(root, "provider"), "type");
	bool found = find_module(convert, "kind", rg_json_str(root, "kind", ""));
	g_clear_pointer(&convert->module, g_free);
	g_clear_pointer(&convert->own, convert_table_free);
	return found;
}

/* What the user of the file has to bring along. */
static void note_skipped(const Convert *convert, const RgDocument *document)
{
	const json_t *root = document->value;
	const char *name = rg_json_str(json_object_get(root, "metadata"), "name", "");
	const char *kind = rg_json_str(root, "kind", "a document without a kind");
	RgDiag *diag = rg_diags_note(convert->diags, "convert.skipped", "%s%s%s is skipped", kind,
		*name ? " " : "", name);
	rg_diag_at(diag, rg_document_source(document, ""));
	rg_diag_hint(diag, "a spec does not contain it: apply it yourself");
}

#define MOST_SKIPPED 20 /* that are named */

static void note_others(const Convert *convert, const GPtrArray *documents)
{
	for (guint i = 0, n = 0; i < documents->len && n < MOST_SKIPPED; i++) {
		if (documents->pdata[i] != convert->document && ++n)
			note_skipped(convert, documents->pdata[i]);
	}
	if (documents->len > MOST_SKIPPED + 1)
		rg_diags_note(convert->diags, "convert.skipped", "%u more documents are skipped",
			documents->len - 1 - MOST_SKIPPED);
}

static bool refuse_several(const Convert *convert, const RgDocument *second)
{
	RgDiag *diag = rg_diags_error(convert->diags, "convert.several-clusters",
		"the file has more than one Ray cluster");
	rg_diag_at(diag, rg_document_source(second, ""));
	rg_diag_hint(diag, "one cluster per spec: convert a file for each of them");
	return false;
}

/* The document that is the cluster; without one, the first, which is then refused. */
static bool choose_document(Convert *convert, const GPtrArray *documents)
{
	rg_ptr_foreach (RgDocument, document, documents) {
		if (!may_be_cluster(convert, document))
			continue;
		if (convert->document)
			return refuse_several(convert, document);
		convert->document = document;
	}
	if (!convert->document)
		convert->document = documents->pdata[0];
	rg_document_deliver(convert->document, convert->diags);
	note_others(convert, documents);
	/* a value that YAML readers understand in different ways is reported and not converted */
	return !rg_diags_has_errors(convert->diags);
}

RgConverted *rg_convert_file(
	RgProviderHost *providers, const char *path, bool partial, RgDiags *diags)
{
	Convert convert = {0};
	RgConverted *converted = NULL;
	begin(&convert, providers, diags);
	g_autoptr(GPtrArray) documents = rg_document_load_file(path, WHAT, diags);
	if (documents && choose_document(&convert, documents) && recognize(&convert) &&
		(is_manifest(convert.document->value) ? convert_manifest(&convert)
						      : convert_launcher(&convert)))
		converted = finish(&convert, partial);
	end(&convert);
	return converted;
}
