#include "spec/extend.h"

#include <string.h>
#include "base/caps.h"
#include "spec/check.h"

/* ---- names of files */

/* `name` as seen from the folder of `file`, without "." and as few ".." as possible, so that
 * messages show the path as a user would type it. */
static char *path_beside(const char *file, const char *name)
{
	g_autofree char *folder = g_path_get_dirname(file);
	g_autofree char *joined = g_build_filename(folder, name, NULL);
	g_auto(GStrv) steps = g_strsplit(joined, "/", -1);
	g_autoptr(GPtrArray) kept = g_ptr_array_new();
	bool absolute = *joined == '/';
	for (char **step = steps; *step; step++) {
		const char *last = kept->len ? kept->pdata[kept->len - 1] : NULL;
		bool up = g_str_equal(*step, "..");
		if (!**step || g_str_equal(*step, "."))
			continue;
		if (up && last && !g_str_equal(last, ".."))
			g_ptr_array_remove_index(kept, kept->len - 1);
		else if (!up || !absolute)
			g_ptr_array_add(kept, *step);
	}
	g_ptr_array_add(kept, NULL);
	g_autofree char *path = g_strjoinv("/", (char **)kept->pdata);
	return absolute ? g_strconcat("/", path, NULL) : g_steal_pointer(&path);
}

/* ---- one document over another */

typedef struct {
	RgDocument *over, *base;
	GHashTable *kept; /* set of JSON pointers: parts of the base that stay */
	RgDiags *diags;
} Merge;

static void forget(Merge *merge, const char *pointer)
{
	g_hash_table_remove(merge->over->sources, pointer);
	g_hash_table_remove(merge->over->keys, pointer);
	g_hash_table_remove(merge->over->words, pointer);
}

static void note_replaced(Merge *merge, const char *pointer, bool removed)
{
	RgDocument *over = merge->over;
	RgOverride *override = g_new0(RgOverride, 1);
	override->pointer = g_strdup(pointer);
	override->source = rg_document_source(over, pointer);
	override->key = rg_document_key_source(over, pointer);
	override->replaced = rg_document_source(merge->base, pointer);
	override->removed = removed;
	if (!over->overrides)
		over->overrides = g_ptr_array_new_with_free_func(rg_override_free);
	g_ptr_array_add(over->overrides, override);
}

static json_t *merge_maps(Merge *merge, json_t *over, json_t *base, const char *pointer);

/* What both have at `pointer`; NULL: it is removed. */
static json_t *merge_values(Merge *merge, json_t *over, json_t *base, const char *pointer)
{
	if (json_is_object(over) && json_is_object(base))
		return merge_maps(merge, over, base, pointer);
	bool removed = json_is_null(over);
	note_replaced(merge, pointer, removed);
	if (!removed)
		return json_incref(over);
	forget(merge, pointer);
	return NULL;
}

static void warn_of_nothing(Merge *merge, const char *pointer)
{
	g_autofree char *path = rg_spec_path(merge->over, pointer);
	RgDiag *diag = rg_diags_warning(merge->diags, "spec.removes-nothing",
		"%s removes nothing: %s has no such key", path, merge->base->file);
	rg_diag_at(diag, rg_document_key_source(merge->over, pointer));
	forget(merge, pointer);
}

/* A new object: the keys of the base in its order, then those that only `over` has. */
static json_t *merge_maps(Merge *merge, json_t *over, json_t *base, const char *pointer)
{
	json_t *merged = json_object();
	rg_json_foreach_member (name, value, base) {
		g_autofree char *at = rg_json_pointer_add(pointer, name);
		json_t *mine = json_object_get(over, name);
		json_t *result = mine ? merge_values(merge, mine, value, at) : json_incref(value);
		if (!mine)
			g_hash_table_add(merge->kept, g_strdup(at));
		if (result)
			json_object_set_new(merged, name, result);
	}
	rg_json_foreach_member (name, value, over) {
		g_autofree char *at = rg_json_pointer_add(pointer, name);
		if (json_object_get(base, name))
			continue;
		if (json_is_null(value))
			warn_of_nothing(merge, at);
		else
			json_object_set(merged, name, value);
	}
	return merged;
}

