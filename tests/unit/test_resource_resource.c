#include "resource/resource.h"

static void test_address_formats_and_parses(void)
{
	g_autofree char *plain = rg_address_format("aws.instance", "head", -1);
	g_autofree char *indexed = rg_address_format("aws.instance", "train", 12);
	char *kind, *name;
	int64_t index;
	g_assert_cmpstr(plain, ==, "aws.instance.head");
	g_assert_cmpstr(indexed, ==, "aws.instance.train[12]");
	g_assert_true(rg_address_parse(indexed, &kind, &name, &index));
	g_assert_cmpstr(kind, ==, "aws.instance");
	g_assert_cmpstr(name, ==, "train");
	g_assert_cmpint(index, ==, 12);
	g_free(kind);
	g_free(name);
}

static void test_address_refuses_what_is_none(void)
{
	static const char *const bad[] = {"", "aws", "aws.instance", "aws.instance.", ".a.b",
		"aws..b", "a.b.c[", "a.b.c[]", "a.b.c[-1]", "a.b.c[01]", "a.b.c[1", "a.b.c[1]x",
		"a.b.c d", "a.b.c.d", "a.b.c[1234567890123456789012]", "a.b.[0]"};
	char *kind, *name;
	int64_t index;
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(rg_address_parse(bad[i], &kind, &name, &index));
}

static void test_address_orders_by_index_number(void)
{
	g_assert_cmpint(rg_address_compare("a.b.train[2]", "a.b.train[10]"), <, 0);
	g_assert_cmpint(rg_address_compare("a.b.train", "a.b.train[0]"), <, 0);
	g_assert_cmpint(rg_address_compare("a.b.x[5]", "a.b.y[0]"), <, 0);
	g_assert_cmpint(rg_address_compare("a.b.x", "a.b.x"), ==, 0);
	g_assert_cmpint(rg_address_compare("b.a.x", "a.b.x"), >, 0);
	g_assert_cmpint(rg_address_compare("a.b.x", "a.b.xx"), <, 0);
}

static RgResource *with_id(const char *name, int64_t index, const char *id)
{
	RgResource *resource = rg_resource_new("a.b", name, index);
	resource->id = g_strdup(id);
	return resource;
}

static void test_set_keeps_address_order_and_refuses_doubles(void)
{
	g_autoptr(RgResourceSet) set = rg_resource_set_new();
	g_assert_true(rg_resource_set_add(set, with_id("x", 10, "i-10")));
	g_assert_true(rg_resource_set_add(set, with_id("x", 2, "i-2")));
	g_assert_true(rg_resource_set_add(set, with_id("a", -1, NULL)));
	g_assert_false(rg_resource_set_add(set, with_id("x", 2, "i-3")));
	g_assert_cmpuint(rg_resource_set_size(set), ==, 3);
	g_assert_cmpstr(rg_resource_set_get(set, 0)->address, ==, "a.b.a");
	g_assert_cmpstr(rg_resource_set_get(set, 1)->address, ==, "a.b.x[2]");
	g_assert_cmpstr(rg_resource_set_get(set, 2)->address, ==, "a.b.x[10]");
	g_assert_null(rg_resource_set_get(set, 3));
	g_assert_cmpstr(rg_resource_set_find(set, "a.b.x[2]")->id, ==, "i-2");
	g_assert_null(rg_resource_set_find(set, "a.b.x[3]"));
	g_assert_cmpint(rg_resource_set_find(set, "a.b.x[10]")->index, ==, 10);
}

static void test_set_interns_equal_attributes(void)
{
	g_autoptr(RgResourceSet) set = rg_resource_set_new();
	json_t *one = json_loads("{\"a\": [1, \"x\"], \"b\": {\"c\": null}}", 0, NULL);
	json_t *same = json_loads("{\"b\": {\"c\": null}, \"a\": [1, \"x\"]}", 0, NULL);
	json_t *other = json_loads("{\"a\": [1, \"y\"], \"b\": {\"c\": null}}", 0, NULL);
	json_auto_t *x = rg_resource_set_intern(set, one);
	json_auto_t *y = rg_resource_set_intern(set, same);
	json_auto_t *z = rg_resource_set_intern(set, other);
	g_assert_true(x == y);
	g_assert_true(x != z);
	g_assert_null(rg_resource_set_intern(set, NULL));
}

