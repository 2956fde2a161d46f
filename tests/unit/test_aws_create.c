/* RunInstances over a socket: what is sent, and the results of good, partial, lost and unexpected
 * answers. */
#include "aws_fixture.h"
#include <string.h>

#define CREATE                                                                                     \
	"{'kind': 'aws.instance', 'token': '00112233445566778899aabbccddeeff', 'min_count': 1,"    \
	" 'marks': {'cluster': 'c', 'lineage': 'lin', 'pool': 'train', 'indexes': '2-3,7', "       \
	"'commit': null},"                                                                         \
	" 'items': [{'address': 'aws.instance.train[2]', 'index': 2},"                             \
	"  {'address': 'aws.instance.train[3]', 'index': 3},"                                      \
	"  {'address': 'aws.instance.train[7]', 'index': 7}],"                                     \
	" 'attributes': {'instance_type': 'p3.2xlarge', 'image_id': 'ami-1', 'subnet_id':"         \
	"  'subnet-1', 'security_groups': ['sg-1'], 'user_data': 'hello', 'root_device':"          \
	"  '/dev/sda1', 'disk_size_gb': 100, 'disk_type': 'gp3', 'disk_encrypted': true,"          \
	"  'http_tokens': 'required', 'instance_state': 'running', 'tags': {'team': 'ml'}}}"

static rgp_status create(AwsFixture *f)
{
	return aws_test_run(f->aws->create, f->inst, f->call, CREATE);
}

static void test_run_form(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-a", 0, "pending", "");
	g_autofree char *b = aws_instance_xml("i-b", 2, "pending", "");
	g_autofree char *c = aws_instance_xml("i-c", 1, "pending", "");
	g_autofree char *all = g_strconcat(a, b, c, NULL);
	aws_say_instances(f, "RunInstances", all, "");
	g_assert_cmpint(create(f), ==, RGP_OK);
	static const char *const fields[][2] = {
		{"Action", "RunInstances"},
		{"MinCount", "1"},
		{"MaxCount", "3"},
		{"ClientToken", "00112233445566778899aabbccddeeff"},
		{"UserData", "aGVsbG8="},
		{"BlockDeviceMapping.1.DeviceName", "/dev/sda1"},
		{"BlockDeviceMapping.1.Ebs.Encrypted", "true"},
		{"BlockDeviceMapping.1.Ebs.VolumeSize", "100"},
		{"MetadataOptions.HttpTokens", "required"},
		{"MetadataOptions.HttpPutResponseHopLimit", "1"},
		{"NetworkInterface.1.DeviceIndex", "0"},
		{"NetworkInterface.1.SubnetId", "subnet-1"},
		{"NetworkInterface.1.SecurityGroupId.1", "sg-1"},
		{"NetworkInterface.1.AssociatePublicIpAddress", "false"},
		{"NetworkInterface.1.DeleteOnTermination", "true"},
		{"InstanceInitiatedShutdownBehavior", "terminate"},
		{"MetadataOptions.InstanceMetadataTags", NULL},
		{"TagSpecification.1.ResourceType", "instance"},
		{"TagSpecification.2.ResourceType", "volume"},
		{"TagSpecification.3.ResourceType", "network-interface"},
		{"TagSpecification.1.Tag.2.Key", "raygpu:indexes"},
		{"TagSpecification.1.Tag.2.Value", "2-3,7"},
		{"SubnetId", NULL},
		{"SecurityGroupId.1", NULL},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		aws_expect_field(f, 0, fields[i][0], fields[i][1]);
	g_assert_cmpstr(
		aws_text_of(aws_test_item(f->call, "aws.instance.train[2]"), "id"), ==, "i-a");
	g_assert_cmpstr(
		aws_text_of(aws_test_item(f->call, "aws.instance.train[3]"), "id"), ==, "i-c");
	g_assert_cmpstr(
		aws_text_of(aws_test_item(f->call, "aws.instance.train[7]"), "id"), ==, "i-b");
	/* user data contains the Ray token in base64: the host must redact all of it */
	g_assert_true(
		g_ptr_array_find_with_equal_func(f->call->secrets, "aGVsbG8=", g_str_equal, NULL));
}

static void test_head_form(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-h", 0, "pending", "");
	aws_say_instances(f, "RunInstances", a, "");
	rgp_status status = aws_test_run(f->aws->create, f->inst, f->call,
		"{'kind': 'aws.instance', 'token': 'aa', 'min_count': 1, 'marks': {'lineage': 'l'},"
		" 'items': [{'address': 'aws.instance.head', 'index': null}], 'attributes':"
		" {'instance_type': 'm5.large', 'image_id': 'ami-1', 'subnet_id': 'subnet-1',"
		" 'network_interface': 'eni-9', 'user_data_base64': 'H4sI', 'root_device': "
		"'/dev/x',"
		" 'http_tokens': 'required', 'tags': {}}}");
	g_assert_cmpint(status, ==, RGP_OK);
	aws_expect_item(f, "aws.instance.head", "done", "");
	aws_expect_field(f, 0, "NetworkInterface.1.NetworkInterfaceId", "eni-9");
	aws_expect_field(f, 0, "NetworkInterface.1.SubnetId", NULL);
	aws_expect_field(f, 0, "TagSpecification.3.ResourceType", NULL);
	aws_expect_field(f, 0, "UserData", "H4sI");
	aws_expect_field(f, 0, "TagSpecification.1.Tag.3.Key", "raygpu:name");
	aws_expect_field(f, 0, "TagSpecification.1.Tag.3.Value", "head");
}

static void test_partial(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-a", 0, "pending", "");
	aws_say_instances(f, "RunInstances", a, "");
	g_assert_cmpint(create(f), ==, RGP_OK);
	aws_expect_item(f, "aws.instance.train[2]", "done", "");
	aws_expect_item(f, "aws.instance.train[3]", "failed", "capacity");
	aws_expect_item(f, "aws.instance.train[7]", "failed", "capacity");
	g_assert_true(aws_is_definite(f, "aws.instance.train[7]"));
}

static void expect_all_failed(AwsFixture *f, const char *class_, bool definite)
{
	static const char *const addresses[] = {
		"aws.instance.train[2]", "aws.instance.train[3]", "aws.instance.train[7]"};
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
		aws_expect_item(f, addresses[i], "failed", class_);
		g_assert_cmpint(aws_is_definite(f, addresses[i]), ==, definite);
	}
}

