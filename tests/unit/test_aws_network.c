/* The user's own network, groups and instance profile, over a scripted server. */
#include "aws_fixture.h"
#include "aws_host.h"
#include "aws_server.h"
#include <string.h>

const struct rgp_provider *raygpu_provider_v1_aws(void);

typedef struct {
	AwsServer *server;
	struct rgp_call *call;
	struct rgp_inst *inst;
	const struct rgp_provider *aws;
} Fixture;

static void open_with(Fixture *f, const char *settings)
{
	g_autofree char *url = aws_server_url(f->server);
	g_autofree char *config = g_strdup_printf(
		"{\"region\": \"us-east-1\", \"config\": {\"endpoint\": \"%s\"%s}}", url, settings);
	g_strdelimit(config, "'", '"');
	const struct rgp_args args = {.size = sizeof args, .input = {config, strlen(config)}};
	g_assert_cmpint(f->aws->open(&aws_test_host, f->call, &args, &f->inst), ==, RGP_OK);
}

static void set_up(Fixture *f, gconstpointer settings)
{
	f->server = aws_server_new();
	f->call = aws_test_call_new();
	f->aws = raygpu_provider_v1_aws();
	g_hash_table_insert(f->call->env, g_strdup("AWS_ACCESS_KEY_ID"), g_strdup("AKID"));
	g_hash_table_insert(f->call->env, g_strdup("AWS_SECRET_ACCESS_KEY"), g_strdup("secret"));
	open_with(f, settings);
}

static void tear_down(Fixture *f, gconstpointer data)
{
	g_assert_cmpuint(aws_server_left(f->server), ==, 0);
	f->aws->close(f->inst);
	aws_test_call_free(f->call);
	aws_server_free(f->server);
}

static void expect_field(Fixture *f, unsigned n, const char *name, const char *value)
{
	g_autofree char *field = aws_server_field(f->server, n, name);
	g_assert_cmpstr(field, ==, value);
}

static void expect_said(Fixture *f, size_t n, const char *origin, const char *summary)
{
	g_assert_cmpstr(aws_test_said(f->call, n, "origin"), ==, origin);
	g_assert_cmpstr(aws_test_said(f->call, n, "summary"), ==, summary);
}

static rgp_status resolve(Fixture *f)
{
	return aws_test_run(f->aws->resolve, f->inst, f->call, "{'images': [], 'place': true}");
}

static void say_subnets(Fixture *f, const char *const (*rows)[3], size_t n)
{
	g_autoptr(GString) items = g_string_new("<subnetSet>");
	for (size_t i = 0; i < n; i++)
		g_string_append_printf(items,
			"<item><subnetId>%s</subnetId><vpcId>%s</vpcId><availabilityZone>%s"
			"</availabilityZone><availabilityZoneId>id of %s</availabilityZoneId>"
			"</item>",
			rows[i][0], rows[i][1], rows[i][2], rows[i][2]);
	g_string_append(items, "</subnetSet>");
	aws_server_say_ok(f->server, "DescribeSubnets", items->str);
}

#define OWN                                                                                        \
	", 'vpc': 'vpc-1', 'subnets': {'us-east-1a': 'subnet-a', 'us-east-1b': 'subnet-b',"        \
	" 'us-east-1c': 'subnet-c'}, 'security_groups': ['sg-1', 'sg-2']"

static void say_vpc(Fixture *f)
{
	aws_server_say_ok(
		f->server, "DescribeVpcs", "<vpcSet><item><vpcId>vpc-1</vpcId></item></vpcSet>");
}

static void say_groups(Fixture *f)
{
	aws_server_say_ok(f->server, "DescribeSecurityGroups",
		"<securityGroupInfo><item><groupId>sg-2</groupId><vpcId>vpc-1</vpcId></item><item>"
		"<groupId>sg-1</groupId><vpcId>vpc-1</vpcId></item></securityGroupInfo>");
}

