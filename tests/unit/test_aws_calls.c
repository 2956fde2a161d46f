/* The other calls over a socket: ready, remove, groups, update, lower. */
#include "aws_fixture.h"
#include <string.h>

static void test_ready(AwsFixture *f, gconstpointer data)
{
	g_autofree char *a = aws_instance_xml("i-a", 0, "running", AWS_MARKS);
	g_autofree char *b = aws_instance_xml("i-b", 1, "pending", AWS_MARKS);
	g_autofree char *c = aws_instance_xml("i-c", 2, "terminated",
		"<stateReason><code>Server.InsufficientInstanceCapacity</code><message>none left"
		"</message></stateReason>");
	g_autofree char *d = aws_instance_xml("i-d", 3, "shutting-down",
		"<stateReason><code>Client.InternalError</code><message>Client error on launch"
		"</message></stateReason>");
	g_autofree char *all = g_strconcat(a, b, c, d, NULL);
	aws_say_instances(f, "DescribeInstances", all, "");
	rgp_status status = aws_test_run(f->aws->ready, f->inst, f->call,
		"{'kind': 'aws.instance', 'items': [{'address': 'A', 'id': 'i-a'}, {'address': 'B',"
		" 'id': 'i-b'}, {'address': 'C', 'id': 'i-c'}, {'address': 'D', 'id': 'i-d'},"
		" {'address': 'E', 'id': 'i-e'}]}");
	g_assert_cmpint(status, ==, RGP_OK);
	g_assert_cmpuint(aws_server_count(f->server), ==, 1);
	aws_expect_item(f, "A", "done", "");
	g_assert_cmpstr(aws_text_of(json_object_get(aws_test_item(f->call, "A"), "attributes"),
				"private_ip"),
		==, "10.0.0.4");
	aws_expect_item(f, "B", "pending", "");
	aws_expect_item(f, "C", "failed", "capacity");
	aws_expect_item(f, "D", "failed", "invalid");
	aws_expect_item(f, "E", "pending", "");
}

/* Of an interface with and without EC2's address, with an Elastic IP, and one that is still free.
 */
static void test_ready_in_use(AwsFixture *f, gconstpointer data)
{
	static const char *const asked = "'in_use': true, 'recorded': {'public_ip': true}";
	static const struct {
		const char *status, *owner, *more, *outcome;
		bool missed;
	} cases[] = {
		{"in-use", NULL, NULL, "done", true},
		{"in-use", "amazon", NULL, "done", false},
		{"in-use", "123456789012", NULL, "done", true},
		{"available", NULL, NULL, "pending", false},
		{"available", NULL, "'recorded': {'public_ip': true}", "done", false},
		{"available", NULL, "'in_use': true, 'recorded': {}", "done", false},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *association = g_strdup_printf(
			"<association><ipOwnerId>%s</ipOwnerId></association>", cases[i].owner);
		g_autofree char *inside = g_strdup_printf(
			"<networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId>"
			"<status>%s</status>%s</item></networkInterfaceSet>",
			cases[i].status, cases[i].owner ? association : "");
		g_autofree char *input =
			g_strdup_printf("{'kind': 'aws.network_interface', 'items': [{'address': "
					"'A', 'id': 'eni-1', "
					"%s}]}",
				cases[i].more ? cases[i].more : asked);
		aws_server_say_ok(f->server, "DescribeNetworkInterfaces", inside);
		g_assert_cmpint(aws_test_run(f->aws->ready, f->inst, f->call, input), ==, RGP_OK);
		aws_expect_item(f, "A", cases[i].outcome, "");
		const json_t *changed = json_object_get(aws_test_item(f->call, "A"), "changed");
		g_assert_cmpuint(json_array_size(changed), ==, cases[i].missed);
		aws_server_reset(f->server);
	}
}

#define REMOVE                                                                                     \
	"{'kind': 'aws.instance', 'items': [{'address': 'A', 'id': 'i-a'}, {'address': 'B',"       \
	" 'id': 'i-b'}, {'address': 'C', 'id': 'i-bc'}]}"