static void test_refusals(AwsFixture *f, gconstpointer data)
{
	static const struct {
		int status;
		const char *code, *class_, *attribute;
	} cases[] = {
		{500, "InsufficientInstanceCapacity", "capacity", "instance_type"},
		{400, "VcpuLimitExceeded", "quota", "instance_type"},
		{403, "UnauthorizedOperation", "denied", ""},
		{400, "InvalidAMIID.NotFound", "invalid", "image_id"},
		{400, "IdempotentParameterMismatch", "conflict", ""},
		{400, "Unsupported", "invalid", "instance_type"},
		{400, "NeverHeardOf", "invalid", ""},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		aws_server_reset(f->server);
		aws_server_say_error(f->server, cases[i].status, cases[i].code, "because");
		g_assert_cmpint(create(f), ==, RGP_OK);
		g_assert_cmpuint(aws_server_count(f->server), ==, 1); /* none is retried */
		expect_all_failed(f, cases[i].class_, true);
		const json_t *item = aws_test_item(f->call, "aws.instance.train[2]");
		g_assert_cmpstr(aws_text_of(item, "code"), ==, cases[i].code);
		g_assert_cmpstr(aws_text_of(item, "attribute"), ==, cases[i].attribute);
		g_assert_cmpstr(aws_text_of(item, "request_id"), ==, "req-bad");
		g_assert_true(g_str_has_prefix(aws_text_of(item, "message"), "because"));
	}
}

/* After a lost or doubtful answer, a refusal of the next try proves nothing. */
static void test_doubtful_refusals(AwsFixture *f, gconstpointer data)
{
	aws_server_say_error(f->server, 500, "InternalError", "oops");
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "no");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "denied", false);
	aws_server_say(f->server, 0, "");
	aws_server_say_error(f->server, 400, "VcpuLimitExceeded", "no");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "quota", false);
	/* nor does a refusal after a wait, if the answer before the wait was doubtful */
	aws_server_say_error(f->server, 500, "InternalError", "oops");
	aws_server_say_error(f->server, 400, "InvalidSubnetID.NotFound", "still unknown");
	aws_server_say_error(f->server, 400, "VcpuLimitExceeded", "no");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "quota", false);
	/* throttling is not doubtful: nothing was done */
	aws_server_say_error(f->server, 503, "RequestLimitExceeded", "slow");
	aws_server_say_error(f->server, 400, "VcpuLimitExceeded", "no");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "quota", true);
}