static void test_own_network(Fixture *f, gconstpointer data)
{
	static const char *const rows[][3] = {{"subnet-c", "vpc-1", "us-east-1c"},
		{"subnet-a", "vpc-1", "us-east-1a"}, {"subnet-b", "vpc-1", "us-east-1b"}};
	say_vpc(f);
	say_subnets(f, rows, 3);
	say_groups(f);
	g_assert_cmpint(resolve(f), ==, RGP_OK);
	const json_t *network = json_object_get(aws_test_given(f->call, "facts", 0), "module");
	json_t *expected = json_pack("{s:s, s:{s:s, s:s, s:s}}", "vpc_id", "vpc-1", "subnets",
		"us-east-1a", "subnet-a", "us-east-1b", "subnet-b", "us-east-1c", "subnet-c");
	g_assert_true(json_equal(network, expected));
	json_decref(expected);
	const json_t *ids = json_object_get(aws_test_given(f->call, "facts", 0), "zone_ids");
	g_assert_cmpuint(json_object_size(ids), ==, 3);
	g_assert_cmpstr(
		json_string_value(json_object_get(ids, "us-east-1b")), ==, "id of us-east-1b");
	expect_field(f, 0, "Filter.1.Name", "vpc-id");
	expect_field(f, 1, "Filter.1.Name", "subnet-id");
	expect_field(f, 1, "Filter.1.Value.3", "subnet-c");
	expect_field(f, 2, "Filter.1.Name", "group-id");
}

static void test_wrong_network(Fixture *f, gconstpointer data)
{
	static const char *const rows[][3] = {
		{"subnet-a", "vpc-2", "us-east-1a"}, {"subnet-b", "vpc-1", "us-east-1d"}};
	say_vpc(f);
	say_subnets(f, rows, 2);
	say_groups(f);
	g_assert_cmpint(resolve(f), ==, RGP_FAIL);
	g_assert_cmpuint(json_array_size(f->call->diags), ==, 3);
	expect_said(
		f, 0, "/provider/subnets/us-east-1a", "subnet subnet-a is in vpc-2, not in vpc-1");
	expect_said(f, 1, "/provider/subnets/us-east-1b",
		"subnet subnet-b is in us-east-1d, not in us-east-1b");
	expect_said(
		f, 2, "/provider/subnets/us-east-1c", "there is no subnet subnet-c in us-east-1");
	g_assert_null(aws_test_given(f->call, "facts", 0));
}

/* A truncated answer is not an answer: the user's subnets are not reported as missing because of
 * it. */
static void test_unread_network(Fixture *f, gconstpointer data)
{
	say_vpc(f);
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "no");
	say_groups(f);
	g_assert_cmpint(resolve(f), ==, RGP_FAIL);
	g_assert_cmpuint(json_array_size(f->call->diags), ==, 1);
	g_assert_cmpstr(aws_test_said(f->call, 0, "code"), ==, "UnauthorizedOperation");
	/* each missing permission is reported, equal messages once */
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "not DescribeVpcs");
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "not DescribeSubnets");
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "not DescribeVpcs");
	g_assert_cmpint(resolve(f), ==, RGP_FAIL);
	g_assert_cmpuint(json_array_size(f->call->diags), ==, 2);
}

static void test_vpc_alone(Fixture *f, gconstpointer data)
{
	static const char *const clear[][3] = {
		{"subnet-a", "vpc-1", "us-east-1a"}, {"subnet-b", "vpc-1", "us-east-1b"}};
	static const char *const unclear[][3] = {
		{"subnet-b", "vpc-1", "us-east-1a"}, {"subnet-a", "vpc-1", "us-east-1a"}};
	say_vpc(f);
	say_subnets(f, clear, 2);
	g_assert_cmpint(resolve(f), ==, RGP_OK);
	say_vpc(f);
	say_subnets(f, unclear, 2);
	g_assert_cmpint(resolve(f), ==, RGP_FAIL);
	expect_said(f, 0, "/provider/vpc",
		"VPC vpc-1 has several subnets in us-east-1a, including subnet-a and subnet-b");
	say_vpc(f);
	say_subnets(f, clear, 0);
	g_assert_cmpint(resolve(f), ==, RGP_FAIL);
	expect_said(f, 0, "/provider/vpc", "VPC vpc-1 has no subnets");
	aws_server_say_ok(f->server, "DescribeVpcs", "<vpcSet/>");
	say_subnets(f, clear, 0);
	g_assert_cmpint(resolve(f), ==, RGP_FAIL);
	expect_said(f, 0, "/provider/vpc", "there is no VPC vpc-1 in us-east-1");
}

