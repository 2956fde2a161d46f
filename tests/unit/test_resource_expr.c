#include "resource/expr.h"
#include "resource/resource.h"
#include <string.h>
#include <zlib.h>

static json_t *look(void *data, const char *address, const char *attr)
{
	g_autofree char *key = g_strconcat(address, "/", attr, NULL);
	return json_incref(json_object_get(data, key));
}

static json_t *known(void)
{
	return json_pack("{s:s, s:i}", "a.n.head/ip", "10.0.0.4", "a.n.head/port", 5);
}

static void test_well_formed_ones_are_told_from_others(void)
{
	static const struct {
		const char *text;
		bool is, valid;
	} rows[] = {{"{\"$ref\": \"a.b.c\", \"attr\": \"id\"}", true, true},
		{"{\"$join\": [\"x\", {\"$ref\": \"a.b.c\", \"attr\": \"id\"}]}", true, true},
		{"{\"$gzip_base64\": \"x\"}", true, true}, {"{\"x\": 1}", false, true},
		{"{\"$ref\": \"a.b.c\"}", false, false},
		{"{\"$ref\": 1, \"attr\": \"id\"}", false, false},
		{"{\"$join\": [1]}", true, false}, {"{\"$gzip_base64\": 7}", true, false},
		{"{\"$other\": 1}", false, false}, {"[{\"y\": {\"$join\": 3}}]", false, false}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		json_auto_t *value = json_loads(rows[i].text, 0, NULL);
		g_assert_true(rg_expr_is(value) == rows[i].is);
		g_assert_true(rg_expr_valid(value) == rows[i].valid);
	}
}

static void test_refs_are_found_at_any_depth(void)
{
	g_autoptr(GHashTable) found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_auto_t *value = json_loads(
		"{\"a\": [{\"$gzip_base64\": {\"$join\": [\"x\", {\"$ref\": \"a.b.c\", \"attr\": "
		"\"id\"}]}}], \"b\": {\"c\": {\"$ref\": \"a.b.d\", \"attr\": \"id\"}}}",
		0, NULL);
	rg_expr_refs(value, found);
	g_assert_cmpuint(g_hash_table_size(found), ==, 2);
	g_assert_true(g_hash_table_contains(found, "a.b.c"));
	g_assert_true(g_hash_table_contains(found, "a.b.d"));
	g_assert_true(rg_expr_has_refs(value));
	json_auto_t *plain = json_loads("{\"a\": [1, \"$ref\"]}", 0, NULL);
	g_assert_false(rg_expr_has_refs(plain));
}

static void test_everything_known_is_resolved(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *table = known();
	json_auto_t *value = json_loads("{\"p\": {\"$ref\": \"a.n.head\", \"attr\": \"port\"}, "
					"\"u\": [{\"$join\": [\"ip=\","
					" {\"$ref\": \"a.n.head\", \"attr\": \"ip\"}, \";\"]}]}",
		0, NULL);
	json_auto_t *wanted = json_loads("{\"p\": 5, \"u\": [\"ip=10.0.0.4;\"]}", 0, NULL);
	json_auto_t *got = rg_expr_resolve(value, look, table, diags);
	g_assert_true(json_equal(got, wanted));
}

static void test_unknown_and_non_text_parts_are_errors(void)
{
	static const char *const bad[] = {"{\"x\": {\"$ref\": \"a.n.other\", \"attr\": \"ip\"}}",
		"{\"$join\": [{\"$ref\": \"a.n.head\", \"attr\": \"port\"}]}",
		"[{\"$gzip_base64\": {\"$ref\": \"a.n.head\", \"attr\": \"mac\"}}]"};
	json_auto_t *table = known();
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		json_auto_t *value = json_loads(bad[i], 0, NULL);
		g_assert_null(rg_expr_resolve(value, look, table, diags));
		g_assert_cmpuint(rg_diags_count(diags), ==, 1);
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "apply.blocked");
		json_auto_t *as_it_was = rg_expr_resolve_known(value, look, table);
		g_assert_true(json_equal(as_it_was, value));
	}
}

static void test_known_ones_are_resolved_beside_unknown_ones(void)
{
	json_auto_t *table = known();
	json_auto_t *value = json_loads("{\"a\": {\"$ref\": \"a.n.head\", \"attr\": \"ip\"},"
					" \"b\": {\"$ref\": \"a.n.head\", \"attr\": \"mac\"}}",
		0, NULL);
	json_auto_t *got = rg_expr_resolve_known(value, look, table);
	g_assert_cmpstr(rg_json_str(got, "a", NULL), ==, "10.0.0.4");
	g_assert_true(rg_expr_is(json_object_get(got, "b")));
}

static json_t *count_looks(void *data, const char *address, const char *attr)
{
	++*(unsigned *)data;
	return NULL;
}

static void test_a_lenient_lookup_hears_of_every_part(void)
{
	unsigned looks = 0;
	json_auto_t *value =
		json_loads("{\"$gzip_base64\": {\"$join\": [\"token=\","
			   " {\"$ref\": \"a.n.secret\", \"attr\": \"value\"}, \" head=\","
			   " {\"$ref\": \"a.n.head\", \"attr\": \"ip\"}]}}",
			0, NULL);
	json_auto_t *got = rg_expr_resolve_known(value, count_looks, &looks);
	g_assert_cmpuint(looks, ==, 2);
	g_assert_true(json_equal(got, value));
}

