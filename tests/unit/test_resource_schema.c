#include "resource/schema.h"
#include "resource/resource.h"

static const char document[] =
	"{\"format\": 1, \"provider\": \"x\", \"config\": {\"type\": \"object\"},"
	" \"boot\": {\"by\": \"cloud_init\", \"user_data_bytes\": 100},"
	" \"limits\": {\"requests_per_s\": 2.5, \"burst\": 7},"
	" \"kinds\": {\"x.node\": {\"version\": 2, \"node\": true,"
	"  \"batch\": {\"create\": 50, \"update\": 1, \"remove\": 20}, \"list_page\": 1000,"
	"  \"consistency_s\": 30, \"replay_s\": 60, \"ready_timeout_s\": 600,"
	"  \"attributes\": {\"type\": {\"type\": \"string\", \"required\": true,"
	"   \"force_new\": true, \"role\": \"instance_type\"}, \"rules\": {\"type\": \"list\", "
	"\"set\": true, \"default\": []},"
	"   \"note\": {\"type\": \"string\", \"default\": null}}},"
	"  \"x.a\": {\"version\": 1, \"batch\": {\"create\": 1, \"update\": 1, \"remove\": 1},"
	"  \"attributes\": {}}}}";

static void test_kinds_are_read(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_t *json = json_loads(document, 0, NULL);
	g_autoptr(RgSchema) schema = rg_schema_new(json, diags);
	json_decref(json);
	const RgKind *node = rg_schema_kind(schema, "x.node");
	g_assert_true(node->node);
	g_assert_cmpint(node->batch_create, ==, 50);
	g_assert_cmpint(node->batch_remove, ==, 20);
	g_assert_cmpint(node->list_page, ==, 1000);
	g_assert_cmpint(node->consistency_s, ==, 30);
	g_assert_cmpint(node->replay_s, ==, 60);
	const RgAttribute *type = rg_kind_attribute(node, "type");
	g_assert_true(type->required && type->force_new && !type->set);
	g_assert_null(type->default_value);
	g_assert_true(json_is_array(rg_kind_attribute(node, "rules")->default_value));
	g_assert_null(rg_kind_attribute(node, "note")->default_value);
	g_assert_null(rg_kind_attribute(node, "other"));
	g_assert_true(rg_kind_with_role(node, RG_ROLE_INSTANCE_TYPE) == type);
	g_assert_null(rg_kind_with_role(node, RG_ROLE_MARKET));
	g_assert_cmpstr(rg_schema_kinds(schema)[0], ==, "x.node");
	g_assert_cmpstr(rg_schema_kinds(schema)[1], ==, "x.a");
	g_assert_null(rg_schema_kinds(schema)[2]);
	g_assert_cmpint(rg_json_int(rg_schema_boot(schema), "user_data_bytes", 0), ==, 100);
	g_assert_cmpfloat(rg_schema_requests_per_s(schema), ==, 2.5);
	g_assert_cmpuint(rg_schema_burst(schema), ==, 7);
	g_assert_nonnull(rg_schema_config(schema));
}

static void test_secret_is_always_there(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *json = json_loads(document, 0, NULL);
	g_autoptr(RgSchema) schema = rg_schema_new(json, diags);
	const RgKind *secret = rg_schema_kind(schema, RG_SECRET_KIND);
	g_assert_true(rg_kind_attribute(secret, "value")->sensitive);
	g_assert_true(rg_kind_attribute(secret, "value")->computed);
	g_assert_true(rg_kind_attribute(secret, "bytes")->force_new);
}

static void test_schema_without_kinds_with_ours_or_with_a_role_twice_is_refused(void)
{
	static const char *const bad[] = {"{}", "{\"kinds\": []}",
		"{\"kinds\": {\"raygpu.secret\": {\"attributes\": {}}}}",
		("{\"kinds\": {\"x.node\": {\"attributes\": {\"a\": {\"role\": \"zone\"},"
		 " \"b\": {\"role\": \"zone\"}}}}}"),
		("{\"kinds\": {\"x.node\": {\"attributes\": {\"a\": {\"set\": true, "
		 "\"partial\": true}}}}}")};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		json_auto_t *json = json_loads(bad[i], 0, NULL);
		g_assert_null(rg_schema_new(json, diags));
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "provider.refused");
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/schema/kinds-are-read", test_kinds_are_read);
	g_test_add_func("/schema/secret-is-always-there", test_secret_is_always_there);
	g_test_add_func("/schema/bad-one-is-refused",
		test_schema_without_kinds_with_ours_or_with_a_role_twice_is_refused);
	return g_test_run();
}
