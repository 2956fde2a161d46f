/* Pushing documents that someone else wrote, or that are damaged. */
#include "base/json_place.h"
#include "document_fixture.h"
#include <string.h>

#define HURT_TEXTS 1500
#define HURT_VALUES 400

typedef struct {
	const char *pointer, *key, *value; /* JSON */
	const char *at;			   /* the place of the first error */
} Hurt;

static const Hurt hurts[] = {
	{"/clusters/0", "serial", "\"7\"", "/clusters/0/serial"},
	{"/clusters/0", "serial", "-1", "/clusters/0/serial"},
	{"/clusters/0", "serial", "9223372036854775807", "/clusters/0/serial"},
	{"/clusters/0", "serial", "7.5", "/clusters/0/serial"},
	{"/clusters/0", "lineage", "\"XYZ\"", "/clusters/0/lineage"},
	{"/clusters/0", "name", "\"\"", "/clusters/0/name"},
	{"/clusters/0", "more", "1", "/clusters/0/more"},
	{"/clusters/0", "resources", "{}", "/clusters/0/resources"},
	{"/clusters/0", "resources", "[7]", "/clusters/0/resources/0"},
	{"/clusters/0/resources/0", "address", "\"train\"", "/clusters/0/resources/0/address"},
	{"/clusters/0/resources/0", "address", "\"a.b.c[01]\"", "/clusters/0/resources/0/address"},
	{"/clusters/0/resources/0", "attributes", "null", "/clusters/0/resources/0/attributes"},
	{"/clusters/0/resources/0", "ownership", "\"mine\"", "/clusters/0/resources/0/ownership"},
	{"/clusters/0/resources/0", "protect", "1", "/clusters/0/resources/0/protect"},
	{"/clusters/0/resources/0", "depends_on", "[1]", "/clusters/0/resources/0/depends_on/0"},
	{"/clusters/0/resources/0", "depends_on", "[\"a.b.none\"]", "/clusters/0/resources/0"},
	{"/clusters/0/resources/0/attributes", "x", "{\"$ref\": \"a.b.none\", \"attr\": \"id\"}",
		"/clusters/0/resources/0"},
	{"/clusters/0/resources/0/attributes", "x",
		"{\"$join\": [\"\", {\"$ref\": \"a.b.none\","
		" \"attr\": \"id\"}]}",
		"/clusters/0/resources/0"},
	{"/clusters/0/resources/0/attributes", "x", "{\"$blob\": \"none\"}",
		"/clusters/0/resources/0/attributes/x"},
	{"/clusters/0/lifetimes/0", "resource", "\"a.b.none\"", "/clusters/0/lifetimes/0"},
	{"/clusters/0/lifetimes/0", "ending", "\"lost\"", "/clusters/0/lifetimes/0/ending"},
	{"/clusters/0/runs/0", "meta", "[]", "/clusters/0/runs/0/meta"},
	{"/clusters/0/runs/0", "changes", "[{}]", "/clusters/0/runs/0/changes/0"},
	{"/clusters/0/identities/0", "generation", "1e300", "/clusters/0/identities/0/generation"},
	{"", "clusters", "[]", "/clusters"},
	{"", "blobs", "[]", "/blobs"},
	{"", "raygpu_format", "\"1\"", ""},
};

static void check_place(const RgDiags *diags, const char *text, const char *pointer)
{
	const RgDiag *diag = rg_diags_get(diags, 0);
	unsigned line = 0, column = 0;
	g_test_message("%s (%u:%u)", diag->summary, diag->source.line, diag->source.column);
	g_assert_cmpstr(diag->code, ==, "state.bad-document");
	g_assert_true(g_str_has_prefix(diag->summary, pointer));
	rg_json_place(text, strlen(text), pointer, &line, &column);
	g_assert_cmpuint(diag->source.line, ==, line);
	g_assert_cmpuint(diag->source.column, ==, column);
	g_assert_cmpstr(diag->source.file, ==, "state.json");
}

static void test_each_fault_is_told_with_its_place(Fixture *f, gconstpointer unused)
{
	g_autofree char *fine = old_document(f);
	json_auto_t *good = parse(fine, false, f->diags);
	g_assert_nonnull(good);
	assert_fine(f->diags);
	for (size_t i = 0; i < G_N_ELEMENTS(hurts); i++) {
		json_t *value = json_loads(hurts[i].value, JSON_DECODE_ANY, NULL);
		g_assert_nonnull(value);
		g_autofree char *bad = edited(fine, hurts[i].pointer, hurts[i].key, value);
		g_assert_null(parse(bad, false, f->diags));
		check_place(f->diags, bad, hurts[i].at);
		diags_reset(f);
	}
}

