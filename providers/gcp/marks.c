#include "gcp/marks.h"
#include <string.h>
#include "common/names.h"

#define TOKEN_DIGITS 8
#define VALUE_MAX 63 /* of a label, and of a name */
#define STEM_MAX 47  /* of a name, before "-TOKEN" and "-INDEX" */
#define TEXT_PREFIX "raygpu:"

char *gcp_node_tag(const char *lineage)
{
	g_autofree char *text = g_strconcat(GCP_MARK_PREFIX, lineage, NULL);
	return mod_name_fit(text, VALUE_MAX, "-");
}

static json_t *tags_replaced(const json_t *tags, const char *from, const char *to)
{
	json_t *list = json_array();
	mod_foreach (tag, tags) {
		const char *text = json_string_value(tag);
		json_array_append_new(
			list, json_string(text && g_str_equal(text, from) ? to : text));
	}
	return list;
}

json_t *gcp_tags_write(const json_t *tags, const char *lineage)
{
	g_autofree char *own = gcp_node_tag(lineage);
	return tags_replaced(tags, GCP_OWN_TAG, own);
}

json_t *gcp_tags_read(const json_t *tags, const char *lineage)
{
	g_autofree char *own = gcp_node_tag(lineage);
	return tags_replaced(tags, own, GCP_OWN_TAG);
}

char *gcp_name_of(const json_t *input, const json_t *item)
{
	const char *kind = mod_str(input, "kind");
	const json_t *index = json_object_get(item, "index");
	g_autofree char *bare = mod_marks_name(kind, mod_str(item, "address"));
	g_autofree char *stem =
		g_strdup_printf("%s%s-%s", g_str_equal(kind, GCP_INSTANCE) ? "" : GCP_MARK_PREFIX,
			mod_str(json_object_get(input, "marks"), "cluster"), bare);
	g_autofree char *fitting = mod_name_fit(stem, STEM_MAX, "-");
	GString *name = g_string_new(NULL);
	g_string_printf(name, "%s-%.*s", fitting, TOKEN_DIGITS, mod_str(input, "token"));
	if (json_is_integer(index))
		g_string_append_printf(name, "-%" JSON_INTEGER_FORMAT, json_integer_value(index));
	return g_string_free(name, FALSE);
}

static void set_mark(json_t *labels, const char *mark, const char *value)
{
	g_autofree char *key = g_strconcat(GCP_MARK_PREFIX, mark, NULL);
	g_autofree char *fitting = *value ? mod_name_fit(value, VALUE_MAX, "_-") : NULL;
	if (fitting)
		json_object_set_new(labels, key, json_string(fitting));
}

/* "gcp.instance" -> "gcp_instance": labels hold no dot. */
static void set_kind(json_t *labels, const char *kind)
{
	g_autofree char *word = g_strdelimit(g_strdup(kind), ".", '_');
	set_mark(labels, "kind", word);
}

static void set_marks(json_t *labels, const json_t *input)
{
	static const char *const given[] = {"cluster", "lineage", "pool", "commit", "run"};
	const json_t *marks = json_object_get(input, "marks");
	const char *kind = mod_str(input, "kind");
	g_autofree char *bare = mod_marks_name(
		kind, mod_str(json_array_get(json_object_get(input, "items"), 0), "address"));
	for (size_t i = 0; i < G_N_ELEMENTS(given); i++)
		set_mark(labels, given[i], mod_str(marks, given[i]));
	set_kind(labels, kind);
	set_mark(labels, "name", bare);
	set_mark(labels, "token", mod_str(input, "token"));
}

json_t *gcp_marks_labels(const json_t *input)
{
	json_t *labels = json_copy(json_object_get(json_object_get(input, "attributes"), "labels"));
	if (!labels)
		labels = json_object();
	set_marks(labels, input);
	return labels;
}

/* "raygpu: cluster=research lineage=... name=nodes region=us-central1 token=..." */
static char *marks_as_text(const json_t *labels)
{
	GString *text = g_string_new(TEXT_PREFIX);
	mod_foreach_member (key, value, labels)
		g_string_append_printf(
			text, " %s=%s", key + strlen(GCP_MARK_PREFIX), json_string_value(value));
	return g_string_free(text, FALSE);
}

char *gcp_marks_text(const json_t *input, const char *region)
{
	json_auto_t *labels = json_object();
	set_marks(labels, input);
	set_mark(labels, "region", region);
	return marks_as_text(labels);
}

json_t *gcp_marks_read(const json_t *labels, ModMarks *marks)
{
	return mod_marks_read(labels, GCP_MARK_PREFIX, marks);
}

/* {"raygpu-cluster": ...} of a description. */
static json_t *text_labels(const char *description)
{
	json_t *labels = json_object();
	if (!g_str_has_prefix(description, TEXT_PREFIX))
		return labels;
	g_auto(GStrv) words = g_strsplit(description, " ", -1);
	for (size_t i = 1; words[i]; i++) {
		g_auto(GStrv) pair = g_strsplit(words[i], "=", 2);
		if (pair[0] && pair[1])
			set_mark(labels, pair[0], pair[1]);
	}
	return labels;
}

void gcp_marks_parse(const char *description, ModMarks *marks)
{
	json_auto_t *labels = text_labels(description);
	json_decref(gcp_marks_read(labels, marks));
}

/* Of a node, the text after "-TOKEN-" of its name; NULL: none. */
static const char *index_in_name(const ModMarks *marks, const char *name)
{
	if (!marks->token || strlen(marks->token) < TOKEN_DIGITS)
		return NULL;
	g_autofree char *infix = g_strdup_printf("-%.*s-", TOKEN_DIGITS, marks->token);
	const char *at = g_strrstr(name, infix);
	const char *digits = at ? at + strlen(infix) : "";
	return *digits && strspn(digits, "0123456789") == strlen(digits) ? digits : NULL;
}

char *gcp_marks_address(const ModMarks *marks, const char *kind, const char *name)
{
	g_autofree char *word = g_strdelimit(g_strdup(kind), ".", '_');
	if (!marks->name || g_strcmp0(marks->kind, word))
		return NULL;
	return mod_marks_address(
		marks, kind, marks->index ? marks->index : index_in_name(marks, name));
}

void gcp_marks_remove(json_t *labels)
{
	const char *key;
	json_t *value;
	void *next;
	json_object_foreach_safe (labels, next, key, value)
		if (g_str_has_prefix(key, GCP_MARK_PREFIX))
			json_object_del(labels, key);
}

json_t *gcp_marks_renew(const char *kind, const json_t *item)
{
	const json_t *marks = json_object_get(item, "marks");
	const char *address = mod_str(item, "address");
	g_autofree char *bare = mod_marks_name(kind, address);
	g_autofree char *index = mod_marks_index(address);
	json_t *labels = json_object();
	set_mark(labels, "cluster", mod_str(marks, "cluster"));
	set_kind(labels, kind);
	set_mark(labels, "lineage", mod_str(marks, "lineage"));
	set_mark(labels, "name", bare);
	set_mark(labels, "pool", mod_str(marks, "pool"));
	set_mark(labels, "index", index);
	return labels;
}

char *gcp_marks_renew_text(const char *kind, const json_t *item, const char *description)
{
	json_auto_t *labels = text_labels(description);
	json_auto_t *renewed = gcp_marks_renew(kind, item);
	json_object_update(labels, renewed);
	return marks_as_text(labels);
}
