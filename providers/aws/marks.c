#include "aws/marks.h"
#include "common/indexes.h"
#include <string.h>

static const AwsShape tag_members[] = {{"key"}, {"value"}, {0}};
const AwsShape aws_tag_set[] = {{"item", tag_members, AWS_PAIR}, {0}};

static void set_mark(json_t *tags, const char *mark, const char *value)
{
	g_autofree char *key = g_strconcat(AWS_MARK_PREFIX, mark, NULL);
	if (*value)
		json_object_set_new(tags, key, json_string(value));
}

json_t *aws_marks_tags(const json_t *input)
{
	static const char *const given[] = {
		"cluster", "lineage", "pool", "indexes", "commit", "run"};
	const json_t *marks = json_object_get(input, "marks");
	json_auto_t *tags =
		json_copy(json_object_get(json_object_get(input, "attributes"), "tags"));
	if (!tags)
		tags = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(given); i++)
		set_mark(tags, given[i], mod_str(marks, given[i]));
	const char *kind = mod_str(input, "kind");
	g_autofree char *name = mod_marks_name(
		kind, mod_str(json_array_get(json_object_get(input, "items"), 0), "address"));
	set_mark(tags, "kind", kind);
	set_mark(tags, "name", name);
	set_mark(tags, "token", mod_str(input, "token"));
	json_t *list = json_array();
	g_autoptr(GPtrArray) keys = g_ptr_array_new();
	mod_foreach_member (key, value, tags)
		g_ptr_array_add(keys, (char *)(uintptr_t)key);
	g_ptr_array_sort(keys, mod_compare_texts);
	for (guint i = 0; i < keys->len; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "Key", keys->pdata[i], "Value",
						    mod_str(tags, keys->pdata[i])));
	return list;
}

json_t *aws_marks_spec(const char *type, json_t *tags)
{
	return json_pack("{s:s, s:O}", "ResourceType", type, "Tag", tags);
}

json_t *aws_marks_read(const json_t *tags, ModMarks *marks)
{
	json_auto_t *others = mod_marks_read(tags, AWS_MARK_PREFIX, marks);
	json_t *theirs = json_object();
	mod_foreach_member (key, value, others)
		if (!g_str_has_prefix(key, "aws:"))
			json_object_set_nocheck(theirs, key, value);
	return theirs;
}

/* "[3]" of an address, "" if it has none. */
static const char *bracket_of(const char *address)
{
	const char *bracket = strchr(address, '[');
	return bracket ? bracket : "";
}

static void add_mark(json_t *list, const char *mark, const char *value)
{
	g_autofree char *key = g_strconcat(AWS_MARK_PREFIX, mark, NULL);
	if (*value)
		json_array_append_new(list, json_pack("{s:s, s:s}", "Key", key, "Value", value));
}

json_t *aws_marks_renew(const char *kind, const json_t *item)
{
	const json_t *marks = json_object_get(item, "marks");
	const char *address = mod_str(item, "address");
	const char *told = mod_str(json_object_get(item, "observed"), "marks");
	g_autofree char *bare = mod_marks_name(kind, address);
	g_autofree char *index = mod_marks_index(address);
	json_t *list = json_array();
	add_mark(list, "cluster", mod_str(marks, "cluster"));
	add_mark(list, "kind", kind);
	add_mark(list, "lineage", mod_str(marks, "lineage"));
	add_mark(list, "name", bare);
	add_mark(list, "pool", mod_str(marks, "pool"));
	if (!*told || strcmp(bracket_of(told), bracket_of(address)))
		add_mark(list, "index", index);
	return list;
}

json_t *aws_marks_all(void)
{
	static const char *const names[] = {"cluster", "commit", "expires", "index", "indexes",
		"kind", "lineage", "name", "pool", "run", "token"};
	json_t *list = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *key = g_strconcat(AWS_MARK_PREFIX, names[i], NULL);
		json_array_append_new(list, json_pack("{s:s}", "Key", key));
	}
	return list;
}

bool aws_marks_has_index(const ModMarks *marks)
{
	return marks->index ? !g_str_equal(marks->index, MOD_NO_INDEX) : marks->indexes != NULL;
}

char *aws_marks_address(const ModMarks *marks, const char *kind, uint64_t place)
{
	if (!marks->kind || !marks->name || strcmp(marks->kind, kind))
		return NULL;
	if (marks->index || !marks->indexes)
		return mod_marks_address(marks, kind, marks->index);
	int64_t index;
	if (!mod_indexes_at(marks->indexes, place, &index))
		return NULL;
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, index);
	return mod_marks_address(marks, kind, text);
}
