/* list over a socket: pages, resources that are known but were not seen, errors. */
#include "aws_fixture.h"
#include <string.h>

static void test_list(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-a", 0, "running", AWS_MARKS);
	g_autofree char *b = aws_instance_xml("i-b", 2, "shutting-down", AWS_MARKS);
	g_autofree char *c = aws_instance_xml("i-c", 9, "stopped", AWS_MARKS);
	g_autofree char *d = aws_instance_xml("i-d", 0, "running", "");
	g_autofree char *ab = g_strconcat(a, b, NULL);
	aws_say_instances(f, "DescribeInstances", ab, "<nextToken>t1</nextToken>");
	aws_say_instances(f, "DescribeInstances", "", "<nextToken>t2</nextToken>");
	aws_say_instances(f, "DescribeInstances", c, "<nextToken/>");
	aws_say_instances(f, "DescribeInstances", d, "");
	rgp_status status = aws_test_run(f->aws->list, f->inst, f->call,
		"{'kinds': ['aws.instance'], 'cluster': 'c', 'lineage': 'lin', 'known': "
		"{'aws.instance': ['i-a', "
		"'i-d', 'i-e']}}");
	g_assert_cmpint(status, ==, RGP_OK);
	aws_expect_field(f, 0, "Filter.1.Name", "tag:raygpu:cluster");
	aws_expect_field(f, 0, "Filter.1.Value.1", "c");
	aws_expect_field(f, 0, "MaxResults", "1000");
	aws_expect_field(f, 2, "NextToken", "t2");
	aws_expect_field(f, 3, "Filter.1.Name", "instance-id");
	aws_expect_field(f, 3, "Filter.1.Value.1", "i-d");
	aws_expect_field(f, 3, "Filter.1.Value.2", "i-e");
	aws_expect_field(f, 3, "Filter.1.Value.3", NULL);
	json_auto_t *one = aws_test_resource(f->call, 0, 0);
	json_auto_t *two = aws_test_resource(f->call, 0, 1);
	g_assert_cmpstr(aws_text_of(one, "address"), ==, "aws.instance.train[2]");
	g_assert_cmpstr(aws_text_of(one, "token"), ==, "tok");
	g_assert_cmpstr(aws_text_of(two, "address"), ==, "aws.instance.train[7]");
	g_assert_cmpstr(aws_text_of(two, "state"), ==, "gone");
	g_assert_true(!json_object_get(one, "lineage")); /* the requested one */
	json_auto_t *expected =
		json_loads("{\"instance_type\":\"p3.2xlarge\",\"image_id\":\"ami-1\",\"subnet_id\":"
			   "\"subnet-1\","
			   "\"private_ip\":\"10.0.0.4\",\"launch_time\":\"2026-01-01T00:00:00Z\","
			   "\"availability_zone\":\"us-east-1a\",\"network_interface\":\"eni-0\","
			   "\"security_groups\":[\"sg-1\"],\"instance_state\":\"running\","
			   "\"tags\":{\"team\":\"ml\"}}",
			0, NULL);
	g_assert_true(json_equal(json_object_get(one, "attributes"), expected));
	json_auto_t *third = aws_test_resource(f->call, 1, 0);
	g_assert_true(!json_object_get(third, "address")); /* launch index past the marks */
	g_assert_cmpstr(
		aws_text_of(json_object_get(third, "attributes"), "instance_state"), ==, "stopped");
	g_assert_nonnull(aws_test_given(f->call, "done", 0));
}

static const char list_call[] =
	"{'kinds': ['aws.instance'], 'cluster': 'c', 'lineage': 'lin', 'known': {}}";

