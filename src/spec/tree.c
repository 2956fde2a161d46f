#include "spec/node.h"

#include <string.h>
#include <yaml.h>
#include "base/caps.h"

typedef struct {
	yaml_parser_t yaml;
	const char *file, *text;
	size_t len;
	RgTree *tree;	     /* the document that is read */
	GPtrArray *trees;    /* RgTree*: of a file with several documents; NULL: one is expected */
	GPtrArray *stack;    /* RgNode*: collections whose end has not been reached */
	GHashTable *anchors; /* name -> RgNode*; the last definition counts */
	unsigned documents;
	RgSource further; /* where the last document after the first begins; line 0: none */
	RgDiags *diags;
} Parser;

static void free_node(gpointer data)
{
	RgNode *node = data;
	g_free(node->text);
	if (node->items)
		g_ptr_array_unref(node->items);
	g_free(node);
}

void rg_tree_free(RgTree *tree)
{
	if (!tree)
		return;
	g_ptr_array_unref(tree->nodes);
	rg_diags_free(tree->findings);
	g_free(tree);
}

static void free_tree(gpointer tree)
{
	rg_tree_free(tree);
}

static RgTree *new_tree(void)
{
	RgTree *tree = g_new0(RgTree, 1);
	tree->nodes = g_ptr_array_new_with_free_func(free_node);
	return tree;
}

void rg_source_pass(RgSource *source, char byte)
{
	bool is_continuation = ((unsigned char)byte & 0xc0) == 0x80;
	source->column += !is_continuation;
	if (byte == '\n') {
		source->line++;
		source->column = 1;
	}
}

static RgSource source_of(const Parser *parser, yaml_mark_t start, yaml_mark_t end)
{
	bool marks_text = end.line == start.line && end.column > start.column;
	return (RgSource){
		.file = parser->file,
		.line = (unsigned)start.line + 1,
		.column = (unsigned)start.column + 1,
		.end_column = marks_text ? (unsigned)end.column + 1 : 0,
	};
}

/* Adds a node to the open collection, or makes it the root. */
static bool add_node(Parser *parser, RgNode *node)
{
	RgTree *tree = parser->tree;
	g_ptr_array_add(tree->nodes, node);
	if (tree->nodes->len > RG_CAP_YAML_NODES) {
		RgDiag *diag = rg_diags_error(parser->diags, "yaml.too-many-nodes",
			"the file has more than %d values", RG_CAP_YAML_NODES);
		rg_diag_at(diag, node->source);
		return false;
	}
	if (parser->stack->len == 0) {
		tree->root = node;
		return true;
	}
	RgNode *parent = g_ptr_array_index(parser->stack, parser->stack->len - 1);
	g_ptr_array_add(parent->items, node);
	return true;
}

/* Every tag is refused: the field determines the type, and a tag could request anything. */
static void check_tag(Parser *parser, RgNode *node, const yaml_char_t *tag)
{
	if (!tag)
		return;
	node->reported = true;
	RgDiag *diag = rg_diags_error(
		parser->diags, "yaml.tag", "the tag \"%s\" is not accepted", (const char *)tag);
	rg_diag_at(diag, node->source);
	rg_diag_hint(diag, "remove the tag; put text that looks like a number in quotes");
}

static RgNode *new_node(Parser *parser, RgNodeKind kind, const yaml_event_t *event,
	const yaml_char_t *anchor, const yaml_char_t *tag)
{
	RgNode *node = g_new0(RgNode, 1);
	node->kind = kind;
	node->source = source_of(parser, event->start_mark, event->end_mark);
	check_tag(parser, node, tag);
	if (anchor)
		g_hash_table_replace(parser->anchors, g_strdup((const char *)anchor), node);
	return node;
}

static bool add_scalar(Parser *parser, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	RgNode *node = new_node(
		parser, RG_NODE_SCALAR, event, event->data.scalar.anchor, event->data.scalar.tag);
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->text = g_strndup(text, len);
	if (strlen(node->text) != len) {
		node->reported = true;
		RgDiag *diag = rg_diags_error(
			parser->diags, "spec.bad-value", "text must not contain a NUL character");
		rg_diag_at(diag, node->source);
	}
	return add_node(parser, node);
}