static void test_remove(AwsFixture *f, gconstpointer data)
{
	aws_server_say_ok(f->server, "TerminateInstances", "");
	g_assert_cmpint(aws_test_run(f->aws->remove, f->inst, f->call, REMOVE), ==, RGP_OK);
	g_assert_cmpuint(aws_server_count(f->server), ==, 1);
	aws_expect_item(f, "A", "done", "");
	aws_expect_item(f, "C", "done", "");
	/* an unknown id: the others are terminated at once, it is tried again before it counts as
	 * gone */
	aws_server_reset(f->server);
	aws_server_say_error(f->server, 400, "InvalidInstanceID.NotFound",
		"The instance ID 'i-b' does not exist");
	aws_server_say_ok(f->server, "TerminateInstances", "");
	aws_server_say_ok(f->server, "TerminateInstances", "");
	g_assert_cmpint(aws_test_run(f->aws->remove, f->inst, f->call, REMOVE), ==, RGP_OK);
	aws_expect_field(f, 1, "InstanceId.2", "i-a");
	aws_expect_field(f, 1, "InstanceId.1", "i-bc");
	aws_expect_field(f, 2, "InstanceId.1", "i-b");
	aws_expect_item(f, "A", "done", "");
	aws_expect_item(f, "B", "done", "");
	aws_expect_item(f, "C", "done", "");
	/* an id that stays unknown is gone; a protected one fails by itself */
	aws_server_reset(f->server);
	aws_server_say_error(f->server, 400, "OperationNotPermitted", "i-a is protected");
	aws_server_say_error(f->server, 400, "OperationNotPermitted", "i-a is protected");
	for (int i = 0; i < 7; i++)
		aws_server_say_error(f->server, 400, "InvalidInstanceID.NotFound", "'i-b'");
	aws_server_say_ok(f->server, "TerminateInstances", "");
	g_assert_cmpint(aws_test_run(f->aws->remove, f->inst, f->call, REMOVE), ==, RGP_OK);
	aws_expect_item(f, "A", "failed", "conflict");
	aws_expect_item(f, "B", "done", "");
	aws_expect_item(f, "C", "done", "");
}

/* What others use is pending: the host asks again, and nothing waits here. */
static void test_delete_of_what_is_used_is_pending(AwsFixture *f, gconstpointer data)
{
	static const char *const busy[][4] = {
		{"interface", "aws.network_interface", "InvalidParameterValue",
			"Network interface 'eni-1' is currently in use."},
		{"group", "aws.security_group", "DependencyViolation", "has a dependent object"},
		{"placement", "aws.placement_group", "InvalidPlacementGroup.InUse", "is in use"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(busy); i++) {
		g_autofree char *input = g_strdup_printf(
			"{'kind': '%s', 'items': [{'address': 'A', 'id': 'x-1'}, {'address': 'B',"
			" 'id': 'x-2'}]}",
			busy[i][1]);
		aws_server_reset(f->server);
		aws_server_say_error(f->server, 400, busy[i][2], busy[i][3]);
		aws_server_say_ok(f->server, "Delete", "<return>true</return>");
		g_assert_cmpint(aws_test_run(f->aws->remove, f->inst, f->call, input), ==, RGP_OK);
		aws_expect_item(f, "A", "pending", "");
		aws_expect_item(f, "B", "done", "");
		g_assert_cmpuint(f->call->slept_ms, ==, 0);
	}
}

#define GROUP                                                                                      \
	"{'kind': 'aws.security_group', 'token': '0123456789abcdef', 'min_count': 1, 'marks':"     \
	" {'cluster': 'c', 'lineage': 'lin'}, 'items': [{'address': 'aws.security_group.nodes',"   \
	" 'index': null}], 'attributes': {'description': 'd', 'vpc_id': 'vpc-1', 'ingress':"       \
	" [{'protocol': 'all', 'source': 'self'}], 'egress': [{'protocol': 'all', 'source':"       \
	" '0.0.0.0/0'}], 'tags': {'team': 'ml'}}}"

static void say_group(AwsFixture *f, const char *token, const char *egress)
{
	g_autofree char *inside = g_strdup_printf(
		"<securityGroupInfo><item><groupId>sg-1</groupId><groupName>raygpu-c-01234567"
		"</groupName><groupDescription>d</groupDescription><vpcId>vpc-1</vpcId>"
		"<ipPermissions/><ipPermissionsEgress><item><ipProtocol>-1</ipProtocol><ipRanges>"
		"<item><cidrIp>0.0.0.0/0</cidrIp></item></ipRanges>%s</item></ipPermissionsEgress>"
		"<tagSet><item><key>raygpu:token</key><value>%s</value></item><item>"
		"<key>raygpu:lineage</key><value>lin</value></item></tagSet></item>"
		"</securityGroupInfo>",
		egress, token);
	aws_server_say_ok(f->server, "DescribeSecurityGroups", inside);
}

static void test_group_create(AwsFixture *f, gconstpointer data)
{
	aws_server_say_ok(f->server, "CreateSecurityGroup", "<groupId>sg-1</groupId>");
	say_group(f, "0123456789abcdef",
		"<ipv6Ranges><item><cidrIpv6>::/0</cidrIpv6></item></ipv6Ranges>");
	aws_server_say_error(f->server, 400, "InvalidGroup.NotFound", "not yet");
	aws_server_say_ok(f->server, "AuthorizeSecurityGroupIngress", "");
	aws_server_say_ok(f->server, "RevokeSecurityGroupEgress", "");
	g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, GROUP), ==, RGP_OK);
	aws_expect_item(f, "aws.security_group.nodes", "done", "");
	aws_expect_field(f, 0, "GroupName", "raygpu-c-01234567");
	aws_expect_field(f, 0, "TagSpecification.1.ResourceType", "security-group");
	aws_expect_field(f, 3, "IpPermissions.1.IpProtocol", "-1");
	aws_expect_field(f, 3, "IpPermissions.1.Groups.1.GroupId", "sg-1");
	aws_expect_field(f, 4, "IpPermissions.1.Ipv6Ranges.1.CidrIpv6", "::/0");
	aws_expect_field(f, 4, "IpPermissions.1.IpRanges.1.CidrIp", NULL);
}