static void test_lowered_list_becomes_a_set(void)
{
	static const char text[] =
		"[{\"address\": \"a.i.t[0]\", \"kind\": \"a.i\", \"name\": \"t\", \"index\": 0,"
		" \"group\": \"t\", \"origin\": \"/pools/t\", \"attributes\": {\"x\": 1},"
		" \"depends_on\": [\"a.g.c\"]},"
		" {\"address\": \"a.g.c\", \"kind\": \"a.g\", \"name\": \"c\", \"index\": null,"
		" \"group\": null, \"attributes\": {}},"
		" {\"address\": \"a.i.w\", \"kind\": \"a.i\", \"name\": \"w\", \"index\": null,"
		" \"group\": \"w\", \"indexes\": [7, 0], \"attributes\": {\"x\": 2},"
		" \"depends_on\": [\"a.g.c\"]}]";
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *list = json_loads(text, 0, NULL);
	g_autoptr(RgResourceSet) set = rg_resource_set_from_lowered(list, diags);
	g_assert_nonnull(set);
	const RgResource *node = rg_resource_set_find(set, "a.i.t[0]");
	g_assert_cmpstr(node->group, ==, "t");
	g_assert_cmpstr(node->origin, ==, "/pools/t");
	g_assert_cmpstr(node->depends_on[0], ==, "a.g.c");
	g_assert_cmpint(json_integer_value(json_object_get(node->attrs, "x")), ==, 1);
	g_assert_cmpint(rg_resource_set_find(set, "a.g.c")->index, ==, -1);
	g_assert_cmpuint(rg_resource_set_size(set), ==, 4);
	g_assert_null(rg_resource_set_find(set, "a.i.w"));
	const RgResource *first = rg_resource_set_find(set, "a.i.w[0]");
	const RgResource *last = rg_resource_set_find(set, "a.i.w[7]");
	g_assert_cmpint(last->index, ==, 7);
	g_assert_cmpstr(last->group, ==, "w");
	g_assert_cmpstr(last->depends_on[0], ==, "a.g.c");
	g_assert_true(first->attrs == last->attrs);
}

static void test_lowered_list_of_another_form_is_refused(void)
{
	static const char *const bad[] = {"{}", "[1]", "[{}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.j\", \"name\": \"t\", \"attributes\": "
		"{}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"u\", \"attributes\": "
		"{}}]",
		"[{\"address\": \"a.i.t[1]\", \"kind\": \"a.i\", \"name\": \"t\", \"attributes\": "
		"{}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"index\": 0,"
		" \"attributes\": {}}]",
		"[{\"address\": \"nonsense\", \"kind\": \"a.i\", \"name\": \"t\", \"attributes\": "
		"{}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\"}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\","
		" \"attributes\": {\"x\": {\"$ref\": 5, \"attr\": \"y\"}}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"indexes\": [],"
		" \"attributes\": {}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"indexes\": "
		"\"0-3\","
		" \"attributes\": {}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"indexes\": [-1],"
		" \"attributes\": {}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"indexes\": [1, 1],"
		" \"attributes\": {}}]",
		"[{\"address\": \"a.i.t[1]\", \"kind\": \"a.i\", \"name\": \"t\", \"index\": 1,"
		" \"indexes\": [2], \"attributes\": {}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"group\": 4,"
		" \"attributes\": {}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"depends_on\": [4],"
		" \"attributes\": {}}]",
		"[{\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"attributes\": {}},"
		" {\"address\": \"a.i.t\", \"kind\": \"a.i\", \"name\": \"t\", \"attributes\": "
		"{}}]"};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		json_auto_t *list = json_loads(bad[i], 0, NULL);
		g_assert_nonnull(list);
		g_assert_null(rg_resource_set_from_lowered(list, diags));
		g_assert_cmpuint(rg_diags_count(diags), ==, 1);
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "provider.bad-result");
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/address/formats-and-parses", test_address_formats_and_parses);
	g_test_add_func("/address/refuses-what-is-none", test_address_refuses_what_is_none);
	g_test_add_func("/address/orders-by-index-number", test_address_orders_by_index_number);
	g_test_add_func(
		"/set/keeps-address-order", test_set_keeps_address_order_and_refuses_doubles);
	g_test_add_func("/set/interns-equal-attributes", test_set_interns_equal_attributes);
	g_test_add_func("/lowered/becomes-a-set", test_lowered_list_becomes_a_set);
	g_test_add_func(
		"/lowered/bad-form-is-refused", test_lowered_list_of_another_form_is_refused);
	return g_test_run();
}
