/* Which nodes a resource stands for: from lower, and from a pin. */
#include "resource/nodes.h"

static RgResource *resource_of(const char *name, int64_t index, const char *nodes, const char *pin)
{
	RgResource *resource = rg_resource_new("a.i", name, index);
	resource->group = g_intern_string(name);
	resource->nodes = nodes ? json_loads(nodes, 0, NULL) : NULL;
	resource->pin = pin ? json_loads(pin, 0, NULL) : NULL;
	g_assert_true(!nodes == !resource->nodes && !pin == !resource->pin);
	return resource;
}

static void test_a_machine_is_one_node(void)
{
	g_autoptr(RgResource) wanted = resource_of(
		"t", 7, "[{\"pool\": \"t\", \"role\": \"worker\", \"count\": 1}]", NULL);
	g_autoptr(RgResource) recorded = resource_of("t", 7, NULL, "{\"zone\": \"z\"}");
	g_autoptr(RgResource) head = resource_of("head", -1, NULL, "{}");
	const RgResource *all[] = {wanted, recorded};
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		g_assert_cmpuint(rg_nodes_pools(all[i], NULL), ==, 1);
		const RgPoolNodes nodes = rg_nodes_get(all[i], 0);
		g_assert_cmpstr(nodes.pool, ==, "t");
		g_assert_cmpint(nodes.first, ==, 7);
		g_assert_cmpuint(nodes.min, ==, 1);
		g_assert_cmpuint(nodes.max, ==, 1);
		g_assert_false(nodes.is_head || nodes.is_elastic);
		g_assert_true(rg_nodes_are_plain(all[i]));
	}
	g_assert_null(rg_nodes_get(wanted, 0).pin);
	g_assert_true(rg_nodes_get(recorded, 0).pin == recorded->pin);
	g_assert_true(rg_nodes_get(head, 0).is_head);
	g_assert_cmpint(rg_nodes_get(head, 0).first, ==, -1);
}

static void test_nothing_is_no_node(void)
{
	g_autoptr(RgResource) group = resource_of("t", -1, NULL, NULL);
	const RgKind machine = {.name = "a.i", .node = true}, other = {.name = "a.g"};
	g_assert_cmpuint(rg_nodes_pools(group, NULL), ==, 0);
	g_assert_cmpuint(rg_nodes_pools(group, &other), ==, 0);
	g_assert_cmpuint(rg_nodes_pools(group, &machine), ==, 1);
	g_assert_true(rg_nodes_has_pool(group, &machine, "t"));
	g_assert_false(rg_nodes_has_pool(group, &other, "t"));
}

static void test_several_of_a_pool_are_numbered(void)
{
	g_autoptr(RgResource) third = resource_of(
		"t", 2, "[{\"pool\": \"t\", \"role\": \"worker\", \"count\": 3}]", NULL);
	g_autoptr(RgResource) last = resource_of("t", 3,
		"[{\"pool\": \"t\", \"role\": \"worker\", \"count\": 1, \"first\": 9}]", NULL);
	g_assert_cmpint(rg_nodes_get(third, 0).first, ==, 6);
	g_assert_cmpint(rg_nodes_get(last, 0).first, ==, 9);
	g_assert_false(rg_nodes_are_plain(third));
	g_assert_false(rg_nodes_are_plain(last));
}

#define CLUSTER                                                                                    \
	"[{\"pool\": \"head\", \"role\": \"head\", \"count\": 1},"                                 \
	" {\"pool\": \"t\", \"role\": \"worker\", \"min\": 2, \"max\": 8}]"

static void test_a_cluster_is_nodes_of_each_pool(void)
{
	g_autoptr(RgResource) wanted = resource_of("c", -1, CLUSTER, NULL);
	g_autoptr(RgResource) recorded = resource_of("c", -1, NULL, "{\"nodes\": " CLUSTER "}");
	const RgResource *all[] = {wanted, recorded};
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		g_assert_cmpuint(rg_nodes_pools(all[i], NULL), ==, 2);
		g_assert_true(rg_nodes_get(all[i], 0).is_head);
		const RgPoolNodes pool = rg_nodes_get(all[i], 1);
		g_assert_cmpuint(pool.min, ==, 2);
		g_assert_cmpuint(pool.max, ==, 8);
		g_assert_true(pool.is_elastic);
		g_assert_cmpint(pool.first, ==, 0);
		g_assert_false(rg_nodes_are_plain(all[i]));
		g_assert_true(rg_nodes_has_pool(all[i], NULL, "t"));
		g_assert_false(rg_nodes_has_pool(all[i], NULL, "c"));
	}
	g_assert_cmpuint(rg_nodes_get(recorded, 1).pin != NULL, ==, 1);
}

