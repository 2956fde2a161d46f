/* Reservations over a scripted server: what is asked, the facts about them, launches and answers of
 * instances in them, and offerings of Capacity Blocks. */
#include "aws_fixture.h"
#include <string.h>

#define RESERVATION(id, more)                                                                      \
	"<item><capacityReservationId>" id "</capacityReservationId>"                              \
	"<instanceType>p5.48xlarge</instanceType><instancePlatform>Linux/UNIX</instancePlatform>"  \
	"<availabilityZone>us-east-1a</availabilityZone><tenancy>default</tenancy>"                \
	"<totalInstanceCount>4</totalInstanceCount>" more "</item>"
#define ACTIVE "<availableInstanceCount>3</availableInstanceCount><state>active</state>"
#define BLOCK "<reservationType>capacity-block</reservationType>"
#define ONE                                                                                        \
	"{'images': [], 'reservations': [{'id': 'cr-1', 'origin': '/pools/t/market/reservation', " \
	"'own_image': %s}]}"

static void say_reservations(AwsFixture *f, const char *items)
{
	g_autofree char *set =
		g_strconcat("<capacityReservationSet>", items, "</capacityReservationSet>", NULL);
	aws_server_say_ok(f->server, "DescribeCapacityReservations", set);
}

static const json_t *fact_of(AwsFixture *f, const char *id)
{
	const json_t *facts = aws_test_given(f->call, "facts", 0);
	return json_object_get(json_object_get(facts, "reservations"), id);
}

static rgp_status resolve(AwsFixture *f, const char *input)
{
	return aws_test_run(f->aws->resolve, f->inst, f->call, input);
}

static int class_of(AwsFixture *f, size_t n)
{
	return (int)json_integer_value(json_object_get(json_array_get(f->call->diags, n), "class"));
}

static void test_one_call_for_all(AwsFixture *f, gconstpointer data)
{
	say_reservations(f,
		RESERVATION("cr-1", ACTIVE) RESERVATION("cr-2",
			"<availableInstanceCount>0</availableInstanceCount><state>scheduled</state>"
			"<startDate>2026-12-01T11:30:00.000Z</startDate>"
			"<endDate>2026-12-03T11:30:00.000Z</endDate>" BLOCK));
	g_assert_cmpint(resolve(f, "{'images': [], 'reservations': [{'id': 'cr-1'}, {'id': "
				   "'cr-2'}, {'id': 'cr-3'}]}"),
		==, RGP_OK);
	aws_expect_field(f, 0, "CapacityReservationId.1", "cr-1");
	aws_expect_field(f, 0, "CapacityReservationId.3", "cr-3");
	const json_t *first = fact_of(f, "cr-1"), *second = fact_of(f, "cr-2");
	g_assert_cmpstr(aws_text_of(first, "state"), ==, "usable");
	g_assert_cmpstr(aws_text_of(first, "instance_type"), ==, "p5.48xlarge");
	g_assert_cmpint(json_integer_value(json_object_get(first, "free")), ==, 3);
	g_assert_true(json_is_false(json_object_get(first, "prepaid")));
	g_assert_null(json_object_get(first, "end_s"));
	g_assert_cmpstr(aws_text_of(second, "state"), ==, "planned");
	g_assert_true(json_is_true(json_object_get(second, "prepaid")));
	g_assert_cmpint(json_integer_value(json_object_get(second, "free")), ==, 4);
	int64_t start = json_integer_value(json_object_get(second, "start_s"));
	int64_t end = json_integer_value(json_object_get(second, "end_s"));
	g_assert_cmpint(end - start, ==, 2 * 86400);
	g_assert_cmpint(end - json_integer_value(json_object_get(second, "clear_s")), ==, 1800);
	g_assert_true(json_is_null(fact_of(f, "cr-3")));
}

/* The refusal names one id, and nothing of the others. */
static void test_unknown_ids_are_found_one_by_one(AwsFixture *f, gconstpointer data)
{
	aws_server_say_error(f->server, 400, "InvalidCapacityReservationId.NotFound",
		"The capacity reservation ID 'cr-2' does not exist");
	say_reservations(f, RESERVATION("cr-1", ACTIVE));
	aws_server_say_error(f->server, 400, "InvalidCapacityReservationId.NotFound", "no cr-2");
	g_assert_cmpint(
		resolve(f, "{'images': [], 'reservations': [{'id': 'cr-1'}, {'id': 'cr-2'}]}"), ==,
		RGP_OK);
	g_assert_true(json_is_object(fact_of(f, "cr-1")));
	g_assert_true(json_is_null(fact_of(f, "cr-2")));
}

static void test_a_denied_call_is_reported(AwsFixture *f, gconstpointer data)
{
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "no");
	g_autofree char *input = g_strdup_printf(ONE, "false");
	g_assert_cmpint(resolve(f, input), ==, RGP_FAIL);
	g_assert_cmpint(class_of(f, 0), ==, RGP_CLASS_DENIED);
}

