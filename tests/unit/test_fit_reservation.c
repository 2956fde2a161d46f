/* Pools with a reservation: what it decides, and how a plan is compared with it. */
#include "fit/reservation.h"
#include "fit_run.h"

#define SPEC CPU_HEAD "pools:\n"
#define POOL "  t: {accelerators: \"A100:8\", nodes: 2, market: {reservation: cr-1}}\n"

#define ONE_IMAGE                                                                                  \
	"{'images': {'default/x86_64': {'id': 'ami-1', 'arch': 'x86_64',"                          \
	"   'root_device': '/dev/sda1', 'min_disk_gb': 75}},"                                      \
	" 'zones': ['us-east-1a', 'us-east-1b'], 'offerings': {}}"

#define FACT(type, zone, state, more)                                                              \
	"{'reservations': {'cr-1': {'what': 'block', 'state': '" state "', 'status': 's',"         \
	" 'instance_type': '" type "', 'zone': '" zone "', 'total': 4, 'free': 2" more "}}}"

static FitRun run(const char *pools, const char *pins)
{
	g_autofree char *spec = g_strconcat(SPEC, pools, NULL);
	return fit_run(spec, ONE_IMAGE, pins);
}

static void assert_diag(
	const RgDiags *diags, size_t i, const char *code, unsigned line, const char *summary)
{
	g_assert_cmpuint(rg_diags_count(diags), >, i);
	const RgDiag *diag = rg_diags_get(diags, i);
	g_assert_cmpstr(diag->summary, ==, summary);
	g_assert_cmpstr(diag->code, ==, code);
	g_assert_cmpuint(diag->source.line, ==, line);
}

static void test_it_decides_type_and_zone(void)
{
	g_auto(FitRun) o = run("  t: {accelerators: {gpu_memory: \">=16GB\", count: 8}, nodes: "
			       "2, market: {reservation: cr-1}}\n",
		FACT("p4d.24xlarge", "us-east-1b", "usable", ""));
	const json_t *offer = offer_at(&o, 1);
	g_assert_cmpstr(rg_json_str(offer, "instance_type", ""), ==, "p4d.24xlarge");
	g_assert_cmpstr(rg_json_str(offer, "zone", ""), ==, "us-east-1b");
	g_assert_cmpstr(rg_json_str(offer, "market", ""), ==, "reserved");
	g_assert_cmpstr(rg_json_str(offer, "reservation", ""), ==, "cr-1");
	g_assert_cmpstr(rg_json_str(offer, "reason", ""), ==, "of reservation cr-1");
	g_assert_cmpint(rg_json_int(offer, "price_microusd_hour", -1), >, 20000000);
	g_assert_null(json_object_get(offer, "start_s"));
	/* the head stays near the workers */
	g_assert_cmpstr(rg_json_str(offer_at(&o, 0), "zone", ""), ==, "us-east-1b");
}

static void test_prepaid_nodes_cost_nothing_more(void)
{
	g_auto(FitRun) o = run(POOL, FACT("p4d.24xlarge", "us-east-1a", "planned",
					     ", 'prepaid': true, 'start_s': 1800000000"));
	g_assert_cmpint(rg_json_int(offer_at(&o, 1), "price_microusd_hour", -1), ==, 0);
	g_assert_cmpint(rg_json_int(offer_at(&o, 1), "start_s", 0), ==, 1800000000);
}

static void test_a_price_is_that_of_its_own_market(void)
{
	static const char pin[] =
		"{'reservations': {'cr-1': {'what': 'block', 'state': 'usable', 'status': 's',"
		" 'instance_type': 'p4d.24xlarge', 'zone': 'us-east-1a', 'total': 4, 'free': 2,"
		" 'prepaid': true}}, 'nodes': {'t/0': {'instance_type': 'p4d.24xlarge', 'zone':"
		" 'us-east-1a', 'image_key': 'default/x86_64', 'image_id': 'ami-1',"
		" 'price_microusd_hour': 777%s}}}";
	static const struct {
		const char *pin;
		int64_t price;
	} cases[] = {{"", 0}, {", 'market': 'reserved', 'reservation': 'cr-2'", 0},
		{", 'market': 'reserved', 'reservation': 'cr-1'", 777}};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) around = g_strsplit(pin, "%s", 2);
		g_autofree char *pins = g_strconcat(around[0], cases[i].pin, around[1], NULL);
		g_auto(FitRun) o = run(POOL, pins);
		g_assert_cmpint(rg_json_int(offer_at(&o, 1), "price_microusd_hour", -1), ==,
			cases[i].price);
	}
}

static void test_without_facts_the_pool_is_chosen_as_others(void)
{
	g_auto(FitRun) o = run(POOL, "{}");
	g_assert_cmpstr(rg_json_str(offer_at(&o, 1), "instance_type", ""), ==, "p4d.24xlarge");
	g_assert_cmpstr(rg_json_str(offer_at(&o, 1), "market", ""), ==, "reserved");
}

