#include "convert/internal.h"

#include <string.h>

#define MOST_ITEMS 1000
#define MOST_NODES 1000000000 /* more than a spec may have; their products fit */

/* What the last words of a row do with the value. */

/* Whether a row's word changes the value, and another says where it goes. */
static bool transforms(const char *words)
{
	static const char *const names[] = {"split", "one", "yaml", "gib", "integer", "not",
		"number", "text", "word", "lookup", "from", "last", "as", NULL};
	g_autofree char *first = g_strndup(words, strcspn(words, " "));
	return g_strv_contains(names, first);
}

/* The note of a row that transforms values is about those that it does not convert. */
static const char *note_of(const ConvertRule *rule)
{
	return transforms(rule->how) ? NULL : rule->note;
}

static void put(Convert *convert, const ConvertRule *rule, const ConvertAt *at, json_t *value)
{
	bool spot_head = at->node && at->node->is_head && g_str_has_prefix(rule->to, "node.market");
	if (!spot_head) {
		convert_put(convert, rule->to, json_incref(value), at, note_of(rule));
		return;
	}
	bool plain = g_strcmp0(json_string_value(value), "on_demand") == 0;
	convert_key(convert, at->pointer, plain ? CONVERT_SAME : CONVERT_NONE, NULL,
		"the head is always bought on demand, because the cluster ends with it");
}

static bool has_all(const json_t *list, const json_t *items)
{
	bool all = true;
	rg_json_foreach (item, items) {
		const char *text = json_string_value(item);
		all = all && text && rg_json_has_text(list, text);
	}
	return all;
}

/* Nodes of the file have lists of their own where the spec has one for the cluster: its first
 * node's may grow, another one's must be the same. `whole`: the value is the node's list. */
static bool adds_for_others(Convert *convert, const ConvertRule *rule, const ConvertAt *at,
	const json_t *list, const json_t *items, bool whole)
{
	const ConvertNode *owner = g_hash_table_lookup(convert->owners, rule->to);
	bool differs = !has_all(list, items) || (whole && !has_all(items, list));
	return at->node && owner && owner != at->node && differs;
}

/* "line 12: SecurityGroupIds, line 31" */
static void say_more(Convert *convert, const ConvertRule *rule, const ConvertAt *at)
{
	g_auto(GStrv) steps = g_strsplit(rule->to, ".", -1);
	g_autofree char *pointer = convert_join(steps);
	const char *old = g_hash_table_lookup(convert->comments, pointer);
	if (old)
		convert_say(convert, pointer,
			g_strdup_printf("%s, line %u", old, convert_line(convert, at->pointer)));
}

/* Another value of a list of the spec. */
static void put_items(
	Convert *convert, const ConvertRule *rule, const ConvertAt *at, const json_t *value)
{
	json_t *list = json_object_get(json_object_get(convert->spec, "provider"),
		strchr(rule->to, '.') ? strchr(rule->to, '.') + 1 : rule->to);
	json_auto_t *items = json_is_array(value) ? json_incref(rg_json_unconst(value))
						  : json_pack("[O]", value);
	if (!list) {
		g_hash_table_insert(convert->owners, (void *)(uintptr_t)rule->to, at->node);
		convert_put(convert, rule->to, json_incref(items), at, rule->note);
		return;
	}
	if (adds_for_others(convert, rule, at, list, items, json_is_array(value)))
		convert_key(convert, at->pointer, CONVERT_LOST, NULL,
			"nodes of the file have different ones; raygpu has one list for all nodes, "
			"so that each gets all of them");
	if (json_array_size(items) + json_array_size(list) > MOST_ITEMS) {
		convert_key(convert, at->pointer, CONVERT_NONE, NULL, "the list is too long");
		return;
	}
	if (!has_all(list, items))
		say_more(convert, rule, at);
	rg_json_foreach (item, items) {
		const char *text = json_string_value(item);
		if (!text || !rg_json_has_text(list, text))
			json_array_append(list, item);
	}
	convert_key(convert, at->pointer, *rule->note ? CONVERT_CHANGED : CONVERT_DONE, rule->to,
		rule->note);
}

/* A variable that has a row of its own ("env/NAME"); false: it has none. */
static bool act_on_variable(Convert *convert, const ConvertAt *at, const char *name, json_t *value)
{
	g_autofree char *path = g_strconcat("env/", name, NULL);
	const ConvertRule *rule = convert_find(convert, path);
	ConvertAt variable = *at;
	variable.value = value;
	if (rule)
		convert_act(convert, rule, &variable);
	return rule != NULL;
}

