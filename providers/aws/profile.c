#include "aws/profile.h"
#include <string.h>

/* "[ profile  x ]" -> "profile x", "[profile 'a b']" -> "profile a b"; NULL if the line is not a
 * header or its name is not valid in a key file. */
static char *section_name(const char *line)
{
	const char *end = strchr(line, ']');
	if (*line != '[' || !end)
		return NULL;
	GString *name = g_string_new(NULL);
	for (const char *at = line + 1; at < end; at++) {
		if (*at == '"' || *at == '\'' || *at == '[')
			continue;
		bool blank = g_ascii_isspace(*at) || g_ascii_iscntrl(*at);
		if (blank && (!name->len || name->str[name->len - 1] == ' '))
			continue;
		g_string_append_c(name, blank ? ' ' : *at);
	}
	return g_strchomp(g_string_free(name, FALSE));
}

/* "key = value # comment" -> lower-case key and value; false if it is not of this form. */
static bool split_pair(char *line, char **key, char **value)
{
	char *equals = strchr(line, '=');
	if (!equals)
		return false;
	*equals = '\0';
	*key = g_strstrip(line);
	for (char *at = *key; *at; at++) {
		*at = g_ascii_tolower(*at);
		if (!g_ascii_isalnum(*at) && !strchr("_-.", *at))
			return false;
	}
	*value = equals + 1;
	for (char *at = *value; *at; at++)
		if ((*at == '#' || *at == ';') && (at == *value || g_ascii_isspace(at[-1]))) {
			*at = '\0';
			break;
		}
	g_strstrip(*value);
	return **key != '\0';
}

typedef struct {
	GString *clean;
	bool in_section; /* a usable header was seen */
	char *parent;	 /* the last key had no value: indented lines below belong to it */
} Cleaner;

static void clean_line(Cleaner *cleaner, char *line)
{
	bool indented = g_ascii_isspace(*line);
	char *text = g_strstrip(line), *key, *value;
	if (!*text || *text == '#' || *text == ';')
		return;
	if (*text == '[') {
		g_autofree char *name = section_name(text);
		cleaner->in_section = name && *name;
		g_clear_pointer(&cleaner->parent, g_free);
		if (cleaner->in_section)
			g_string_append_printf(cleaner->clean, "[%s]\n", name);
		return;
	}
	if (!cleaner->in_section || !split_pair(text, &key, &value))
		return;
	if (indented && cleaner->parent) {
		g_string_append_printf(cleaner->clean, "%s.%s=%s\n", cleaner->parent, key, value);
		return;
	}
	g_free(cleaner->parent);
	cleaner->parent = *value ? NULL : g_strdup(key);
	g_string_append_printf(cleaner->clean, "%s=%s\n", key, value);
}

GKeyFile *aws_profile_parse(struct rgp_bytes text)
{
	GKeyFile *file = g_key_file_new();
	Cleaner cleaner = {.clean = g_string_new(NULL)};
	g_autofree char *copy = g_strndup(text.data ? text.data : "", text.len);
	char *start = g_str_has_prefix(copy, "\xef\xbb\xbf") ? copy + 3 : copy;
	g_auto(GStrv) lines = g_strsplit_set(start, "\r\n", -1);
	for (char **line = lines; *line; line++)
		clean_line(&cleaner, *line);
	/* the rest is well-formed; if it were not, nothing would be found in it */
	if (cleaner.clean->len)
		g_key_file_load_from_data(
			file, cleaner.clean->str, cleaner.clean->len, G_KEY_FILE_NONE, NULL);
	g_string_free(cleaner.clean, TRUE);
	g_free(cleaner.parent);
	return file;
}

char *aws_profile_value(GKeyFile *file, const char *section, const char *key)
{
	g_autofree char *value = g_key_file_get_value(file, section, key, NULL);
	return value && *value ? g_steal_pointer(&value) : NULL;
}
