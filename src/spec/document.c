#include "spec/document.h"

#include <string.h>
#include "base/caps.h"
#include "spec/node.h"
#include "spec/scalar.h"

typedef struct {
	RgDocument *document;
	GString *pointer; /* of the current value */
	unsigned depth, in_alias;
	size_t alias_nodes, alias_bytes, pointer_bytes;
	bool stopped; /* a limit was exceeded */
	RgDiags *diags;
} Converter;

static json_t *convert(Converter *converter, const RgNode *node);
static void merge_members(Converter *converter, json_t *object, const RgNode *map);

static void stop(Converter *converter, const RgNode *node, const char *code, const char *summary)
{
	if (!converter->stopped)
		rg_diag_at(rg_diags_error(converter->diags, code, "%s", summary), node->source);
	converter->stopped = true;
}

/* Counts what aliases expand a small file to; this stops a "billion laughs" attack. */
static bool count_alias(Converter *converter, const RgNode *node)
{
	if (converter->in_alias == 0)
		return true;
	converter->alias_nodes++;
	converter->alias_bytes += node->text ? strlen(node->text) : 0;
	if (converter->alias_nodes <= RG_CAP_YAML_ALIAS_NODES &&
		converter->alias_bytes <= RG_CAP_YAML_ALIAS_BYTES)
		return true;
	stop(converter, node, "yaml.alias-bomb", "the file's aliases expand it beyond the limit");
	return false;
}

static void put_source(GHashTable *table, const char *pointer, RgSource source)
{
	g_hash_table_replace(table, g_strdup(pointer), g_memdup2(&source, sizeof source));
}

/* `place` is the place of the alias if there is one for the node. */
static bool enter(Converter *converter, const RgNode *node, RgSource place)
{
	converter->depth++;
	if (!count_alias(converter, node))
		return false;
	if (converter->depth > RG_CAP_YAML_DEPTH + 1) {
		stop(converter, node, "yaml.too-deep",
			"aliases nest lists and mappings more than " G_STRINGIFY(
				RG_CAP_YAML_DEPTH) " deep");
		return false;
	}
	converter->pointer_bytes += converter->pointer->len;
	if (converter->pointer_bytes > RG_CAP_YAML_POINTER_BYTES) {
		stop(converter, node, "yaml.too-many-nodes",
			"the file has too many values under long keys");
		return false;
	}
	put_source(converter->document->sources, converter->pointer->str, place);
	if (node->reported)
		rg_document_spoil(converter->document, converter->pointer->str);
	return true;
}

static void report_number(Converter *converter, const RgNode *node, RgScalarKind kind)
{
	RgDiag *diag;
	if (kind == RG_SCALAR_TOO_LARGE)
		diag = rg_diags_error(converter->diags, "spec.out-of-range",
			"the number %s is too large", node->text);
	else
		diag = rg_diags_error(converter->diags, "spec.bad-value",
			"%s is not a number in JSON", node->text);
	rg_diag_at(diag, node->source);
	rg_diag_hint(diag, "if it is text, write \"%s\"", node->text);
	rg_document_spoil(converter->document, converter->pointer->str);
}

static json_t *convert_scalar(Converter *converter, const RgNode *node)
{
	if (!node->plain)
		return json_string(node->text);
	json_t *value;
	RgScalarKind kind = rg_scalar_resolve(node->text, &value);
	if (kind != RG_SCALAR_TEXT)
		g_hash_table_replace(converter->document->words, g_strdup(converter->pointer->str),
			g_strdup(node->text));
	if (kind == RG_SCALAR_TOO_LARGE || kind == RG_SCALAR_NOT_FINITE)
		report_number(converter, node, kind);
	return value;
}

static json_t *convert_list(Converter *converter, const RgNode *node)
{
	json_t *list = json_array();
	size_t len = converter->pointer->len;
	for (guint i = 0; i < node->items->len && !converter->stopped; i++) {
		g_string_append_printf(converter->pointer, "/%u", i);
		json_t *item = convert(converter, g_ptr_array_index(node->items, i));
		if (item)
			json_array_append_new(list, item);
		g_string_truncate(converter->pointer, len);
	}
	return list;
}

static const RgNode *resolve_alias(const RgNode *node)
{
	return node->kind == RG_NODE_ALIAS ? node->target : node;
}

static bool is_merge_key(const RgNode *key)
{
	return key->kind == RG_NODE_SCALAR && key->plain && g_str_equal(key->text, "<<");
}