/* What may occur only once occurs only once. */
static void test_doubles_are_told(Fixture *f, gconstpointer unused)
{
	static const char *const lists[] = {"/clusters", "/clusters/0/resources",
		"/clusters/0/identities", "/clusters/0/runs", "/clusters/0/tombstones",
		"/clusters/0/lifetimes"};
	add_node(f, 3, "i-3");
	const char *gone = "aws.instance.train[3]";
	g_assert_true(remove_records(f, &gone, 1));
	g_autofree char *one = old_document(f);
	json_auto_t *document = json_loads(one, 0, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
		const json_t *list = rg_json_at(document, lists[i]);
		size_t last = json_array_size(list);
		g_assert_cmpuint(last, >, 0);
		g_autofree char *twice =
			edited(one, lists[i], NULL, json_deep_copy(json_array_get(list, last - 1)));
		g_assert_null(parse(twice, true, f->diags));
		g_autofree char *at = g_strdup_printf("%s/%zu/", lists[i], last);
		g_assert_true(g_str_has_prefix(rg_diags_get(f->diags, 0)->summary, at));
		g_assert_nonnull(strstr(rg_diags_get(f->diags, 0)->summary, "already"));
		diags_reset(f);
	}
	/* one resource at two addresses */
	json_t *copy = json_deep_copy(rg_json_at(document, "/clusters/0/resources/0"));
	rg_json_set_str(copy, "address", "aws.instance.train[9]");
	g_autofree char *twin = edited(one, "/clusters/0/resources", NULL, copy);
	g_assert_null(parse(twin, true, f->diags));
	g_assert_nonnull(
		strstr(rg_diags_get(f->diags, 0)->summary, "/id: id is already recorded at"));
}

static void test_dangling_references_pass_with_force(Fixture *f, gconstpointer unused)
{
	g_autofree char *fine = old_document(f);
	g_autofree char *bad =
		edited(fine, "/clusters/0/resources/0", "depends_on", json_pack("[s]", "a.b.none"));
	json_auto_t *document = parse(bad, true, f->diags);
	g_assert_nonnull(document);
	g_assert_cmpuint(rg_diags_count_of(f->diags, RG_SEVERITY_WARNING), ==, 1);
	g_assert_nonnull(strstr(rg_diags_get(f->diags, 0)->summary, "a.b.none"));
}

static void refused_text(Fixture *f, const char *text, const char *code, const char *word)
{
	g_assert_null(parse(text, true, f->diags));
	const RgDiag *diag = assert_code(f->diags, code);
	g_assert_nonnull(strstr(diag->summary, word));
	diags_reset(f);
}

static void test_what_is_no_document(Fixture *f, gconstpointer unused)
{
	g_autofree char *deep = g_strnfill(1000, '['), *deeper = g_strnfill(100000, '{');
	g_autofree char *closed = g_strnfill(1000, ']');
	g_autofree char *nested = g_strconcat(deep, closed, NULL);
	refused_text(f, "", "state.bad-document", "not valid JSON");
	refused_text(f, "{", "state.bad-document", "not valid JSON");
	refused_text(f, "7", "state.bad-document", "not a state");
	refused_text(f, "[]", "state.bad-document", "not a state");
	refused_text(f, "{\"version\": 4, \"terraform_version\": \"1.11.4\"}", "state.bad-document",
		"not a state");
	refused_text(f, nested, "state.bad-document", "nested too deep");
	refused_text(f, deeper, "state.bad-document", "");
	refused_text(f, "{\"raygpu_format\": 1, \"raygpu_format\": 1}", "state.bad-document",
		"duplicate");
	refused_text(f, "{\"raygpu_format\": 2, \"what\": 7}", "state.newer", "formats up to 1");
	refused_text(f, "{\"raygpu_format\": 1, \"redacted\": true, \"clusters\": 7}",
		"state.redacted", "secrets");
	refused_text(f, "{\"raygpu_format\": 1, \"secret\": \"hunter2\"", "state.bad-document", "");
	g_assert_null(parse("{\"a\": \"hunter2\" \"b\"}", true, f->diags));
	g_assert_null(strstr(rg_diags_get(f->diags, 0)->summary, "hunter2"));
}

static void test_many_faults_are_counted(Fixture *f, gconstpointer unused)
{
	g_autoptr(GString) text = g_string_new("{\"raygpu_format\": 1, \"clusters\": [0");
	for (int i = 0; i < 300000; i++)
		g_string_append(text, ",0");
	g_string_append(text, "]}");
	g_assert_null(parse(text->str, false, f->diags));
	g_assert_cmpuint(rg_diags_count(f->diags), ==, 21);
	g_assert_nonnull(strstr(rg_diags_get(f->diags, 20)->summary, "more errors"));
	diags_reset(f);
	g_autofree char *huge = g_strnfill(20000001, ',');
	g_assert_null(parse(huge, false, f->diags));
	assert_code(f->diags, "file.too-large");
}

/* Texts with some bytes changed, removed or doubled: an error with a code, or a document that can
 * be pushed and pulled. */