static void test_group_adopted(AwsFixture *f, gconstpointer data)
{
	aws_server_say_error(f->server, 400, "InvalidGroup.Duplicate", "taken");
	aws_server_say_ok(f->server, "DescribeSecurityGroups", "<securityGroupInfo/>");
	say_group(f, "0123456789abcdef", "");
	say_group(f, "0123456789abcdef", "");
	aws_server_say_error(f->server, 400, "InvalidPermission.Duplicate", "there");
	g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, GROUP), ==, RGP_OK);
	aws_expect_item(f, "aws.security_group.nodes", "done", "");
	g_assert_cmpstr(
		aws_text_of(aws_test_item(f->call, "aws.security_group.nodes"), "id"), ==, "sg-1");
	/* someone else's group of that name */
	aws_server_say_error(f->server, 400, "InvalidGroup.Duplicate", "taken");
	say_group(f, "another", "");
	g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, GROUP), ==, RGP_OK);
	aws_expect_item(f, "aws.security_group.nodes", "failed", "conflict");
	/* the group exists, its rules do not: not definite, so that it is sent again and
	 * completed */
	aws_server_say_ok(f->server, "CreateSecurityGroup", "<groupId>sg-1</groupId>");
	say_group(f, "0123456789abcdef", "");
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "no");
	g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, GROUP), ==, RGP_OK);
	aws_expect_item(f, "aws.security_group.nodes", "failed", "denied");
	g_assert_false(aws_is_definite(f, "aws.security_group.nodes"));
}

static void test_update(AwsFixture *f, gconstpointer data)
{
	aws_server_say_error(f->server, 400, "IncorrectInstanceState", "still stopping");
	aws_server_say_ok(f->server, "StartInstances", "");
	aws_server_say_ok(f->server, "CreateTags", "<return>true</return>");
	aws_server_say_ok(f->server, "DeleteTags", "<return>true</return>");
	rgp_status status = aws_test_run(f->aws->update, f->inst, f->call,
		"{'kind': 'aws.instance', 'items': ["
		"{'address': 'A', 'id': 'i-a', 'attributes': {'tags': {'k': 'v'}}, 'observed': "
		"{'tags':"
		" {'k': 'x', 'old': '1', 'org': 'theirs'}}, 'recorded': {'tags': {'k': 'v', 'old': "
		"'1'}}, 'changed': ['tags']},"
		"{'address': 'B', 'id': 'i-b', 'attributes': {'tags': {'k': 'v'}}, 'observed': "
		"{'tags':"
		" {'k': 'y', 'old': '2', 'org': 'theirs'}}, 'recorded': {'tags': {'k': 'v', 'old': "
		"'2'}}, 'changed': ['tags', 'instance_state']},"
		"{'address': 'C', 'id': 'i-c', 'attributes': {}, 'observed': {}, 'changed':"
		" ['instance_type', 'tags']}]}");
	g_assert_cmpint(status, ==, RGP_OK);
	aws_expect_item(f, "A", "done", "");
	aws_expect_item(f, "B", "done", "");
	aws_expect_item(f, "C", "unsupported", "");
	aws_expect_field(f, 0, "InstanceId.1", "i-b");
	aws_expect_field(f, 0, "InstanceId.2", NULL);
	aws_expect_field(f, 2, "ResourceId.1", "i-a");
	aws_expect_field(f, 2, "ResourceId.2", "i-b");
	aws_expect_field(f, 2, "Tag.1.Key", "k");
	aws_expect_field(f, 2, "Tag.1.Value", "v");
	aws_expect_field(f, 3, "Tag.1.Key", "old");
	aws_expect_field(f, 3, "Tag.1.Value", NULL);
	aws_expect_field(f, 3, "Tag.2.Key", NULL); /* someone else's stays */
}

