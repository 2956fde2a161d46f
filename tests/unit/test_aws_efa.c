/* Nodes with EFA interfaces: the request of RunInstances, the records, and what lower requires of
 * the group and refuses. */
#include "aws_fixture.h"
#include <string.h>

#define CREATE(type, efa, more)                                                                    \
	"{'kind': 'aws.instance', 'token': 'aa', 'min_count': 1, 'marks': {'lineage': 'l'},"       \
	" 'items': [{'address': 'A', 'index': 0}], 'attributes': {'instance_type': '" type         \
	"', 'image_id': 'ami-1', 'subnet_id': 'subnet-1', 'security_groups': ['sg-1', 'sg-2'],"    \
	" 'root_device': '/dev/x', 'http_tokens': 'required', 'tags': {}, 'efa_interfaces': " efa  \
		more "}}"

static void send(AwsFixture *f, const char *input)
{
	g_autofree char *xml = aws_instance_xml("i-a", 0, "pending", "");
	aws_server_reset(f->server);
	aws_say_instances(f, "RunInstances", xml, "");
	g_assert_cmpint(aws_test_run(f->aws->create, f->inst, f->call, input), ==, RGP_OK);
}

static void expect_interface(
	AwsFixture *f, unsigned n, const char *card, const char *device, const char *kind)
{
	const struct {
		const char *name, *value;
	} fields[] = {
		{"NetworkCardIndex", card},
		{"DeviceIndex", device},
		{"InterfaceType", kind},
		{"SubnetId", "subnet-1"},
		{"SecurityGroupId.1", "sg-1"},
		{"SecurityGroupId.2", "sg-2"},
		{"DeleteOnTermination", "true"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
		g_autofree char *name =
			g_strdup_printf("NetworkInterface.%u.%s", n, fields[i].name);
		aws_expect_field(f, 0, name, fields[i].value);
	}
}

static void test_cards(AwsFixture *f, gconstpointer data)
{
	send(f, CREATE("p4d.24xlarge", "4", ""));
	expect_interface(f, 1, "0", "0", "efa");
	expect_interface(f, 2, "1", "1", "efa-only");
	expect_interface(f, 4, "3", "1", "efa-only");
	aws_expect_field(f, 0, "NetworkInterface.5.DeviceIndex", NULL);
	aws_expect_field(f, 0, "NetworkInterface.1.AssociatePublicIpAddress", "false");
	aws_expect_field(f, 0, "NetworkInterface.2.AssociatePublicIpAddress", NULL);
	aws_expect_field(f, 0, "TagSpecification.3.ResourceType", "network-interface");
	send(f, CREATE("p5.48xlarge", "32", ""));
	expect_interface(f, 32, "31", "1", "efa-only");
	aws_expect_field(f, 0, "NetworkInterface.33.DeviceIndex", NULL);
	/* the first card supports none */
	send(f, CREATE("p6-b300.48xlarge", "16", ""));
	expect_interface(f, 1, "0", "0", "interface");
	expect_interface(f, 2, "1", "0", "efa-only");
	expect_interface(f, 17, "16", "0", "efa-only");
	aws_expect_field(f, 0, "NetworkInterface.18.DeviceIndex", NULL);
	send(f, CREATE("g4dn.8xlarge", "1", ", 'public_ip': true"));
	expect_interface(f, 1, "0", "0", "efa");
	aws_expect_field(f, 0, "NetworkInterface.1.AssociatePublicIpAddress", "true");
	send(f, CREATE("g4dn.8xlarge", "0", ""));
	aws_expect_field(f, 0, "NetworkInterface.1.InterfaceType", NULL);
}

#define INTERFACE(id, card, device, kind, group)                                                   \
	"<item><networkInterfaceId>" id "</networkInterfaceId><interfaceType>" kind                \
	"</interfaceType><attachment><deviceIndex>" device "</deviceIndex><networkCardIndex>" card \
	"</networkCardIndex></attachment><groupSet><item><groupId>" group                          \
	"</groupId></item></groupSet></item>"

static json_t *listed(AwsFixture *f, const char *interfaces)
{
	g_autofree char *xml = g_strdup_printf(
		"<item><instanceId>i-a</instanceId>" AWS_MARKS
		"<instanceState><name>running</name></instanceState><networkInterfaceSet>%s</"
		"networkInterfaceSet></item>",
		interfaces);
	aws_test_call_reset(f->call);
	aws_say_instances(f, "DescribeInstances", xml, "");
	rgp_status status = aws_test_run(f->aws->list, f->inst, f->call,
		"{'kinds': ['aws.instance'], 'lineage': 'l', 'cluster': 'c', 'known': {}}");
	g_assert_cmpint(status, ==, RGP_OK);
	return aws_test_resource(f->call, 0, 0);
}

/* EC2 does not guarantee an order, and several interfaces may be device 0 of their card. */
static void test_seen(AwsFixture *f, gconstpointer data)
{
	json_auto_t *one = listed(
		f, INTERFACE("eni-2", "2", "0", "efa-only", "sg-9") INTERFACE("eni-1", "1", "0",
			   "efa-only", "sg-9") INTERFACE("eni-0", "0", "0", "interface", "sg-1"));
	const json_t *attributes = json_object_get(one, "attributes");
	g_assert_cmpint(json_integer_value(json_object_get(attributes, "efa_interfaces")), ==, 2);
	g_assert_cmpstr(aws_text_of(attributes, "network_interface"), ==, "eni-0");
	json_t *groups = json_pack("[s]", "sg-1");
	g_assert_true(json_equal(json_object_get(attributes, "security_groups"), groups));
	json_decref(groups);
	json_auto_t *without = listed(f, INTERFACE("eni-0", "0", "0", "interface", "sg-1"));
	g_assert_null(json_object_get(json_object_get(without, "attributes"), "efa_interfaces"));
}

static rgp_status lower(AwsFixture *f, const char *type, const char *network)
{
	g_autofree char *input = g_strdup_printf(
		"{'cluster': 'c', 'facts': {'module': {'vpc_id': 'v', 'subnets': {'z': 's'}}},"
		" 'nodes': [{'pool': 'w', 'role': 'worker', 'origin': '/pools/w', 'indexes': [0],"
		" 'offer': {'instance_type': '%s', 'zone': 'z'}, 'network': {%s}}]}",
		type, network);
	aws_test_call_reset(f->call);
	return aws_test_run(f->aws->lower, f->inst, f->call, input);
}

static const json_t *lowered(AwsFixture *f, size_t n)
{
	return json_object_get(
		json_array_get(aws_test_given(f->call, "resources", 0), n), "attributes");
}

static void test_lower(AwsFixture *f, gconstpointer data)
{
	g_assert_cmpint(lower(f, "p4d.24xlarge", "'rdma': 4"), ==, RGP_OK);
	g_assert_cmpint(
		json_integer_value(json_object_get(lowered(f, 1), "efa_interfaces")), ==, 4);
	const json_t *egress = json_object_get(lowered(f, 0), "egress");
	g_assert_cmpuint(json_array_size(egress), ==, 2);
	g_assert_cmpstr(aws_text_of(json_array_get(egress, 1), "source"), ==, "self");
	g_assert_cmpint(lower(f, "p4d.24xlarge", ""), ==, RGP_OK);
	g_assert_null(json_object_get(lowered(f, 1), "efa_interfaces"));
	g_assert_cmpuint(json_array_size(json_object_get(lowered(f, 0), "egress")), ==, 1);
}

static void test_public_address(AwsFixture *f, gconstpointer data)
{
	g_assert_cmpint(lower(f, "p4d.24xlarge", "'rdma': 4, 'public_ip': true"), ==, RGP_FAIL);
	g_assert_cmpstr(aws_test_said(f->call, 0, "origin"), ==, "/pools/w/public_ip");
	g_assert_nonnull(
		strstr(aws_test_said(f->call, 0, "summary"), "p4d.24xlarge has 4 with EFA"));
	g_assert_cmpint(lower(f, "g4dn.8xlarge", "'rdma': 1, 'public_ip': true"), ==, RGP_OK);
	g_assert_true(json_is_true(json_object_get(lowered(f, 1), "public_ip")));
	/* one for EFA and one for the address */
	g_assert_cmpint(
		lower(f, "p6-b300.48xlarge", "'rdma': 16, 'public_ip': true"), ==, RGP_FAIL);
	g_assert_nonnull(strstr(aws_test_said(f->call, 0, "summary"), "has 17 with EFA"));
}

#define ADD(path, fn)                                                                              \
	g_test_add(                                                                                \
		"/aws/efa/" path, AwsFixture, NULL, aws_fixture_set_up, fn, aws_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("an-interface-on-each-card", test_cards);
	ADD("told-by-the-interfaces", test_seen);
	ADD("lower", test_lower);
	ADD("several-interfaces-rule-out-a-public-address", test_public_address);
	return g_test_run();
}