static void test_lost_answers(AwsFixture *f, gconstpointer data)
{
	f->call->max_tries = 1;
	aws_server_say(f->server, 0, "");
	g_assert_cmpint(create(f), ==, RGP_FAIL);
	g_assert_null(aws_test_given(f->call, "item", 0));
	aws_server_say(f->server, 200, "<RunInstancesResponse><instancesSet><item><instanceId>i-a");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "unknown", false);
	aws_server_say_ok(f->server, "RunInstances", "<instancesSet/>");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "unknown", false);
	aws_server_say(f->server, 500, "<html>bad gateway</html>");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "transient", false);
}

static void test_waits_on_create(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-a", 0, "pending", "");
	aws_server_say_error(f->server, 400, "InvalidGroup.NotFound", "not yet");
	aws_server_say_error(f->server, 400, "InvalidNetworkInterface.InUse", "still held");
	aws_say_instances(f, "RunInstances", a, "");
	g_assert_cmpint(create(f), ==, RGP_OK);
	aws_expect_item(f, "aws.instance.train[2]", "done", "");
	g_assert_cmpuint(f->call->sleeps, ==, 2);
	g_assert_cmpuint(f->call->logs->len, ==, 1);
	f->call->cancel_after_sleeps = 2;
	aws_server_say_error(f->server, 400, "InvalidGroup.NotFound", "not yet");
	aws_server_say_error(f->server, 400, "InvalidGroup.NotFound", "not yet");
	g_assert_cmpint(create(f), ==, RGP_CANCELED);
	f->call->cancel_after_sleeps = 0;
	for (int i = 0; i < 13; i++)
		aws_server_say_error(f->server, 400, "InvalidGroup.NotFound", "never");
	g_assert_cmpint(create(f), ==, RGP_OK);
	expect_all_failed(f, "invalid", true);
	g_assert_cmpuint(f->call->slept_ms, <, 70000);
}

static void test_terminated_token(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-a", 0, "running", "");
	g_autofree char *b = aws_instance_xml("i-b", 1, "terminated", "");
	g_autofree char *c = aws_instance_xml("i-c", 2, "running", "");
	g_autofree char *all = g_strconcat(a, b, c, NULL);
	aws_server_say_error(f->server, 400, "IdempotentInstanceTerminated", "one has ended");
	aws_say_instances(f, "DescribeInstances", a, ""); /* the list lags */
	aws_say_instances(f, "DescribeInstances", all, "");
	g_assert_cmpint(create(f), ==, RGP_OK);
	aws_expect_field(f, 1, "Filter.1.Name", "client-token");
	aws_expect_field(f, 1, "Filter.1.Value.1", "00112233445566778899aabbccddeeff");
	aws_expect_item(f, "aws.instance.train[2]", "done", "");
	aws_expect_item(f, "aws.instance.train[3]", "failed", "gone");
	aws_expect_item(f, "aws.instance.train[7]", "done", "");
	g_assert_true(aws_is_definite(f, "aws.instance.train[3]"));
}

#define ADD(path, fn)                                                                              \
	g_test_add("/aws/" path, AwsFixture, NULL, aws_fixture_set_up, fn, aws_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("create/one-run-instances-with-all-that-it-needs", test_run_form);
	ADD("create/the-head-takes-its-interface", test_head_form);
	ADD("create/a-short-delivery-is-capacity-of-the-rest", test_partial);
	ADD("create/refusals-are-definite-and-not-repeated", test_refusals);
	ADD("create/a-refusal-after-a-doubt-is-not-definite", test_doubtful_refusals);
	ADD("create/lost-and-cut-answers-prove-nothing", test_lost_answers);
	ADD("create/waits-for-young-and-held-things", test_waits_on_create);
	ADD("create/a-terminated-token-keeps-its-survivors", test_terminated_token);
	return g_test_run();
}
