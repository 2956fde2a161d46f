#include <string.h>
#include "gcp/sim/gce.h"

/* A checked machine: whether it can be had now, and its instance and disks. */

/* ---- whether it can be had now */

static bool has_external(const GceMachine *machine)
{
	const json_t *interfaces = json_object_get(machine->properties, "networkInterfaces");
	return json_array_size(json_object_get(json_array_get(interfaces, 0), "accessConfigs")) > 0;
}

static json_t *refusal(const RgSimPlace *place, const GceMachine *machine)
{
	json_t *error = machine->reservation ? gce_reservation_refusal(place, machine) : NULL;
	if (!error && has_external(machine) && !doc_int(place->sim->knobs, "external_addresses"))
		error = gce_error(412, "VM_EXTERNAL_IP_ACCESS_POLICY_CONSTRAINT",
			g_strdup_printf(
				"Constraint constraints/compute.vmExternalIpAccess violated "
				"for project %s.",
				place->name));
	if (!error)
		error = gce_quota_refusal(place, machine);
	return error ? error : gce_capacity_refusal(place, machine);
}

/* ---- making it */

static json_t *disk_make(RgSimCall *call, const GceMachine *machine, const json_t *given,
	const char *name, const json_t *instance, size_t index)
{
	const json_t *params = json_object_get(given, "initializeParams");
	const json_t *image = json_array_get(machine->images, index);
	g_autofree char *scope = g_strconcat("zones/", machine->zone, NULL);
	json_t *disk = gce_new(call, GCE_DISK, scope, rg_json_str(params, "diskName", name));
	const char *type = gce_last(rg_json_str(
		params, "diskType", rg_json_str(machine->facts, "bootDiskType", "pd-standard")));
	g_autofree char *key = g_strjoin("/", scope, "diskTypes", type, NULL);
	g_autofree char *link = gce_link(call->place, key);
	const char *size = rg_json_str(params, "diskSizeGb",
		rg_json_str(given, "diskSizeGb", doc_str(image, "diskSizeGb")));
	json_auto_t *more = json_pack("{s:s, s:s, s:s, s:O, s:O, s:[O], s:s}", "status", "READY",
		"type", link, "sizeGb", size, "sourceImage", json_object_get(image, "selfLink"),
		"sourceImageId", json_object_get(image, "id"), "users",
		json_object_get(instance, "selfLink"), "physicalBlockSizeBytes", "4096");
	json_object_update(disk, more);
	json_object_del(disk, "_hidden");
	gce_labels_set(disk, json_object_get(params, "labels"));
	rg_sim_put(call->place, GCE_DISK, disk);
	return disk;
}

static json_t *disks_make(
	RgSimCall *call, const GceMachine *machine, const char *name, const json_t *instance)
{
	const json_t *list = json_object_get(machine->properties, "disks");
	json_t *out = json_array();
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *given = json_array_get(list, i);
		g_autofree char *own = i ? g_strdup_printf("%s-%zu", name, i) : g_strdup(name);
		g_autofree char *device = g_strdup_printf("persistent-disk-%zu", i);
		const json_t *disk = disk_make(call, machine, given, own, instance, i);
		json_array_append_new(out,
			json_pack("{s:s, s:s, s:s, s:O, s:s, s:i, s:b, s:b, s:s, s:O}", "kind",
				"compute#attachedDisk", "type", "PERSISTENT", "mode", "READ_WRITE",
				"source", json_object_get(disk, "selfLink"), "deviceName",
				rg_json_str(given, "deviceName", device), "index", (int)i, "boot",
				rg_json_bool(given, "boot", false), "autoDelete",
				rg_json_bool(given, "autoDelete", false), "interface", "SCSI",
				"diskSizeGb", json_object_get(disk, "sizeGb")));
	}
	return out;
}

static char *public_address(RgSim *sim)
{
	g_autofree char *id = rg_sim_id(sim, "");
	guint32 hash = g_str_hash(id);
	return g_strdup_printf(
		"34.%u.%u.%u", 64 + hash % 64, hash >> 8 & 255, 1 + (hash >> 16) % 254);
}