static bool open_collection(Parser *parser, const yaml_event_t *event)
{
	bool is_map = event->type == YAML_MAPPING_START_EVENT;
	/* Both kinds of start event have the same members, in separate structs. */
	RgNode *node =
		is_map ? new_node(parser, RG_NODE_MAP, event, event->data.mapping_start.anchor,
				 event->data.mapping_start.tag)
		       : new_node(parser, RG_NODE_LIST, event, event->data.sequence_start.anchor,
				 event->data.sequence_start.tag);
	node->items = g_ptr_array_new();
	node->is_open = true;
	if (!add_node(parser, node))
		return false;
	g_ptr_array_add(parser->stack, node);
	if (parser->stack->len <= RG_CAP_YAML_DEPTH)
		return true;
	RgDiag *diag = rg_diags_error(parser->diags, "yaml.too-deep",
		"lists and mappings are nested more than %d deep", RG_CAP_YAML_DEPTH);
	rg_diag_at(diag, node->source);
	return false;
}

static void close_collection(Parser *parser)
{
	RgNode *node = g_ptr_array_steal_index(parser->stack, parser->stack->len - 1);
	node->is_open = false;
}

static bool add_alias(Parser *parser, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	RgNode *node = new_node(parser, RG_NODE_ALIAS, event, NULL, NULL);
	const RgNode *target = g_hash_table_lookup(parser->anchors, name);
	if (target && !target->is_open) {
		node->target = target;
		return add_node(parser, node);
	}
	RgDiag *diag = rg_diags_error(parser->diags, "yaml.unknown-anchor",
		!target ? "no anchor \"&%s\" comes before the alias \"*%s\""
			: "the anchor \"&%s\" marks a value that contains the alias \"*%s\"",
		name, name);
	rg_diag_at(diag, node->source);
	/* Stands for the value that the user meant. */
	node->kind = RG_NODE_SCALAR;
	node->text = g_strdup("");
	node->reported = true;
	return add_node(parser, node);
}

/* An anchor ends with its document. */
static void begin_tree(Parser *parser)
{
	parser->tree = new_tree();
	parser->tree->findings = parser->diags = rg_diags_new();
	g_ptr_array_add(parser->trees, parser->tree);
	g_hash_table_remove_all(parser->anchors);
}

static void start_document(Parser *parser, const yaml_event_t *event)
{
	if (parser->trees)
		begin_tree(parser);
	else if (++parser->documents > 1)
		parser->further = source_of(parser, event->start_mark, event->end_mark);
}

