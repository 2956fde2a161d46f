#include "spec/finding.h"

#include <string.h>
#include "spec/check.h"
#include "spec/words.h"

static RgDiag *value_report(RgFinding *finding, const char *code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static RgDiag *value_report(RgFinding *finding, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	return rg_spec_report(
		finding->document, finding->found->pointer, code, finding->diags, "%s", summary);
}

static char *last_name(const char *pointer)
{
	const char *slash = strrchr(pointer, '/');
	return slash ? rg_json_step_name(slash + 1, strlen(slash + 1)) : g_strdup("");
}

/* `python: "3.10"`: how to write a value as text at this place; if that text would be refused too,
 * the correct form. */
static void hint_quotes(RgDiag *diag, const RgFinding *finding, const char *typed)
{
	const RgDocument *document = finding->document;
	const char *pointer = finding->found->pointer;
	const json_t *schema = finding->found->schema;
	const char *pattern = rg_json_str(schema, "pattern", NULL);
	g_autofree char *name = last_name(pointer);
	if (pattern && !g_regex_match_simple(pattern, typed, G_REGEX_DOLLAR_ENDONLY, 0))
		rg_diag_hint(diag, "it must be %s",
			rg_json_str(schema, "x-raygpu-expected", "another value"));
	else if (g_hash_table_contains(document->keys, pointer))
		rg_diag_hint(diag, "write %s: \"%s\"", name, typed);
	else
		rg_diag_hint(diag, "write \"%s\"", typed);
}

static bool is_word11(const RgFinding *finding)
{
	const RgDocument *document = finding->document;
	return json_is_string(finding->found->value) &&
	       g_hash_table_contains(document->words, finding->found->pointer);
}

void rg_value_report_word11(RgFinding *finding, bool wants_boolean)
{
	const char *word = json_string_value(finding->found->value);
	RgDiag *diag = value_report(finding, "spec.yaml11-word",
		"%s is %s without quotes: text in YAML 1.2, a boolean in YAML 1.1", finding->path,
		word);
	if (wants_boolean)
		rg_diag_hint(diag, "write true or false");
	else
		hint_quotes(diag, finding, word);
}

/* The JSON Schema type of a value, numbers as "number". */
static const char *type_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "boolean";
	case JSON_NULL:
		return "null";
	}
	return "null";
}

static void report_later(RgFinding *finding, const json_t *later)
{
	const char *what = rg_json_str(later, "what", NULL);
	const char *form = "", *type = type_of(finding->found->value);
	if (!what && json_object_get(later, "types"))
		form = g_str_equal(type, "array") ? " as a list" : " as a mapping";
	RgDiag *diag =
		value_report(finding, "spec.not-supported-yet", "%s%s%s is not supported yet",
			finding->path, what ? " with " : form, what ? what : "");
	rg_diag_at(diag, rg_document_key_source(finding->document, finding->found->pointer));
	rg_diag_hint(diag, "for now: %s", rg_json_str(later, "use", "leave it out"));
}

static void report_not(RgFinding *finding)
{
	const json_t *later = json_object_get(finding->found->schema, "x-raygpu-later");
	g_assert(later != NULL);
	report_later(finding, later);
}

static void report_null(RgFinding *finding, const char *expected)
{
	RgDiag *diag = value_report(finding, "spec.wrong-type", "%s has no value", finding->path);
	rg_diag_at(diag, rg_document_key_source(finding->document, finding->found->pointer));
	rg_diag_hint(diag, "it must be %s", expected);
}

static void report_type(RgFinding *finding)
{
	const RgSchemaFinding *found = finding->found;
	const json_t *later = json_object_get(found->schema, "x-raygpu-later");
	if (rg_json_has_text(json_object_get(later, "types"), type_of(found->value))) {
		report_later(finding, later);
		return;
	}
	g_autofree char *expected = rg_words_of_types(found->rule);
	const char *typed = g_hash_table_lookup(finding->document->words, found->pointer);
	if (is_word11(finding) && rg_json_has_text(found->rule, "boolean")) {
		rg_value_report_word11(finding, true);
	} else if (json_is_null(found->value)) {
		report_null(finding, expected);
	} else if (json_is_number(found->value) && typed &&
		   rg_json_has_text(found->rule, "string")) {
		RgDiag *diag = value_report(finding, "spec.unquoted-number",
			"%s must be text, but %s without quotes is a number", finding->path, typed);
		hint_quotes(diag, finding, typed);
	} else {
		g_autofree char *got = rg_words_of_value(found->value);
		RgDiag *diag = value_report(finding, "spec.wrong-type", "%s must be %s, not %s",
			finding->path, expected, got);
		if (json_is_boolean(found->value) && rg_json_has_text(found->rule, "string") &&
			typed)
			hint_quotes(diag, finding, typed);
		else if (json_is_real(found->value) &&
			 json_object_get(found->schema, "x-raygpu-hint"))
			rg_diag_hint(diag, "%s", rg_json_str(found->schema, "x-raygpu-hint", ""));
	}
}