static void test_gzip_gives_the_text_back_and_the_same_bytes_each_time(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *text = g_strnfill(50000, 'x');
	json_auto_t *value = json_pack("{s:s}", "$gzip_base64", text);
	json_auto_t *one = rg_expr_resolve(value, look, NULL, diags);
	json_auto_t *two = rg_expr_resolve(value, look, NULL, diags);
	gsize len;
	g_assert_true(json_equal(one, two));
	g_autofree guchar *bytes = g_base64_decode(json_string_value(one), &len);
	g_assert_cmpuint(len, ==, rg_expr_gzip_size(text, 50000, 0));
	/* RFC 1952: magic, deflate, no flags, mtime 0, XFL, OS unknown */
	static const guchar header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0};
	g_assert_cmpmem(bytes, sizeof(header), header, sizeof(header));
	g_assert_cmpuint(bytes[9], ==, 255);
	g_autofree char *back = g_malloc0(50001);
	z_stream stream = {.next_in = bytes,
		.avail_in = (uInt)len,
		.next_out = (Bytef *)back,
		.avail_out = 50000};
	g_assert_cmpint(inflateInit2(&stream, 15 + 16), ==, Z_OK);
	g_assert_cmpint(inflate(&stream, Z_FINISH), ==, Z_STREAM_END);
	inflateEnd(&stream);
	g_assert_cmpstr(back, ==, text);
}

static void test_gzip_size_is_exact_unless_less_is_enough(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (int i = 0; i < 3000; i++)
		g_string_append_printf(text, "%d set %d\n", i * i, i % 7);
	size_t exact = rg_expr_gzip_size(text->str, text->len, 0);
	size_t fast = rg_expr_gzip_size(text->str, text->len, text->len);
	g_assert_cmpuint(exact, <, fast);
	g_assert_cmpuint(rg_expr_gzip_size(text->str, text->len, fast), ==, fast);
	g_assert_cmpuint(rg_expr_gzip_size(text->str, text->len, fast - 1), ==, exact);
}

static void test_gunzip_is_the_way_back_and_keeps_to_its_cap(void)
{
	g_autofree char *text = g_strnfill(40000, 'x');
	json_auto_t *value = json_pack("{s:s}", "$gzip_base64", text);
	json_auto_t *packed = rg_expr_resolve_known(value, NULL, NULL);
	g_autofree char *back = rg_expr_gunzip(json_string_value(packed), 40000);
	g_assert_cmpstr(back, ==, text);
	g_assert_null(rg_expr_gunzip(json_string_value(packed), 39999));
	g_autofree char *cut = g_strndup(json_string_value(packed), 40);
	g_assert_null(rg_expr_gunzip(cut, 40000));
	g_assert_null(rg_expr_gunzip("", 100));
	g_assert_null(rg_expr_gunzip("not base64 at all !", 100));
	g_assert_null(rg_expr_gunzip("I2Nsb3VkLWNvbmZpZw==", 100));
}

static void test_references_are_renamed(void)
{
	g_autoptr(GHashTable) renamed = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_insert(
		renamed, (gpointer)(uintptr_t) "a.b.old", (gpointer)(uintptr_t) "a.b.new");
	json_auto_t *value = json_pack("{s:[{s:s, s:s}, s], s:{s:[s, {s:s, s:s}, {s:s, s:s}]}}",
		"list", "$ref", "a.b.old", "attr", "id", "a.b.old", "text", "$join", "a.b.old",
		"$ref", "a.b.old", "attr", "name", "$ref", "a.b.other", "attr", "id");
	g_autofree char *before = rg_json_canonical(value);
	json_auto_t *after = rg_expr_rename_refs(value, renamed);
	g_autofree char *text = rg_json_canonical(after), *untouched = rg_json_canonical(value);
	g_assert_cmpstr(text, ==,
		"{\"list\":[{\"$ref\":\"a.b.new\",\"attr\":\"id\"},\"a.b.old\"],\"text\":"
		"{\"$join\":[\"a.b.old\",{\"$ref\":\"a.b.new\",\"attr\":\"name\"},"
		"{\"$ref\":\"a.b.other\",\"attr\":\"id\"}]}}");
	g_assert_cmpstr(untouched, ==, before);
	/* nothing to rename: the same object */
	json_auto_t *same = rg_expr_rename_refs(json_object_get(after, "text"), renamed);
	g_assert_true(same == json_object_get(after, "text"));
	/* text that is not a reference stays, whatever it looks like */
	json_auto_t *odd = json_pack("{s:s, s:s, s:i}", "$ref", "a.b.old", "attr", "id", "more", 1);
	json_auto_t *kept = rg_expr_rename_refs(odd, renamed);
	g_assert_true(kept == odd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/expr/told-from-others", test_well_formed_ones_are_told_from_others);
	g_test_add_func("/expr/refs-at-any-depth", test_refs_are_found_at_any_depth);
	g_test_add_func("/expr/known-is-resolved", test_everything_known_is_resolved);
	g_test_add_func("/expr/unknown-is-an-error", test_unknown_and_non_text_parts_are_errors);
	g_test_add_func(
		"/expr/known-beside-unknown", test_known_ones_are_resolved_beside_unknown_ones);
	g_test_add_func("/expr/every-part", test_a_lenient_lookup_hears_of_every_part);
	g_test_add_func("/expr/references-are-renamed", test_references_are_renamed);
	g_test_add_func("/expr/gzip", test_gzip_gives_the_text_back_and_the_same_bytes_each_time);
	g_test_add_func("/expr/gzip-size", test_gzip_size_is_exact_unless_less_is_enough);
	g_test_add_func("/expr/gunzip", test_gunzip_is_the_way_back_and_keeps_to_its_cap);
	return g_test_run();
}
