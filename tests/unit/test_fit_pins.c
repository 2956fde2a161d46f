/* What a state has pinned: what stays, what new nodes do, and when the cloud is asked again. */
#include <string.h>
#include "fit_run.h"

static void test_pinned_nodes_stay_and_ask_nothing(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2}\n", NULL,
		PINS("'head': " PIN("m5.2xlarge", "us-east-1c", "ami-old", "5") ", 't/0': " PIN(
			"g4dn.2xlarge", "us-east-1c", "ami-old",
			"7") ", 't/1': " PIN("g4dn.2xlarge", "us-east-1b", "ami-old", "7")));
	g_assert_null(o.request);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1c", "null");
	assert_node(&o, 1, "t", "g4dn.2xlarge", "us-east-1c", "[0]");
	assert_node(&o, 2, "t", "g4dn.2xlarge", "us-east-1b", "[1]");
	const json_t *node = node_at(&o, 1);
	g_assert_cmpint(
		rg_json_int(json_object_get(node, "offer"), "price_microusd_hour", 0), ==, 7);
	g_assert_cmpstr(
		rg_json_str(json_object_get(node, "offer"), "price_date", ""), ==, "2025-01-01");
	g_assert_cmpstr(rg_json_str(json_object_get(node, "image"), "id", ""), ==, "ami-old");
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 0);
}

static void test_new_nodes_join_their_pool(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 4}\n", NULL,
		PINS("'head': " PIN("m5.2xlarge", "us-east-1a", "ami-old", "5") ", 't/0': " PIN(
			"g4dn.2xlarge", "us-east-1c", "ami-old",
			"7") ", 't/2': " PIN("g4dn.2xlarge", "us-east-1c", "ami-old", "7")));
	/* only the offerings of the pinned type and of those that may stand in for it are not known
	 * yet */
	g_autofree char *types = rg_json_canonical(json_object_get(o.request, "instance_types"));
	g_assert_cmpstr(types, ==,
		"[\"g4dn.4xlarge\",\"g4dn.8xlarge\",\"g4dn.16xlarge\",\"g4dn.2xlarge\"]");
	g_assert_false(rg_json_bool(o.request, "place", true));
	g_assert_cmpuint(json_array_size(json_object_get(o.request, "images")), ==, 0);
	assert_node(&o, 1, "t", "g4dn.2xlarge", "us-east-1c", "[0,2]");
	assert_node(&o, 2, "t", "g4dn.2xlarge", "us-east-1c", "[1,3]");
	const json_t *fresh = node_at(&o, 2);
	g_assert_cmpint(
		rg_json_int(json_object_get(fresh, "offer"), "price_microusd_hour", 0), ==, 752000);
	g_assert_cmpstr(rg_json_str(json_object_get(fresh, "image"), "id", ""), ==, "ami-old");
}

static void test_a_new_pool_joins_most_of_the_cluster(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2}\n"
					    "  u: {accelerators: T4, nodes: 1}\n",
		FACTS,
		PINS("'head': " PIN("m5.2xlarge", "us-east-1a", "ami-old", "5") ", 't/0': " PIN(
			"g4dn.xlarge", "us-east-1b", "ami-old", "7") ", 't/1': " PIN("g4dn.xlarge",
			"us-east-1b", "ami-old", "7")));
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1]");
	assert_node(&o, 2, "u", "g4dn.xlarge", "us-east-1b", "[0]");
}

/* What the cloud had when it was last asked is no reason to refuse what it may have by now. */
static void test_pins_that_leave_no_zone_are_asked_again(void)
{
	const char *head = "'head': " PIN("m5.2xlarge", "us-east-1a", "ami-1", "5");
	g_autofree char *pins = g_strdup_printf(PINS("%s"), head);
	/* a type whose zones are unknown, and subnets where it may not be offered */
	g_auto(FitRun) other = fit_run(CPU_HEAD
		"pools:\n  t: {accelerators: \"V100-32GB:8\", nodes: 1}\n",
		"{'images': {'default/x86_64/proprietary': {'id': 'ami-2', 'arch': 'x86_64'}},"
		" 'offerings': {'p3dn.24xlarge': ['us-east-1f']}, 'zones': ['us-east-1a', "
		"'us-east-1f']}",
		pins);
	g_assert_true(rg_json_bool(other.request, "place", false));
	assert_node(&other, 1, "t", "p3dn.24xlarge", "us-east-1f", "[0]");
	/* a type that is now offered in another zone */
	g_auto(FitRun) wider = fit_run(CPU_HEAD
		"pools:\n  t: {accelerators: \"A100:8\", nodes: 1, zones: [us-east-1a]}\n",
		"{'offerings': {'p4d.24xlarge': ['us-east-1a', 'us-east-1b']}}", pins);
	json_auto_t *types = json_of("['p4d.24xlarge']");
	g_assert_true(json_equal(json_object_get(wider.request, "instance_types"), types));
	assert_node(&wider, 1, "t", "p4d.24xlarge", "us-east-1a", "[0]");
}

