/* Other security groups for an existing instance. */
#include "aws/efa.h"
#include "aws/form.h"
#include "aws/instance.h"
#include <string.h>

static const Ec2Code passing_codes[] = {
	{"IncorrectInstanceState", NULL, 300}, /* still stopping */
	{"InvalidInstanceID.NotFound", NULL, 30},
	{"InvalidNetworkInterfaceID.NotFound", NULL, 30},
	{0},
};
/* EC2 does not choose among several interfaces (hashicorp/terraform#14299). */
static const Ec2Code several_codes[] = {{"InvalidInstanceID", "multiple interfaces"}, {0}};

static rgp_status send(const AwsCall *call, const char *action, json_t *params, ModFailure *failure)
{
	json_auto_t *owned = params;
	const Ec2Request request = {.action = action, .params = owned};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, passing_codes, &reply);
	if (status == RGP_OK && reply.failure.class_ != RGP_CLASS_OK)
		mod_failure_copy(failure, &reply.failure);
	return status;
}

/* Ids of the instance's EFA interfaces, then of its primary one; interfaces that someone attached
 * are left alone. The primary one comes last because the plan reads it: until it is changed, the
 * update is not done. */
static void on_instance(void *data, const json_t *record)
{
	json_t *ids = data;
	g_auto(AwsSeen) seen = {0};
	aws_instance_read(record, &seen);
	const char *primary = mod_str(seen.attributes, "network_interface");
	json_array_clear(ids);
	mod_foreach (interface, json_object_get(record, "networkInterfaceSet")) {
		const char *id = mod_str(interface, "networkInterfaceId");
		if (aws_efa_is(interface) && !g_str_equal(id, primary))
			json_array_append_new(ids, json_string(id));
	}
	if (*primary)
		json_array_append_new(ids, json_string(primary));
}

static rgp_status change_each(
	const AwsCall *call, const char *id, const json_t *groups, ModFailure *failure)
{
	json_auto_t *ids = json_array();
	json_auto_t *params = json_object();
	aws_form_filter(params, "instance-id", &id, 1);
	rgp_status status =
		aws_kind_describe(call, &aws_instance_kind, params, on_instance, NULL, ids);
	mod_foreach (interface, ids)
		if (status == RGP_OK && failure->class_ == RGP_CLASS_OK)
			status = send(call, "ModifyNetworkInterfaceAttribute",
				json_pack("{s:O, s:O}", "NetworkInterfaceId", interface,
					"SecurityGroupId", groups),
				failure);
	if (status == RGP_OK && !json_array_size(ids))
		mod_failure_set(failure, RGP_CLASS_GONE, NULL, "EC2 has no instance %s", id);
	return status;
}

rgp_status aws_instance_groups_change(
	const AwsCall *call, const char *id, const json_t *wanted, ModFailure *failure)
{
	const json_t *groups = json_object_get(wanted, "security_groups");
	rgp_status status = send(call, "ModifyInstanceAttribute",
		json_pack("{s:s, s:O?}", "InstanceId", id, "GroupId", groups), failure);
	if (status != RGP_OK || !ec2_match(failure, several_codes))
		return status;
	mod_failure_clear(failure);
	return change_each(call, id, groups, failure);
}
