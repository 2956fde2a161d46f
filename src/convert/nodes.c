#include "convert/internal.h"

#include <inttypes.h>
#include <string.h>
#include "base/caps.h"

#define DEFAULT_MAX_WORKERS 2 /* of Ray's cluster launcher */

ConvertNode *convert_node_new(
	Convert *convert, const char *name, bool is_head, json_t *value, const char *pointer)
{
	ConvertNode *node = g_new0(ConvertNode, 1);
	node->name = g_strdup(name);
	node->is_head = is_head;
	node->pointer = g_intern_string(pointer);
	node->value = value;
	node->max = node->count = -1;
	node->times = 1;
	node->parts = g_ptr_array_new();
	g_ptr_array_add(convert->nodes, node);
	return node;
}

bool convert_is_full(Convert *convert, const char *pointer)
{
	if (convert->nodes->len <= RG_CAP_POOLS)
		return false;
	convert_key(convert, pointer, CONVERT_NONE, NULL,
		"a spec has at most " G_STRINGIFY(RG_CAP_POOLS) " pools");
	return true;
}

/* Lower-case letters, digits and single hyphens, beginning with a letter. */
static GString *plain_name(const char *name, const char *otherwise)
{
	GString *plain = g_string_new(NULL);
	for (; *name && plain->len < 36; name++) {
		bool hyphen = plain->len > 0 && plain->str[plain->len - 1] == '-';
		if (g_ascii_isalpha(*name) || (plain->len > 0 && g_ascii_isdigit(*name)))
			g_string_append_c(plain, g_ascii_tolower(*name));
		else if (plain->len > 0 && !hyphen)
			g_string_append_c(plain, '-');
	}
	while (plain->len > 0 && plain->str[plain->len - 1] == '-')
		g_string_truncate(plain, plain->len - 1);
	if (!plain->len)
		g_string_append(plain, otherwise);
	return plain;
}

char *convert_name(Convert *convert, const char *name, const char *otherwise)
{
	g_autoptr(GString) plain = plain_name(name, otherwise);
	gsize len = plain->len;
	for (unsigned i = 2; !g_hash_table_add(convert->names, g_strdup(plain->str)); i++) {
		g_string_truncate(plain, len);
		g_string_append_printf(plain, "-%u", i);
	}
	return g_string_free(g_steal_pointer(&plain), FALSE);
}

char *convert_cluster_name(const char *name)
{
	return g_string_free(plain_name(name, "ray"), FALSE);
}

void convert_part(
	Convert *convert, const ConvertAt *at, const char *to, size_t part, ConvertPart given)
{
	ConvertParts *parts = NULL;
	for (guint i = 0; i < at->node->parts->len && !parts; i++) {
		ConvertParts *known = at->node->parts->pdata[i];
		parts = g_str_equal(known->to, to) ? known : NULL;
	}
	if (!parts) {
		parts = g_new0(ConvertParts, 1);
		parts->to = g_strdup(to);
		g_ptr_array_add(at->node->parts, parts);
	}
	if (parts->parts[part].text) {
		bool same = g_str_equal(parts->parts[part].text, given.text);
		convert_key(convert, at->pointer, same ? CONVERT_SAME : CONVERT_NONE, NULL,
			same ? "another key gives the same value"
			     : "another key gives another value");
		g_free(given.text);
		return;
	}
	parts->parts[part] = given;
	parts->parts[part].pointer = g_strdup(at->pointer);
}

/* Without a model the spec is not valid: any choice could be wrong. */
static json_t *join_gpus(Convert *convert, const ConvertParts *parts)
{
	if (!parts->parts[1].text)
		return NULL;
	gint64 count = g_ascii_strtoll(parts->parts[1].text, NULL, 10);
	if (count == 0)
		return NULL;
	if (parts->parts[0].text)
		return json_sprintf("%s:%s", parts->parts[0].text, parts->parts[1].text);
	g_autofree char *why = g_strdup_printf("the file does not say which GPU model: write "
					       "`accelerators: MODEL:%s`, such as T4:%s",
		parts->parts[1].text, parts->parts[1].text);
	convert_key(convert, parts->parts[1].pointer, CONVERT_NONE, NULL, why);
	return NULL;
}

static json_t *join_texts(const ConvertParts *parts)
{
	if (!parts->parts[0].text)
		return NULL;
	g_autoptr(GString) text = g_string_new(parts->parts[0].text);
	for (size_t i = 1; i < CONVERT_PARTS && parts->parts[i].text; i++) {
		if (!parts->parts[i].only_if ||
			g_str_has_prefix(parts->parts[0].text, parts->parts[i].only_if))
			g_string_append_printf(
				text, "%s%s", parts->parts[i].before, parts->parts[i].text);
	}
	return json_string(text->str);
}

/* A text that is not written after the first one. */
static bool is_apart(const ConvertParts *parts, size_t i)
{
	const char *prefix = parts->parts[i].only_if, *first = parts->parts[0].text;
	return prefix && first && !g_str_has_prefix(first, prefix);
}

