/* ModifyNetworkInterfaceAttribute. */
#include "aws/sim/groups.h"
#include "aws/sim/instances.h"
#include "aws/sim/interfaces.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/xml.h"

static bool modify_attachment(RgSimCall *call, json_t *interface)
{
	const char *wanted = rg_sim_param_str(call->params, "Attachment.AttachmentId");
	const json_t *old = json_object_get(interface, "attachment");
	if (!rg_sim_param_at(call->params, "Attachment"))
		return true;
	if (!wanted || !g_str_equal(rg_sim_doc_str(old, "attachmentId"), wanted))
		return rg_sim_fail(call, 400, "InvalidAttachmentID.NotFound",
			"The attachment ID '%s' does not exist", wanted ? wanted : "");
	json_t *attachment = json_copy((json_t *)(guintptr)old);
	json_object_set_new(attachment, "deleteOnTermination",
		json_boolean(
			rg_sim_param_bool(call->params, "Attachment.DeleteOnTermination", false)));
	json_object_set_new(interface, "attachment", attachment);
	return true;
}

static bool modify_members(RgSimCall *call, json_t *interface)
{
	g_autoptr(GPtrArray) ids = rg_sim_param_texts(call->params, "SecurityGroupId");
	if (ids->len) {
		json_t *groups = rg_sim_group_set(call, ids, rg_sim_doc_str(interface, "vpcId"));
		if (!groups)
			return false;
		json_object_set_new(interface, "groupSet", groups);
	}
	const char *description = rg_sim_param_str(call->params, "Description.Value");
	if (description)
		json_object_set_new(interface, "description", json_string(description));
	if (rg_sim_param_at(call->params, "SourceDestCheck"))
		json_object_set_new(interface, "sourceDestCheck",
			json_boolean(
				rg_sim_param_bool(call->params, "SourceDestCheck.Value", true)));
	if (rg_sim_param_at(call->params, "AssociatePublicIpAddress"))
		json_object_set_new(interface, "_autoPublic",
			json_boolean(rg_sim_param_bool(
				call->params, "AssociatePublicIpAddress", false)));
	return modify_attachment(call, interface);
}

/* AssociatePublicIpAddress may be set of any interface and counts where it is the primary one of an
 * instance (EC2 API, ModifyNetworkInterfaceAttribute): at once, or when the instance starts. */
static void follow_public(RgSimCall *call, const json_t *interface)
{
	const json_t *attachment = json_object_get(interface, "attachment");
	bool on = json_is_true(json_object_get(interface, "_autoPublic"));
	if (!attachment || json_integer_value(json_object_get(attachment, "deviceIndex")) != 0 ||
		json_integer_value(json_object_get(attachment, "networkCardIndex")) != 0)
		return;
	json_t *instance = rg_sim_world_edit(
		call->region, RG_SIM_INSTANCE, rg_sim_doc_str(attachment, "instanceId"));
	if (!instance)
		return;
	const char *state = rg_sim_instance_state(instance);
	bool runs = g_str_equal(state, "pending") || g_str_equal(state, "running");
	json_object_set_new(instance, "_public", json_boolean(on));
	rg_sim_world_put(call->world, call->region, RG_SIM_INSTANCE, instance);
	if (runs && on != (json_object_get(interface, "association") != NULL))
		rg_sim_interface_set_public(call->world, call->region,
			rg_sim_doc_str(interface, "networkInterfaceId"), on);
}

bool rg_sim_modify_interface(RgSimCall *call)
{
	const char *id = rg_sim_param_str(call->params, "NetworkInterfaceId");
	if (!rg_sim_call_find(call, RG_SIM_INTERFACE, id))
		return false;
	json_auto_t *interface = rg_sim_world_edit(call->region, RG_SIM_INTERFACE, id);
	if (!modify_members(call, interface) || !rg_sim_go(call))
		return false;
	rg_sim_world_put(call->world, call->region, RG_SIM_INTERFACE, json_incref(interface));
	if (rg_sim_param_at(call->params, "AssociatePublicIpAddress"))
		follow_public(call, interface);
	rg_sim_instance_refresh(call->world, call->region,
		rg_sim_doc_str(json_object_get(interface, "attachment"), "instanceId"));
	rg_sim_xml_text(call->body, "return", "true");
	return true;
}
