/* Request forms compared with botocore's own (providers/aws/tests/vectors.json), marks, indexes. */
#include "aws/form.h"
#include "aws/marks.h"
#include "common/indexes.h"
#include <string.h>

static json_t *decode_form(const char *form)
{
	json_t *pairs = json_array();
	g_auto(GStrv) parts = g_strsplit(form, "&", -1);
	for (char **part = parts; *part; part++) {
		g_auto(GStrv) pair = g_strsplit(*part, "=", 2);
		g_autofree char *name = g_uri_unescape_string(pair[0], NULL);
		g_autofree char *value = g_uri_unescape_string(pair[1], NULL);
		json_array_append_new(pairs, json_pack("[s, s]", name, value));
	}
	return pairs;
}

static void test_vectors(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "vectors.json", NULL);
	json_auto_t *vectors = json_load_file(path, 0, NULL);
	g_assert_cmpuint(json_array_size(vectors), >=, 15);
	size_t i;
	const json_t *vector;
	json_array_foreach (vectors, i, vector) {
		g_autofree char *form = aws_form_format(
			mod_str(vector, "action"), json_object_get(vector, "params"));
		json_auto_t *pairs = decode_form(form);
		if (!json_equal(pairs, json_object_get(vector, "form"))) {
			char *ours = json_dumps(pairs, 0);
			char *theirs = json_dumps(json_object_get(vector, "form"), 0);
			g_test_message("%zu: %s\n%s", i, ours, theirs);
			g_test_fail();
			free(ours);
			free(theirs);
		}
	}
}

static void test_escapes(void)
{
	json_auto_t *params = json_pack("{s:s, s:n, s:[], s:b}", "A", "~-_.!*()' \xc3\xa9\n&=+",
		"Nothing", "Empty", "Yes", true);
	g_autofree char *form = aws_form_format("X", params);
	g_assert_cmpstr(form, ==,
		"Action=X&Version=2016-11-15&A=~-_.%21%2A%28%29%27%20%C3%A9%0A%26%3D%2B&Yes=true");
}

static void test_filters(void)
{
	const char *const values[] = {"a", "b"};
	json_auto_t *params = json_object();
	aws_form_filter(params, "tag:x", values, 2);
	aws_form_filter(params, "y", values, 1);
	g_autofree char *form = aws_form_format("D", params);
	g_assert_cmpstr(form, ==,
		"Action=D&Version=2016-11-15&Filter.1.Name=tag%3Ax&Filter.1.Value.1=a&"
		"Filter.1.Value.2=b&Filter.2.Name=y&Filter.2.Value.1=a");
}

static void test_indexes(void)
{
	const int64_t indexes[] = {0, 1, 2, 3, 7, 9, 10};
	const char *text = "0-3,7,9-10";
	int64_t index;
	for (size_t i = 0; i < G_N_ELEMENTS(indexes); i++) {
		g_assert_true(mod_indexes_at(text, i, &index));
		g_assert_cmpint(index, ==, indexes[i]);
	}
	g_assert_false(mod_indexes_at(text, 7, &index));
	static const char *const bad[] = {
		"", "x", "-1", "3-1", "1,,2", "1-", "1 ", "99999999999999999999", "1-2-3", ","};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(mod_indexes_at(bad[i], 5, &index));
}

/* The address of each member of a batch, from the marks that all of them carry. */
static void test_marks_of_a_batch(void)
{
	json_auto_t *input = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}}, s:[{s:s}]}", "kind",
		"aws.instance", "token", "00ff", "marks", "lineage", "abc", "indexes", "7,9-10",
		"attributes", "tags", "team", "ml", "items", "address", "aws.instance.train[7]");
	json_auto_t *tags = aws_marks_tags(input), *told = json_object();
	json_t *tag;
	size_t i;
	json_array_foreach (tags, i, tag)
		json_object_set(told, mod_str(tag, "Key"), json_object_get(tag, "Value"));
	g_auto(ModMarks) marks = {0};
	json_auto_t *others = aws_marks_read(told, &marks);
	g_assert_cmpuint(json_object_size(others), ==, 1);
	g_assert_cmpstr(mod_str(others, "team"), ==, "ml");
	static const char *const addresses[] = {
		"aws.instance.train[7]", "aws.instance.train[9]", "aws.instance.train[10]", NULL};
	for (uint64_t place = 0; place < G_N_ELEMENTS(addresses); place++) {
		g_autofree char *address = aws_marks_address(&marks, "aws.instance", place);
		g_assert_cmpstr(address, ==, addresses[place]);
	}
	g_assert_null(aws_marks_address(&marks, "aws.network_interface", 0));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/aws/form/is-botocore's-in-every-vector", test_vectors);
	g_test_add_func("/aws/form/escapes-by-rfc-3986-and-drops-nothing-values", test_escapes);
	g_test_add_func("/aws/form/numbers-filters-from-one", test_filters);
	g_test_add_func("/aws/indexes/there-and-back-and-bad-ones-refused", test_indexes);
	g_test_add_func("/aws/marks/of-a-batch-give-each-address", test_marks_of_a_batch);
	return g_test_run();
}
