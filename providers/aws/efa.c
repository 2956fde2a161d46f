#include "aws/efa.h"
#include "aws/data.h"
#include <string.h>

static json_int_t first_card(const char *instance_type)
{
	const char *rows = (const char *)aws_data_find("efa.csv")->data;
	g_autofree char *start = g_strdup_printf("\n%s,", instance_type);
	const char *row = strstr(rows, start);
	return row ? (json_int_t)g_ascii_strtoll(row + strlen(start), NULL, 10) : 0;
}

json_int_t aws_efa_count(const char *instance_type, json_int_t efa)
{
	return first_card(instance_type) + efa;
}

/* The primary interface carries the address; those of the other cards are EFA-only, so that a node
 * uses one address of the subnet and Linux has one default route (EC2 user guide, "Maximize network
 * bandwidth on Amazon EC2 instances with multiple network cards", use case 1 of P5). EC2 does not
 * accept AssociatePublicIpAddress: true for several interfaces. */
static json_t *interface_on(const json_t *attributes, json_int_t card, json_int_t first)
{
	bool primary = card == 0;
	const char *kind = !primary ? "efa-only" : first > 0 ? "interface" : "efa";
	/* on a card whose first device is not the primary's: the guide's form for p6-b300 */
	json_int_t device = primary || first > 0 ? 0 : 1;
	json_t *interface = json_pack("{s:I, s:I, s:s, s:s, s:O?, s:b}", "NetworkCardIndex", card,
		"DeviceIndex", device, "InterfaceType", kind, "SubnetId",
		mod_str(attributes, "subnet_id"), "SecurityGroupId",
		json_object_get(attributes, "security_groups"), "DeleteOnTermination", true);
	if (primary)
		json_object_set_new(interface, "AssociatePublicIpAddress",
			json_boolean(json_is_true(json_object_get(attributes, "public_ip"))));
	return interface;
}

json_t *aws_efa_interfaces(const json_t *attributes)
{
	const char *type = mod_str(attributes, "instance_type");
	json_int_t first = first_card(type);
	json_int_t count = aws_efa_count(type, mod_int(attributes, "efa_interfaces"));
	json_t *interfaces = json_array();
	for (json_int_t card = 0; card < count; card++)
		json_array_append_new(interfaces, interface_on(attributes, card, first));
	return interfaces;
}

bool aws_efa_is(const json_t *interface)
{
	const char *kind = mod_str(interface, "interfaceType");
	return g_str_equal(kind, "efa") || g_str_equal(kind, "efa-only");
}

json_int_t aws_efa_seen(const json_t *record)
{
	json_int_t count = 0;
	mod_foreach (interface, json_object_get(record, "networkInterfaceSet"))
		count += aws_efa_is(interface);
	return count;
}