/* Subnets without a VPC: theirs, if they agree. */
static void test_subnets_alone(Fixture *f, gconstpointer data)
{
	static const char *const rows[][3] = {
		{"subnet-a", "vpc-7", "us-east-1a"}, {"subnet-b", "vpc-8", "us-east-1b"}};
	say_subnets(f, rows, 2);
	g_assert_cmpint(resolve(f), ==, RGP_FAIL);
	expect_said(
		f, 0, "/provider/subnets/us-east-1b", "subnet subnet-b is in vpc-8, not in vpc-7");
}

static void test_lower(Fixture *f, gconstpointer data)
{
	rgp_status status = aws_test_run(f->aws->lower, f->inst, f->call,
		"{'cluster': 'c', 'labels': {}, 'scope': {'config': {'security_groups': ['sg-8'],"
		" 'instance_profile': 'arn:aws:iam::123456789012:instance-profile/a/b/ray'}},"
		" 'facts': {'module': {'vpc_id': 'vpc-1', 'subnets': {'z': 'subnet-1'}}},"
		" 'nodes': [{'pool': 'head', 'role': 'head', 'origin': '/head', 'indexes': null,"
		" 'offer': {'instance_type': 'm', 'zone': 'z'}, 'image': {'id': 'ami-1'}},"
		" {'pool': 'w', 'role': 'worker', 'origin': '/pools/w', 'indexes': [0], 'offer':"
		" {'instance_type': 'g', 'zone': 'z'}, 'image': {'id': 'ami-1'},"
		" 'network': {'public_ip': true}}]}");
	g_assert_cmpint(status, ==, RGP_OK);
	const json_t *all = aws_test_given(f->call, "resources", 0);
	json_t *groups = json_pack(
		"[{s:s, s:s}, s]", "$ref", "aws.security_group.nodes", "attr", "group_id", "sg-8");
	static const size_t grouped[] = {1, 3};
	for (size_t i = 0; i < G_N_ELEMENTS(grouped); i++) {
		const json_t *one = json_object_get(json_array_get(all, grouped[i]), "attributes");
		g_assert_true(json_equal(json_object_get(one, "security_groups"), groups));
	}
	json_decref(groups);
	for (size_t i = 2; i < 4; i++) {
		const json_t *one = json_object_get(json_array_get(all, i), "attributes");
		g_assert_cmpstr(
			json_string_value(json_object_get(one, "instance_profile")), ==, "ray");
		g_assert_cmpstr(json_string_value(json_object_get(one, "instance_profile_arn")), ==,
			"arn:aws:iam::123456789012:instance-profile/a/b/ray");
		g_assert_cmpint(json_is_true(json_object_get(one, "public_ip")), ==, i == 3);
	}
}

static void test_parameter(Fixture *f, gconstpointer data)
{
	static const char wants[] = "{'images': [{'key': 'k', 'image': 'ssm:/aws/x', 'arch':"
				    " 'x86_64', 'origin': '/head/image'}]}";
	static const struct {
		int status;
		const char *body, *said;
	} cases[] = {
		{200, "{\"Parameter\": {\"Value\": \"some text\"}}",
			"the value of SSM parameter /aws/x is not an image id (ami-...)"},
		{200, "", "the value of SSM parameter /aws/x is not an image id (ami-...)"},
		{400, "{\"__type\": \"com.amazonaws.ssm#ParameterNotFound\"}",
			"there is no SSM parameter /aws/x in us-east-1"},
		{400, "{\"__type\": \"AccessDeniedException\", \"Message\": \"no\"}",
			"SSM refused GetParameter of /aws/x (AccessDeniedException): no"},
		{403, "<html>", "SSM refused GetParameter of /aws/x (no code): it gave no reason"},
	};
	g_autofree char *url = aws_server_url(f->server);
	g_hash_table_insert(f->call->env, g_strdup("AWS_ENDPOINT_URL_SSM"), g_steal_pointer(&url));
	f->aws->close(f->inst);
	open_with(f, "");
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		aws_server_say(f->server, cases[i].status, cases[i].body);
		g_assert_cmpint(
			aws_test_run(f->aws->resolve, f->inst, f->call, wants), ==, RGP_FAIL);
		expect_said(f, 0, "/head/image", cases[i].said);
	}
	aws_server_reset(f->server);
	aws_server_say(f->server, 200, "{\"Parameter\": {\"Value\": \"ami-7\"}}");
	aws_server_say_ok(f->server, "DescribeImages",
		"<imagesSet><item><imageId>ami-7</imageId><imageState>available</imageState>"
		"<rootDeviceName>/dev/sda1</rootDeviceName></item></imagesSet>");
	g_assert_cmpint(aws_test_run(f->aws->resolve, f->inst, f->call, wants), ==, RGP_OK);
	g_assert_cmpstr(aws_server_form(f->server, 0), ==, "{\"Name\":\"/aws/x\"}");
	expect_field(f, 1, "ImageId.1", "ami-7");
}

