/* The simulator's verifier on tests/data/aws/sigv4_vectors.json (computed by botocore.auth). */
#include <jansson.h>
#include <string.h>
#include "aws/sim/sigv4.h"

static const char *text(const json_t *object, const char *member)
{
	const char *value = json_string_value(json_object_get(object, member));
	return value ? value : "";
}

static GHashTable *headers_of(const json_t *vector)
{
	GHashTable *out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	const char *name;
	json_t *value;
	g_hash_table_insert(out, g_strdup("host"), g_strdup(text(vector, "host")));
	json_object_foreach (json_object_get(vector, "headers"), name, value)
		g_hash_table_insert(
			out, g_ascii_strdown(name, -1), g_strdup(json_string_value(value)));
	return out;
}

static char *between(const char *from, const char *start, const char *end)
{
	const char *at = strstr(from, start);
	g_assert_nonnull(at);
	at += strlen(start);
	return g_strndup(at, (gsize)(strchrnul(at, *end) - at));
}

static void check_vector(const json_t *file, const json_t *vector)
{
	g_autoptr(GHashTable) headers = headers_of(vector);
	const char *authorization = g_hash_table_lookup(headers, "authorization");
	g_autofree char *names = between(authorization, "SignedHeaders=", ",");
	g_autofree char *wanted = between(authorization, "Signature=", ",");
	g_autofree char *credential = between(authorization, "Credential=", ",");
	const char *scope = strchr(credential, '/') + 1;
	const char *body = text(vector, "body");
	RgSimRequest request = {.method = "POST",
		.path = "/",
		.query = "",
		.headers = headers,
		.body = body,
		.body_length = strlen(body)};
	g_autofree char *canonical = ec2_sigv4_canonical(&request, names);
	g_assert_cmpstr(canonical, ==, text(vector, "canonical_request"));
	g_autofree char *to_sign =
		ec2_sigv4_string_to_sign(text(file, "amz_date"), scope, canonical);
	g_assert_cmpstr(to_sign, ==, text(vector, "string_to_sign"));
	g_autofree char *signature = ec2_sigv4_signature(text(file, "secret_key"), scope, to_sign);
	g_assert_cmpstr(signature, ==, wanted);
}

static void test_vectors(const void *path)
{
	json_auto_t *file = json_load_file(path, 0, NULL);
	json_t *vectors = json_object_get(file, "vectors");
	g_assert_cmpuint(json_array_size(vectors), >=, 30);
	size_t i;
	json_t *vector;
	json_array_foreach (vectors, i, vector)
		check_vector(file, vector);
}

/* Examples of the rules in AWS's page that the vectors, all POST to "/", don't touch. */
static void test_canonical_form(void)
{
	g_autoptr(GHashTable) headers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_hash_table_insert(headers, g_strdup("host"), g_strdup("h"));
	g_hash_table_insert(headers, g_strdup("my-header"), g_strdup("  a   b\t c "));
	RgSimRequest request = {.method = "GET",
		.path = "/a%20b/c",
		.query = "b=2&a-x=1&a=%7e+z&a=1&flag",
		.headers = headers,
		.body = ""};
	g_autofree char *canonical = ec2_sigv4_canonical(&request, "host;my-header");
	g_assert_cmpstr(canonical, ==,
		"GET\n/a%2520b/c\na=1&a=~%2Bz&a-x=1&b=2&flag=\nhost:h\nmy-header:a b c\n\n"
		"host;my-header\n"
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	g_assert_null(ec2_sigv4_canonical(&request, "host;absent"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	g_test_add_data_func("/sim/sigv4/signs as botocore does", argv[1], test_vectors);
	g_test_add_func("/sim/sigv4/has one canonical form", test_canonical_form);
	return g_test_run();
}