/* Of a second document: one that is empty, after a last ---, is none. */
static bool take_further(Parser *parser, const yaml_event_t *event)
{
	if (event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0 &&
		event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return true;
	RgDiag *diag = rg_diags_error(parser->diags, "yaml.several-documents",
		"the file has more than one YAML document");
	rg_diag_at(diag, parser->further);
	rg_diag_hint(
		diag, "one cluster per file: move what follows the second --- to its own file");
	return false;
}

static bool take_value(Parser *parser, const yaml_event_t *event)
{
	if (parser->further.line)
		return take_further(parser, event);
	if (event->type == YAML_SCALAR_EVENT)
		return add_scalar(parser, event);
	return event->type == YAML_ALIAS_EVENT ? add_alias(parser, event)
					       : open_collection(parser, event);
}

/* False: stop. */
static bool take_event(Parser *parser, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		start_document(parser, event);
		return true;
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return take_value(parser, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		close_collection(parser);
		return true;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return true;
	}
	return true;
}

/* For its reader's errors (a control character), libyaml reports a byte offset instead of a
 * mark. */
static RgSource source_at_byte(const Parser *parser, size_t offset)
{
	RgSource source = {.file = parser->file, .line = 1, .column = 1};
	for (size_t i = 0; i < offset; i++)
		rg_source_pass(&source, parser->text[i]);
	return source;
}

/* What to do about the most common syntax errors. */
static const struct {
	const char *problem, *hint;
} syntax_hints[] = {
	{"mapping values are not allowed in this context",
		"put text that contains \": \" in quotes, or check the indentation of this line"},
	{"found character that cannot start any token",
		"put text that starts with @, ` or % in quotes"},
	{"found a tab character that violates indentation", "indent with spaces, not tabs"},
	{"did not find expected key", "check the indentation of this line and the one before"},
	{"could not find expected ':'", "a key is followed by a colon and a space"},
	{"found unexpected end of stream", "a quote or bracket is never closed"},
	{"did not find expected ',' or ']'", "a bracket is never closed, or a comma is missing"},
	{"did not find expected ',' or '}'", "a brace is never closed, or a comma is missing"},
	{"control characters are not allowed", "remove the character"},
	{"found incompatible YAML document", "raygpu reads YAML 1.1 and 1.2"},
	{"found unknown directive name",
		"remove the directive: raygpu supports only %YAML and %TAG"},
};

static bool has_conflict(const Parser *parser)
{
	static const char marker[] = "<<<<<<< ";
	const char *at = g_strstr_len(parser->text, (gssize)parser->len, marker);
	return at && (at == parser->text || at[-1] == '\n');
}

/* libyaml's marks count characters. */
static size_t byte_of(const Parser *parser, size_t characters)
{
	size_t at = 0;
	while (characters > 0 && at < parser->len) {
		at += g_utf8_skip[(guchar)parser->text[at]];
		characters--;
	}
	return MIN(at, parser->len - 1);
}

/* libyaml also rejects some valid YAML, so no message says that the YAML is invalid. */
static void report_syntax(Parser *parser)
{
	const yaml_parser_t *yaml = &parser->yaml;
	const char *problem = yaml->problem ? yaml->problem : "not readable as YAML";
	RgSource source = yaml->error == YAML_READER_ERROR
				  ? source_at_byte(parser, yaml->problem_offset)
				  : source_of(parser, yaml->problem_mark, yaml->problem_mark);
	RgDiag *diag =
		rg_diags_error(parser->diags, "yaml.syntax", "cannot read this YAML: %s", problem);
	rg_diag_at(diag, source);
	if (yaml->context)
		rg_diag_detail(diag, "%s that starts at line %zu, column %zu", yaml->context,
			yaml->context_mark.line + 1, yaml->context_mark.column + 1);
	for (size_t i = 0; i < G_N_ELEMENTS(syntax_hints); i++) {
		if (g_str_equal(problem, syntax_hints[i].problem))
			rg_diag_hint(diag, "%s", syntax_hints[i].hint);
	}
	if (has_conflict(parser))
		rg_diag_hint(
			diag, "resolve the merge conflict: the file has git's conflict markers");
	bool at_mark = yaml->error == YAML_SCANNER_ERROR && yaml->problem_mark.index < parser->len;
	if (at_mark && parser->text[byte_of(parser, yaml->problem_mark.index)] == '\t')
		rg_diag_hint(diag, "indent with spaces, not tabs");
}

/* False if there is no tree to continue with. */
static bool parse_events(Parser *parser)
{
	bool go_on = true, ended = false;
	while (go_on && !ended) {
		yaml_event_t event;
		if (yaml_parser_parse(&parser->yaml, &event) == 0) {
			report_syntax(parser);
			return false;
		}
		ended = event.type == YAML_STREAM_END_EVENT;
		go_on = take_event(parser, &event);
		yaml_event_delete(&event);
	}
	return go_on;
}

static bool is_empty(const RgNode *root)
{
	return !root || (root->kind == RG_NODE_SCALAR && root->plain && root->text[0] == '\0');
}

static void report_empty(const char *file, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "yaml.empty", "the file is empty");
	rg_diag_at(diag, (RgSource){.file = file, .line = 1, .column = 1});
	rg_diag_hint(diag, "examples/minimal.yaml is the smallest useful spec");
}

static bool parse(Parser *parser)
{
	g_autoptr(GPtrArray) stack = g_ptr_array_new();
	g_autoptr(GHashTable) anchors =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	parser->stack = stack;
	parser->anchors = anchors;
	if (yaml_parser_initialize(&parser->yaml) == 0)
		g_error("out of memory");
	yaml_parser_set_encoding(&parser->yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(
		&parser->yaml, (const unsigned char *)parser->text, parser->len);
	bool parsed = parse_events(parser);
	yaml_parser_delete(&parser->yaml);
	return parsed;
}

RgTree *rg_tree_parse(const char *file, const char *text, size_t len, RgDiags *diags)
{
	g_autoptr(RgTree) tree = new_tree();
	Parser parser = {.file = file, .text = text, .len = len, .tree = tree, .diags = diags};
	if (!parse(&parser))
		return NULL;
	if (is_empty(tree->root)) {
		report_empty(file, diags);
		return NULL;
	}
	return g_steal_pointer(&tree);
}

GPtrArray *rg_tree_parse_each(const char *file, const char *text, size_t len, RgDiags *diags)
{
	g_autoptr(GPtrArray) trees = g_ptr_array_new_with_free_func(free_tree);
	Parser parser = {.file = file, .text = text, .len = len, .trees = trees, .diags = diags};
	if (!parse(&parser)) {
		if (parser.diags != diags)
			rg_diags_take_all(diags, parser.diags);
		return NULL;
	}
	for (guint i = trees->len; i > 0; i--) {
		const RgTree *tree = trees->pdata[i - 1];
		if (is_empty(tree->root))
			g_ptr_array_remove_index(trees, i - 1);
	}
	if (!trees->len) {
		report_empty(file, diags);
		return NULL;
	}
	return g_steal_pointer(&trees);
}
