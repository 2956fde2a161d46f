/* The zones of pools and of the head. */
#include "fit_run.h"

/* us-east-1a is available for head and t; us-east-1b for all three. */
static void test_gathers_in_the_zone_that_serves_most(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1}\n"
					    "  train: {accelerators: \"A100:8\", nodes: 1}\n",
		FACTS, NULL);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	assert_node(&o, 2, "train", "p4d.24xlarge", "us-east-1b", "[0]");
}

static void test_equal_zones_are_taken_by_name(void)
{
	g_auto(FitRun) o =
		fit_run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1}\n", FACTS, NULL);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1a", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1a", "[0]");
}

/* What the nodes in spot cost together decides between zones that serve as many pools. */
static void test_spot_nodes_go_where_they_cost_least(void)
{
	g_autofree char *facts =
		g_strconcat("{'zone_ids': {'us-east-1a': 'use1-az6',"
			    " 'us-east-1b': 'use1-az1', 'us-east-1c': 'use1-az2'},",
			&FACTS[1], NULL);
	g_auto(FitRun) o = fit_run(
		CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2, market: spot}\n", facts, NULL);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1c", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1c", "[0,1]");
	/* one that serves more pools comes first, and the spec's own order before all */
	g_auto(FitRun) more =
		fit_run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2, market: spot}\n"
				 "  train: {accelerators: \"A100:8\", nodes: 1}\n",
			facts, NULL);
	assert_node(&more, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1]");
	g_auto(FitRun) listed = fit_run(CPU_HEAD
		"pools:\n  t: {accelerators: T4, nodes: 2, market: spot, zones: [us-east-1a,"
		" us-east-1c]}\n",
		facts, NULL);
	assert_node(&listed, 1, "t", "g4dn.xlarge", "us-east-1a", "[0,1]");
}

static void test_types_without_offerings_facts_are_tried(void)
{
	g_auto(FitRun) o = fit_run(
		CPU_HEAD "pools:\n  t: {instance_type: p3dn.24xlarge, nodes: 1}\n", FACTS, NULL);
	assert_node(&o, 1, "t", "p3dn.24xlarge", "us-east-1a", "[0]");
}

#define PLACED(zones)                                                                              \
	CPU_HEAD "pools:\n  t: {instance_type: g4dn.xlarge, nodes: 3" zones                        \
		 ", network: {placement: cluster}}\n"
#define SPREAD(type)                                                                               \
	PINS("'t/0': " PIN(type, "us-east-1a", "ami-1", "7") ", 't/1': " PIN(type, "us-east-1b",   \
		"ami-1", "7") ", 't/2': " PIN(type, "us-east-1b", "ami-1", "7"))

static void test_a_placement_gathers_the_pool(void)
{
	g_auto(FitRun) first = fit_run(PLACED(""), FACTS, NULL);
	assert_node(&first, 1, "t", "g4dn.xlarge", "us-east-1a", "[0,1,2]");
	const json_t *network = json_object_get(node_at(&first, 1), "network");
	g_assert_cmpstr(rg_json_str(network, "placement", NULL), ==, "cluster");
	/* where most nodes are, whatever the list prefers, of this type or of another */
	g_auto(FitRun) spread =
		fit_run(PLACED(", zones: [us-east-1a, us-east-1b]"), NULL, SPREAD("g4dn.xlarge"));
	assert_node(&spread, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]"); /* of today's price */
	assert_node(&spread, 2, "t", "g4dn.xlarge", "us-east-1b", "[1,2]");
	g_auto(FitRun) moved = fit_run(PLACED(""), NULL, SPREAD("p4d.24xlarge"));
	assert_node(&moved, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1,2]");
	/* unless the spec no longer allows it */
	g_auto(FitRun) left = fit_run(PLACED(", zones: [us-east-1a]"), NULL, SPREAD("g4dn.xlarge"));
	assert_node(&left, 1, "t", "g4dn.xlarge", "us-east-1a", "[0]");
	assert_node(&left, 2, "t", "g4dn.xlarge", "us-east-1a", "[1,2]");
	/* the list breaks a tie */
	g_auto(FitRun) tie = fit_run(CPU_HEAD "pools:\n  t: {instance_type: g4dn.xlarge, nodes: 2, "
					      "zones: [us-east-1b, us-east-1a], "
					      "network: {placement: cluster}}\n",
		NULL, SPREAD("g4dn.xlarge"));
	assert_node(&tie, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	assert_node(&tie, 2, "t", "g4dn.xlarge", "us-east-1b", "[1]");
}

static void test_types_without_the_network_are_refused(void)
{
#define ASKING(type, what)                                                                         \
	CPU_HEAD "pools:\n  t: {instance_type: " type ", nodes: 1, network: {" what "}}\n"
	g_auto(FitRun) far = fit_run(ASKING("t3.large", "placement: cluster"), FACTS, NULL);
	assert_error(&far, "fit.no-placement", 6, "choose another instance type");
	g_auto(FitRun) slow = fit_run(ASKING("g4dn.xlarge", "rdma: true"), FACTS, NULL);
	assert_error(&slow, "fit.no-rdma", 6, "choose another instance type");
}

#define ADD(fn) g_test_add_func("/fit/zone/" #fn, fn)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(test_gathers_in_the_zone_that_serves_most);
	ADD(test_equal_zones_are_taken_by_name);
	ADD(test_spot_nodes_go_where_they_cost_least);
	ADD(test_types_without_offerings_facts_are_tried);
	ADD(test_a_placement_gathers_the_pool);
	ADD(test_types_without_the_network_are_refused);
	return fit_run_tests();
}
