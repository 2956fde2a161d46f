#include "convert/internal.h"

#include <string.h>

const ConvertRule *convert_find(const Convert *convert, const char *path)
{
	const ConvertRule *rule = convert_table_find(convert->own, path);
	return rule ? rule : convert_table_find(convert->core, path);
}

unsigned convert_line(const Convert *convert, const char *pointer)
{
	return rg_document_key_source(convert->document, pointer).line;
}

/* The last step of a pointer into the file, as its key. g_free. */
static char *key_of(const char *pointer)
{
	const char *last = strrchr(pointer, '/');
	return last ? rg_json_step_name(last + 1, strlen(last + 1)) : g_strdup("");
}

char *convert_comment(const Convert *convert, const char *pointer)
{
	g_autofree char *key = key_of(pointer);
	bool item = *key && strspn(key, "0123456789") == strlen(key);
	return g_strdup_printf(
		"line %u%s%s", convert_line(convert, pointer), item ? "" : ": ", item ? "" : key);
}

/* YAML readers end a line, and a comment, at these too. */
static bool ends_line(gunichar c)
{
	return g_unichar_iscntrl(c) || c == 0x2028 || c == 0x2029;
}

char *convert_one_line(const char *text)
{
	GString *line = g_string_new(NULL);
	for (; *text; text += g_utf8_skip[(guchar)*text]) {
		gunichar c = g_utf8_get_char(text);
		g_string_append_unichar(line, ends_line(c) ? ' ' : c);
	}
	return g_string_free(line, FALSE);
}

void convert_say(Convert *convert, const char *spec_pointer, char *comment)
{
	g_hash_table_replace(convert->comments, g_strdup(spec_pointer), convert_one_line(comment));
	g_free(comment);
}

void convert_key(Convert *convert, const char *pointer, ConvertOutcome outcome, const char *to,
	const char *reason)
{
	if (!g_hash_table_add(convert->seen, g_strdup(pointer)))
		return;
	ConvertKey *key = g_new0(ConvertKey, 1);
	key->pointer = g_strdup(pointer);
	key->outcome = outcome;
	key->to = g_strdup(to);
	key->reason = reason && *reason ? g_strdup(reason) : NULL;
	g_ptr_array_add(convert->keys, key);
}

/* An object at the step: an existing text becomes the key of an object, as "spot" in `market`. */
static json_t *descend(json_t *object, const char *step, const char *next)
{
	json_t *member = json_object_get(object, step);
	if (json_is_object(member))
		return member;
	if (member && g_strcmp0(json_string_value(member), next) != 0)
		return NULL;
	json_object_set_new(object, step, json_object());
	return json_object_get(object, step);
}

char *convert_join(char *const *steps)
{
	char *pointer = g_strdup("");
	for (; *steps; steps++) {
		char *longer = rg_json_pointer_add(pointer, *steps);
		g_free(pointer);
		pointer = longer;
	}
	return pointer;
}

/* A text where there is an object with that key says the same. */
static bool says_same(const json_t *old, const json_t *value)
{
	return json_equal(rg_json_unconst(old), rg_json_unconst(value)) ||
	       (json_is_object(old) && json_is_string(value) &&
		       json_object_get(old, json_string_value(value)));
}

bool convert_set_steps(Convert *convert, GStrv steps, json_t *value, const char *pointer)
{
	json_t *object = convert->spec;
	size_t n = g_strv_length(steps);
	for (size_t i = 0; i + 1 < n && object; i++)
		object = descend(object, steps[i], steps[i + 1]);
	const json_t *old = object ? json_object_get(object, steps[n - 1]) : NULL;
	if (!object || (old && !json_is_null(old))) {
		bool same = old && says_same(old, value);
		json_decref(value);
		return same;
	}
	json_object_set_new(object, steps[n - 1], value);
	g_autofree char *at = convert_join(steps);
	if (pointer) {
		g_hash_table_replace(convert->origins, g_strdup(at), g_strdup(pointer));
		convert_say(convert, at, convert_comment(convert, pointer));
	}
	return true;
}