static void test_a_pin_against_the_spec_is_dropped(void)
{
	g_auto(FitRun) o = fit_run(
		CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1, zones: [us-east-1b]}\n", NULL,
		PINS("'head': " PIN("m5.large", "us-east-1c", "ami-1", "5") ", 't/0': " PIN(
			"g5.xlarge", "us-east-1a", "ami-1", "7")));
	/* the head changes its type but not its zone: its address is bound to it */
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1c", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	g_assert_cmpint(rg_json_int(offer_at(&o, 1), "price_microusd_hour", 0), ==, 526000);
}

static void test_an_explicit_type_wins_over_the_pin(void)
{
	g_auto(FitRun) o =
		fit_run(CPU_HEAD "pools:\n  t: {instance_type: g4dn.xlarge, nodes: 1}\n", NULL,
			PINS("'head': " PIN("m5.2xlarge", "us-east-1c", "ami-1",
				"5") ", 't/0': " PIN("g4dn.2xlarge", "us-east-1c", "ami-1", "7")));
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1c", "[0]");
}

/* A user's own network: requested again, pinned with the settings that it answers, and nodes leave
 * zones without one of its subnets. */
static void test_another_network_is_asked_for_once(void)
{
#define OWN_NETWORK                                                                                \
	"cluster: c1\n"                                                                            \
	"provider: {name: aws, region: us-east-1, subnets: {us-east-1b: subnet-b}}\n"              \
	"ray: {version: 2.52.0, python: \"3.11\"}\n"                                               \
	"head: {instance_type: m5.2xlarge}\n"
#define HEAD_PIN(zone)                                                                             \
	"{'instance_type': 'm5.2xlarge', 'zone': '" zone "', 'image_key': 'default/x86_64',"       \
	" 'image_id': 'ami-1'}"
#define OWN_FACTS                                                                                  \
	"{'images': {'default/x86_64': {'id': 'ami-1', 'arch': 'x86_64'}}, 'offerings':"           \
	" {'m5.2xlarge': ['us-east-1a', 'us-east-1b']}, 'zones': ['us-east-1b'],"                  \
	" 'module': {'vpc_id': 'vpc-2'}"
#define OWN_SETTINGS "'settings': {'subnets': {'us-east-1b': 'subnet-b'}}"
#define OWN_ZONES "'zone_maps': [{'us-east-1b': 'subnet-b'}]"
	g_auto(FitRun) moved = fit_run(OWN_NETWORK, OWN_FACTS "}",
		"{" OWN_SETTINGS ", " OWN_ZONES ", 'facts': " FACTS
		", 'nodes': {'head': " HEAD_PIN("us-east-1a") "}}");
	g_assert_true(rg_json_bool(moved.request, "place", false));
	assert_node(&moved, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	json_auto_t *settings = json_of("{'subnets': {'us-east-1b': 'subnet-b'}}");
	g_assert_true(json_equal(rg_json_at(moved.fitted, "/facts/settings"), settings));
	g_auto(FitRun) again = fit_run(OWN_NETWORK, NULL,
		"{" OWN_SETTINGS ", " OWN_ZONES ", 'facts': " OWN_FACTS ", " OWN_SETTINGS "},"
		" 'nodes': {'head': " HEAD_PIN("us-east-1b") "}}");
	g_assert_null(again.request);
	assert_node(&again, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	g_assert_cmpstr(
		rg_json_str(rg_json_at(again.fitted, "/facts/module"), "vpc_id", ""), ==, "vpc-2");
	g_auto(FitRun) back = fit_run(CPU_HEAD, FACTS,
		"{'facts': " OWN_FACTS ", " OWN_SETTINGS "},"
		" 'nodes': {'head': " HEAD_PIN("us-east-1b") "}}");
	g_assert_true(rg_json_bool(back.request, "place", false));
	g_assert_null(rg_json_at(back.fitted, "/facts/settings"));
	assert_node(&back, 0, "head", "m5.2xlarge", "us-east-1b", "null");
}

#define ADD(fn) g_test_add_func("/fit/pins/" #fn, fn)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(test_pinned_nodes_stay_and_ask_nothing);
	ADD(test_new_nodes_join_their_pool);
	ADD(test_a_new_pool_joins_most_of_the_cluster);
	ADD(test_pins_that_leave_no_zone_are_asked_again);
	ADD(test_a_pin_against_the_spec_is_dropped);
	ADD(test_an_explicit_type_wins_over_the_pin);
	ADD(test_another_network_is_asked_for_once);
	return fit_run_tests();
}