static void test_what_nodes_cannot_use(AwsFixture *f, gconstpointer data)
{
	static const struct {
		const char *more, *own_image, *refused;
	} cases[] = {
		{"<instancePlatform>Windows</instancePlatform>", "true",
			"it is for Windows, and the nodes are Linux/UNIX"},
		{"<instancePlatform>Red Hat Enterprise Linux</instancePlatform>", "false",
			"it is for Red Hat Enterprise Linux, and the nodes are Linux/UNIX"},
		{"<instancePlatform>Red Hat Enterprise Linux</instancePlatform>", "true", ""},
		{"<tenancy>dedicated</tenancy>", "false",
			"its tenancy is dedicated, and the nodes have the default one"},
		{"<outpostArn>arn</outpostArn>", "false", "it is on an Outpost"},
		{"<placementGroupArn>pg</placementGroupArn>", "false",
			"it was made for the placement group pg"},
		{"<interruptible>true</interruptible>", "false", "it is interruptible"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *item = g_strconcat("<item><capacityReservationId>cr-1"
						    "</capacityReservationId>" ACTIVE,
			cases[i].more, "</item>", NULL);
		g_autofree char *input = g_strdup_printf(ONE, cases[i].own_image);
		say_reservations(f, item);
		aws_test_call_reset(f->call);
		g_assert_cmpint(resolve(f, input), ==, RGP_OK);
		g_assert_cmpstr(aws_text_of(fact_of(f, "cr-1"), "refused"), ==, cases[i].refused);
	}
}

static void test_each_state(AwsFixture *f, gconstpointer data)
{
	static const char *const states[][2] = {{"active", "usable"}, {"pending", "planned"},
		{"scheduled", "planned"}, {"payment-pending", "planned"}, {"assessing", "planned"},
		{"delayed", "planned"}, {"expired", "over"}, {"cancelled", "over"},
		{"failed", "over"}, {"payment-failed", "over"}, {"unsupported", "over"},
		{"unavailable", "over"}};
	g_autofree char *input = g_strdup_printf(ONE, "false");
	for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
		g_autofree char *item = g_strconcat("<item><capacityReservationId>cr-1"
						    "</capacityReservationId><state>",
			states[i][0], "</state></item>", NULL);
		say_reservations(f, item);
		aws_test_call_reset(f->call);
		g_assert_cmpint(resolve(f, input), ==, RGP_OK);
		g_assert_cmpstr(aws_text_of(fact_of(f, "cr-1"), "state"), ==, states[i][1]);
		g_assert_cmpstr(aws_text_of(fact_of(f, "cr-1"), "status"), ==, states[i][0]);
	}
}

static void test_a_launch_names_it(AwsFixture *f, gconstpointer data)
{
	static const char *const markets[][2] = {
		{"", NULL}, {", 'market': 'capacity-block'", "capacity-block"}};
	for (unsigned i = 0; i < G_N_ELEMENTS(markets); i++) {
		g_autofree char *input = g_strdup_printf(
			"{'kind': 'aws.instance', 'token': 'aa', 'min_count': 1, 'marks': "
			"{'lineage': 'l'}, 'items': [{'address': 'aws.instance.t[0]', 'index': "
			"0}], 'attributes': {'instance_type': 'p5.48xlarge', 'image_id': 'ami-1', "
			"'subnet_id': 'subnet-1', 'root_device': '/dev/x', 'http_tokens': "
			"'required', 'tags': {}, 'capacity_reservation': 'cr-1'%s}}",
			markets[i][0]);
		g_autofree char *made = aws_instance_xml("i-a", 0, "pending", "");
		aws_say_instances(f, "RunInstances", made, "");
		g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, input), ==, RGP_OK);
		aws_expect_field(f, i,
			"CapacityReservationSpecification.CapacityReservationTarget."
			"CapacityReservationId",
			"cr-1");
		aws_expect_field(f, i, "InstanceMarketOptions.MarketType", markets[i][1]);
		aws_expect_field(f, i, "InstanceMarketOptions.SpotOptions.MaxPrice", NULL);
	}
}

static void test_a_closed_or_full_one_is_a_lack_of_capacity(AwsFixture *f, gconstpointer data)
{
	static const char *const codes[] = {
		"ReservationCapacityExceeded", "InvalidCapacityReservationState.PendingActivation"};
	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
		aws_server_say_error(f->server, 400, codes[i], "no");
		aws_test_call_reset(f->call);
		aws_test_run(f->aws->create, f->inst, f->call,
			"{'kind': 'aws.instance', 'token': 'aa', 'marks': {'lineage': 'l'}, "
			"'items': [{'address': 'aws.instance.t[0]', 'index': 0}], 'attributes': "
			"{'capacity_reservation': 'cr-1', 'http_tokens': 'required'}}");
		aws_expect_item(f, "aws.instance.t[0]", "failed", "capacity");
		g_assert_true(aws_is_definite(f, "aws.instance.t[0]"));
	}
}

#define TARGET(id)                                                                                 \
	"<capacityReservationSpecification><capacityReservationTarget><capacityReservationId>" id  \
	"</capacityReservationId></capacityReservationTarget></capacityReservationSpecification>"
