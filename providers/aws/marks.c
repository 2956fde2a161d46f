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
	/* "aws.instance.train[3]" -> "train" */
	const char *address =
		mod_str(json_array_get(json_object_get(input, "items"), 0), "address");
	const char *kind = mod_str(input, "kind");
	if (g_str_has_prefix(address, kind) && address[strlen(kind)] == '.')
		address += strlen(kind) + 1;
	const char *bracket = strchr(address, '[');
	g_autofree char *name =
		g_strndup(address, bracket ? (size_t)(bracket - address) : strlen(address));
	set_mark(tags, "kind", mod_str(input, "kind"));
	set_mark(tags, "name", name);
	set_mark(tags, "token", mod_str(input, "token"));
	json_t *list = json_array();
	const char *key;
	json_t *value;
	g_autoptr(GPtrArray) keys = g_ptr_array_new();
	json_object_foreach (tags, key, value)
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

void aws_marks_clear(AwsMarks *marks)
{
	g_free(marks->kind);
	g_free(marks->name);
	g_free(marks->indexes);
	g_free(marks->token);
	g_free(marks->lineage);
	g_free(marks->cluster);
	g_free(marks->index);
	*marks = (AwsMarks){0};
}

static char *mark_dup(const json_t *tags, const char *key)
{
	const char *value = mod_str(tags, key);
	return *value ? g_strdup(value) : NULL;
}

json_t *aws_marks_read(const json_t *tags, AwsMarks *marks)
{
	json_t *others = json_object();
	const char *key;
	json_t *value;
	json_object_foreach (mod_unconst(tags), key, value)
		if (!g_str_has_prefix(key, AWS_MARK_PREFIX) && !g_str_has_prefix(key, "aws:"))
			json_object_set_nocheck(others, key, value);
	*marks = (AwsMarks){
		.kind = mark_dup(tags, AWS_MARK_PREFIX "kind"),
		.name = mark_dup(tags, AWS_MARK_PREFIX "name"),
		.token = mark_dup(tags, AWS_MARK_PREFIX "token"),
		.lineage = mark_dup(tags, AWS_MARK_PREFIX "lineage"),
		.cluster = mark_dup(tags, AWS_MARK_PREFIX "cluster"),
		.index = mark_dup(tags, AWS_MARK_PREFIX "index"),
		.indexes = mark_dup(tags, AWS_MARK_PREFIX "indexes"),
	};
	return others;
}

#define NO_INDEX "none"

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
	const char *address = mod_str(item, "address"), *bracket = bracket_of(address);
	const char *told = mod_str(json_object_get(item, "observed"), "marks");
	const char *name = g_str_has_prefix(address, kind) ? address + strlen(kind) + 1 : "";
	g_autofree char *bare = g_strndup(name, strcspn(name, "["));
	g_autofree char *index =
		*bracket ? g_strndup(bracket + 1, strcspn(bracket + 1, "]")) : g_strdup(NO_INDEX);
	json_t *list = json_array();
	add_mark(list, "cluster", mod_str(marks, "cluster"));
	add_mark(list, "kind", kind);
	add_mark(list, "lineage", mod_str(marks, "lineage"));
	add_mark(list, "name", bare);
	add_mark(list, "pool", mod_str(marks, "pool"));
	if (!*told || strcmp(bracket_of(told), bracket))
		add_mark(list, "index", index);
	return list;
}

bool aws_marks_has_index(const AwsMarks *marks)
{
	return marks->index ? !g_str_equal(marks->index, NO_INDEX) : marks->indexes != NULL;
}

char *aws_marks_address(const AwsMarks *marks, const char *kind, uint64_t place)
{
	if (!marks->kind || !marks->name || strcmp(marks->kind, kind))
		return NULL;
	if (!aws_marks_has_index(marks))
		return g_strdup_printf("%s.%s", kind, marks->name);
	if (marks->index)
		return g_strdup_printf("%s.%s[%s]", kind, marks->name, marks->index);
	int64_t index;
	if (!mod_indexes_at(marks->indexes, place, &index))
		return NULL;
	return g_strdup_printf("%s.%s[%" G_GINT64_FORMAT "]", kind, marks->name, index);
}