/* The key's text, or NULL and a finding: JSON has only text keys. */
static const char *find_key_text(Converter *converter, const RgNode *key)
{
	const RgNode *node = resolve_alias(key);
	if (node->kind != RG_NODE_SCALAR) {
		RgDiag *diag = rg_diags_error(converter->diags, "yaml.key-not-text",
			"a key must be text, not a list or mapping");
		rg_diag_at(diag, key->source);
		rg_diag_hint(diag, "raygpu does not expand {{ }}: render a template first");
		return NULL;
	}
	if (node->reported)
		return NULL;
	if (strlen(node->text) > RG_CAP_YAML_KEY_BYTES) {
		RgDiag *diag = rg_diags_error(converter->diags, "spec.too-long",
			"a key is longer than %d bytes", RG_CAP_YAML_KEY_BYTES);
		rg_diag_at(diag, key->source);
		return NULL;
	}
	json_auto_t *value = NULL;
	RgScalarKind kind = node->plain ? rg_scalar_resolve(node->text, &value) : RG_SCALAR_TEXT;
	if (kind == RG_SCALAR_TEXT || kind == RG_SCALAR_WORD11)
		return node->text;
	RgDiag *diag = rg_diags_error(converter->diags, "yaml.key-not-text",
		"a key must be text, but %s without quotes is not",
		*node->text != '\0' ? node->text : "nothing");
	rg_diag_at(diag, key->source);
	if (*node->text != '\0')
		rg_diag_hint(diag, "write \"%s\":", node->text);
	return NULL;
}

static void report_duplicate(Converter *converter, const char *name, const RgNode *key)
{
	RgDiag *diag = rg_diags_error(
		converter->diags, "yaml.duplicate-key", "the key \"%s\" is given twice", name);
	rg_diag_at(diag, key->source);
	const RgSource *first =
		g_hash_table_lookup(converter->document->keys, converter->pointer->str);
	g_assert(first != NULL);
	rg_diag_hint(diag, "remove one; the first is in line %u", first->line);
	rg_diag_at(rg_diags_note(converter->diags, "yaml.duplicate-key",
			   "\"%s\" is first given here", name),
		*first);
}

/* Adds one member; `merged` ones silently yield to existing ones. */
static void add_member(
	Converter *converter, json_t *object, const RgNode *key, const RgNode *value, bool merged)
{
	const char *name = find_key_text(converter, key);
	if (!name || (merged && json_object_get(object, name)))
		return;
	size_t len = converter->pointer->len;
	g_autofree char *step = rg_json_pointer_add("", name);
	g_string_append(converter->pointer, step);
	if (json_object_get(object, name)) {
		report_duplicate(converter, name, key);
	} else {
		put_source(converter->document->keys, converter->pointer->str,
			resolve_alias(key)->source);
		json_t *member = convert(converter, value);
		if (member)
			json_object_set_new(object, name, member);
	}
	g_string_truncate(converter->pointer, len);
}

static void report_bad_merge(Converter *converter, const RgNode *node)
{
	RgDiag *diag = rg_diags_error(converter->diags, "yaml.bad-merge",
		"<< merges a mapping or a list of mappings, nothing else");
	rg_diag_at(diag, node->source);
	rg_diag_hint(diag, "write `<<: *anchor`; to use a key named <<, put it in quotes");
}

/* The members of the mapping (or list of mappings) that a `<<` names; the first to give a key wins,
 * according to https://yaml.org/type/merge.html. */
static void merge(Converter *converter, json_t *object, const RgNode *value, bool in_list)
{
	const RgNode *node = resolve_alias(value);
	if (node->reported)
		return;
	if (node->kind == RG_NODE_MAP) {
		converter->in_alias++;
		merge_members(converter, object, node);
		converter->in_alias--;
		return;
	}
	if (node->kind != RG_NODE_LIST || in_list) {
		report_bad_merge(converter, value);
		return;
	}
	for (guint i = 0; i < node->items->len && !converter->stopped; i++)
		merge(converter, object, g_ptr_array_index(node->items, i), true);
}

static const RgNode *find_merge(Converter *converter, const RgNode *map)
{
	const RgNode *found = NULL, *found_key = NULL;
	for (guint i = 0; i + 1 < map->items->len; i += 2) {
		const RgNode *key = g_ptr_array_index(map->items, i);
		if (!is_merge_key(key))
			continue;
		if (found) {
			RgDiag *diag = rg_diags_error(converter->diags, "yaml.duplicate-key",
				"the key \"<<\" is given twice");
			rg_diag_at(diag, key->source);
			rg_diag_hint(diag, "merge several mappings with a list: <<: [*a, *b]");
			rg_diag_at(rg_diags_note(converter->diags, "yaml.duplicate-key",
					   "\"<<\" is first given here"),
				found_key->source);
			break;
		}
		found_key = key;
		found = g_ptr_array_index(map->items, i + 1);
	}
	return found;
}

static void add_members(Converter *converter, json_t *object, const RgNode *map, bool merged)
{
	for (guint i = 0; i + 1 < map->items->len && !converter->stopped; i += 2) {
		const RgNode *key = g_ptr_array_index(map->items, i);
		if (merged && !count_alias(converter, key))
			return;
		if (!is_merge_key(key))
			add_member(converter, object, key, g_ptr_array_index(map->items, i + 1),
				merged);
	}
	const RgNode *source = find_merge(converter, map);
	if (source && !converter->stopped)
		merge(converter, object, source, false);
}