/* "node.labels.*" as steps below the spec or a node. */
static GStrv steps_of(const char *to, const ConvertAt *at)
{
	GStrv steps = g_strsplit(to, ".", -1);
	for (char **step = steps; *step; step++) {
		if (!g_str_equal(*step, "*"))
			continue;
		g_free(*step);
		*step = at->name ? g_strdup(at->name) : key_of(at->pointer);
	}
	return steps;
}

/* Steps below a node become steps below the spec. */
GStrv convert_below_node(const ConvertNode *node, char *const *steps)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	g_ptr_array_add(all, g_strdup(node->is_head ? "head" : "pools"));
	if (!node->is_head)
		g_ptr_array_add(all, g_strdup(node->name));
	for (; *steps; steps++)
		g_ptr_array_add(all, g_strdup(*steps));
	g_ptr_array_add(all, NULL);
	return (GStrv)g_ptr_array_free(g_steal_pointer(&all), FALSE);
}

#define MOST_DEFAULTS 300 /* each of them times all nodes */

static void set_default(
	Convert *convert, int scope, char *const *steps, json_t *value, const ConvertAt *at)
{
	ConvertDefault *one = g_new0(ConvertDefault, 1);
	one->scope = scope;
	one->steps = g_strdupv((char **)(uintptr_t)steps);
	one->value = value;
	one->pointer = g_strdup(at->pointer);
	g_ptr_array_add(convert->defaults, one);
}

bool convert_set(Convert *convert, const char *to, json_t *value, const ConvertAt *at)
{
	static const char *const scopes[] = {"node", "head", "pools"};
	g_auto(GStrv) steps = steps_of(to, at);
	for (size_t i = 0; i < G_N_ELEMENTS(scopes); i++) {
		if (!g_str_equal(steps[0], scopes[i]))
			continue;
		if ((i > 0 || !at->node) && convert->defaults->len >= MOST_DEFAULTS) {
			json_decref(value);
			return false;
		}
		if (i > 0 || !at->node) {
			set_default(convert, (int)i, steps + 1, value, at);
			return true;
		}
		g_auto(GStrv) all = convert_below_node(at->node, steps + 1);
		return convert_set_steps(convert, all, value, at->pointer);
	}
	return convert_set_steps(convert, steps, value, at->pointer);
}

/* The key of the file that set the value before. */
static char *explain_conflict(Convert *convert, const char *to, const ConvertAt *at)
{
	g_auto(GStrv) steps = steps_of(to, at);
	bool of_node = g_str_equal(steps[0], "node") && at->node;
	g_auto(GStrv) all = of_node ? convert_below_node(at->node, steps + 1) : g_strdupv(steps);
	g_autofree char *pointer = convert_join(all);
	const char *origin = g_hash_table_lookup(convert->origins, pointer);
	g_autofree char *path = rg_spec_path(convert->document, pointer);
	if (!origin && convert->defaults->len >= MOST_DEFAULTS)
		return g_strdup("the file has too many values for all nodes");
	if (!origin)
		return g_strdup_printf("%s already has another value", path);
	return g_strdup_printf("%s already has the value of line %u; raygpu has one %s", path,
		convert_line(convert, origin), of_node ? "for each pool" : "for the whole cluster");
}

void convert_put(
	Convert *convert, const char *to, json_t *value, const ConvertAt *at, const char *note)
{
	g_autofree char *name =
		g_str_has_suffix(to, "*") && !at->name ? key_of(at->pointer) : g_strdup(at->name);
	convert_look_at(convert, name, value, at->pointer);
	if (convert_set(convert, to, value, at)) {
		bool plain = !note || !*note;
		convert_key(convert, at->pointer, plain ? CONVERT_DONE : CONVERT_CHANGED, to, note);
		return;
	}
	g_autofree char *why = explain_conflict(convert, to, at);
	convert_key(convert, at->pointer, CONVERT_NONE, NULL, why);
}