static void test_mismatches(void)
{
	static const struct {
		const char *pools, *pins, *code, *summary;
	} cases[] = {
		{POOL, "{'reservations': {'cr-1': null}}", "fit.no-reservation",
			"there is no reservation cr-1"},
		{POOL, FACT("p4d.24xlarge", "us-east-1a", "usable", ", 'refused': 'it is odd'"),
			"fit.no-reservation",
			"reservation cr-1 cannot be used by pool t: it is odd"},
		{POOL, FACT("x9.huge", "us-east-1a", "usable", ""), "fit.reservation-mismatch",
			"reservation cr-1 is of x9.huge, which is not in the catalog"},
		{"  t: {instance_type: g4dn.xlarge, nodes: 1, market: {reservation: cr-1}}\n",
			FACT("p4d.24xlarge", "us-east-1a", "usable", ""),
			"fit.reservation-mismatch",
			"reservation cr-1 is of p4d.24xlarge, not of g4dn.xlarge"},
		{"  t: {accelerators: \"A100:8\", nodes: 1, zones: [us-east-1a], market: "
		 "{reservation: cr-1}}\n",
			FACT("p4d.24xlarge", "us-east-1b", "usable", ""),
			"fit.reservation-mismatch",
			"reservation cr-1 is in us-east-1b, not in us-east-1a"},
		{POOL, FACT("p4d.24xlarge", "us-east-1f", "usable", ""), "fit.no-zone",
			"no zone for pool t: the network does not reach us-east-1f, where "
			"reservation cr-1 is"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(FitRun) o = run(cases[i].pools, cases[i].pins);
		g_assert_null(o.fitted);
		assert_diag(o.diags, 0, cases[i].code, 6, cases[i].summary);
	}
}

#define NOW 1800000000
#define DAY 86400

typedef struct {
	const char *fact, *uses;
	bool waits, good;
	const char *code, *summary; /* NULL: nothing is reported */
} Check;

static const Check checks[] = {
	{"'state': 'usable', 'free': 2", "{'t': {'made': 2}}", false, true, NULL, NULL},
	{"'state': 'usable', 'free': 1", "{'t': {'made': 2, 'replaced': 1, 'freed': 1}}", false,
		true, NULL, NULL},
	{"'state': 'usable', 'free': 1", "{'s': {'made': 1}, 't': {'made': 1}}", false, false,
		"plan.reservation-full",
		"reservation cr-1 has room for 1 more of its 4 nodes, and the plan creates 2 (pool "
		"s, "
		"t)"},
	{"'state': 'usable', 'free': 0", "{'t': {'made': 1}}", true, true, "plan.reservation-full",
		"reservation cr-1 has room for 0 more of its 4 nodes, and the plan creates 1 (pool "
		"t)"},
	{"'state': 'planned', 'free': 4, 'start_s': 1800086400", "{'t': {'made': 2}}", false, true,
		"plan.reservation-starts",
		"reservation cr-1 is s and starts at 2027-01-16T08:00:00Z: the nodes of pool t are "
		"created when it has started"},
	{"'state': 'planned', 'free': 4", "{'t': {'made': 2, 'replaced': 2}}", true, false,
		"plan.reservation-starts",
		"reservation cr-1 is s, and 2 existing nodes of pool t would be removed before "
		"that"},
	{"'state': 'over', 'free': 0, 'end_s': 1799999999", "{'t': {'made': 1}}", false, false,
		"plan.reservation-over",
		"reservation cr-1 ended at 2027-01-15T07:59:59Z: no node of pool t can be created "
		"in "
		"it"},
	{"'state': 'over', 'free': 0", "{'t': {'nodes': 1}}", false, true, "plan.reservation-over",
		"reservation cr-1 is s, and pool t has 1 node in it"},
	{"'state': 'usable', 'free': 4, 'end_s': 1800604800", "{'t': {'nodes': 1}}", false, true,
		"plan.reservation-ends", "reservation cr-1 of pool t ends at 2027-01-22T08:00:00Z"},
	{"'state': 'usable', 'free': 4, 'end_s': 1800604801", "{'t': {'nodes': 1}}", false, true,
		NULL, NULL},
	{"'state': 'usable', 'free': 4, 'end_s': 1800000001", "{'t': {}}", false, true, NULL, NULL},
};

static void test_a_plan_is_compared(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
		const Check *check = &checks[i];
		g_autofree char *text =
			g_strdup_printf("{'cr-1': {'status': 's', 'total': 4, %s}}", check->fact);
		g_autofree char *used = g_strdup_printf("{'cr-1': %s}", check->uses);
		json_auto_t *facts = json_of(text), *uses = json_of(used);
		const RgReservationInput input = {
			.facts = facts, .uses = uses, .now_s = NOW, .waits = check->waits};
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_cmpint(rg_fit_check_reservations(&input, diags), ==, check->good);
		g_assert_cmpint(rg_diags_has_errors(diags), ==, !check->good);
		if (check->code)
			assert_diag(diags, 0, check->code, 0, check->summary);
		g_assert_cmpuint(rg_diags_count(diags), ==, check->code != NULL);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/reservation/decides-type-and-zone", test_it_decides_type_and_zone);
	g_test_add_func("/fit/reservation/prepaid", test_prepaid_nodes_cost_nothing_more);
	g_test_add_func(
		"/fit/reservation/price-of-the-market", test_a_price_is_that_of_its_own_market);
	g_test_add_func(
		"/fit/reservation/without-facts", test_without_facts_the_pool_is_chosen_as_others);
	g_test_add_func("/fit/reservation/mismatches", test_mismatches);
	g_test_add_func("/fit/reservation/plan", test_a_plan_is_compared);
	return fit_run_tests();
}