static void merge_members(Converter *converter, json_t *object, const RgNode *map)
{
	if (++converter->depth > RG_CAP_YAML_DEPTH + 1)
		stop(converter, map, "yaml.too-deep",
			"merges are nested more than " G_STRINGIFY(RG_CAP_YAML_DEPTH) " deep");
	else
		add_members(converter, object, map, true);
	converter->depth--;
}

/* NULL only if a limit was exceeded. */
static json_t *convert(Converter *converter, const RgNode *node)
{
	bool is_alias = node->kind == RG_NODE_ALIAS;
	RgSource place = node->source;
	node = resolve_alias(node);
	converter->in_alias += is_alias;
	json_t *value = NULL;
	if (enter(converter, node, place)) {
		if (node->kind == RG_NODE_SCALAR) {
			value = convert_scalar(converter, node);
		} else if (node->kind == RG_NODE_LIST) {
			value = convert_list(converter, node);
		} else {
			value = json_object();
			add_members(converter, value, node, false);
		}
	}
	converter->depth--;
	converter->in_alias -= is_alias;
	return value;
}

/* A limit that is exceeded leaves no value. */
static RgDocument *document_of(const char *file, const RgTree *tree, RgDiags *diags)
{
	RgDocument *document = g_new0(RgDocument, 1);
	document->file = g_intern_string(file);
	document->sources = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	document->keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	document->words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	document->spoiled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GString) pointer = g_string_new("");
	Converter converter = {.document = document, .pointer = pointer, .diags = diags};
	document->value = convert(&converter, tree->root);
	if (converter.stopped)
		g_clear_pointer(&document->value, json_decref);
	return document;
}

RgDocument *rg_document_load(const char *file, const char *text, size_t len, RgDiags *diags)
{
	g_autoptr(RgTree) tree = rg_tree_parse(g_intern_string(file), text, len, diags);
	if (!tree)
		return NULL;
	g_autoptr(RgDocument) document = document_of(file, tree, diags);
	return document->value ? g_steal_pointer(&document) : NULL;
}

static void free_document(gpointer document)
{
	rg_document_free(document);
}

GPtrArray *rg_document_load_each(const char *file, const char *text, size_t len, RgDiags *diags)
{
	g_autoptr(GPtrArray) trees = rg_tree_parse_each(g_intern_string(file), text, len, diags);
	if (!trees)
		return NULL;
	GPtrArray *documents = g_ptr_array_new_with_free_func(free_document);
	rg_ptr_foreach (RgTree, tree, trees) {
		RgDocument *document = document_of(file, tree, tree->findings);
		document->findings = g_steal_pointer(&tree->findings);
		g_ptr_array_add(documents, document);
	}
	return documents;
}

void rg_document_free(RgDocument *document)
{
	if (!document)
		return;
	json_decref(document->value);
	g_clear_pointer(&document->sources, g_hash_table_unref);
	g_clear_pointer(&document->keys, g_hash_table_unref);
	g_clear_pointer(&document->words, g_hash_table_unref);
	g_clear_pointer(&document->spoiled, g_hash_table_unref);
	g_clear_pointer(&document->files, g_ptr_array_unref);
	g_clear_pointer(&document->overrides, g_ptr_array_unref);
	rg_diags_free(document->findings);
	g_free(document);
}

void rg_override_free(gpointer override)
{
	g_free(((RgOverride *) override)->pointer);
	g_free(override);
}

void rg_document_spoil(RgDocument *document, const char *pointer)
{
	g_hash_table_add(document->spoiled, g_strdup(pointer));
}

bool rg_document_is_spoiled(const RgDocument *document, const char *pointer)
{
	if (g_hash_table_size(document->spoiled) == 0)
		return false;
	g_autofree char *at = g_strdup(pointer);
	while (!g_hash_table_contains(document->spoiled, at)) {
		char *slash = strrchr(at, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

const RgSource *rg_source_find(GHashTable *sources, const char *pointer)
{
	g_autofree char *at = g_strdup(pointer);
	for (;;) {
		const RgSource *source = g_hash_table_lookup(sources, at);
		char *slash = strrchr(at, '/');
		if (source || !slash)
			return source;
		*slash = '\0';
	}
}

RgSource rg_document_source(const RgDocument *document, const char *pointer)
{
	const RgSource *source = rg_source_find(document->sources, pointer);
	return source ? *source : (RgSource){.file = document->file, .line = 1, .column = 1};
}

RgSource rg_document_key_source(const RgDocument *document, const char *pointer)
{
	const RgSource *key = g_hash_table_lookup(document->keys, pointer);
	return key ? *key : rg_document_source(document, pointer);
}