static void test_hurt_texts_do_no_harm(Fixture *f, gconstpointer unused)
{
	static const char bytes[] = "{}[]\",:0-9.eE\\u\n\x80\xff"
				    "nulltrue$ref";
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	g_autofree char *fine = old_document(f);
	size_t passed = 0;
	for (int i = 0; i < HURT_TEXTS; i++) {
		g_autoptr(GString) text = g_string_new(fine);
		for (int n = g_rand_int_range(rand, 1, 4); n > 0 && text->len > 100; n--) {
			gssize at = g_rand_int_range(rand, 0, (gint32)text->len - 20);
			switch (g_rand_int_range(rand, 0, 4)) {
			case 0:
				text->str[at] = bytes[g_rand_int_range(rand, 0, sizeof(bytes) - 1)];
				break;
			case 1:
				g_string_erase(text, at, g_rand_int_range(rand, 1, 20));
				break;
			case 2:
				g_string_insert_len(
					text, at, fine + at / 2, g_rand_int_range(rand, 1, 20));
				break;
			default:
				if (g_rand_int_range(rand, 0, 8) == 0)
					g_string_truncate(text, (gsize)at + 1);
				break;
			}
		}
		json_auto_t *document =
			rg_state_document_parse(text->str, text->len, "state.json", true, f->diags);
		g_assert_true((!document) == rg_diags_has_errors(f->diags));
		passed += document != NULL;
		diags_reset(f);
	}
	g_test_message("%zu of %d hurt texts are documents still", passed, HURT_TEXTS);
}

/* Some value of the document, or NULL. */
static json_t *random_place(json_t *value, GRand *rand)
{
	for (int depth = g_rand_int_range(rand, 0, 7); depth > 0; depth--) {
		size_t n = json_is_object(value) ? json_object_size(value) : json_array_size(value);
		if (n == 0)
			return value;
		size_t at = (size_t)g_rand_int_range(rand, 0, (gint32)n);
		json_t *next = json_array_get(value, at);
		void *iter = json_object_iter(value);
		while (json_is_object(value) && at-- > 0)
			iter = json_object_iter_next(value, iter);
		value = next ? next : json_object_iter_value(iter);
	}
	return value;
}

static void hurt_value(json_t *at, GRand *rand, json_t *root)
{
	json_t *other = json_deep_copy(random_place(root, rand));
	if (json_is_array(at) && json_array_size(at) > 0 && g_rand_boolean(rand))
		json_array_remove(at, 0);
	else if (json_is_array(at))
		json_array_append(at, other);
	else if (json_is_object(at) && json_object_size(at) > 0)
		json_object_set(at, json_object_iter_key(json_object_iter(at)), other);
	else if (json_is_integer(at))
		json_integer_set(at, (json_int_t)g_rand_int(rand) << g_rand_int_range(rand, 0, 32));
	else if (json_is_string(at))
		json_string_set(at, "aws.instance.train[1]");
	json_decref(other);
}

/* Whatever is accepted is pushed completely, or refused with nothing changed, and can be pulled
 * again. */
static void test_hurt_values_do_no_harm(Pair *pair, gconstpointer unused)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(12);
	fill(&pair->own, 4);
	g_autofree char *fine = pull_text(pair->own.store, pair->own.diags);
	add_node(&pair->other, 0, "i-0");
	size_t pushed = 0;
	for (int i = 0; i < HURT_VALUES; i++) {
		json_auto_t *document = json_loads(fine, 0, NULL);
		for (int n = g_rand_int_range(rand, 1, 3); n > 0; n--)
			hurt_value(random_place(document, rand), rand, document);
		char *text = json_dumps(document, 0);
		g_autofree char *before = pull_text(pair->other.store, pair->other.diags);
		json_auto_t *reports = push(&pair->other, text, true, NULL);
		free(text);
		if (!pair->other.store)
			pair->other.store =
				rg_store_open(pair->other.path, RG_STORE_READ, pair->other.diags);
		g_assert_true((!reports) == rg_diags_has_errors(pair->other.diags));
		for (size_t k = 0; k < rg_diags_count(pair->other.diags); k++)
			g_assert_cmpstr(
				rg_diags_get(pair->other.diags, k)->code, !=, "state.corrupt");
		diags_reset(&pair->other);
		g_autofree char *after = pull_text(pair->other.store, pair->other.diags);
		if (!reports)
			g_assert_cmpstr(after, ==, before);
		pushed += reports != NULL;
	}
	g_test_message("%zu of %d hurt documents were pushed", pushed, HURT_VALUES);
	g_assert_cmpuint(pushed, >, 10);
	fixture_close(&pair->other);
	check_file(&pair->other);
}

#define ADD(path, function)                                                                        \
	g_test_add("/transfer/hostile/" path, Fixture, NULL, fixture_up, function, fixture_down)
#define ADD_PAIR(path, function)                                                                   \
	g_test_add("/transfer/hostile/" path, Pair, NULL, pair_up, function, pair_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("each-fault-has-its-place", test_each_fault_is_told_with_its_place);
	ADD("doubles-are-told", test_doubles_are_told);
	ADD("dangling-references-pass-with-force", test_dangling_references_pass_with_force);
	ADD("what-is-no-document", test_what_is_no_document);
	ADD("many-faults-are-counted", test_many_faults_are_counted);
	ADD("hurt-texts-do-no-harm", test_hurt_texts_do_no_harm);
	ADD_PAIR("hurt-values-do-no-harm", test_hurt_values_do_no_harm);
	return g_test_run();
}
