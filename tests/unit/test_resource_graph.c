#include "resource/graph.h"
#include <string.h>

static void add(RgResourceSet *set, const char *name, int64_t index, const char *attrs,
	const char *depends_on)
{
	RgResource *resource = rg_resource_new("a.b", name, index);
	resource->attrs = json_loads(attrs, 0, NULL);
	resource->depends_on = depends_on ? g_strsplit(depends_on, " ", -1) : NULL;
	g_assert_true(rg_resource_set_add(set, resource));
}

static char *order_text(const RgResourceSet *set)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GPtrArray) order = rg_graph_order(set, diags);
	g_assert_nonnull(order);
	g_ptr_array_add(order, NULL);
	return g_strjoinv(" ", (GStrv)order->pdata);
}

static void test_dependencies_are_sorted_without_doubles(void)
{
	g_autoptr(RgResourceSet) set = rg_resource_set_new();
	add(set, "x", -1,
		"{\"n\": {\"$ref\": \"a.b.z[10]\", \"attr\": \"id\"}, \"m\": [{\"$ref\": "
		"\"a.b.z[2]\", \"attr\": \"id\"}]}",
		"a.b.z[2] a.b.a");
	g_auto(GStrv) names = rg_resource_dependencies(rg_resource_set_get(set, 0));
	g_autofree char *text = g_strjoinv(" ", names);
	g_assert_cmpstr(text, ==, "a.b.a a.b.z[2] a.b.z[10]");
}

static void test_dependencies_come_first_and_free_ones_by_address(void)
{
	g_autoptr(RgResourceSet) set = rg_resource_set_new();
	add(set, "w", 10, "{}", "a.b.net");
	add(set, "w", 2, "{}", "a.b.net a.b.outside");
	add(set, "net", -1, "{}", "a.b.zone");
	add(set, "zone", -1, "{}", NULL);
	add(set, "head", -1, "{\"i\": {\"$ref\": \"a.b.net\", \"attr\": \"id\"}}", NULL);
	g_autofree char *text = order_text(set);
	g_assert_cmpstr(text, ==, "a.b.zone a.b.net a.b.head a.b.w[2] a.b.w[10]");
}

static void test_circle_is_named(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgResourceSet) set = rg_resource_set_new();
	add(set, "a", -1, "{}", "a.b.b");
	add(set, "b", -1, "{}", "a.b.free a.b.c");
	add(set, "c", -1, "{}", "a.b.b");
	add(set, "free", -1, "{}", NULL);
	g_assert_null(rg_graph_order(set, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "provider.bad-result");
	g_assert_cmpstr(rg_diags_get(diags, 0)->summary, ==,
		"resources depend on each other in a circle: a.b.b -> a.b.c -> a.b.b");
}

static void test_resource_that_depends_on_itself_is_a_circle(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgResourceSet) set = rg_resource_set_new();
	add(set, "a", -1, "{}", "a.b.a");
	g_assert_null(rg_graph_order(set, diags));
	g_assert_nonnull(strstr(rg_diags_get(diags, 0)->summary, "a.b.a -> a.b.a"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph/dependencies-sorted", test_dependencies_are_sorted_without_doubles);
	g_test_add_func("/graph/order", test_dependencies_come_first_and_free_ones_by_address);
	g_test_add_func("/graph/circle-is-named", test_circle_is_named);
	g_test_add_func("/graph/self-circle", test_resource_that_depends_on_itself_is_a_circle);
	return g_test_run();
}