static void report_enum(RgFinding *finding)
{
	if (is_word11(finding)) {
		rg_value_report_word11(finding, false);
		return;
	}
	const json_t *rule = finding->found->rule;
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	for (size_t i = 0; i < json_array_size(rule); i++)
		g_ptr_array_add(
			words, (gpointer)(uintptr_t)json_string_value(json_array_get(rule, i)));
	g_ptr_array_add(words, NULL);
	g_autofree char *list = g_strjoinv(" or ", (char **)words->pdata);
	const char *value = json_string_value(finding->found->value);
	g_autofree char *got = rg_words_of_value(finding->found->value);
	RgDiag *diag = value_report(
		finding, "spec.bad-value", "%s must be %s, not %s", finding->path, list, got);
	const char *nearest =
		value ? rg_nearest_word(value, (const char *const *)words->pdata) : NULL;
	const char *hint = rg_json_str(finding->found->schema, "x-raygpu-hint", NULL);
	if (nearest)
		rg_diag_hint(diag, "did you mean `%s`?", nearest);
	else if (hint)
		rg_diag_hint(diag, "%s", hint);
}

static void report_pattern(RgFinding *finding)
{
	const json_t *schema = finding->found->schema;
	g_autofree char *got = rg_words_quote(json_string_value(finding->found->value));
	const char *code = rg_json_str(schema, "x-raygpu-code", "spec.bad-pattern");
	if (is_word11(finding))
		rg_value_report_word11(finding, false);
	else
		value_report(finding,
			g_str_equal(code, "spec.bad-accelerator") ? "spec.bad-accelerator"
								  : "spec.bad-pattern",
			"%s must be %s, not %s", finding->path,
			rg_json_str(schema, "x-raygpu-expected", "of another form"), got);
}

static void report_minimum(RgFinding *finding)
{
	g_autofree char *got = rg_words_of_value(finding->found->value);
	g_autofree char *limit = json_dumps(finding->found->rule, JSON_ENCODE_ANY);
	value_report(finding, "spec.out-of-range", "%s must be at least %s, not %s", finding->path,
		limit, got);
}

static void report_maximum(RgFinding *finding)
{
	g_autofree char *got = rg_words_of_value(finding->found->value);
	g_autofree char *limit = json_dumps(finding->found->rule, JSON_ENCODE_ANY);
	value_report(finding, "spec.out-of-range", "%s must be at most %s, not %s", finding->path,
		limit, got);
}

static void report_size(RgFinding *finding)
{
	const json_t *value = finding->found->value;
	size_t size = json_is_array(value) ? json_array_size(value) : json_object_size(value);
	bool is_min = g_str_has_prefix(finding->found->keyword, "min");
	json_int_t limit = json_integer_value(finding->found->rule);
	RgDiag *diag = value_report(finding, "spec.out-of-range",
		"%s must have at %s %" JSON_INTEGER_FORMAT " %s, not %zu", finding->path,
		is_min ? "least" : "most", limit, limit == 1 ? "entry" : "entries", size);
	rg_diag_at(diag, rg_document_key_source(finding->document, finding->found->pointer));
	const char *hint = rg_json_str(finding->found->schema, "x-raygpu-hint", NULL);
	if (hint)
		rg_diag_hint(diag, "%s", hint);
}

static void report_short(RgFinding *finding)
{
	value_report(finding, "spec.bad-value", "%s must not be empty", finding->path);
}

static void report_long(RgFinding *finding)
{
	const json_t *value = finding->found->value;
	value_report(finding, "spec.too-long",
		"%s is %ld characters long; at most %" JSON_INTEGER_FORMAT " are allowed",
		finding->path,
		g_utf8_strlen(json_string_value(value), (gssize)json_string_length(value)),
		json_integer_value(finding->found->rule));
}

static const struct {
	const char *keyword;
	void (*report)(RgFinding *finding);
} reporters[] = {
	{"not", report_not},
	{"type", report_type},
	{"enum", report_enum},
	{"pattern", report_pattern},
	{"minimum", report_minimum},
	{"maximum", report_maximum},
	{"minLength", report_short},
	{"maxLength", report_long},
	{"minItems", report_size},
	{"maxItems", report_size},
	{"maxProperties", report_size},
	{"minProperties", report_size},
};

bool rg_value_report(RgFinding *finding)
{
	for (size_t i = 0; i < G_N_ELEMENTS(reporters); i++) {
		if (g_str_equal(reporters[i].keyword, finding->found->keyword)) {
			reporters[i].report(finding);
			return true;
		}
	}
	return false;
}
