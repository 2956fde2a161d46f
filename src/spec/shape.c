#include "spec/check.h"

#include <string.h>
#include "base/embedded.h"
#include "base/json_schema.h"
#include "spec/words.h"

extern const struct rg_embedded rg_schemas[];

typedef struct {
	RgDocument *document;
	RgDiags *diags;
} Shape;

/* One schema finding with all that its words are made of. */
typedef struct {
	const RgSchemaFinding *found;
	const char *path; /* "pools.train.nodes" */
	Shape *shape;
} Finding;

json_t *rg_spec_schema(void)
{
	const struct rg_embedded *file = rg_schemas;
	while (file->name != NULL && strcmp(file->name, "cluster.schema.json") != 0)
		file++;
	g_assert(file->name != NULL);
	json_t *schema = json_loadb(file->data, file->len, 0, NULL);
	g_assert(schema != NULL);
	return schema;
}

RgDiag *rg_spec_report(RgDocument *document, const char *pointer, const char *code, RgDiags *diags,
	const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(diags, code, "%s", summary);
	rg_diag_at(diag, rg_document_source(document, pointer));
	rg_document_spoil(document, pointer);
	return diag;
}

char *rg_spec_path(const RgDocument *document, const char *pointer)
{
	if (*pointer == '\0')
		return g_strdup("the spec");
	g_auto(GStrv) steps = g_strsplit(pointer + 1, "/", -1);
	GString *path = g_string_new(NULL);
	const json_t *at = document->value;
	for (char **step = steps; *step != NULL; step++) {
		g_autoptr(GString) name = g_string_new(*step);
		g_string_replace(name, "~1", "/", 0);
		g_string_replace(name, "~0", "~", 0);
		if (json_is_array(at)) {
			g_string_append_printf(path, "[%s]", name->str);
			at = json_array_get(at, (size_t)g_ascii_strtoull(name->str, NULL, 10));
			continue;
		}
		g_string_append_printf(path, "%s%s", path->len > 0 ? "." : "", name->str);
		at = json_object_get(at, name->str);
	}
	return g_string_free(path, FALSE);
}