static void test_update_failure_is_the_items_own(AwsFixture *f, gconstpointer data)
{
	aws_server_say_error(f->server, 500, "InsufficientInstanceCapacity", "none");
	aws_server_say_ok(f->server, "StartInstances", "");
	aws_server_say_error(f->server, 500, "InsufficientInstanceCapacity", "none");
	rgp_status status = aws_test_run(f->aws->update, f->inst, f->call,
		"{'kind': 'aws.instance', 'items': ["
		"{'address': 'A', 'id': 'i-a', 'attributes': {}, 'changed': ['instance_state']},"
		"{'address': 'B', 'id': 'i-b', 'attributes': {}, 'changed': ['instance_state']}]}");
	g_assert_cmpint(status, ==, RGP_OK);
	aws_expect_item(f, "A", "done", "");
	aws_expect_item(f, "B", "failed", "capacity");
}

/* EC2 names what it cannot find and does nothing: the others are sent again without it. */
static void test_update_of_a_gone_one_spares_the_others(AwsFixture *f, gconstpointer data)
{
	for (int i = 0; i < 7; i++)
		aws_server_say_error(f->server, 400, "InvalidInstanceID.NotFound",
			"The instance ID 'i-b' does not exist");
	aws_server_say_ok(f->server, "CreateTags", "<return>true</return>");
	rgp_status status = aws_test_run(f->aws->update, f->inst, f->call,
		"{'kind': 'aws.instance', 'items': ["
		"{'address': 'A', 'id': 'i-a', 'attributes': {'tags': {'k': 'v'}}, 'changed': "
		"['tags']},"
		"{'address': 'B', 'id': 'i-b', 'attributes': {'tags': {'k': 'v'}}, 'changed': "
		"['tags']},"
		"{'address': 'C', 'id': 'i-c', 'attributes': {'tags': {'k': 'v'}}, 'changed': "
		"['tags']}]}");
	g_assert_cmpint(status, ==, RGP_OK);
	aws_expect_item(f, "A", "done", "");
	aws_expect_item(f, "B", "failed", "gone");
	aws_expect_item(f, "C", "done", "");
	unsigned last = aws_server_count(f->server) - 1;
	aws_expect_field(f, last, "ResourceId.1", "i-a");
	aws_expect_field(f, last, "ResourceId.2", "i-c");
	aws_expect_field(f, last, "ResourceId.3", NULL);
}

