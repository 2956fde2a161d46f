#include "convert/internal.h"

#include <string.h>

/* The words of a row that change a value, each with its arguments: "last > word a=b *=*". */

char *convert_scalar(const json_t *value)
{
	if (json_is_string(value))
		return g_strdup(json_string_value(value));
	if (json_is_boolean(value))
		return g_strdup(json_is_true(value) ? "true" : "false");
	if (json_is_integer(value))
		return g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
				     : NULL;
}

/* A word of a table: true and false are booleans. */
static json_t *word_value(const char *word)
{
	if (g_str_equal(word, "true") || g_str_equal(word, "false"))
		return json_boolean(g_str_equal(word, "true"));
	return json_string(word);
}

/* "spot=spot *=*": the value of the first word that is the text; NULL: none is. */
static json_t *map_word(const char *text, const char *const *words)
{
	for (; *words; words++) {
		const char *equals = strchr(*words, '=');
		g_autofree char *left = g_strndup(*words, strcspn(*words, "="));
		bool any = g_str_equal(left, "*");
		if (!any && g_ascii_strcasecmp(left, text) != 0)
			continue;
		const char *right = equals ? equals + 1 : text;
		/* "*=*" keeps the text, "none=" has no counterpart */
		return g_str_equal(right, "*") ? json_string(text)
		       : *right		       ? word_value(right)
					       : NULL;
	}
	return NULL;
}

/* The cell of `result` in the row where `column` has the text, alone or between bars. */
static json_t *lookup(Convert *convert, const char *text, const char *const *words)
{
	size_t len = 0;
	const char *csv = rg_provider_data(convert->providers, convert->module, words[0], &len);
	const char *const columns[] = {words[1], words[2], NULL};
	g_autoptr(RgTable) table =
		csv ? rg_table_read(words[0], csv, len, columns, convert->diags) : NULL;
	for (size_t i = 0; table && i < rg_table_rows(table); i++) {
		g_auto(GStrv) cells = g_strsplit(rg_table_cell(table, i, 0), "|", -1);
		if (g_strv_contains((const char *const *)cells, text))
			return json_string(rg_table_cell(table, i, 1));
	}
	return NULL;
}

static json_t *split(const json_t *value)
{
	if (json_is_array(value))
		return json_incref(rg_json_unconst(value));
	json_t *list = json_array();
	g_autofree char *text = convert_scalar(value);
	g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);
	for (char **word = words; *word; word++) {
		if (*g_strstrip(*word))
			json_array_append_new(list, json_string(*word));
	}
	return list;
}

/* A text, or each of a list, as a mapping with this member; NULL: one of them is not a text. */
static json_t *wrap(const json_t *value, const char *member)
{
	json_auto_t *texts = json_is_array(value) ? json_incref(rg_json_unconst(value))
						  : json_pack("[O]", value);
	json_t *list = json_array();
	rg_json_foreach (item, texts) {
		g_autofree char *text = convert_scalar(item);
		if (text)
			json_array_append_new(list, json_pack("{s:s}", member, text));
	}
	if (json_array_size(list) == json_array_size(texts))
		return list;
	json_decref(list);
	return NULL;
}

/* A double-quoted number such as "0.4" or "16" as the number. */
static json_t *number(const char *text)
{
	char *end = NULL;
	double real = g_ascii_strtod(text, &end);
	if (!*text || *end)
		return NULL;
	int64_t whole = g_ascii_strtoll(text, &end, 10);
	return *end ? json_real(real) : json_integer(whole);
}

/* The mapping in a text, which may be quoted once more: "\"{\\\"a\\\": 1}\"". */
static json_t *mapping_in(const char *text)
{
	json_t *value = json_string(text);
	for (unsigned i = 0; i < 2 && json_is_string(value); i++) {
		g_autoptr(RgDiags) unused = rg_diags_new(); /* NULL says it */
		const char *inner = json_string_value(value);
		g_autoptr(RgDocument) document =
			rg_document_load("text", inner, strlen(inner), unused);
		json_decref(value);
		bool fine = document && !rg_diags_has_errors(unused);
		value = fine ? json_incref(document->value) : NULL;
	}
	if (json_is_object(value))
		return value;
	json_decref(value);
	return NULL;
}

/* "32GiB" of a number of bytes; NULL: it is not a whole number of GiB. */
static json_t *whole_gib(const json_t *value)
{
	const json_int_t gib = (json_int_t)1 << 30;
	json_int_t bytes = json_is_integer(value) ? json_integer_value(value) : 0;
	return bytes > 0 && bytes % gib == 0
		       ? json_sprintf("%" JSON_INTEGER_FORMAT "GiB", bytes / gib)
		       : NULL;
}

static json_t *transform(Convert *convert, const json_t *value, const char *const *words)
{
	if (g_str_equal(words[0], "split"))
		return split(value);
	if (g_str_equal(words[0], "as"))
		return wrap(value, words[1]);
	if (g_str_equal(words[0], "one"))
		return json_array_size(value) == 1 ? json_incref(json_array_get(value, 0)) : NULL;
	if (g_str_equal(words[0], "not"))
		return json_is_boolean(value) ? json_boolean(!json_is_true(value)) : NULL;
	if (g_str_equal(words[0], "gib"))
		return whole_gib(value);
	if (g_str_equal(words[0], "integer"))
		return json_is_integer(value) ? json_incref(rg_json_unconst(value)) : NULL;
	g_autofree char *text = convert_scalar(value);
	if (!text)
		return NULL;
	if (g_str_equal(words[0], "number"))
		return number(text);
	if (g_str_equal(words[0], "yaml"))
		return mapping_in(text);
	if (g_str_equal(words[0], "text"))
		return json_string(text);
	if (g_str_equal(words[0], "word"))
		return map_word(text, words + 1);
	if (g_str_equal(words[0], "lookup"))
		return lookup(convert, text, words + 1);
	if (g_str_equal(words[0], "from")) {
		const char *at = strstr(text, words[1]);
		return json_string(at ? at : text);
	}
	const char *slash = strrchr(text, '/'); /* last */
	return json_string(slash ? slash + 1 : text);
}

json_t *convert_value(Convert *convert, const json_t *value, const char *const **how)
{
	json_t *now = json_incref(rg_json_unconst(value));
	for (; (*how)[1] && now; (*how)++) {
		g_auto(GStrv) words = g_strsplit(**how, " ", -1);
		json_t *next = transform(convert, now, (const char *const *)words);
		json_decref(now);
		now = next;
	}
	return now;
}