/* The first text may say the same; otherwise it means something that the spec cannot say. */
static void note_apart(Convert *convert, const ConvertParts *parts, size_t i)
{
	bool has = false;
	g_auto(GStrv) prefixes =
		g_strsplit(parts->parts[i].same_if ? parts->parts[i].same_if : "", "|", -1);
	for (char **prefix = prefixes; *prefix && !has; prefix++)
		has = g_str_has_prefix(parts->parts[0].text, *prefix);
	g_autofree char *why = g_strdup_printf(
		has ? "%s has them" : "a spec cannot add it to %s", parts->parts[0].text);
	convert_key(convert, parts->parts[i].pointer, has ? CONVERT_SAME : CONVERT_LOST, NULL, why);
}

static void finish_parts(Convert *convert, ConvertNode *node, ConvertParts *parts)
{
	bool gpus = g_str_equal(parts->to, "node.accelerators");
	size_t first = 0;
	while (!parts->parts[first].text)
		first++;
	json_t *value = gpus ? join_gpus(convert, parts) : join_texts(parts);
	const ConvertAt at = {parts->parts[first].pointer, "", NULL, node, NULL};
	if (value)
		convert_put(convert, parts->to, value, &at, NULL);
	for (size_t i = 0; i < CONVERT_PARTS; i++) {
		if (!parts->parts[i].text)
			continue;
		if (is_apart(parts, i))
			note_apart(convert, parts, i);
		else
			convert_key(convert, parts->parts[i].pointer,
				value ? CONVERT_DONE : CONVERT_NONE, parts->to,
				value ? NULL : "it has no meaning alone");
	}
}

static void put_nodes(Convert *convert, ConvertNode *node, json_t *value, const char *pointer)
{
	const ConvertAt at = {pointer, "", NULL, node, NULL};
	convert_put(convert, "node.nodes", value, &at, NULL);
}

static void note_count(
	Convert *convert, const char *pointer, ConvertOutcome outcome, const char *why)
{
	if (pointer)
		convert_key(convert, pointer, outcome, "nodes", why);
}

static void note_growth(Convert *convert, const ConvertNode *node, int64_t nodes, int64_t most)
{
	g_autofree char *why = g_strdup_printf("a fixed number of nodes: %" PRId64
					       ", Ray's minimum. Ray would go up to %" PRId64
					       ": set `nodes` to what you need",
		nodes, most);
	const char *at = node->max_at ? node->max_at : node->pointer;
	convert_key(convert, at, CONVERT_CHANGED, "nodes", why);
}

static void fixed_nodes(Convert *convert, ConvertNode *node)
{
	int64_t most = node->max >= 0		   ? node->max
		       : convert->max_workers >= 0 ? convert->max_workers
						   : DEFAULT_MAX_WORKERS;
	const char *place = node->count_at ? node->count_at
			    : node->min_at ? node->min_at
					   : node->pointer;
	int64_t nodes = node->count_at ? node->count : node->min;
	/* before the number, whose key may be the same; also where the limit is Ray's own */
	if (!node->count_at && most > nodes)
		note_growth(convert, node, nodes, most);
	put_nodes(convert, node, json_integer(nodes * node->times), place);
	note_count(convert, node->min_at, CONVERT_SAME, "only the number of nodes counts");
	note_count(convert, node->max_at, CONVERT_SAME, "only the number of nodes counts");
}

static void finish_counts(Convert *convert, ConvertNode *node)
{
	if (node->is_head) {
		note_count(convert, node->min_at, CONVERT_SAME, "the head is one node");
		note_count(convert, node->max_at, CONVERT_SAME, "the head is one node");
		return;
	}
	if (node->times_at)
		convert_key(convert, node->times_at,
			node->times == 1 ? CONVERT_SAME : CONVERT_CHANGED, "nodes",
			node->times == 1 ? "each worker is one pod"
					 : "each pod counts as a node: they are multiplied");
	if (!convert->is_elastic || !convert->autoscales) {
		fixed_nodes(convert, node);
		return;
	}
	const json_int_t fewest = node->min * node->times;
	const json_int_t limit = node->max >= 0 ? node->max : MAX(node->count, 1);
	const json_int_t most = MAX(fewest, MIN(limit * node->times, RG_CAP_NODES));
	if (node->max < 0)
		convert_key(convert, node->pointer, CONVERT_CHANGED, "nodes",
			"the file has no maximum for this pool; a spec states one in `nodes`");
	const char *place = node->min_at   ? node->min_at
			    : node->max_at ? node->max_at
					   : node->pointer;
	put_nodes(convert, node, json_pack("{s:I, s:I}", "min", fewest, "max", most), place);
	note_count(convert, node->max_at, CONVERT_DONE, NULL);
	note_count(convert, node->count_at, CONVERT_SAME,
		"Ray's autoscaler decides between the limits");
}

static void apply_default(Convert *convert, const ConvertDefault *one, const ConvertNode *node)
{
	bool fits = one->scope == CONVERT_NODES || (one->scope == CONVERT_HEAD) == node->is_head;
	if (!fits)
		return;
	g_auto(GStrv) steps = convert_below_node(node, one->steps);
	convert_set_steps(convert, steps, json_incref(one->value), one->pointer);
}