#define IN(id) "<capacityReservationId>" id "</capacityReservationId>"

static void test_what_an_instance_shows(AwsFixture *f, gconstpointer data)
{
	static const struct {
		const char *more, *reservation, *market;
	} cases[] = {
		{TARGET("cr-1") IN("cr-1"), "cr-1", ""},
		{TARGET("cr-1") IN("cr-2"), "cr-2", ""},
		/* its reservation is over */
		{TARGET("cr-1"), "cr-1", ""},
		/* an open one that happens to match */
		{"<capacityReservationSpecification><capacityReservationPreference>open"
		 "</capacityReservationPreference></capacityReservationSpecification>" IN("cr-3"),
			"", ""},
		{TARGET("cr-1") IN("cr-1") "<instanceLifecycle>capacity-block</instanceLifecycle>",
			"cr-1", "capacity-block"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *more = g_strconcat(AWS_MARKS, cases[i].more, NULL);
		g_autofree char *item = aws_instance_xml("i-a", 0, "running", more);
		aws_say_instances(f, "DescribeInstances", item, "");
		aws_test_call_reset(f->call);
		g_assert_cmpint(
			aws_test_run(f->aws->list, f->inst, f->call,
				"{'kinds': ['aws.instance'], 'cluster': 'c', 'lineage': 'lin'}"),
			==, RGP_OK);
		json_auto_t *seen = aws_test_resource(f->call, 0, 0);
		const json_t *attributes = json_object_get(seen, "attributes");
		g_assert_cmpstr(
			aws_text_of(attributes, "capacity_reservation"), ==, cases[i].reservation);
		g_assert_cmpstr(aws_text_of(attributes, "market"), ==, cases[i].market);
	}
}

static void test_blocks(AwsFixture *f, gconstpointer data)
{
	aws_server_say_ok(f->server, "DescribeCapacityBlockOfferings",
		"<capacityBlockOfferingSet><item><capacityBlockOfferingId>cb-1"
		"</capacityBlockOfferingId><instanceType>p5.48xlarge</instanceType>"
		"<availabilityZone>us-east-1a</availabilityZone><instanceCount>2</instanceCount>"
		"<startDate>2026-12-01T11:30:00.000Z</startDate>"
		"<endDate>2026-12-02T11:30:00.000Z</endDate><upfrontFee>1234.56</upfrontFee>"
		"<currencyCode>USD</currencyCode></item></capacityBlockOfferingSet>");
	g_assert_cmpint(aws_test_run(f->aws->blocks, f->inst, f->call,
				"{'instance_types': ['p5.48xlarge'], 'count': 2, 'hours': 24, "
				"'from_s': 1796083200}"),
		==, RGP_OK);
	aws_expect_field(f, 0, "InstanceType", "p5.48xlarge");
	aws_expect_field(f, 0, "InstanceCount", "2");
	aws_expect_field(f, 0, "CapacityDurationHours", "24");
	aws_expect_field(f, 0, "StartDateRange", "2026-12-01T00:00:00Z");
	aws_expect_field(f, 0, "EndDateRange", NULL);
	const json_t *block = aws_test_given(f->call, "block", 0);
	g_assert_cmpstr(aws_text_of(block, "id"), ==, "cb-1");
	g_assert_cmpint(json_integer_value(json_object_get(block, "fee_microusd")), ==, 1234560000);
}

/* No request is sent. */
static void test_durations_that_are_not_sold(AwsFixture *f, gconstpointer data)
{
	static const int hours[] = {0, -24, 1, 25, 15 * 24, 20 * 24, 183 * 24, 189 * 24};
	for (size_t i = 0; i < G_N_ELEMENTS(hours); i++) {
		g_autofree char *input = g_strdup_printf(
			"{'instance_types': ['p5.48xlarge'], 'count': 1, 'hours': %d}", hours[i]);
		aws_test_call_reset(f->call);
		g_assert_cmpint(
			aws_test_run(f->aws->blocks, f->inst, f->call, input), ==, RGP_FAIL);
		g_assert_cmpint(class_of(f, 0), ==, RGP_CLASS_INVALID);
	}
}

#define ADD(name, function)                                                                        \
	g_test_add("/aws/reservation/" name, AwsFixture, NULL, aws_fixture_set_up, function,       \
		aws_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("one-call-for-all", test_one_call_for_all);
	ADD("unknown-ids", test_unknown_ids_are_found_one_by_one);
	ADD("denied", test_a_denied_call_is_reported);
	ADD("what-nodes-cannot-use", test_what_nodes_cannot_use);
	ADD("each-state", test_each_state);
	ADD("a-launch-names-it", test_a_launch_names_it);
	ADD("a-lack-of-capacity", test_a_closed_or_full_one_is_a_lack_of_capacity);
	ADD("what-an-instance-shows", test_what_an_instance_shows);
	ADD("blocks", test_blocks);
	ADD("durations-that-are-not-sold", test_durations_that_are_not_sold);
	return g_test_run();
}
