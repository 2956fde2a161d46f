#include <string.h>
#include "gcp/sim/gce.h"

/* What can be changed on an instance that exists, and its disks. */

#define FIRST_INTERFACE "nic0"

/* Puts the changed members into the document now; the operation restores them if it fails. */
static bool change(RgSimCall *call, const char *type, const json_t *doc, json_t *members)
{
	json_auto_t *set = members, *before = json_object();
	rg_json_foreach_member (name, value, set) {
		json_t *old = json_object_get(doc, name);
		json_object_set(before, name, old ? old : json_null());
	}
	bool good = gce_operate_on(call, type, doc, NULL,
		gce_effect_set(NULL, GCE_INSTANCE, doc, json_incref(before)));
	json_t *changed = json_copy(rg_json_unconst(doc));
	json_object_update(changed, set);
	gce_lease_plan(call->place, changed);
	rg_sim_put(call->place, GCE_INSTANCE, changed);
	return good;
}

static bool set_tags(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE), *body = call_body(call);
	if (!doc || !gce_fingerprint_check(call,
			    "Supplied fingerprint does not match current tags fingerprint.",
			    doc_str(body, "fingerprint"),
			    doc_str(json_object_get(doc, "tags"), "fingerprint")))
		return false;
	if (!gce_tags_check(call, json_object_get(body, "items")))
		return false;
	return change(call, "setTags", doc,
		json_pack("{s:o}", "tags", gce_printed(json_copy(rg_json_unconst(body)))));
}

static bool set_metadata(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE), *body = call_body(call);
	if (!doc || !gce_fingerprint_check(call,
			    "Supplied fingerprint does not match current metadata fingerprint.",
			    doc_str(body, "fingerprint"),
			    doc_str(json_object_get(doc, "metadata"), "fingerprint")))
		return false;
	json_t *metadata = json_copy(rg_json_unconst(body));
	json_object_set_new(metadata, "kind", json_string("compute#metadata"));
	return change(
		call, "setMetadata", doc, json_pack("{s:o}", "metadata", gce_printed(metadata)));
}

static bool set_deletion_protection(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	const char *given = call_str(call, "deletionProtection");
	bool on = !given || call_bool(call, "deletionProtection"); /* the API's default is true */
	return doc && change(call, "setDeletionProtection", doc,
			      json_pack("{s:b}", "deletionProtection", on));
}

/* A machine that brings its GPUs neither loses nor gets them. */
static bool set_machine_type(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	if (!doc)
		return false;
	if (!g_str_equal(doc_str(doc, "status"), "TERMINATED"))
		return gce_fail_not_ready(call, doc_str(doc, GCE_KEY));
	json_auto_t *properties = json_pack("{s:O*, s:O*}", "machineType",
		json_object_get(call_body(call), "machineType"), "guestAccelerators",
		json_object_get(doc, "guestAccelerators"));
	GceMachine machine = {0};
	bool good = gce_machine_read_type(call, properties, false, &machine);
	if (good && !machine.accelerator && json_object_get(machine.facts, "accelerators"))
		good = rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim does not change types that bring their GPUs");
	if (good) {
		const json_t *kept = json_object_get(doc, "_machine");
		g_autofree char *key =
			g_strdup_printf("zones/%s/machineTypes/%s", machine.zone, machine.type);
		g_autofree char *link = gce_link(call->place, key);
		machine.spot = doc_is(kept, "spot");
		good = change(call, "setMachineType", doc,
			json_pack("{s:s, s:o}", "machineType", link, "_machine",
				gce_machine_json(call->place, &machine)));
	}
	gce_machine_clear(&machine);
	return good;
}

/* ---- the external address */

static json_t *interface_of(RgSimCall *call, const json_t *doc)
{
	const char *name = call_str(call, "networkInterface");
	json_t *interface = rg_sim_entry(json_object_get(doc, "networkInterfaces"), "name", name);
	if (!interface)
		gce_fail_invalid(
			call, "networkInterface", name, "There is no such network interface.");
	return interface;
}

/* The list of interfaces with the access configs of the first one replaced; takes them. */
static json_t *interfaces_with(const json_t *interface, json_t *configs)
{
	json_t *copy = json_copy(rg_json_unconst(interface));
	if (configs)
		json_object_set_new(copy, "accessConfigs", configs);
	else
		json_object_del(copy, "accessConfigs");
	json_t *printed = gce_printed(copy);
	return json_pack("{s:[o]}", "networkInterfaces", printed);
}

static bool add_access_config(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	const json_t *interface = doc ? interface_of(call, doc) : NULL;
	if (!interface)
		return false;
	if (json_object_get(interface, "accessConfigs"))
		return gce_fail_invalid(call, "networkInterface", FIRST_INTERFACE,
			"At most one access config currently supported.");
	if (!doc_int(call->sim->knobs, "external_addresses"))
		return rg_sim_fail(call, 412, "conditionNotMet",
			"Constraint constraints/compute.vmExternalIpAccess violated for project "
			"%s.",
			call->place_name);
	json_t *config = gce_access_config(call->sim, call_body(call));
	return change(
		call, "addAccessConfig", doc, interfaces_with(interface, json_pack("[o]", config)));
}

static bool delete_access_config(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	const json_t *interface = doc ? interface_of(call, doc) : NULL;
	const char *name = call_str(call, "accessConfig");
	if (!interface)
		return false;
	if (!rg_sim_entry(json_object_get(interface, "accessConfigs"), "name", name))
		return gce_fail_invalid(
			call, "accessConfig", name, "There is no such access config.");
	return change(call, "deleteAccessConfig", doc, interfaces_with(interface, NULL));
}

const RgSimAction gce_change_actions[] = {
	{"disks.aggregatedList", gce_aggregate, false, GCE_AGGREGATED},
	{"disks.delete", gce_delete_unused, true, "requestId"},
	{"disks.get", gce_get, false, ""},
	{"disks.list", gce_list, false, GCE_LISTED},
	{"disks.setLabels", gce_set_labels, true, "requestId .labels .labelFingerprint"},
	{"instances.addAccessConfig", add_access_config, true,
		"requestId networkInterface .name .type .natIP .networkTier"},
	{"instances.deleteAccessConfig", delete_access_config, true,
		"requestId networkInterface accessConfig"},
	{"instances.setDeletionProtection", set_deletion_protection, true,
		"requestId deletionProtection"},
	{"instances.setLabels", gce_set_labels, true, "requestId .labels .labelFingerprint"},
	{"instances.setMachineType", set_machine_type, true, "requestId .machineType"},
	{"instances.setMetadata", set_metadata, true, "requestId .items .fingerprint .kind"},
	{"instances.setTags", set_tags, true, "requestId .items .fingerprint"},
	{NULL},
};