static void test_lower(AwsFixture *f, gconstpointer data)
{
	rgp_status status = aws_test_run(f->aws->lower, f->inst, f->call,
		"{'cluster': 'c', 'lineage': null, 'labels': {'team': 'ml'}, 'facts': {'module':"
		" {'vpc_id': 'vpc-1', 'subnets': {'z': 'subnet-1'}}}, 'nodes': [{'pool': 'head',"
		" 'role': 'head', 'origin': '/head', 'indexes': null, 'offer': {'instance_type': "
		"'m',"
		" 'zone': 'z'}, 'image': {'id': 'ami-1', 'root_device': '/dev/x'}, 'disk':"
		" {'size_gb': 9, 'type': 'gp3'}, 'boot': {'user_data': {'$join': ['a', {'$ref':"
		" 'raygpu.secret.ray_token', 'attr': 'value'}]}}}, {'pool': 'w', 'role': 'worker',"
		" 'origin': '/pools/w', 'indexes': [0, 5], 'offer': {'instance_type': 'g', 'zone':"
		" 'z'}, 'image': {'id': 'ami-1', 'root_device': '/dev/x'}, 'disk': {}, 'boot':"
		" {'user_data': {'$gzip_base64': {'$join': [{'$ref': '@head', 'attr': "
		"'private_ip'}]}}}"
		"}]}");
	g_assert_cmpint(status, ==, RGP_OK);
	const json_t *all = aws_test_given(f->call, "resources", 0);
	g_assert_cmpuint(json_array_size(all), ==, 4);
	static const char *const addresses[] = {"aws.security_group.nodes",
		"aws.network_interface.head", "aws.instance.head", "aws.instance.w"};
	json_t *indexes = json_pack("[i, i]", 0, 5);
	g_assert_true(json_equal(json_object_get(json_array_get(all, 3), "indexes"), indexes));
	json_decref(indexes);
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++)
		g_assert_cmpstr(aws_text_of(json_array_get(all, i), "address"), ==, addresses[i]);
	json_t *head_needs =
		json_pack("[s, s]", "aws.network_interface.head", "raygpu.secret.ray_token");
	json_t *worker_needs =
		json_pack("[s, s]", "aws.network_interface.head", "aws.security_group.nodes");
	g_assert_true(
		json_equal(json_object_get(json_array_get(all, 2), "depends_on"), head_needs));
	g_assert_true(
		json_equal(json_object_get(json_array_get(all, 3), "depends_on"), worker_needs));
	json_decref(head_needs);
	json_decref(worker_needs);
	const json_t *worker = json_object_get(json_array_get(all, 3), "attributes");
	char *boot = json_dumps(json_object_get(worker, "user_data_base64"), JSON_COMPACT);
	g_assert_cmpstr(boot, ==,
		"{\"$gzip_base64\":{\"$join\":[{\"$ref\":\"aws.network_interface.head\",\"attr\":"
		"\"private_ip\"}]}}");
	free(boot);
	g_assert_cmpstr(aws_text_of(json_object_get(worker, "tags"), "Name"), ==, "c-w");
	g_assert_cmpuint(aws_server_count(f->server), ==, 0);
	status = aws_test_run(f->aws->lower, f->inst, f->call,
		"{'cluster': 'c', 'facts': {'module': {'vpc_id': 'v', 'subnets': {}}}, 'nodes': [{"
		"'pool': 'w', 'role': 'worker', 'origin': '/pools/w', 'indexes': [0], 'offer':"
		" {'instance_type': 'g', 'zone': 'q'}}]}");
	g_assert_cmpint(status, ==, RGP_FAIL);
	g_assert_cmpstr(
		aws_test_said(f->call, 0, "summary"), ==, "the network has no subnet in zone q");
}

/* Inputs of wrong types are refused or lead to plain failures, never to a crash. */
static void test_odd_inputs(AwsFixture *f, gconstpointer data)
{
	static const char *const inputs[] = {"", "[]", "{}", "{'kind': 3}", "{'kind': 'aws.vpc'}",
		"{'kind': 'aws.instance', 'items': []}", "{'kind': 'aws.instance', 'items': {}}",
		"{'nodes': [1, {'role': 'worker'}]}", "{'images': {}, 'instance_types': [1]}"};
	const rgp_fn calls[] = {f->aws->create, f->aws->remove, f->aws->update, f->aws->lower};
	for (size_t c = 0; c < G_N_ELEMENTS(calls); c++)
		for (size_t i = 0; i < G_N_ELEMENTS(inputs); i++)
			aws_test_run(calls[c], f->inst, f->call, inputs[i]);
	g_assert_cmpuint(aws_server_count(f->server), ==, 0);
	g_assert_cmpint(aws_test_run(f->aws->resolve, f->inst, f->call, inputs[8]), ==, RGP_FAIL);
}

#define ADD(path, fn)                                                                              \
	g_test_add("/aws/" path, AwsFixture, NULL, aws_fixture_set_up, fn, aws_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("ready/one-look-for-all", test_ready);
	ADD("ready/what-shows-only-in-use", test_ready_in_use);
	ADD("remove/unknown-ids-and-protected-ones", test_remove);
	ADD("remove/used-is-pending", test_delete_of_what_is_used_is_pending);
	ADD("group/is-made-closed-and-brought-to-its-rules", test_group_create);
	ADD("group/a-taken-name-is-adopted-by-its-marks", test_group_adopted);
	ADD("update/in-place-or-unsupported", test_update);
	ADD("update/a-failure-is-the-item's-own", test_update_failure_is_the_items_own);
	ADD("update/a-gone-one-spares-the-others", test_update_of_a_gone_one_spares_the_others);
	ADD("lower/gives-addresses-and-dependencies", test_lower);
	ADD("calls/odd-inputs-are-survived", test_odd_inputs);
	return g_test_run();
}