#define CREATE                                                                                     \
	"{'kind': 'aws.instance', 'token': 't', 'min_count': 1, 'marks': {'lineage': 'l'},"        \
	" 'items': [{'address': 'aws.instance.w[0]', 'index': 0}], 'attributes': {'public_ip':"    \
	" true, 'instance_profile': 'ray', 'image_id': 'ami-1'}}"

static void test_create(Fixture *f, gconstpointer data)
{
	aws_server_say_error(f->server, 400, "InvalidParameterValue",
		"Value (ray) for parameter iamInstanceProfile.name is invalid. Invalid IAM "
		"Instance Profile name");
	aws_server_say_ok(f->server, "RunInstances",
		"<instancesSet><item><instanceId>i-1</instanceId><amiLaunchIndex>0"
		"</amiLaunchIndex><ipAddress>203.0.113.9</ipAddress></item></instancesSet>");
	g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, CREATE), ==, RGP_OK);
	expect_field(f, 1, "IamInstanceProfile.Name", "ray");
	expect_field(f, 1, "IamInstanceProfile.Arn", NULL);
	expect_field(f, 1, "NetworkInterface.1.AssociatePublicIpAddress", "true");
	const json_t *item = aws_test_item(f->call, "aws.instance.w[0]");
	const json_t *attributes = json_object_get(item, "attributes");
	g_assert_cmpstr(json_string_value(json_object_get(attributes, "public_address")), ==,
		"203.0.113.9");
	/* a name that stays unknown fails in the end, and certainly nothing was created */
	for (int i = 0; i < 40; i++)
		aws_server_say_error(f->server, 400, "InvalidParameterValue",
			"Invalid IAM Instance Profile name");
	g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, CREATE), ==, RGP_OK);
	item = aws_test_item(f->call, "aws.instance.w[0]");
	g_assert_cmpstr(json_string_value(json_object_get(item, "class")), ==, "invalid");
	g_assert_true(json_is_true(json_object_get(item, "definite")));
	g_assert_cmpuint(f->call->slept_ms, >=, 60000);
	g_assert_cmpuint(f->call->slept_ms, <, 90000);
	aws_server_reset(f->server);
}

static rgp_status update(Fixture *f, const char *attributes)
{
	g_autofree char *input = g_strdup_printf(
		"{'kind': 'aws.instance', 'items': [{'address': 'A', 'id': 'i-1', 'attributes': %s,"
		" 'changed': ['instance_profile']}]}",
		attributes);
	return aws_test_run(f->aws->update, f->inst, f->call, input);
}

static void say_association(Fixture *f, const char *state)
{
	g_autofree char *inside = g_strdup_printf(
		"<iamInstanceProfileAssociationSet><item><associationId>iip-1</associationId>"
		"<state>%s</state></item></iamInstanceProfileAssociationSet>",
		state);
	aws_server_say_ok(f->server, "DescribeIamInstanceProfileAssociations", inside);
}

