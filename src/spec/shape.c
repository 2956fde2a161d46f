#include "spec/scalar.h"
#include "spec/check.h"

#include "base/embedded.h"
#include "spec/finding.h"
#include "spec/words.h"

extern const struct rg_embedded rg_schemas[];

json_t *rg_spec_schema(const char *name)
{
	const struct rg_embedded *file = rg_embedded_find(rg_schemas, name);
	g_assert(file != NULL);
	json_t *schema = json_loadb(file->data, file->len, 0, NULL);
	g_assert(schema != NULL);
	return schema;
}

static void report_repeated(RgFinding *finding)
{
	const json_t *list = finding->found->value;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *item = json_string_value(json_array_get(list, i));
		if (!item || g_hash_table_add(seen, (gpointer)(uintptr_t)item))
			continue;
		g_autofree char *pointer = g_strdup_printf("%s/%zu", finding->found->pointer, i);
		g_autofree char *quoted = rg_words_quote(item);
		rg_spec_report(finding->document, pointer, "spec.duplicate-item", finding->diags,
			"%s names %s twice", finding->path, quoted);
		return;
	}
	rg_spec_report(finding->document, finding->found->pointer, "spec.duplicate-item",
		finding->diags, "%s has equal entries", finding->path);
}

/* The first required name of a oneOf branch such as {"required": ["accelerators"]}. */
static const char *branch_name(const json_t *rule, size_t i)
{
	const json_t *required = json_object_get(json_array_get(rule, i), "required");
	return json_string_value(json_array_get(required, 0));
}

/* Known keys, NULL-ended; `now` omits those for a later release. */
static GPtrArray *known_keys(const json_t *properties, bool now)
{
	GPtrArray *keys = g_ptr_array_new();
	rg_json_foreach_member (key, property, properties) {
		if (!now || !json_object_get(property, "not"))
			g_ptr_array_add(keys, (gpointer)(uintptr_t)key);
	}
	g_ptr_array_add(keys, NULL);
	return keys;
}

/* `keys`: known_keys, built once for all names of an object, of which there may be 100,000. */
static const char *find_meant(const RgFinding *finding, const GPtrArray *keys, const char *name)
{
	const char *const *words = (const char *const *)keys->pdata;
	rg_json_foreach (synonym, json_object_get(finding->synonyms, name)) {
		if (g_strv_contains(words, json_string_value(synonym)))
			return json_string_value(synonym);
	}
	return rg_nearest_word(name, words);
}

static void hint_known_key(const RgFinding *finding, RgDiag *diag)
{
	const json_t *properties = json_object_get(finding->found->schema, "properties");
	g_autoptr(GPtrArray) keys = known_keys(properties, false);
	const char *meant = find_meant(finding, keys, finding->found->name);
	if (meant) {
		rg_diag_hint(diag, "did you mean `%s`?", meant);
		return;
	}
	const char *own = rg_json_str(finding->found->schema, "x-raygpu-unknown", NULL);
	g_autoptr(GPtrArray) now = known_keys(properties, true);
	g_autofree char *list = g_strjoinv(", ", (char **)now->pdata);
	rg_diag_hint(diag, "valid keys: %s%s%s", list, own ? "; " : "", own ? own : "");
}

/* Whether a key of the object was meant to be, or replaces, the one of that name: then the finding
 * about that key is sufficient. */
static bool has_stand_in(const RgFinding *finding, const char *name)
{
	const RgSchemaFinding *found = finding->found;
	json_t *properties = json_object_get(found->schema, "properties");
	/* Unknown keys of an open object are checked elsewhere, and not reported here. */
	bool closed = json_is_false(json_object_get(found->schema, "additionalProperties"));
	g_autoptr(GPtrArray) keys = known_keys(properties, false);
	rg_json_foreach_member (key, member, found->value) {
		const json_t *property = json_object_get(properties, key);
		const json_t *later = json_object_get(property, "x-raygpu-later");
		if (rg_json_has_text(json_object_get(later, "instead_of"), name))
			return true;
		if (closed && !property && g_strcmp0(find_meant(finding, keys, key), name) == 0)
			return true;
	}
	return false;
}