json_t *gce_access_config(RgSim *sim, const json_t *given)
{
	g_autofree char *address = public_address(sim);
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", "compute#accessConfig", "type",
		"ONE_TO_ONE_NAT", "name", rg_json_str(given, "name", "External NAT"), "natIP",
		rg_json_str(given, "natIP", address), "networkTier",
		rg_json_str(given, "networkTier", "PREMIUM"));
}

/* The given address may be reserved, and is then used by the instance. */
static char *own_address(RgSimCall *call, const GceMachine *machine, const json_t *given,
	const char *user, json_t **error)
{
	const char *wanted = rg_json_str(given, "networkIP", NULL);
	const json_t *reserved = wanted ? gce_address_find(call->place,
						  doc_str(machine->subnetwork, "selfLink"), wanted)
					: NULL;
	if (!reserved || gce_is_hidden(reserved) ||
		!g_str_equal(doc_str(reserved, "status"), "RESERVED"))
		return gce_address_take(call->place, machine->subnetwork, wanted, error);
	gce_address_set_user(call->place, reserved, user);
	return g_strdup(wanted);
}

static json_t *interfaces_make(
	RgSimCall *call, const GceMachine *machine, const char *self, json_t **error)
{
	const json_t *given =
		json_array_get(json_object_get(machine->properties, "networkInterfaces"), 0);
	g_autofree char *address = own_address(call, machine, given, self, error);
	if (!address)
		return NULL;
	g_autofree char *print = gce_fingerprint(given);
	json_t *interface =
		json_pack("{s:s, s:s, s:O, s:O, s:s, s:s, s:s}", "kind", "compute#networkInterface",
			"name", "nic0", "network", json_object_get(machine->subnetwork, "network"),
			"subnetwork", json_object_get(machine->subnetwork, "selfLink"), "networkIP",
			address, "stackType", "IPV4_ONLY", "fingerprint", print);
	const char *nic = gce_machine_nic(machine, given);
	if (nic)
		json_object_set_new(interface, "nicType", json_string(nic));
	const json_t *configs = json_object_get(given, "accessConfigs");
	if (json_array_size(configs))
		json_object_set_new(interface, "accessConfigs",
			json_pack("[o]", gce_access_config(call->sim, json_array_get(configs, 0))));
	return json_pack("[o]", interface);
}

static json_t *scheduling_json(const GceMachine *machine)
{
	json_t *out = json_pack("{s:b, s:s, s:b, s:s}", "automaticRestart", !machine->spot,
		"onHostMaintenance", machine->spot ? "TERMINATE" : "MIGRATE", "preemptible",
		machine->spot, "provisioningModel", machine->model);
	if (machine->spot)
		json_object_set_new(out, "instanceTerminationAction", json_string("STOP"));
	json_object_update(out, json_object_get(machine->properties, "scheduling"));
	json_object_set_new(out, "preemptible", json_boolean(machine->spot));
	return out;
}

static json_t *accelerators_json(const RgSimPlace *place, const GceMachine *machine)
{
	const json_t *own = json_array_get(json_object_get(machine->facts, "accelerators"), 0);
	const char *name =
		machine->accelerator ? machine->accelerator : doc_str(own, "guestAcceleratorType");
	g_autofree char *key = g_strdup_printf("zones/%s/acceleratorTypes/%s", machine->zone, name);
	g_autofree char *link = gce_link(place, key);
	gint64 count = machine->accelerator ? machine->accelerators
					    : doc_int(own, "guestAcceleratorCount");
	return *name ? json_pack("[{s:s, s:I}]", "acceleratorType", link, "acceleratorCount",
			       (json_int_t)count)
		     : NULL;
}

json_t *gce_printed(json_t *value)
{
	json_object_del(value, "fingerprint");
	g_autofree char *print = gce_fingerprint(value);
	json_object_set_new(value, "fingerprint", json_string(print));
	return value;
}

static json_t *policies_json(RgSimCall *call, const GceMachine *machine)
{
	const json_t *given = json_object_get(machine->properties, "resourcePolicies");
	json_t *links = json_array();
	for (size_t i = 0; i < json_array_size(given); i++) {
		const json_t *policy = gce_machine_policy(
			call, machine, json_string_value(json_array_get(given, i)));
		json_array_append(links, json_object_get(policy, "selfLink"));
	}
	return links;
}

