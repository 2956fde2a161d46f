#include <string.h>
#include "gcp/sim/gce.h"

/* The parameter `filter` of lists: comparisons with =, !=, :, <, <=, >, >=, eq and ne, joined by
 * AND, OR, blanks, NOT and parentheses, as the description's text of that parameter has them. */

#define MAX_DEPTH 20

typedef enum { AND, OR, NOT, COMPARE } Form;

struct GceFilter {
	Form form;
	GceFilter *left, *right;
	/* COMPARE */
	char **path; /* {"labels", "owner"} */
	char *op;
	char *value;
	GRegex *regex; /* of eq and ne, and of a value with "*" */
};

typedef struct {
	const char *at;
	int depth;
} Reader;

void gce_filter_free(GceFilter *filter)
{
	if (!filter)
		return;
	gce_filter_free(filter->left);
	gce_filter_free(filter->right);
	g_strfreev(filter->path);
	g_free(filter->op);
	g_free(filter->value);
	g_clear_pointer(&filter->regex, g_regex_unref);
	g_free(filter);
}

/* ---- reading */

static void skip_blanks(Reader *reader)
{
	reader->at += strspn(reader->at, " \t\n");
}

static bool take_word(Reader *reader, const char *word)
{
	skip_blanks(reader);
	gsize len = strlen(word);
	if (strncmp(reader->at, word, len) != 0 || !strchr(" \t\n(", reader->at[len]) ||
		!reader->at[len])
		return false;
	reader->at += len;
	return true;
}

static GceFilter *node(Form form, GceFilter *left, GceFilter *right)
{
	GceFilter *filter = g_new0(GceFilter, 1);
	*filter = (GceFilter){.form = form, .left = left, .right = right};
	return filter;
}

/* In quotes, where a backslash before another letter belongs to the text (gcloud sends \b and \- in
 * regular expressions); or up to a blank or parenthesis. NULL if a quote is left open. */
static char *read_text(Reader *reader, const char *ends)
{
	skip_blanks(reader);
	GString *text = g_string_new(NULL);
	char quote = *reader->at == '"' || *reader->at == '\'' ? *reader->at++ : '\0';
	while (*reader->at && (quote ? *reader->at != quote : !strchr(ends, *reader->at))) {
		if (quote && *reader->at == '\\' && reader->at[1] == quote)
			reader->at++;
		g_string_append_c(text, *reader->at++);
	}
	if (quote && *reader->at++ != quote) {
		reader->at--;
		g_string_free(text, TRUE);
		return NULL;
	}
	return g_string_free(text, FALSE);
}

static const char *read_operator(Reader *reader)
{
	static const char *const operators[] = {"!=", "<=", ">=", "=", ":", "<", ">"};
	if (take_word(reader, "eq"))
		return "eq";
	if (take_word(reader, "ne"))
		return "ne";
	for (gsize i = 0; i < G_N_ELEMENTS(operators); i++) {
		if (g_str_has_prefix(reader->at, operators[i])) {
			reader->at += strlen(operators[i]);
			return operators[i];
		}
	}
	return NULL;
}

/* eq and ne take a regular expression for the whole value; the others take "*" for any text. */
static GRegex *make_regex(const char *op, const char *value)
{
	bool is_regex = g_str_equal(op, "eq") || g_str_equal(op, "ne");
	GString *pattern = g_string_new("^(?:");
	if (is_regex)
		g_string_append(pattern, value);
	for (const char *at = value; !is_regex && *at; at++) {
		g_autofree char *escaped = g_regex_escape_string(at, 1);
		g_string_append(pattern, *at == '*' ? ".*" : escaped);
	}
	g_string_append(pattern, ")$");
	GRegex *regex = g_regex_new(pattern->str, G_REGEX_DOLLAR_ENDONLY | G_REGEX_DOTALL, 0, NULL);
	g_string_free(pattern, TRUE);
	return regex;
}

static GceFilter *read_comparison(Reader *reader)
{
	g_autofree char *path = read_text(reader, " \t\n=!:<>()");
	const char *op = path && *path ? read_operator(reader) : NULL;
	g_autofree char *value = op ? read_text(reader, " \t\n()") : NULL;
	if (!value)
		return NULL;
	GceFilter *filter = node(COMPARE, NULL, NULL);
	filter->path = g_strsplit(path, ".", -1);
	filter->op = g_strdup(op);
	bool patterned = g_ascii_isalpha(*op) || strchr(value, '*');
	filter->value = g_steal_pointer(&value);
	if (patterned && !(filter->regex = make_regex(op, filter->value)))
		g_clear_pointer(&filter, gce_filter_free);
	return filter;
}

static GceFilter *read_either(Reader *reader);