/* One member of a mapping of the spec; what has no text there is lost. */
static void put_member(Convert *convert, const ConvertRule *rule, const ConvertAt *at,
	const char *name, json_t *value, const char *pointer)
{
	g_autofree char *text = convert_scalar(value);
	bool is_env = g_str_equal(rule->to, "node.env");
	ConvertAt member = *at;
	member.pointer = pointer;
	if (name && is_env && act_on_variable(convert, &member, name, value))
		return;
	if (!name || !text) {
		convert_key(convert, pointer, CONVERT_LOST, NULL,
			*rule->note ? rule->note
				    : "it is not plain text, and a spec has nothing else");
		return;
	}
	member.name = name;
	g_autofree char *to = g_strconcat(rule->to, ".*", NULL);
	convert_put(convert, to, json_string(text), &member, rule->note);
}

static void put_map(Convert *convert, const ConvertRule *rule, const ConvertAt *at)
{
	if (!json_is_object(at->value))
		convert_key(convert, at->pointer, CONVERT_NONE, NULL, "it is not a mapping");
	rg_json_foreach_member (name, member, at->value) {
		g_autofree char *pointer = rg_json_pointer_add(at->pointer, name);
		put_member(convert, rule, at, name, member, pointer);
	}
}

/* [{Key: a, Value: b}] as {a: b} */
static void put_pairs(
	Convert *convert, const ConvertRule *rule, const ConvertAt *at, char *const *words)
{
	if (!json_is_array(at->value))
		convert_key(convert, at->pointer, CONVERT_NONE, NULL, "it is not a list");
	rg_json_foreach_at (i, item, at->value) {
		g_autofree char *pointer = g_strdup_printf("%s/%zu", at->pointer, i);
		put_member(convert, rule, at, rg_json_str(item, words[1], NULL),
			json_object_get(item, words[2]), pointer);
	}
}

static void put_part(Convert *convert, const ConvertRule *rule, const ConvertAt *at,
	const json_t *value, char *const *words)
{
	char *text = convert_scalar(value);
	guint n = g_strv_length((char **)(uintptr_t)words);
	guint64 part = g_ascii_strtoull(words[1], NULL, 10);
	if (!text || !at->node || part < 1 || part > CONVERT_PARTS) {
		g_free(text);
		convert_key(convert, at->pointer, CONVERT_NONE, NULL, rule->note);
		return;
	}
	const ConvertPart given = {.text = text,
		.before = g_intern_string(n > 2 ? words[2] : ""),
		.only_if = n > 3 ? g_intern_string(words[3]) : NULL,
		.same_if = n > 4 ? g_intern_string(words[4]) : NULL};
	convert_part(convert, at, rule->to, (size_t)part - 1, given);
}

/* A list of mappings, of which the named members stay: "members key tolerationSeconds=seconds". */
static void put_members(
	Convert *convert, const ConvertRule *rule, const ConvertAt *at, char *const *words)
{
	json_t *list = json_array();
	for (size_t i = 0; i < json_array_size(at->value); i++) {
		json_t *item = json_object();
		rg_json_foreach_member (name, member, json_array_get(at->value, i)) {
			const char *known = NULL;
			for (char *const *word = words + 1; *word && !known; word++) {
				g_auto(GStrv) pair = g_strsplit(*word, "=", 2);
				if (g_str_equal(pair[0], name))
					known = g_intern_string(pair[1] ? pair[1] : pair[0]);
			}
			g_autofree char *pointer =
				g_strdup_printf("%s/%zu/%s", at->pointer, i, name);
			if (known)
				json_object_set(item, known, member);
			else
				convert_key(convert, pointer, CONVERT_UNKNOWN, NULL, "unknown key");
		}
		json_array_append_new(list, item);
	}
	convert_put(convert, rule->to, list, at, rule->note);
}

static void put_weak(Convert *convert, const ConvertRule *rule, const ConvertAt *at)
{
	ConvertWeak *weak = g_new0(ConvertWeak, 1);
	weak->rule = rule;
	weak->node = at->node;
	weak->value = json_incref(at->value);
	weak->pointer = g_strdup(at->pointer);
	g_ptr_array_add(convert->weak, weak);
}

void convert_count(Convert *convert, const ConvertAt *at, const json_t *value, const char *which)
{
	ConvertNode *node = at->node;
	if (!json_is_integer(value) || json_integer_value(value) < 0) {
		convert_key(
			convert, at->pointer, CONVERT_NONE, NULL, "it is not a number of nodes");
		return;
	}
	int64_t number = MIN(json_integer_value(value), MOST_NODES);
	if (!node) {
		convert->max_workers = number;
		convert_key(convert, at->pointer, CONVERT_NONE, NULL,
			"`nodes` of each pool is the number; `policy: {max_nodes: N}` limits "
			"all of them together");
		return;
	}
	const struct {
		const char *name;
		int64_t *number;
		char **pointer;
	} slots[] = {
		{"min", &node->min, &node->min_at},
		{"max", &node->max, &node->max_at},
		{"count", &node->count, &node->count_at},
		{"times", &node->times, &node->times_at},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(slots); i++) {
		if (!g_str_equal(which, slots[i].name))
			continue;
		*slots[i].number = number;
		g_free(*slots[i].pointer);
		*slots[i].pointer = g_strdup(at->pointer);
	}
}