static bool is_kept(const Merge *merge, const char *pointer)
{
	g_autofree char *at = g_strdup(pointer);
	while (!g_hash_table_contains(merge->kept, at)) {
		char *slash = strrchr(at, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

/* Moves the entries of a table of the base that belong to what was kept. */
static void take_table(const Merge *merge, GHashTable *to, GHashTable *from)
{
	GHashTableIter iter;
	gpointer pointer, value;
	g_hash_table_iter_init(&iter, from);
	while (g_hash_table_iter_next(&iter, &pointer, &value)) {
		if (!is_kept(merge, pointer))
			continue;
		g_hash_table_iter_steal(&iter);
		g_hash_table_replace(to, pointer, value);
	}
}

static void take_overrides(const Merge *merge)
{
	GPtrArray *from = merge->base->overrides;
	for (guint i = 0; from && i < from->len; i++) {
		RgOverride *override = from->pdata[i];
		if (!merge->over->overrides)
			merge->over->overrides = g_ptr_array_new_with_free_func(rg_override_free);
		g_ptr_array_add(merge->over->overrides, override);
	}
	if (from)
		g_ptr_array_set_free_func(from, NULL);
}

static void merge_into(RgDocument *over, RgDocument *base, RgDiags *diags)
{
	g_autoptr(GHashTable) kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Merge merge = {over, base, kept, diags};
	json_t *merged = merge_maps(&merge, over->value, base->value, "");
	json_decref(over->value);
	over->value = merged;
	take_table(&merge, over->sources, base->sources);
	take_table(&merge, over->keys, base->keys);
	take_table(&merge, over->words, base->words);
	take_table(&merge, over->spoiled, base->spoiled);
	take_overrides(&merge);
}

/* ---- the chain of files */

static RgDiag *refuse(const RgDocument *document, RgDiags *diags, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static RgDiag *refuse(const RgDocument *document, RgDiags *diags, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	g_autofree char *summary = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	RgDiag *diag = rg_diags_error(diags, "spec.bad-extends", "%s", summary);
	return rg_diag_at(diag, rg_document_source(document, "/extends"));
}

static bool is_path(const RgDocument *document, const char *name, RgDiags *diags)
{
	if (*name && *name != '/' && !strstr(name, "://") && !g_str_equal(name, "-"))
		return true;
	rg_diag_hint(refuse(document, diags,
			     "extends names a file by its relative path, not \"%s\"", name),
		"write the path from the folder of this file, such as ../base.yaml");
	return false;
}

/* document->files: the files so far, the spec itself first. */
static bool may_follow(
	const RgDocument *document, GPtrArray *files, const char *path, RgDiags *diags)
{
	g_autofree char *real = g_canonicalize_filename(path, NULL);
	g_autoptr(GString) way = g_string_new(NULL);
	bool cycle = false;
	for (guint i = 0; i < files->len; i++) {
		g_autofree char *seen = g_canonicalize_filename(files->pdata[i], NULL);
		cycle = cycle || g_str_equal(seen, real);
		g_string_append_printf(way, "%s -> ", (const char *)files->pdata[i]);
	}
	if (cycle)
		rg_diag_detail(
			refuse(document, diags, "%s extends itself", path), "%s%s", way->str, path);
	else if (files->len > RG_CAP_SPEC_EXTENDS)
		refuse(document, diags, "more than %d files extend one another",
			RG_CAP_SPEC_EXTENDS);
	return !cycle && files->len <= RG_CAP_SPEC_EXTENDS;
}

static RgDocument *read_base(
	const RgDocument *document, const RgSpecReader *reader, const char *path, RgDiags *diags)
{
	size_t len = 0;
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autofree char *text = reader->read(reader->data, path, &len, found);
	rg_diags_foreach (diag, found) {
		RgDiag *located = rg_diags_error(diags, diag->code, "%s", diag->summary);
		rg_diag_at(located, rg_document_source(document, "/extends"));
		if (diag->detail)
			rg_diag_detail(located, "%s", diag->detail);
	}
	return text ? spec_read_text(path, text, len, diags) : NULL;
}

/* `files` grows by the bases of this document. */
static bool extend(
	RgDocument *document, const RgSpecReader *reader, GPtrArray *files, RgDiags *diags)
{
	const json_t *extends = json_object_get(document->value, "extends");
	if (!json_is_string(extends)) /* the schema judges other types */
		return true;
	if (!reader) {
		refuse(document, diags, "this text cannot extend a file");
		return false;
	}
	if (!is_path(document, json_string_value(extends), diags))
		return false;
	g_autofree char *path = path_beside(document->file, json_string_value(extends));
	if (!may_follow(document, files, path, diags))
		return false;
	g_ptr_array_add(files, g_strdup(path));
	g_autoptr(RgDocument) base = read_base(document, reader, path, diags);
	if (!base || !extend(base, reader, files, diags))
		return false;
	if (!json_is_object(base->value)) {
		refuse(document, diags, "%s is not a mapping", path);
		return false;
	}
	merge_into(document, base, diags);
	json_object_del(document->value, "extends");
	return true;
}

/* They hold anchors, or what other tools read. */
static void drop_other_keys(json_t *value)
{
	const char *name;
	json_t *member;
	void *next;
	json_object_foreach_safe (value, next, name, member) {
		if (g_str_has_prefix(name, "x-"))
			json_object_del(value, name);
	}
}

bool spec_extend(RgDocument *document, const RgSpecReader *reader, RgDiags *diags)
{
	document->files = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(document->files, g_strdup(document->file));
	bool read = extend(document, reader, document->files, diags);
	drop_other_keys(document->value);
	return read;
}

static bool is_at(RgSource a, RgSource b)
{
	return a.file == b.file && a.line == b.line && a.column == b.column;
}

const RgSource *spec_replaced(const RgDocument *document, RgSource source)
{
	for (guint i = 0; document->overrides && i < document->overrides->len; i++) {
		const RgOverride *override = document->overrides->pdata[i];
		if (is_at(override->source, source) || is_at(override->key, source))
			return &override->replaced;
	}
	return NULL;
}