static void add_properties(RgSimCall *call, const GceMachine *machine, json_t *doc)
{
	const json_t *given = machine->properties;
	g_autofree char *key =
		g_strdup_printf("zones/%s/machineTypes/%s", machine->zone, machine->type);
	g_autofree char *link = gce_link(call->place, key);
	json_t *metadata = json_copy(json_object_get(given, "metadata"));
	json_t *tags = json_copy(json_object_get(given, "tags"));
	json_t *accelerators = accelerators_json(call->place, machine);
	if (!metadata)
		metadata = json_object();
	json_object_set_new(metadata, "kind", json_string("compute#metadata"));
	json_object_set_new(doc, "machineType", json_string(link));
	json_object_set_new(doc, "metadata", gce_printed(metadata));
	json_object_set_new(doc, "tags", gce_printed(tags ? tags : json_object()));
	json_object_set_new(doc, "scheduling", scheduling_json(machine));
	if (accelerators)
		json_object_set_new(doc, "guestAccelerators", accelerators);
	if (json_object_get(given, "resourcePolicies"))
		json_object_set_new(doc, "resourcePolicies", policies_json(call, machine));
	static const char *const copied[] = {"description", "canIpForward", "serviceAccounts",
		"reservationAffinity", "deletionProtection", "shieldedInstanceConfig",
		"minCpuPlatform", "hostname", "advancedMachineFeatures"};
	for (gsize i = 0; i < G_N_ELEMENTS(copied); i++) {
		json_t *value = json_object_get(given, copied[i]);
		if (value)
			json_object_set(doc, copied[i], value);
	}
}

json_t *gce_machine_make(
	RgSimCall *call, const GceMachine *machine, const char *name, json_t **error)
{
	g_autofree char *scope = g_strconcat("zones/", machine->zone, NULL);
	if ((*error = refusal(call->place, machine)))
		return NULL;
	json_t *doc = gce_new(call, GCE_INSTANCE, scope, name);
	json_t *interfaces = interfaces_make(call, machine, doc_str(doc, "selfLink"), error);
	if (!interfaces) {
		json_decref(doc);
		return NULL;
	}
	json_object_del(doc, "_hidden");
	json_auto_t *more = json_pack("{s:s, s:o, s:o, s:s, s:b, s:b, s:o}", "status",
		"PROVISIONING", "networkInterfaces", interfaces, "disks",
		disks_make(call, machine, name, doc), "cpuPlatform", "Intel Cascade Lake",
		"startRestricted", 0, "deletionProtection", 0, "_machine",
		gce_machine_json(call->place, machine));
	json_object_update(doc, more);
	/* What the node reports as its id: its number alone does not lead to it. */
	json_object_set_new(doc, "_node", json_sprintf("%s/%s", machine->zone, doc_str(doc, "id")));
	if (machine->reservation)
		json_object_set_new(doc, "_reservation", json_string(machine->reservation));
	add_properties(call, machine, doc);
	gce_console_give_fault(call->place, doc, machine->label);
	gce_lease_at_launch(doc);
	gce_labels_set(doc, json_object_get(machine->properties, "labels"));
	g_autofree char *print = gce_fingerprint(doc);
	json_object_set_new(doc, "fingerprint", json_string(print));
	rg_sim_put(call->place, GCE_INSTANCE, doc);
	return doc;
}

void gce_machine_effects(RgSimPlace *place, const json_t *instance, GceOperation *operation)
{
	operation->ms = doc_int(place->sim->knobs, "boot_ms");
	gint64 up_ms = place->sim->now_ms + operation->ms;
	g_autofree char *up = gce_time(up_ms);
	operation->target = instance;
	/* Not of one that is deleted or preempted while it starts. */
	operation->begin = gce_effect_set_from(
		"PROVISIONING", instance, GCE_INSTANCE, json_pack("{s:s}", "status", "STAGING"));
	operation->end = gce_effect_set_from("STAGING", instance, GCE_INSTANCE,
		json_pack("{s:s, s:s, s:I}", "status", "RUNNING", "lastStartTimestamp", up,
			"_bootedMs", (json_int_t)up_ms));
	operation->undo = gce_effect_remove(NULL, GCE_INSTANCE, instance);
}