static void report_one_of(RgFinding *finding)
{
	const json_t *rule = finding->found->rule;
	/* For anything but a mapping the `type` finding is sufficient. */
	if (!json_is_object(finding->found->value))
		return;
	g_autoptr(GString) names = g_string_new(NULL);
	size_t given = 0;
	for (size_t i = 0; i < json_array_size(rule); i++) {
		const char *name = branch_name(rule, i);
		if (has_stand_in(finding, name))
			return;
		g_string_append_printf(names, "%s%s", i > 0 ? " or " : "", name);
		given += json_object_get(finding->found->value, name) != NULL;
	}
	RgDiag *diag = rg_diags_error(finding->diags, "spec.one-of",
		given == 0 ? "%s needs %s" : "%s must have %s, not both", finding->path,
		names->str);
	rg_diag_at(diag, rg_document_key_source(finding->document, finding->found->pointer));
	rg_diag_hint(diag, "%s",
		given > 0 ? "remove one of them"
			  : rg_json_str(finding->found->schema, "x-raygpu-hint",
				    "add accelerators: A100:8, or the cloud's instance_type"));
}

/* The key of an open object that was meant to be the missing one, or NULL. */
static const char *find_meant_for(const RgFinding *finding, json_t *properties)
{
	const RgSchemaFinding *found = finding->found;
	g_autoptr(GPtrArray) keys = known_keys(properties, false);
	rg_json_foreach_member (key, member, found->value) {
		if (!json_object_get(properties, key) &&
			g_strcmp0(find_meant(finding, keys, key), found->name) == 0)
			return key;
	}
	return NULL;
}

static void report_missing(RgFinding *finding)
{
	const RgSchemaFinding *found = finding->found;
	json_t *properties = json_object_get(found->schema, "properties");
	if (has_stand_in(finding, found->name))
		return;
	const char *written = find_meant_for(finding, properties);
	RgDiag *diag = rg_diags_error(
		finding->diags, "spec.missing-key", "%s has no \"%s\"", finding->path, found->name);
	rg_diag_at(diag, rg_document_key_source(finding->document, found->pointer));
	if (written) {
		g_autofree char *quoted = rg_words_quote(written);
		rg_diag_hint(diag, "did you mean `%s` instead of %s?", found->name, quoted);
		return;
	}
	rg_diag_hint(diag, "add %s: %s", found->name,
		rg_json_str(json_object_get(properties, found->name), "description", "a value"));
}

/* A key of a map whose names the user chooses, but not in the required form. */
static void report_bad_name(RgFinding *finding, const char *pointer, const json_t *rule)
{
	const char *name = finding->found->name, *what = rg_json_str(rule, "what", "name");
	g_autofree char *quoted = rg_words_quote(name);
	int64_t max = rg_json_int(rule, "max", G_MAXINT64);
	RgDiag *diag;
	if (g_utf8_strlen(name, -1) > max)
		diag = rg_spec_report(finding->document, pointer, "spec.too-long", finding->diags,
			"the %s %s is longer than %" G_GINT64_FORMAT " characters", what, quoted,
			max);
	else
		diag = rg_spec_report(finding->document, pointer, "spec.bad-pattern",
			finding->diags, "the %s %s must be %s", what, quoted,
			rg_json_str(rule, "expected", ""));
	rg_diag_at(diag, rg_document_key_source(finding->document, pointer));
}

/* A key that is not allowed together with another one. */
static void report_beside(RgFinding *finding, const char *pointer, const json_t *rule)
{
	g_autofree char *path = rg_spec_path(finding->document, pointer);
	RgDiag *diag = rg_spec_report(finding->document, pointer, "spec.one-of", finding->diags,
		"%s cannot be combined with %s.%s", path, finding->path,
		rg_json_str(rule, "key", ""));
	rg_diag_at(diag, rg_document_key_source(finding->document, pointer));
	rg_diag_hint(diag, "%s", rg_json_str(rule, "hint", ""));
}