/* Nodes of one launch differ in their ids and addresses: their other members are returned once. */
static void test_neighbours(AwsFixture *f, gconstpointer data)
{
	static const struct {
		const char *state, *more;
	} rows[] = {{"running", AWS_MARKS}, {"running", AWS_MARKS}, {"stopped", AWS_MARKS},
		{"running", AWS_MARKS "<ipAddress>4.3.2.1</ipAddress>"},
		{"running", AWS_MARKS "<ipAddress/>"}, {"running", AWS_MARKS}};
	static const unsigned shared[] = {0, 0, 1, 2, 2, 3};
	g_autoptr(GString) all = g_string_new(NULL);
	for (int i = 0; i < (int)G_N_ELEMENTS(rows); i++) {
		g_autofree char *id = g_strdup_printf("i-%d", i);
		g_autofree char *xml = aws_instance_xml(id, i, rows[i].state, rows[i].more);
		g_string_append(all, xml);
	}
	aws_say_instances(f, "DescribeInstances", all->str, "");
	g_assert_cmpint(aws_test_run(f->aws->list, f->inst, f->call, list_call), ==, RGP_OK);
	const json_t *page = aws_test_given(f->call, "page", 0);
	g_assert_cmpuint(json_array_size(json_object_get(page, "shared")), ==, 4);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const json_t *own = json_array_get(json_object_get(page, "resources"), i);
		json_auto_t *resource = aws_test_resource(f->call, 0, i);
		const json_t *attributes = json_object_get(resource, "attributes");
		g_autofree char *id = g_strdup_printf("i-%zu", i);
		g_autofree char *interface = g_strdup_printf("eni-%zu", i);
		g_autofree char *ip = g_strdup_printf("10.0.0.%zu", i + 4);
		g_assert_cmpint(json_integer_value(json_object_get(own, "shared")), ==, shared[i]);
		g_assert_cmpstr(aws_text_of(resource, "id"), ==, id);
		g_assert_cmpstr(aws_text_of(attributes, "network_interface"), ==, interface);
		g_assert_cmpstr(aws_text_of(attributes, "private_ip"), ==, ip);
		g_assert_cmpstr(
			aws_text_of(attributes, "public_address"), ==, i == 3 ? "4.3.2.1" : "");
		g_assert_cmpstr(aws_text_of(attributes, "instance_state"), ==, rows[i].state);
		g_assert_cmpstr(aws_text_of(resource, "status"), ==, rows[i].state);
	}
}

/* A name that another state uses: reported with its lineage and without an address. */
static void test_another_lineage(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-a", 0, "running", AWS_MARKS);
	g_autofree char *b = aws_instance_xml("i-b", 1, "running",
		"<tagSet><item><key>raygpu:cluster</key><value>c</value></item></tagSet>");
	g_autofree char *ab = g_strconcat(a, b, NULL);
	aws_say_instances(f, "DescribeInstances", ab, "");
	rgp_status status = aws_test_run(f->aws->list, f->inst, f->call,
		"{'kinds': ['aws.instance'], 'cluster': 'c', 'lineage': 'other', 'known': {}}");
	g_assert_cmpint(status, ==, RGP_OK);
	const json_t *seen = json_object_get(aws_test_given(f->call, "page", 0), "resources");
	g_assert_cmpuint(json_array_size(seen), ==, 1); /* i-b has no lineage */
	json_auto_t *one = aws_test_resource(f->call, 0, 0);
	g_assert_cmpstr(aws_text_of(one, "lineage"), ==, "lin");
	g_assert_true(!json_object_get(one, "address"));
}

static void expect_no_list(AwsFixture *f, int32_t class_, const char *words)
{
	g_assert_cmpint(aws_test_run(f->aws->list, f->inst, f->call, list_call), ==, RGP_FAIL);
	g_assert_null(aws_test_given(f->call, "done", 0));
	g_assert_cmpuint(json_array_size(f->call->diags), ==, 1);
	g_assert_cmpint(
		json_integer_value(json_object_get(json_array_get(f->call->diags, 0), "class")), ==,
		class_);
	g_autofree char *all = g_strconcat(aws_test_said(f->call, 0, "summary"), " / ",
		aws_test_said(f->call, 0, "hint"), NULL);
	if (!strstr(all, words)) {
		g_test_message("\"%s\" is not in: %s", words, all);
		g_test_fail();
	}
}

