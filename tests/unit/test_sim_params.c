/* The simulator's form parser on tests/data/aws/query_vectors.json (botocore's serializer): what a
 * client meant is what the server reads. */
#include <string.h>
#include "aws/sim/params.h"

/* Counts the texts of a tree. */
static size_t leaves(const json_t *tree)
{
	size_t sum = json_is_string(tree);
	const char *key;
	json_t *member;
	json_object_foreach ((json_t *)(guintptr)tree, key, member)
		sum += leaves(member);
	return sum;
}

static void check_vector(const json_t *vector)
{
	const char *body = json_string_value(json_object_get(vector, "body"));
	g_autofree char *problem = NULL;
	json_auto_t *tree = ec2_params_parse(body, &problem);
	g_assert_cmpstr(problem, ==, NULL);
	const json_t *form = json_object_get(vector, "form");
	for (size_t i = 0; i < json_array_size(form); i++) {
		const json_t *pair = json_array_get(form, i);
		const char *name = json_string_value(json_array_get(pair, 0));
		g_assert_cmpstr(
			ec2_param_str(tree, name), ==, json_string_value(json_array_get(pair, 1)));
	}
	g_assert_cmpuint(leaves(tree), ==, json_array_size(form));
}

static void test_vectors(const void *path)
{
	json_auto_t *vectors = json_load_file(path, 0, NULL);
	size_t seen = 0;
	size_t i;
	json_t *vector;
	json_array_foreach (vectors, i, vector) {
		/* The others are JSON requests. */
		if (!json_is_array(json_object_get(vector, "form")))
			continue;
		check_vector(vector);
		seen++;
	}
	g_assert_cmpuint(seen, >=, 30);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	g_test_add_data_func("/sim/params/reads what botocore writes", argv[1], test_vectors);
	return g_test_run();
}