static void test_change(Fixture *f, gconstpointer data)
{
	static const char *const one = "{'instance_profile': 'ray'}";
	static const char *const arn =
		"{'instance_profile': 'ray', 'instance_profile_arn': 'arn:x/ray'}";
	say_association(f, "associated");
	aws_server_say_ok(f->server, "ReplaceIamInstanceProfileAssociation", "");
	g_assert_cmpint(update(f, arn), ==, RGP_OK);
	expect_field(f, 1, "Action", "ReplaceIamInstanceProfileAssociation");
	expect_field(f, 1, "AssociationId", "iip-1");
	expect_field(f, 1, "IamInstanceProfile.Arn", "arn:x/ray");
	aws_server_reset(f->server);
	say_association(f, "disassociating");
	aws_server_say_error(f->server, 400, "IncorrectState", "still going");
	aws_server_say_ok(f->server, "AssociateIamInstanceProfile", "");
	g_assert_cmpint(update(f, one), ==, RGP_OK);
	expect_field(f, 2, "Action", "AssociateIamInstanceProfile");
	expect_field(f, 2, "InstanceId", "i-1");
	expect_field(f, 2, "IamInstanceProfile.Name", "ray");
	aws_server_reset(f->server);
	say_association(f, "associated");
	aws_server_say_ok(f->server, "DisassociateIamInstanceProfile", "");
	g_assert_cmpint(update(f, "{}"), ==, RGP_OK);
	expect_field(f, 1, "Action", "DisassociateIamInstanceProfile");
	expect_field(f, 1, "AssociationId", "iip-1");
	aws_server_reset(f->server);
	say_association(f, "disassociated");
	g_assert_cmpint(update(f, "{}"), ==, RGP_OK);
	g_assert_cmpuint(aws_server_count(f->server), ==, 1);
	say_association(f, "associated");
	aws_server_say_error(f->server, 403, "UnauthorizedOperation", "iam:PassRole");
	g_assert_cmpint(update(f, one), ==, RGP_OK);
	const json_t *item = aws_test_item(f->call, "A");
	g_assert_cmpstr(json_string_value(json_object_get(item, "class")), ==, "denied");
	g_assert_cmpstr(
		json_string_value(json_object_get(item, "attribute")), ==, "instance_profile");
}

static void test_read(Fixture *f, gconstpointer data)
{
	aws_server_say_ok(f->server, "DescribeInstances",
		"<reservationSet><item><instancesSet><item><instanceId>i-1</instanceId>" AWS_MARKS
		"<iamInstanceProfile><arn>arn:aws:iam::1:instance-profile/p/ray</arn>"
		"</iamInstanceProfile></item><item><instanceId>i-2</instanceId>" AWS_MARKS "</item>"
		"</instancesSet></item></reservationSet>");
	g_assert_cmpint(aws_test_run(f->aws->list, f->inst, f->call,
				"{'kinds': ['aws.instance'], 'lineage': 'l', 'known': {}}"),
		==, RGP_OK);
	json_auto_t *first = aws_test_resource(f->call, 0, 0);
	json_auto_t *second = aws_test_resource(f->call, 0, 1);
	const json_t *profile =
		json_object_get(json_object_get(first, "attributes"), "instance_profile");
	g_assert_cmpstr(json_string_value(profile), ==, "ray");
	g_assert_nonnull(second);
	g_assert_null(json_object_get(json_object_get(second, "attributes"), "instance_profile"));
}

#define ADD(path, settings, fn)                                                                    \
	g_test_add("/aws/network/" path, Fixture, settings, set_up, fn, tear_down)

int main(int argc, char **argv)
{
	static const char vpc[] = ", 'vpc': 'vpc-1'";
	static const char subnets[] =
		", 'subnets': {'us-east-1a': 'subnet-a', 'us-east-1b': 'subnet-b'}";
	g_test_init(&argc, &argv, NULL);
	ADD("own-network-is-taken-as-it-is", OWN, test_own_network);
	ADD("every-wrong-subnet-is-told-at-its-line", OWN, test_wrong_network);
	ADD("what-can't-be-read-is-not-called-missing", OWN, test_unread_network);
	ADD("a-vpc-alone-must-be-clear", vpc, test_vpc_alone);
	ADD("subnets-alone-must-agree", subnets, test_subnets_alone);
	ADD("lower-adds-groups-profile-and-public-address", "", test_lower);
	ADD("create-waits-for-a-young-profile", "", test_create);
	ADD("a-profile-is-replaced-associated-taken-away", "", test_change);
	ADD("list-tells-the-profile", "", test_read);
	ADD("an-image-by-parameter", "", test_parameter);
	return g_test_run();
}
