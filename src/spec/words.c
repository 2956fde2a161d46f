#include "spec/words.h"

#include <string.h>

#define QUOTED_MAX 60

static const struct {
	const char *type, *words;
} type_words[] = {
	{"object", "a mapping"},
	{"array", "a list"},
	{"string", "text"},
	{"integer", "a whole number"},
	{"number", "a number"},
	{"boolean", "true or false"},
	{"null", "empty"},
};

static const char *words_of_type(const char *type)
{
	for (size_t i = 0; i < G_N_ELEMENTS(type_words); i++) {
		if (g_str_equal(type_words[i].type, type))
			return type_words[i].words;
	}
	return type;
}

char *rg_words_of_types(const json_t *types)
{
	if (json_is_string(types))
		return g_strdup(words_of_type(json_string_value(types)));
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *type = json_string_value(json_array_get(types, i));
		g_string_append_printf(text, "%s%s", i > 0 ? " or " : "", words_of_type(type));
	}
	return g_string_free(text, FALSE);
}

char *rg_words_quote(const char *text)
{
	GString *quoted = g_string_new("\"");
	size_t n = 0;
	for (const char *at = text; *at != '\0' && n < QUOTED_MAX;
		at += g_utf8_skip[(guchar)*at], n++) {
		gunichar c = g_utf8_get_char(at);
		if (c == '\n')
			g_string_append(quoted, "\\n");
		else if (g_unichar_iscntrl(c))
			g_string_append_printf(quoted, "\\x%02x", c);
		else
			g_string_append_unichar(quoted, c);
	}
	bool is_cut = n == QUOTED_MAX && g_utf8_strlen(text, -1) > QUOTED_MAX;
	g_string_append(quoted, is_cut ? "...\"" : "\"");
	return g_string_free(quoted, FALSE);
}

char *rg_words_of_value(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return g_strdup("a mapping");
	case JSON_ARRAY:
		return g_strdup("a list");
	case JSON_STRING: {
		g_autofree char *quoted = rg_words_quote(json_string_value(value));
		return g_strdup_printf("text %s", quoted);
	}
	case JSON_INTEGER:
	case JSON_REAL: {
		g_autofree char *number =
			json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		return g_strdup_printf("the number %s", number);
	}
	case JSON_TRUE:
		return g_strdup("true");
	case JSON_FALSE:
		return g_strdup("false");
	case JSON_NULL:
		return g_strdup("nothing");
	}
	return g_strdup("nothing");
}