static GceFilter *read_term(Reader *reader)
{
	skip_blanks(reader);
	bool negated = take_word(reader, "NOT") || (*reader->at == '-' && reader->at++);
	skip_blanks(reader);
	GceFilter *filter = NULL;
	if (++reader->depth > MAX_DEPTH)
		return NULL;
	if (*reader->at == '(') {
		reader->at++;
		filter = read_either(reader);
		skip_blanks(reader);
		if (filter && *reader->at != ')')
			g_clear_pointer(&filter, gce_filter_free);
		else if (filter)
			reader->at++;
	} else {
		filter = read_comparison(reader);
	}
	reader->depth--;
	return filter && negated ? node(NOT, filter, NULL) : filter;
}

/* OR binds more tightly than AND (AIP-160). */
static GceFilter *read_or(Reader *reader)
{
	GceFilter *filter = read_term(reader);
	while (filter && take_word(reader, "OR")) {
		GceFilter *right = read_term(reader);
		if (!right)
			g_clear_pointer(&filter, gce_filter_free);
		else
			filter = node(OR, filter, right);
	}
	return filter;
}

static GceFilter *read_either(Reader *reader)
{
	GceFilter *filter = read_or(reader);
	while (filter) {
		skip_blanks(reader);
		bool joined = take_word(reader, "AND");
		if (!joined && (!*reader->at || *reader->at == ')'))
			break;
		GceFilter *right = read_or(reader);
		if (!right)
			g_clear_pointer(&filter, gce_filter_free);
		else
			filter = node(AND, filter, right);
	}
	return filter;
}

bool gce_filter_read(RgSimCall *call, GceFilter **filter)
{
	const char *text = call_str(call, "filter");
	*filter = NULL;
	if (!text || !*text)
		return true;
	Reader reader = {.at = text};
	*filter = read_either(&reader);
	skip_blanks(&reader);
	if (*filter && !*reader.at)
		return true;
	g_clear_pointer(filter, gce_filter_free);
	return gce_fail_invalid(call, "filter", text, "Invalid list filter expression.");
}

/* ---- comparing */

static int compare_numbers(const char *given, const char *wanted)
{
	char *end_a, *end_b;
	double a = g_ascii_strtod(given, &end_a), b = g_ascii_strtod(wanted, &end_b);
	if (*given && *wanted && !*end_a && !*end_b)
		return (a > b) - (a < b);
	return strcmp(given, wanted);
}

static bool text_matches(const GceFilter *filter, const char *text)
{
	const char *op = filter->op;
	if (filter->regex) {
		bool same = g_regex_match(filter->regex, text, 0, NULL);
		return g_str_equal(op, "ne") || g_str_equal(op, "!=") ? !same : same;
	}
	if (g_str_equal(op, ":")) {
		g_autofree char *low = g_ascii_strdown(text, -1);
		g_autofree char *wanted = g_ascii_strdown(filter->value, -1);
		return strstr(low, wanted) != NULL;
	}
	int order = compare_numbers(text, filter->value);
	return g_str_equal(op, "=")    ? order == 0
	       : g_str_equal(op, "!=") ? order != 0
	       : g_str_equal(op, "<")  ? order < 0
	       : g_str_equal(op, "<=") ? order <= 0
	       : g_str_equal(op, ">")  ? order > 0
				       : order >= 0;
}

static bool value_matches(const GceFilter *filter, const json_t *value)
{
	bool negative = g_str_equal(filter->op, "!=") || g_str_equal(filter->op, "ne");
	if (json_is_array(value)) {
		bool any = false;
		for (size_t i = 0; i < json_array_size(value); i++)
			any |= value_matches(filter, json_array_get(value, i)) != negative;
		return any != negative;
	}
	if (json_is_object(value)) /* "labels.owner:*" asks whether there is one */
		return filter->regex && g_str_equal(filter->value, "*");
	if (json_is_string(value))
		return text_matches(filter, json_string_value(value));
	if (json_is_boolean(value))
		return text_matches(filter, json_is_true(value) ? "true" : "false");
	g_autofree char *text = json_dumps(value, JSON_ENCODE_ANY);
	return text_matches(filter, text);
}

static bool path_matches(const GceFilter *filter, const json_t *doc, char **path)
{
	if (!*path)
		return value_matches(filter, doc);
	bool negative = g_str_equal(filter->op, "!=") || g_str_equal(filter->op, "ne");
	if (json_is_array(doc)) {
		for (size_t i = 0; i < json_array_size(doc); i++) {
			if (path_matches(filter, json_array_get(doc, i), path))
				return true;
		}
		return negative && !json_array_size(doc);
	}
	const json_t *member = **path == '_' ? NULL : json_object_get(doc, *path);
	return member ? path_matches(filter, member, path + 1) : negative;
}

bool gce_filter_accepts(const GceFilter *filter, const json_t *doc)
{
	if (!filter)
		return true;
	if (filter->form == COMPARE)
		return path_matches(filter, doc, filter->path);
	bool left = gce_filter_accepts(filter->left, doc);
	if (filter->form == NOT)
		return !left;
	return filter->form == AND ? left && gce_filter_accepts(filter->right, doc)
				   : left || gce_filter_accepts(filter->right, doc);
}