static void test_what_runs_stays_in_the_range(void)
{
	static const struct {
		const char *runs;
		unsigned now;
	} cases[] = {
		{NULL, 2}, {"{}", 2}, {"{\"t\": 5}", 5}, {"{\"t\": 0}", 2}, {"{\"t\": 99}", 99}};
	g_autoptr(RgResource) wanted = resource_of("c", -1, CLUSTER, NULL);
	const RgPoolNodes head = rg_nodes_get(wanted, 0), pool = rg_nodes_get(wanted, 1);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RgResource) seen = resource_of("c", -1, cases[i].runs, NULL);
		g_assert_cmpuint(rg_nodes_now(&pool, seen), ==, cases[i].now);
		g_assert_cmpuint(rg_nodes_now(&head, seen), ==, 1);
	}
	g_assert_cmpuint(rg_nodes_now(&pool, NULL), ==, 2);
	g_autoptr(RgResource) recorded = resource_of("t", -1, NULL,
		"{\"nodes\": [{\"pool\": \"t\", \"role\": \"worker\", \"min\": 0, \"max\": 8,"
		" \"now\": 4}]}");
	const RgPoolNodes was = rg_nodes_get(recorded, 0);
	g_assert_cmpuint(rg_nodes_now(&was, NULL), ==, 4);
}

static void test_other_forms_are_wrong(void)
{
	static const char *const bad[] = {"{}", "[]", "[1]", "[{\"role\": \"head\", \"count\": 1}]",
		"[{\"pool\": \"t\", \"count\": 1}]",
		"[{\"pool\": \"t\", \"role\": \"boss\", \"count\": 1}]",
		"[{\"pool\": \"t\", \"role\": \"worker\"}]",
		"[{\"pool\": \"t\", \"role\": \"worker\", \"count\": -1}]",
		"[{\"pool\": \"t\", \"role\": \"worker\", \"count\": 100001}]",
		"[{\"pool\": \"t\", \"role\": \"worker\", \"count\": 1, \"max\": 2}]",
		"[{\"pool\": \"t\", \"role\": \"worker\", \"min\": 1}]",
		"[{\"pool\": \"t\", \"role\": \"worker\", \"min\": 3, \"max\": 2}]",
		"[{\"pool\": \"t\", \"role\": \"worker\", \"count\": 1, \"first\": \"0\"}]",
		("[{\"pool\": \"t\", \"role\": \"worker\", \"count\": 1},"
		 " {\"pool\": \"t\", \"role\": \"worker\", \"count\": 1}]")};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		json_auto_t *nodes = json_loads(bad[i], 0, NULL);
		g_assert_nonnull(nodes);
		g_assert_nonnull(rg_nodes_wrong(nodes));
	}
	json_auto_t *good = json_loads(CLUSTER, 0, NULL);
	g_assert_null(rg_nodes_wrong(good));
}

static void test_hostile_pins_stay_bounded(void)
{
	g_autoptr(RgResource) recorded = resource_of("t", 9007199254740991, NULL,
		"{\"nodes\": [{\"pool\": \"t\", \"count\": 9007199254740991},"
		" {\"min\": 5, \"max\": -3, \"first\": -4}]}");
	const RgPoolNodes many = rg_nodes_get(recorded, 0), odd = rg_nodes_get(recorded, 1);
	g_assert_cmpuint(many.max, ==, 100000);
	g_assert_cmpint(many.first, <=, 100000);
	g_assert_cmpuint(odd.max, ==, 5);
	g_assert_cmpint(odd.first, ==, 0);
	g_assert_cmpstr(odd.pool, ==, "t");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/nodes/a-machine-is-one-node", test_a_machine_is_one_node);
	g_test_add_func("/nodes/nothing-is-no-node", test_nothing_is_no_node);
	g_test_add_func(
		"/nodes/several-of-a-pool-are-numbered", test_several_of_a_pool_are_numbered);
	g_test_add_func(
		"/nodes/a-cluster-is-nodes-of-each-pool", test_a_cluster_is_nodes_of_each_pool);
	g_test_add_func("/nodes/what-runs-stays-in-the-range", test_what_runs_stays_in_the_range);
	g_test_add_func("/nodes/other-forms-are-wrong", test_other_forms_are_wrong);
	g_test_add_func("/nodes/hostile-pins-stay-bounded", test_hostile_pins_stay_bounded);
	return g_test_run();
}