static RgDiag *report(Finding *finding, const char *code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static RgDiag *report(Finding *finding, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	Shape *shape = finding->shape;
	return rg_spec_report(
		shape->document, finding->found->pointer, code, shape->diags, "%s", summary);
}

static const char *last_step(const char *pointer)
{
	const char *slash = strrchr(pointer, '/');
	return slash != NULL ? slash + 1 : "";
}

/* `python: "3.10"`: how to write a value as text, in its place. */
static void hint_quotes(RgDiag *diag, const Finding *finding, const char *typed)
{
	const RgDocument *document = finding->shape->document;
	const char *pointer = finding->found->pointer;
	if (g_hash_table_contains(document->keys, pointer))
		rg_diag_hint(diag, "write %s: \"%s\"", last_step(pointer), typed);
	else
		rg_diag_hint(diag, "write \"%s\"", typed);
}

/* Whether `names`, one text or a list of them, has this text. */
static bool has_text(const json_t *names, const char *text)
{
	if (json_is_string(names))
		return strcmp(json_string_value(names), text) == 0;
	for (size_t i = 0; i < json_array_size(names); i++) {
		if (g_strcmp0(json_string_value(json_array_get(names, i)), text) == 0)
			return true;
	}
	return false;
}

static bool is_word11(const Finding *finding)
{
	const RgDocument *document = finding->shape->document;
	return json_is_string(finding->found->value) &&
	       g_hash_table_contains(document->words, finding->found->pointer);
}

static void report_word11(Finding *finding, bool wants_boolean)
{
	const char *word = json_string_value(finding->found->value);
	RgDiag *diag = report(finding, "spec.yaml11-word",
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

static void report_later(Finding *finding, const json_t *later)
{
	const char *what = rg_json_str(later, "what", NULL);
	const char *form = "", *type = type_of(finding->found->value);
	if (what == NULL && json_object_get(later, "types") != NULL)
		form = strcmp(type, "array") == 0 ? " as a list" : " as a mapping";
	RgDiag *diag = report(finding, "spec.not-supported-yet",
		"%s%s%s is not supported yet; it comes in a later version", finding->path,
		what != NULL ? " with " : form, what != NULL ? what : "");
	rg_diag_at(diag, rg_document_key_source(finding->shape->document, finding->found->pointer));
	rg_diag_hint(diag, "for now: %s", rg_json_str(later, "use", "leave it out"));
}

static void report_not(Finding *finding)
{
	const json_t *later = json_object_get(finding->found->schema, "x-raygpu-later");
	g_assert(later != NULL);
	report_later(finding, later);
}

static void report_null(Finding *finding, const char *expected)
{
	RgDiag *diag = report(finding, "spec.wrong-type", "%s has no value", finding->path);
	rg_diag_at(diag, rg_document_key_source(finding->shape->document, finding->found->pointer));
	rg_diag_hint(diag, "it must be %s", expected);
}

static void report_type(Finding *finding)
{
	const RgSchemaFinding *found = finding->found;
	const json_t *later = json_object_get(found->schema, "x-raygpu-later");
	if (has_text(json_object_get(later, "types"), type_of(found->value))) {
		report_later(finding, later);
		return;
	}
	g_autofree char *expected = rg_words_of_types(found->rule);
	const char *typed = g_hash_table_lookup(finding->shape->document->words, found->pointer);
	if (is_word11(finding) && has_text(found->rule, "boolean")) {
		report_word11(finding, true);
	} else if (json_is_null(found->value)) {
		report_null(finding, expected);
	} else if (json_is_number(found->value) && typed != NULL &&
		   has_text(found->rule, "string")) {
		RgDiag *diag = report(finding, "spec.unquoted-number",
			"%s must be text, but %s without quotes is a number", finding->path, typed);
		hint_quotes(diag, finding, typed);
	} else {
		g_autofree char *got = rg_words_of_value(found->value);
		RgDiag *diag = report(finding, "spec.wrong-type", "%s must be %s, not %s",
			finding->path, expected, got);
		if (json_is_boolean(found->value) && has_text(found->rule, "string") &&
			typed != NULL)
			hint_quotes(diag, finding, typed);
	}
}

static void report_enum(Finding *finding)
{
	if (is_word11(finding)) {
		report_word11(finding, false);
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
	RgDiag *diag = report(
		finding, "spec.bad-value", "%s must be %s, not %s", finding->path, list, got);
	const char *nearest =
		value != NULL ? rg_nearest_word(value, (const char *const *)words->pdata) : NULL;
	if (nearest != NULL)
		rg_diag_hint(diag, "did you mean `%s`?", nearest);
}

static void report_pattern(Finding *finding)
{
	const json_t *schema = finding->found->schema;
	g_autofree char *got = rg_words_quote(json_string_value(finding->found->value));
	const char *code = rg_json_str(schema, "x-raygpu-code", "spec.bad-pattern");
	if (is_word11(finding))
		report_word11(finding, false);
	else
		report(finding,
			strcmp(code, "spec.bad-accelerator") == 0 ? "spec.bad-accelerator"
								  : "spec.bad-pattern",
			"%s must be %s, not %s", finding->path,
			rg_json_str(schema, "x-raygpu-expected", "of another form"), got);
}

static void report_minimum(Finding *finding)
{
	g_autofree char *got = rg_words_of_value(finding->found->value);
	g_autofree char *limit = json_dumps(finding->found->rule, JSON_ENCODE_ANY);
	report(finding, "spec.out-of-range", "%s must be at least %s, not %s", finding->path, limit,
		got);
}

static void report_maximum(Finding *finding)
{
	g_autofree char *got = rg_words_of_value(finding->found->value);
	g_autofree char *limit = json_dumps(finding->found->rule, JSON_ENCODE_ANY);
	report(finding, "spec.out-of-range", "%s must be at most %s, not %s", finding->path, limit,
		got);
}

static void report_size(Finding *finding)
{
	const json_t *value = finding->found->value;
	size_t size = json_is_array(value) ? json_array_size(value) : json_object_size(value);
	bool is_min = g_str_has_prefix(finding->found->keyword, "min");
	json_int_t limit = json_integer_value(finding->found->rule);
	RgDiag *diag = report(finding, "spec.out-of-range",
		"%s must have at %s %" JSON_INTEGER_FORMAT " %s, not %zu", finding->path,
		is_min ? "least" : "most", limit, limit == 1 ? "entry" : "entries", size);
	rg_diag_at(diag, rg_document_key_source(finding->shape->document, finding->found->pointer));
}

static void report_short(Finding *finding)
{
	report(finding, "spec.bad-value", "%s must not be empty", finding->path);
}

static void report_long(Finding *finding)
{
	const json_t *value = finding->found->value;
	report(finding, "spec.too-long",
		"%s is %ld characters long; at most %" JSON_INTEGER_FORMAT " are allowed",
		finding->path,
		g_utf8_strlen(json_string_value(value), (gssize)json_string_length(value)),
		json_integer_value(finding->found->rule));
}

static void report_repeated(Finding *finding)
{
	const json_t *list = finding->found->value;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *item = json_string_value(json_array_get(list, i));
		if (item == NULL || g_hash_table_add(seen, (gpointer)(uintptr_t)item))
			continue;
		g_autofree char *pointer = g_strdup_printf("%s/%zu", finding->found->pointer, i);
		g_autofree char *quoted = rg_words_quote(item);
		rg_spec_report(finding->shape->document, pointer, "spec.duplicate-item",
			finding->shape->diags, "%s names %s twice", finding->path, quoted);
		return;
	}
	report(finding, "spec.duplicate-item", "%s has equal entries", finding->path);
}

/* The first required name of a oneOf branch such as {"required": ["accelerators"]}. */
static const char *branch_name(const json_t *rule, size_t i)
{
	const json_t *required = json_object_get(json_array_get(rule, i), "required");
	return json_string_value(json_array_get(required, 0));
}

static void report_one_of(Finding *finding)
{
	const json_t *rule = finding->found->rule;
	/* On anything but a mapping the `type` finding says it all. */
	if (!json_is_object(finding->found->value))
		return;
	g_autoptr(GString) names = g_string_new(NULL);
	size_t given = 0;
	for (size_t i = 0; i < json_array_size(rule); i++) {
		const char *name = branch_name(rule, i);
		g_string_append_printf(names, "%s%s", i > 0 ? " or " : "", name);
		given += json_object_get(finding->found->value, name) != NULL;
	}
	Shape *shape = finding->shape;
	RgDiag *diag = rg_diags_error(shape->diags, "spec.one-of",
		given == 0 ? "%s needs %s" : "%s must have %s, not both", finding->path,
		names->str);
	rg_diag_at(diag, rg_document_key_source(shape->document, finding->found->pointer));
	rg_diag_hint(diag, given == 0 ? "add accelerators: A100:8, or the cloud's instance_type"
				      : "remove one of them");
}

/* Known keys, NULL-ended; `now` leaves out those that come later. */
static GPtrArray *known_keys(const json_t *properties, bool now)
{
	GPtrArray *keys = g_ptr_array_new();
	const char *key;
	json_t *property, *object = (json_t *)(uintptr_t)properties; /* iterating changes nothing */
	json_object_foreach (object, key, property) {
		if (!now || json_object_get(property, "not") == NULL)
			g_ptr_array_add(keys, (gpointer)(uintptr_t)key);
	}
	g_ptr_array_add(keys, NULL);
	return keys;
}

static const char *find_meant(const json_t *properties, const char *name)
{
	g_autoptr(GPtrArray) keys = known_keys(properties, false);
	const char *const *words = (const char *const *)keys->pdata;
	const char *meant = rg_words_synonym(name, words);
	return meant != NULL ? meant : rg_nearest_word(name, words);
}

static void hint_known_key(RgDiag *diag, const json_t *properties, const char *name)
{
	const char *meant = find_meant(properties, name);
	if (meant != NULL) {
		rg_diag_hint(diag, "did you mean `%s`?", meant);
		return;
	}
	g_autoptr(GPtrArray) now = known_keys(properties, true);
	g_autofree char *list = g_strjoinv(", ", (char **)now->pdata);
	rg_diag_hint(diag, "known here: %s", list);
}

/* Whether a key of the object was meant to be, or takes the place of, the missing one: then what
 * is said about that key is enough. */
static bool has_stand_in(const RgSchemaFinding *found, json_t *properties)
{
	json_t *object = (json_t *)(uintptr_t)found->value, *member; /* only iterated */
	const char *key;
	json_object_foreach (object, key, member) {
		const json_t *property = json_object_get(properties, key);
		const json_t *later = json_object_get(property, "x-raygpu-later");
		if (has_text(json_object_get(later, "instead_of"), found->name))
			return true;
		if (property == NULL && g_strcmp0(find_meant(properties, key), found->name) == 0)
			return true;
	}
	return false;
}

static void report_missing(Finding *finding)
{
	const RgSchemaFinding *found = finding->found;
	json_t *properties = json_object_get(found->schema, "properties");
	if (has_stand_in(found, properties))
		return;
	Shape *shape = finding->shape;
	RgDiag *diag = rg_diags_error(
		shape->diags, "spec.missing-key", "%s has no \"%s\"", finding->path, found->name);
	rg_diag_at(diag, rg_document_key_source(shape->document, found->pointer));
	rg_diag_hint(diag, "add %s: %s", found->name,
		rg_json_str(json_object_get(properties, found->name), "description", "a value"));
}

/* A key of a map whose names are the user's own, but not of any form. */
static void report_bad_name(Finding *finding, const char *pointer, const json_t *rule)
{
	Shape *shape = finding->shape;
	const char *name = finding->found->name, *what = rg_json_str(rule, "what", "name");
	g_autofree char *quoted = rg_words_quote(name);
	int64_t max = rg_json_int(rule, "max", G_MAXINT64);
	RgDiag *diag;
	if (g_utf8_strlen(name, -1) > max)
		diag = rg_spec_report(shape->document, pointer, "spec.too-long", shape->diags,
			"the %s %s is longer than %" G_GINT64_FORMAT " characters", what, quoted,
			max);
	else
		diag = rg_spec_report(shape->document, pointer, "spec.bad-pattern", shape->diags,
			"the %s %s must be %s", what, quoted, rg_json_str(rule, "expected", ""));
	rg_diag_at(diag, rg_document_key_source(shape->document, pointer));
}

static void report_unknown(Finding *finding)
{
	const RgSchemaFinding *found = finding->found;
	Shape *shape = finding->shape;
	g_autofree char *pointer = rg_json_pointer_add(found->pointer, found->name);
	const json_t *name_rule = json_object_get(found->schema, "x-raygpu-name");
	if (name_rule != NULL) {
		report_bad_name(finding, pointer, name_rule);
		return;
	}
	g_autofree char *quoted = rg_words_quote(found->name);
	RgDiag *diag = rg_spec_report(shape->document, pointer, "spec.unknown-key", shape->diags,
		"unknown key %s in %s", quoted, finding->path);
	rg_diag_at(diag, rg_document_key_source(shape->document, pointer));
	hint_known_key(diag, json_object_get(found->schema, "properties"), found->name);
}

static const struct {
	const char *keyword;
	void (*report)(Finding *finding);
	bool about_members; /* does not make the value itself useless */
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
	{"uniqueItems", report_repeated, true},
	{"oneOf", report_one_of, true},
	{"required", report_missing, true},
	{"additionalProperties", report_unknown, true},
};

static void take_finding(const RgSchemaFinding *found, void *data)
{
	Shape *shape = data;
	/* One word on a value is enough: its type, or its length, or its pattern. */
	if (rg_document_is_spoiled(shape->document, found->pointer))
		return;
	size_t row = 0;
	while (row < G_N_ELEMENTS(reporters) && strcmp(reporters[row].keyword, found->keyword) != 0)
		row++;
	/* A keyword that the schema uses and this table lacks is a programmer's mistake. */
	g_assert(row < G_N_ELEMENTS(reporters));
	g_autofree char *path = rg_spec_path(shape->document, found->pointer);
	Finding finding = {.found = found, .path = path, .shape = shape};
	reporters[row].report(&finding);
}

/* Words such as `no` that passed as text: the user may have meant a boolean. */
static void check_words11(RgDocument *document, RgDiags *diags)
{
	GHashTableIter iter;
	gpointer pointer, typed;
	g_hash_table_iter_init(&iter, document->words);
	while (g_hash_table_iter_next(&iter, &pointer, &typed)) {
		json_t *value = rg_json_at(document->value, pointer);
		if (!json_is_string(value) || rg_document_is_spoiled(document, pointer))
			continue;
		g_autofree char *path = rg_spec_path(document, pointer);
		RgSchemaFinding found = {.pointer = pointer, .value = value};
		Shape shape = {.document = document, .diags = diags};
		Finding finding = {.found = &found, .path = path, .shape = &shape};
		report_word11(&finding, false);
	}
}

void rg_spec_check_shape(RgDocument *document, RgDiags *diags)
{
	g_autoptr(RgJson) root = rg_spec_schema();
	g_autoptr(RgJsonSchema) schema = rg_json_schema_compile(root, diags);
	if (schema == NULL)
		return;
	Shape shape = {.document = document, .diags = diags};
	rg_json_schema_check(schema, document->value, take_finding, &shape);
	check_words11(document, diags);
}
