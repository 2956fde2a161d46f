/* A finite stock: what fit plans where only some nodes of a type are free. */
#include "fit_run.h"

#define STOCK(stock)                                                                               \
	"{'images': {'default/x86_64': {'id': 'ami-1', 'arch': 'x86_64', 'root_device': 'x'}},"    \
	" 'zones': ['us-east-1a', 'us-east-1b', 'us-east-1c'],"                                    \
	" 'offerings': {'m5.2xlarge': ['us-east-1a', 'us-east-1b', 'us-east-1c'],"                 \
	"   'g4dn.xlarge': ['us-east-1a', 'us-east-1b', 'us-east-1c']}, 'stock': {" stock "}}"
#define T4(a, b) STOCK("'g4dn.xlarge': {'us-east-1a': " a ", 'us-east-1b': " b ", 'us-east-1c': 0}")
#define POOL(fields) CPU_HEAD "pools:\n  t: {accelerators: \"T4:1\", " fields "}\n"
#define HELD(index, zone) "'t/" index "': " PIN("g4dn.xlarge", zone, "ami-1", "526000")
#define PINNED(facts, nodes) "{'facts': " facts ", 'nodes': {" nodes "}}"
#define HEAD_PIN "'head': " PIN("m5.2xlarge", "us-east-1a", "ami-1", "384000")

static void test_new_nodes_share_the_zone_that_has_all(void)
{
	g_auto(FitRun) o = fit_run(POOL("nodes: 3"), T4("2", "3"), NULL);
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1,2]");
	g_assert_null(node_at(&o, 2));
	g_auto(FitRun) enough = fit_run(POOL("nodes: 3"), T4("3", "3"), NULL);
	assert_node(&enough, 1, "t", "g4dn.xlarge", "us-east-1a", "[0,1,2]");
}

static void test_no_zone_has_all(void)
{
	g_auto(FitRun) o = fit_run(POOL("nodes: 4"), T4("1", "3"), NULL);
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1a", "[0]");
	assert_node(&o, 2, "t", "g4dn.xlarge", "us-east-1b", "[1,2,3]");
}

static void test_too_few(void)
{
	static const struct {
		const char *fields, *facts, *said;
	} cases[] = {
		{"nodes: 5", T4("1", "3"),
			"only 1 of g4dn.xlarge is free in us-east-1a, 3 in us-east-1b, 0 in "
			"us-east-1c, and pool t needs 5"},
		{"nodes: 4, zones: [us-east-1b]", T4("9", "3"),
			"only 3 of g4dn.xlarge are free in us-east-1b, and pool t needs 4"},
		{"nodes: 4, gang: true", T4("1", "3"), "pool t needs 4 in one of them"},
		{"nodes: 4, network: {placement: cluster}", T4("1", "3"),
			"pool t needs 4 in one of them"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *spec = g_strdup_printf(
			CPU_HEAD "pools:\n  t: {accelerators: \"T4:1\", %s}\n", cases[i].fields);
		g_auto(FitRun) o = fit_run(spec, cases[i].facts, NULL);
		assert_error(&o, "fit.no-stock", 6, cases[i].said);
		g_assert_cmpstr(rg_json_str(o.lacking, "t", NULL), ==, "g4dn.xlarge");
	}
}

/* What the cluster has is not in the stock, and is not asked about. */
static void test_held_nodes_take_nothing(void)
{
	g_auto(FitRun) o = fit_run(POOL("nodes: 2"), NULL,
		PINNED(T4("0", "0"),
			HEAD_PIN ", " HELD("0", "us-east-1b") ", " HELD("1", "us-east-1b")));
	g_assert_null(o.request);
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1]");
	static const char one_more[] = PINNED(
		T4("9", "9"), HEAD_PIN ", " HELD("0", "us-east-1b") ", " HELD("1", "us-east-1b"));
	g_auto(FitRun) grown = fit_run(POOL("nodes: 3"), T4("1", "0"), one_more);
	g_assert_true(
		rg_json_has_text(json_object_get(grown.request, "instance_types"), "g4dn.xlarge"));
	assert_node(&grown, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1]");
	assert_node(&grown, 2, "t", "g4dn.xlarge", "us-east-1a", "[2]");
	g_auto(FitRun) none = fit_run(POOL("nodes: 4"), T4("1", "0"), one_more);
	assert_error(&none, "fit.no-stock", 6, "and pool t needs 2 more");
}

/* A pool that may be anywhere leaves the only zone of another one to it. */
static void test_who_has_fewest_choices_is_first(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD
		"pools:\n  any: {accelerators: \"T4:1\", nodes: 2}\n"
		"  here: {accelerators: \"T4:1\", nodes: 2, zones: [us-east-1a]}\n",
		T4("2", "2"), NULL);
	assert_node(&o, 1, "any", "g4dn.xlarge", "us-east-1b", "[0,1]");
	assert_node(&o, 2, "here", "g4dn.xlarge", "us-east-1a", "[0,1]");
}

static void test_absent_has_no_limit(void)
{
	g_auto(FitRun) o =
		fit_run(POOL("nodes: 50"), STOCK("'g4dn.xlarge': {'us-east-1a': 0}"), NULL);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1a", "null");
	g_assert_cmpstr(rg_json_str(offer_at(&o, 1), "zone", NULL), ==, "us-east-1b");
}

static void test_a_type_of_which_too_few_are_free_is_passed_over(void)
{
	g_auto(FitRun) o = fit_run(POOL("nodes: 1"), STOCK("'g4dn.xlarge': {'us-east-1a': 0}"),
		"{'lacking': {'t': ['g4dn.xlarge']}}");
	g_assert_cmpstr(rg_json_str(offer_at(&o, 1), "instance_type", ""), ==, "g4dn.2xlarge");
	g_assert_true(g_str_has_suffix(
		rg_json_str(offer_at(&o, 1), "reason", ""), "; too few free of g4dn.xlarge"));
	/* what the cluster has of it stays */
	g_auto(FitRun) held = fit_run(POOL("nodes: 2"), STOCK(""),
		"{'facts': " FACTS
		", 'lacking': {'t': ['g4dn.xlarge']}, 'nodes': {" HELD("0", "us-east-1b") "}}");
	assert_node(&held, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	g_assert_cmpstr(rg_json_str(offer_at(&held, 2), "instance_type", ""), ==, "g4dn.2xlarge");
	/* also where each node is to have the best type */
	g_auto(FitRun) best = fit_run(POOL("nodes: 2"), STOCK(""),
		"{'reoptimize': true, 'facts': " FACTS
		", 'lacking': {'t': ['g4dn.xlarge']}, 'nodes': {" HELD("0", "us-east-1b") "}}");
	assert_node(&best, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	g_assert_cmpstr(rg_json_str(offer_at(&best, 2), "instance_type", ""), ==, "g4dn.2xlarge");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/stock/one-zone", test_new_nodes_share_the_zone_that_has_all);
	g_test_add_func("/fit/stock/divided", test_no_zone_has_all);
	g_test_add_func("/fit/stock/too-few", test_too_few);
	g_test_add_func("/fit/stock/held", test_held_nodes_take_nothing);
	g_test_add_func("/fit/stock/order", test_who_has_fewest_choices_is_first);
	g_test_add_func("/fit/stock/absent", test_absent_has_no_limit);
	g_test_add_func(
		"/fit/stock/next-type", test_a_type_of_which_too_few_are_free_is_passed_over);
	return fit_run_tests();
}