static void test_bad_lists(AwsFixture *f, gconstpointer data)
{
	f->call->max_tries = 1;
	g_autofree char *a = aws_instance_xml("i-a", 0, "running", AWS_MARKS);
	aws_say_instances(f, "DescribeInstances", a, "<nextToken>t1</nextToken>");
	aws_say_instances(f, "DescribeInstances", "", "<nextToken>t1</nextToken>");
	expect_no_list(f, RGP_CLASS_UNKNOWN, "the same page token was returned twice");
	aws_say_instances(f, "DescribeInstances", a, "<nextToken>t1</nextToken>");
	aws_server_say(f->server, 200, "<DescribeInstancesResponse><reservationSet><item>");
	expect_no_list(f, RGP_CLASS_TRANSIENT, "truncated reply");
	aws_server_say(f->server, 200, "");
	expect_no_list(f, RGP_CLASS_TRANSIENT, "truncated reply");
	aws_server_say(f->server, 200, "<DescribeVpcsResponse/>");
	expect_no_list(f, RGP_CLASS_TRANSIENT, "<DescribeVpcsResponse> instead of");
	aws_server_say(f->server, 500, "<!DOCTYPE HTML><title>500 Internal Server Error</title>");
	expect_no_list(f, RGP_CLASS_TRANSIENT, "HTTP status 500");
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "not authorized");
	expect_no_list(f, RGP_CLASS_DENIED, "providers/aws/README.md");
	f->call->skew_s = 1234;
	aws_server_say_error(f->server, 400, "RequestExpired", "too old");
	expect_no_list(f, RGP_CLASS_DENIED, "1234 s (20.6 minutes) behind that of EC2");
	f->call->skew_s = -1000;
	aws_server_say_error(f->server, 401, "AuthFailure", "can't validate");
	expect_no_list(f, RGP_CLASS_DENIED, "1000 s (16.7 minutes) ahead of that of EC2");
	f->call->skew_s = 0;
	aws_server_say_error(f->server, 400, "RequestExpired", "Request has expired.");
	expect_no_list(f, RGP_CLASS_DENIED, "if the credentials are temporary they have expired");
	f->call->skew_s = -30;
	aws_server_say_error(f->server, 400, "RequestExpired", "Request has expired.");
	expect_no_list(f, RGP_CLASS_DENIED, "if the credentials are temporary they have expired");
	f->call->skew_s = 2;
	aws_server_say_error(f->server, 401, "AuthFailure", "can't validate");
	expect_no_list(f, RGP_CLASS_DENIED, "check the access key");
}

static void test_many_known(AwsFixture *f, gconstpointer data)
{
	GString *input = g_string_new("{'kinds': ['aws.instance'], 'cluster': 'c', 'lineage': "
				      "'lin', 'known': {'aws.instance': [");
	for (int i = 0; i < 401; i++)
		g_string_append_printf(input, "%s'i-%d'", i ? "," : "", i);
	g_string_append(input, "]}}");
	for (int i = 0; i < 4; i++)
		aws_say_instances(f, "DescribeInstances", "", "");
	g_assert_cmpint(aws_test_run(f->aws->list, f->inst, f->call, input->str), ==, RGP_OK);
	g_assert_cmpuint(aws_server_count(f->server), ==, 4);
	aws_expect_field(f, 1, "Filter.1.Value.200", "i-199");
	aws_expect_field(f, 1, "Filter.1.Value.201", NULL);
	aws_expect_field(f, 3, "Filter.1.Value.1", "i-400");
	g_string_free(input, TRUE);
}

#define ADD(path, fn)                                                                              \
	g_test_add("/aws/" path, AwsFixture, NULL, aws_fixture_set_up, fn, aws_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("list/follows-pages-and-rereads-the-missing", test_list);
	ADD("list/returns-shared-members-once", test_neighbours);
	ADD("list/another-lineage-is-told-without-an-address", test_another_lineage);
	ADD("list/an-error-is-never-a-short-list", test_bad_lists);
	ADD("list/known-ids-go-in-chunks", test_many_known);
	return g_test_run();
}
