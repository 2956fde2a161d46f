/* A pool's new name in its nodes' records (`raygpu state mv`). */
#include "base/json.h"
#include "boot/boot.h"

static void assert_renamed(const char *value, const char *expected)
{
	json_auto_t *before = json_loads(value, JSON_DECODE_ANY, NULL);
	json_auto_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
	g_assert_nonnull(before);
	g_assert_nonnull(wanted);
	json_auto_t *kept = json_deep_copy(before);
	json_auto_t *after = rg_boot_rename_pool(before, "serve", "web");
	g_autofree char *text = json_dumps(after, JSON_ENCODE_ANY);
	if (!json_equal(after, wanted))
		g_error("%s became %s, expected %s", value, text, expected);
	g_assert_true(json_equal(before, kept)); /* the original record is unchanged */
}

static void user_data_tells_the_new_name(void)
{
	/* as src/boot writes it: files within JSON, so lines end with a backslash and an n */
	assert_renamed("{\"user_data\": \"{\\\"content\\\": "
		       "\\\"A=b\\\\nRAY_NODE_TYPE_NAME=serve\\\\nC=d\\\"}\"}",
		"{\"user_data\": \"{\\\"content\\\": "
		"\\\"A=b\\\\nRAY_NODE_TYPE_NAME=web\\\\nC=d\\\"}\"}");
	assert_renamed("\"RAY_NODE_TYPE_NAME=serve\"", "\"RAY_NODE_TYPE_NAME=web\"");
	assert_renamed("\"--labels=ray.io/node-group=serve,x=y --labels=ray.io/node-group=serve'\"",
		"\"--labels=ray.io/node-group=web,x=y --labels=ray.io/node-group=web'\"");
}

static void values_of_every_shape_are_walked(void)
{
	assert_renamed(
		"{\"$join\": [\"RAY_NODE_TYPE_NAME=serve\\n\", {\"$ref\": \"a\"}, 7, null, true]}",
		"{\"$join\": [\"RAY_NODE_TYPE_NAME=web\\n\", {\"$ref\": \"a\"}, 7, null, true]}");
	assert_renamed("{\"env\": {\"RAY_NODE_TYPE_NAME\": \"serve\", \"POOL\": \"serve\"}, "
		       "\"labels\": {\"ray.io/node-group\": \"serve\"}}",
		"{\"env\": {\"RAY_NODE_TYPE_NAME\": \"web\", \"POOL\": \"serve\"}, "
		"\"labels\": {\"ray.io/node-group\": \"web\"}}");
	assert_renamed(
		"{\"RAY_NODE_TYPE_NAME\": \"server\"}", "{\"RAY_NODE_TYPE_NAME\": \"server\"}");
	assert_renamed("[]", "[]");
	assert_renamed("1.5", "1.5");
}

static void other_words_stay(void)
{
	static const char *const texts[] = {"\"serve\"", "\"POOL=serve\"",
		/* other pools, whose names only start with the same letters */
		"\"RAY_NODE_TYPE_NAME=server\"", "\"RAY_NODE_TYPE_NAME=serve-2\"",
		"\"RAY_NODE_TYPE_NAME=serve_a\"", "\"ray.io/node-group=serve.b,\"",
		/* the user's variables and labels that end like ours */
		"\"MY_RAY_NODE_TYPE_NAME=serve\\n\"", "\"x\\\\nnRAY_NODE_TYPE_NAME=serve\\\\n\"",
		"\"x.ray.io/node-group=serve,\""};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		assert_renamed(texts[i], texts[i]);
	assert_renamed("\"RAY_NODE_TYPE_NAME=serve2 RAY_NODE_TYPE_NAME=serve\"",
		"\"RAY_NODE_TYPE_NAME=serve2 RAY_NODE_TYPE_NAME=web\"");
}

static void keys_stay(void)
{
	assert_renamed(
		"{\"RAY_NODE_TYPE_NAME=serve\": \"\"}", "{\"RAY_NODE_TYPE_NAME=serve\": \"\"}");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/boot/rename/user-data-tells-the-new-name", user_data_tells_the_new_name);
	g_test_add_func(
		"/boot/rename/values-of-every-shape-are-walked", values_of_every_shape_are_walked);
	g_test_add_func("/boot/rename/other-words-stay", other_words_stay);
	g_test_add_func("/boot/rename/keys-stay", keys_stay);
	return g_test_run();
}