static void do_named(Convert *convert, const ConvertAt *at, const char *name)
{
	static const struct {
		const char *name;
		void (*act)(Convert *convert, const ConvertAt *at);
	} acts[] = {
		{"commands", convert_commands},
		{"run-options", convert_run_options},
		{"image", convert_image},
		{"version", convert_ray_version},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(acts); i++) {
		if (g_str_equal(name, acts[i].name))
			acts[i].act(convert, at);
	}
}

/* Rows without a field of the spec: "same if X" is otherwise none, "lost unless X" otherwise same.
 */
static void note_only(
	Convert *convert, const ConvertRule *rule, const ConvertAt *at, char *const *words)
{
	g_autofree char *text = convert_scalar(at->value);
	bool holds = !words[1] || !text ||
		     (g_strcmp0(words[2], text) == 0) == g_str_equal(words[1], "if");
	bool lost = g_str_equal(words[0], "lost");
	bool same = lost ? !holds : holds && g_str_equal(words[0], "same");
	convert->has_secrets = convert->has_secrets || g_str_equal(words[0], "secret");
	/* what follows the semicolon helps if something is lost */
	g_autofree char *note =
		g_strndup(rule->note, same ? strcspn(rule->note, ";") : strlen(rule->note));
	convert_key(convert, at->pointer,
		same   ? CONVERT_SAME
		: lost ? CONVERT_LOST
		       : CONVERT_NONE,
		NULL, note);
}

static void put_zoned(Convert *convert, const ConvertRule *rule, const ConvertAt *at)
{
	convert->zoned_to = rule->to;
	g_ptr_array_add(convert->zoned, g_strdup(at->pointer));
}

static void act_on(Convert *convert, const ConvertRule *rule, const ConvertAt *at, json_t *value,
	char *const *words)
{
	if (g_str_equal(words[0], "item"))
		put_items(convert, rule, at, value);
	else if (g_str_equal(words[0], "map"))
		put_map(convert, rule, at);
	else if (g_str_equal(words[0], "pairs"))
		put_pairs(convert, rule, at, words);
	else if (g_str_equal(words[0], "members"))
		put_members(convert, rule, at, words);
	else if (g_str_equal(words[0], "weak"))
		put_weak(convert, rule, at);
	else if (g_str_equal(words[0], "part"))
		put_part(convert, rule, at, value, words);
	else if (g_str_equal(words[0], "zone"))
		put_zoned(convert, rule, at);
	else if (g_str_equal(words[0], "count"))
		convert_count(convert, at, value, words[1]);
	else if (g_str_equal(words[0], "do"))
		do_named(convert, at, words[1]);
	else if (g_str_equal(words[0], "autoscales"))
		convert->autoscales = json_is_true(at->value);
	else
		put(convert, rule, at, value);
}

void convert_act(Convert *convert, const ConvertRule *rule, const ConvertAt *at)
{
	/* no field: the note says why; the last step sets the value, also where it does not say so
	 */
	const char *how = *rule->how ? rule->how : *rule->to ? "set" : "none";
	const char *arrow = g_strrstr(how, " > ");
	g_autofree char *whole =
		g_strconcat(how, transforms(arrow ? arrow + 3 : how) ? " > set" : "", NULL);
	g_auto(GStrv) steps = g_strsplit(whole, " > ", -1);
	const char *const *step = (const char *const *)steps;
	json_auto_t *value = convert_value(convert, at->value, &step);
	g_auto(GStrv) words = g_strsplit(*step, " ", -1);
	if (at->node && g_str_equal(rule->to, "node.accelerators"))
		at->node->has_gpus = true;
	static const char *const notes[] = {"none", "same", "lost", "secret", NULL};
	if (g_strv_contains(notes, words[0]))
		note_only(convert, rule, at, words);
	else if (!value)
		convert_key(convert, at->pointer, CONVERT_NONE, NULL,
			*rule->note ? rule->note : "its value has no counterpart");
	else
		act_on(convert, rule, at, value, words);
	if (g_str_equal(words[0], "autoscales"))
		convert_key(convert, at->pointer, CONVERT_DONE, "nodes", NULL);
}
