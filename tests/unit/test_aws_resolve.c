/* resolve over a socket: images, the default network, where types are offered. */
#include "aws_fixture.h"
#include <string.h>

static void test_resolve(AwsFixture *f, gconstpointer data)
{
	static const char wants[] =
		"{'images': [{'key': 'd', 'image': null, 'arch': 'x86_64'}, {'key': 'e', 'image': "
		"null,"
		" 'arch': 'x86_64'}], 'place': true, 'instance_types': ['p3.2xlarge', 'none']}";
	aws_server_say_ok(f->server, "DescribeImages",
		"<imagesSet><item><imageId>ami-old</imageId><creationDate>2025-01-01T00:00:00.000Z"
		"</creationDate></item><item><imageId>ami-new</imageId><name>n</name><creationDate>"
		"2026-01-01T00:00:00.000Z</creationDate><architecture>x86_64</architecture>"
		"<rootDeviceName>/dev/sda1</rootDeviceName><blockDeviceMapping><item><deviceName>"
		"/dev/sda1</deviceName><ebs><volumeSize>75</volumeSize></ebs></item>"
		"</blockDeviceMapping></item></imagesSet>");
	aws_server_say_ok(
		f->server, "DescribeVpcs", "<vpcSet><item><vpcId>vpc-1</vpcId></item></vpcSet>");
	aws_server_say_ok(f->server, "DescribeSubnets",
		"<subnetSet><item><subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId>"
		"<availabilityZone>us-east-1a</availabilityZone></item></subnetSet>");
	aws_server_say_ok(f->server, "DescribeInstanceTypeOfferings",
		"<instanceTypeOfferingSet><item><instanceType>p3.2xlarge</instanceType><location>"
		"us-east-1b</location></item><item><instanceType>p3.2xlarge</"
		"instanceType><location>"
		"us-east-1a</location></item></instanceTypeOfferingSet>");
	g_assert_cmpint(aws_test_run(f->aws->resolve, f->inst, f->call, wants), ==, RGP_OK);
	json_t *expected = json_loads(
		"{\"images\":{\"d\":{\"id\":\"ami-new\",\"name\":\"n\",\"arch\":\"x86_64\","
		"\"root_device\":\"/dev/sda1\",\"min_disk_gb\":75},\"e\":{\"id\":\"ami-new\","
		"\"name\":\"n\",\"arch\":\"x86_64\",\"root_device\":\"/dev/"
		"sda1\",\"min_disk_gb\":75}},"
		"\"zones\":[\"us-east-1a\"],"
		"\"module\":{\"vpc_id\":\"vpc-1\",\"subnets\":{\"us-east-1a\":\"subnet-1\"}},"
		"\"offerings\":{\"p3.2xlarge\":[\"us-east-1a\",\"us-east-1b\"],\"none\":[]}}",
		0, NULL);
	g_assert_true(json_equal(aws_test_given(f->call, "facts", 0), expected));
	json_decref(expected);
	aws_expect_field(f, 0, "Owner.1", "amazon");
	aws_expect_field(f, 0, "Filter.3.Value.1", "x86_64");
}

/* EC2 accepts 200 values per filter; the 201st type needs another request. */
static void test_resolve_many_types(AwsFixture *f, gconstpointer data)
{
	g_autoptr(GString) input = g_string_new("{'instance_types': ['t0.large'");
	for (int i = 1; i <= 200; i++)
		g_string_append_printf(input, ", 't%d.large'", i);
	g_string_append(input, "]}");
	for (int i = 0; i < 2; i++)
		aws_server_say_ok(
			f->server, "DescribeInstanceTypeOfferings", "<instanceTypeOfferingSet/>");
	g_assert_cmpint(aws_test_run(f->aws->resolve, f->inst, f->call, input->str), ==, RGP_OK);
	g_assert_cmpuint(aws_server_count(f->server), ==, 2);
	aws_expect_field(f, 0, "Filter.1.Value.1", "t0.large");
	aws_expect_field(f, 0, "Filter.1.Value.200", "t199.large");
	aws_expect_field(f, 0, "Filter.1.Value.201", NULL);
	aws_expect_field(f, 1, "Filter.1.Value.1", "t200.large");
	aws_expect_field(f, 1, "Filter.1.Value.2", NULL);
}

static void test_unresolved(AwsFixture *f, gconstpointer data)
{
	aws_server_say_ok(f->server, "DescribeImages", "<imagesSet/>");
	g_assert_cmpint(aws_test_run(f->aws->resolve, f->inst, f->call,
				"{'images': [{'key': 'd', 'image': 'ami-9', 'arch': 'x86_64'}]}"),
		==, RGP_FAIL);
	g_assert_cmpstr(
		aws_test_said(f->call, 0, "summary"), ==, "there is no image ami-9 in us-east-1");
	aws_server_say_ok(f->server, "DescribeVpcs", "<vpcSet/>");
	aws_server_say_ok(f->server, "DescribeSubnets", "<subnetSet/>");
	g_assert_cmpint(
		aws_test_run(f->aws->resolve, f->inst, f->call, "{'place': true}"), ==, RGP_FAIL);
	g_assert_cmpstr(
		aws_test_said(f->call, 0, "summary"), ==, "region us-east-1 has no default VPC");
	g_assert_nonnull(strstr(aws_test_said(f->call, 0, "hint"), "create-default-vpc"));
}

#define ADD(path, fn)                                                                              \
	g_test_add("/aws/" path, AwsFixture, NULL, aws_fixture_set_up, fn, aws_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("resolve/newest-image-default-network-offerings", test_resolve);
	ADD("resolve/200-types-a-request", test_resolve_many_types);
	ADD("resolve/says-what-is-missing", test_unresolved);
	return g_test_run();
}