static void report_unknown(RgFinding *finding)
{
	const RgSchemaFinding *found = finding->found;
	g_autofree char *pointer = rg_json_pointer_add(found->pointer, found->name);
	const json_t *name_rule = json_object_get(found->schema, "x-raygpu-name");
	if (name_rule) {
		report_bad_name(finding, pointer, name_rule);
		return;
	}
	const json_t *beside = json_object_get(found->schema, "x-raygpu-beside");
	if (beside) {
		report_beside(finding, pointer, beside);
		return;
	}
	g_autofree char *quoted = rg_words_quote(found->name);
	RgDiag *diag = rg_spec_report(finding->document, pointer, "spec.unknown-key",
		finding->diags, "unknown key %s in %s", quoted, finding->path);
	rg_diag_at(diag, rg_document_key_source(finding->document, pointer));
	hint_known_key(finding, diag);
}

static const struct {
	const char *keyword;
	void (*report)(RgFinding *finding);
} reporters[] = {
	{"uniqueItems", report_repeated},
	{"oneOf", report_one_of},
	{"required", report_missing},
	{"additionalProperties", report_unknown},
};

static void take_finding(const RgSchemaFinding *found, void *data)
{
	RgFinding finding = *(const RgFinding *)data;
	/* One finding per value is enough: its type, its length, or its pattern. */
	if (rg_document_is_spoiled(finding.document, found->pointer))
		return;
	g_autofree char *path = rg_spec_path(finding.document, found->pointer);
	finding.found = found;
	finding.path = path;
	if (rg_value_report(&finding))
		return;
	size_t row = 0;
	while (row < G_N_ELEMENTS(reporters) &&
		!g_str_equal(reporters[row].keyword, found->keyword))
		row++;
	/* A keyword that the schema uses and no table has is a programming error. */
	g_assert(row < G_N_ELEMENTS(reporters));
	reporters[row].report(&finding);
}

/* 010 was accepted as ten: the user may have meant eight. */
static void check_zero(
	const RgDocument *document, const char *pointer, const json_t *value, RgDiags *diags)
{
	const char *text = g_hash_table_lookup(document->words, pointer);
	json_int_t number = json_integer_value(value);
	if (!rg_scalar_is_octal11(text))
		return;
	RgDiag *diag = rg_diags_error(diags, "spec.yaml11-word",
		"%s is %" JSON_INTEGER_FORMAT " in YAML 1.2, and octal in YAML 1.1", text, number);
	rg_diag_at(diag, rg_document_source(document, pointer));
	rg_diag_hint(diag, "write %" JSON_INTEGER_FORMAT, number);
}

/* Words such as `no` that were accepted as text: the user may have meant a boolean. */
static void check_words11(RgDocument *document, RgDiags *diags)
{
	rg_hash_keys (const char, pointer, document->words) {
		json_t *value = rg_json_at(document->value, pointer);
		if (rg_document_is_spoiled(document, pointer))
			continue;
		if (json_is_integer(value))
			check_zero(document, pointer, value, diags);
		if (!json_is_string(value))
			continue;
		g_autofree char *path = rg_spec_path(document, pointer);
		RgSchemaFinding found = {.pointer = pointer, .value = value};
		RgFinding finding = {
			.found = &found, .path = path, .document = document, .diags = diags};
		rg_value_report_word11(&finding, false);
	}
}

/* What a file need not say if it extends another one: raygpu checks the merged document, an editor
 * the file. Stated beside the properties, so that messages describe what is missing. */
static void expect_whole(json_t *root, const RgDocument *document)
{
	json_t *required = rg_json_at(root, "/else/required");
	if (!required || json_object_get(document->value, "extends"))
		return;
	json_object_set(root, "required", required);
	json_object_del(root, "if");
	json_object_del(root, "else");
}

void rg_spec_check_shape(RgDocument *document, const char *name, RgDiags *diags)
{
	json_auto_t *root = rg_spec_schema(name);
	expect_whole(root, document);
	g_autoptr(RgJsonSchema) schema = rg_json_schema_compile_known(root, diags);
	if (!schema)
		return;
	RgFinding finding = {.synonyms = json_object_get(root, "x-raygpu-synonyms"),
		.document = document,
		.diags = diags};
	rg_json_schema_check(schema, document->value, take_finding, &finding);
	check_words11(document, diags);
}
