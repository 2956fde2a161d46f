/* Places of values in JSON text. */
#include "base/json_place.h"

#include <string.h>
#include "base/caps.h"
#include "base/json.h"

static void check_place(const char *text, const char *pointer, unsigned line, unsigned column)
{
	unsigned l = 0, c = 0;
	g_assert_true(rg_json_place(text, strlen(text), pointer, &l, &c));
	g_test_message("%s at %s: %u:%u", pointer, text, l, c);
	g_assert_cmpuint(l, ==, line);
	g_assert_cmpuint(c, ==, column);
}

static void values_are_found(void)
{
	static const char text[] = "\n{\"a\": [1, {\"b\\u002fc\": \"x\\\"]}\", \"d~\" : true}],\n"
				   "  \"e\": {},\n\t\"f\" :null, \"\": [[], [3]]}";
	check_place(text, "", 2, 1);
	check_place(text, "/a", 2, 7);
	check_place(text, "/a/0", 2, 8);
	check_place(text, "/a/1", 2, 11);
	check_place(text, "/a/1/b~1c", 2, 24);
	check_place(text, "/a/1/d~0", 2, 40);
	check_place(text, "/e", 3, 8);
	check_place(text, "/f", 4, 7);
	check_place(text, "//1/0", 4, 23);
}

static void what_is_missing_is_placed_at_its_owner(void)
{
	check_place("{\"a\": {\"b\": 1}}", "/a/c", 1, 7);
	check_place("{\"a\": {\"b\": 1}}", "/a/b/c", 1, 13);
	check_place("[1, 2]", "/7", 1, 1);
	check_place("[\"\u00e4\u00f6\", 2]", "/1", 1, 8);
	unsigned line, column;
	g_assert_false(rg_json_place("  ", 2, "", &line, &column));
	g_assert_false(rg_json_place("", 0, "/a", &line, &column));
}

/* Every value of a random document, written with and without indentation, is found by its pointer:
 * the text at that place parses to the value. */
static void check_all(const json_t *value, const char *pointer, const char *text)
{
	unsigned line, column;
	g_assert_true(rg_json_place(text, strlen(text), pointer, &line, &column));
	const char *at = text;
	for (unsigned i = 1; i < line; i++)
		at = strchr(at, '\n') + 1;
	at = g_utf8_offset_to_pointer(at, column - 1);
	json_auto_t *found = json_loads(at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
	g_assert_true(json_equal(found, value));
	size_t i;
	json_t *item;
	const char *key;
	json_array_foreach (value, i, item) {
		g_autofree char *below = g_strdup_printf("%s/%zu", pointer, i);
		check_all(item, below, text);
	}
	json_object_foreach (rg_json_unconst(value), key, item) {
		g_autofree char *below = rg_json_pointer_add(pointer, key);
		check_all(item, below, text);
	}
}

static json_t *random_value(GRand *rand, int depth)
{
	static const char *const texts[] = {"", "a", "[", "}", "\"", "\\", "a/b", "~", "\n,", "ü"};
	json_t *value;
	switch (g_rand_int_range(rand, 0, depth > 0 ? 6 : 4)) {
	case 0:
		return json_integer(g_rand_int_range(rand, -5, 500));
	case 1:
		return json_real(g_rand_double_range(rand, -1, 1));
	case 2:
		return json_null();
	case 3:
		return json_string(texts[g_rand_int_range(rand, 0, G_N_ELEMENTS(texts))]);
	case 4:
		value = json_array();
		for (int i = g_rand_int_range(rand, 0, 5); i > 0; i--)
			json_array_append_new(value, random_value(rand, depth - 1));
		return value;
	default:
		value = json_object();
		for (int i = g_rand_int_range(rand, 0, 5); i > 0; i--)
			json_object_set_new(value,
				texts[g_rand_int_range(rand, 0, G_N_ELEMENTS(texts))],
				random_value(rand, depth - 1));
		return value;
	}
}

static void every_value_is_found(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);
	static const size_t flags[] = {0, JSON_INDENT(2), JSON_COMPACT, JSON_ENSURE_ASCII};
	for (int i = 0; i < 400; i++) {
		json_auto_t *value = random_value(rand, 5);
		char *text = json_dumps(value, flags[i % 4] | JSON_ENCODE_ANY);
		check_all(value, "", text);
		free(text);
	}
}

/* Nothing outside the text is read: the sanitizers watch copies of exactly its length. */
static void cut_and_broken_texts_are_harmless(void)
{
	static const char text[] =
		"{\"a\": [1, {\"b\\\"\": \"x\\\\\"}], \"c\": {\"d\": [[]]}, \"e\": nul}";
	static const char *const pointers[] = {
		"", "/a/1/b\"", "/c/d/0/0", "/e/f", "/a/9", "/\"", "x"};
	g_autoptr(GRand) rand = g_rand_new_with_seed(4);
	for (size_t len = 0; len < sizeof(text); len++) {
		g_autofree char *copy = g_memdup2(text, len);
		if (len > 2)
			copy[g_rand_int_range(rand, 0, (int)len)] = "{}[]\",:\\ "[len % 9];
		for (size_t i = 0; i < G_N_ELEMENTS(pointers); i++) {
			unsigned line = 0, column = 0;
			if (rg_json_place(copy, len, pointers[i], &line, &column))
				g_assert_cmpuint(column, <=, len + 1);
		}
		g_assert_cmpuint(rg_json_count_values(copy, len), <=, len + 1);
	}
}

static void values_are_counted(void)
{
	static const char text[] = "{\"a,[\": [1, 2, \"\\\",{\"], \"b\": {}}";
	/* the outermost, a, 1, 2, text, b: the empty object's own member is counted too */
	g_assert_cmpuint(rg_json_count_values(text, strlen(text)), ==, 7);
	g_assert_cmpuint(rg_json_count_values("7", 1), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/base/json-place/values-are-found", values_are_found);
	g_test_add_func("/base/json-place/missing-is-placed-at-its-owner",
		what_is_missing_is_placed_at_its_owner);
	g_test_add_func("/base/json-place/every-value-is-found", every_value_is_found);
	g_test_add_func(
		"/base/json-place/broken-texts-are-harmless", cut_and_broken_texts_are_harmless);
	g_test_add_func("/base/json-place/values-are-counted", values_are_counted);
	return g_test_run();
}
