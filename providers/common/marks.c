#include "common/marks.h"
#include <string.h>
#include "common/talk.h"

void mod_marks_clear(ModMarks *marks)
{
	g_free(marks->kind);
	g_free(marks->name);
	g_free(marks->token);
	g_free(marks->lineage);
	g_free(marks->cluster);
	g_free(marks->region);
	g_free(marks->indexes);
	g_free(marks->index);
	*marks = (ModMarks){0};
}

static char **member_of(ModMarks *marks, const char *mark)
{
	const struct {
		const char *mark;
		char **member;
	} members[] = {
		{"kind", &marks->kind},
		{"name", &marks->name},
		{"token", &marks->token},
		{"lineage", &marks->lineage},
		{"cluster", &marks->cluster},
		{"region", &marks->region},
		{"indexes", &marks->indexes},
		{"index", &marks->index},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
		if (g_str_equal(members[i].mark, mark))
			return members[i].member;
	return NULL;
}

json_t *mod_marks_read(const json_t *tags, const char *prefix, ModMarks *marks)
{
	json_t *others = json_object();
	*marks = (ModMarks){0};
	mod_foreach_member (key, value, tags) {
		if (!g_str_has_prefix(key, prefix)) {
			json_object_set_nocheck(others, key, value);
			continue;
		}
		char **member = member_of(marks, key + strlen(prefix));
		if (member && json_string_length(value))
			*member = g_strdup(json_string_value(value));
	}
	return others;
}

char *mod_marks_name(const char *kind, const char *address)
{
	if (g_str_has_prefix(address, kind) && address[strlen(kind)] == '.')
		address += strlen(kind) + 1;
	return g_strndup(address, strcspn(address, "["));
}

char *mod_marks_index(const char *address)
{
	const char *bracket = strchr(address, '[');
	return bracket ? g_strndup(bracket + 1, strcspn(bracket + 1, "]")) : g_strdup(MOD_NO_INDEX);
}

char *mod_marks_address(const ModMarks *marks, const char *kind, const char *index)
{
	if (!index || g_str_equal(index, MOD_NO_INDEX))
		return g_strdup_printf("%s.%s", kind, marks->name);
	return g_strdup_printf("%s.%s[%s]", kind, marks->name, index);
}