/* "default/..." of the tables: what Ray or the module's kind of cluster has without a key. */
static void apply_rule(Convert *convert, const ConvertRule *rule, const ConvertNode *node)
{
	if (convert_find(convert, rule->path) != rule || !*rule->to)
		return;
	g_auto(GStrv) below = g_strsplit(strchr(rule->to, '.') + 1, ".", -1);
	g_auto(GStrv) steps = convert_below_node(node, below);
	g_autofree char *pointer = convert_join(steps),
			*whole = convert_join(
				(char *[]){steps[0], node->is_head ? NULL : steps[1], NULL});
	const json_t *object = rg_json_at(convert->spec, whole);
	bool shaped = g_str_equal(below[0], "instance_type") &&
		      (node->has_gpus || json_object_get(object, "accelerators"));
	bool has = shaped || rg_json_at(convert->spec, pointer);
	if (has)
		return;
	bool word = g_str_equal(rule->how, "true") || g_str_equal(rule->how, "false");
	convert_set_steps(convert, steps,
		word ? json_boolean(g_str_equal(rule->how, "true")) : json_string(rule->how), NULL);
	convert_say(convert, pointer, g_strdup(rule->note));
}

static void apply_rules(Convert *convert, const ConvertTable *table, const ConvertNode *node)
{
	const ConvertRule *rule = NULL;
	while ((rule = convert_table_next(table, "default/", rule)))
		apply_rule(convert, rule, node);
}

/* The zones of all nodes; a value that is for one zone has it only if there is no other. */
static const char *only_zone(const Convert *convert)
{
	const char *zone = NULL;
	rg_ptr_foreach (const ConvertNode, node, convert->nodes) {
		const json_t *group =
			json_object_get(convert->spec, node->is_head ? "head" : "pools");
		const json_t *zones = json_object_get(
			node->is_head ? group : json_object_get(group, node->name), "zones");
		const char *one = json_string_value(json_array_get(zones, 0));
		if (json_array_size(zones) != 1 || (zone && g_strcmp0(zone, one) != 0))
			return NULL;
		zone = one;
	}
	return zone;
}

static void finish_zoned(Convert *convert)
{
	const char *zone = convert->zoned->len ? only_zone(convert) : NULL;
	rg_ptr_foreach (const char, pointer, convert->zoned) {
		const json_t *value = rg_json_at(convert->document->value, pointer);
		json_t *one = json_is_array(value) && json_array_size(value) == 1
				      ? json_array_get(value, 0)
				      : rg_json_unconst(value);
		const ConvertAt at = {pointer, "", NULL, NULL, zone};
		g_autofree char *to = g_strconcat(convert->zoned_to, ".*", NULL);
		g_autofree char *why = g_strdup_printf(
			"its zone is needed: write `%s: {ZONE: ID, ...}`", convert->zoned_to);
		if (zone && json_is_string(one))
			convert_put(convert, to, json_incref(one), &at, NULL);
		else
			convert_key(convert, pointer, CONVERT_LOST, NULL, why);
	}
}

/* An empty mapping for each node, so that they have the order of the file. */
static void make_nodes(Convert *convert)
{
	rg_ptr_foreach (const ConvertNode, node, convert->nodes) {
		json_t *parent = convert->spec;
		if (!node->is_head && !json_object_get(parent, "pools"))
			json_object_set_new(parent, "pools", json_object());
		parent = node->is_head ? parent : json_object_get(parent, "pools");
		if (!json_object_get(parent, node->name))
			json_object_set_new(parent, node->name, json_object());
	}
}

static void finish_weak(Convert *convert, const ConvertWeak *weak)
{
	const ConvertAt at = {weak->pointer, "", NULL, weak->node, NULL};
	bool set = convert_set(convert, weak->rule->to, json_incref(weak->value), &at);
	convert_key(convert, weak->pointer, set ? CONVERT_DONE : CONVERT_NONE,
		set ? weak->rule->to : NULL, set ? NULL : weak->rule->note);
}

void convert_nodes_finish(Convert *convert)
{
	make_nodes(convert);
	for (guint i = 0; i < convert->weak->len; i++)
		finish_weak(convert, convert->weak->pdata[i]);
	for (guint i = convert->nodes->len; i > 0; i--) { /* a type of the head may be a pool too */
		ConvertNode *node = convert->nodes->pdata[i - 1];
		for (guint k = 0; k < node->parts->len; k++)
			finish_parts(convert, node, node->parts->pdata[k]);
		finish_counts(convert, node);
	}
	for (guint i = 0; i < convert->nodes->len; i++) {
		for (guint k = 0; k < convert->defaults->len; k++)
			apply_default(
				convert, convert->defaults->pdata[k], convert->nodes->pdata[i]);
		apply_rules(convert, convert->own, convert->nodes->pdata[i]);
		apply_rules(convert, convert->own ? convert->core : NULL, convert->nodes->pdata[i]);
	}
	finish_zoned(convert);
}
