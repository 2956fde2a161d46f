/* The bodies of instances.insert and instances.bulkInsert (compute.v1, schemas Instance,
 * InstanceProperties, BulkInsertInstanceResource). Inside instanceProperties, types are names; in
 * insert they are URLs. */
#include <string.h>
#include "gcp/instance.h"
#include "gcp/machine.h"

#define EXTERNAL_NAT "External NAT"
#define SCOPE "https://www.googleapis.com/auth/cloud-platform"

/* A type as a name, or as the URL of insert. */
static json_t *type_of(const char *zone, const char *collection, const char *name)
{
	return zone ? json_sprintf("zones/%s/%s/%s", zone, collection, name) : json_string(name);
}

static json_t *disks_of(const json_t *input, const char *zone)
{
	const json_t *attributes = json_object_get(input, "attributes");
	json_t *params = json_pack("{s:s, s:o}", "sourceImage", mod_str(attributes, "image"),
		"labels", gcp_marks_labels(input));
	if (mod_int(attributes, "disk_size_gb"))
		json_object_set_new(params, "diskSizeGb",
			json_sprintf("%" G_GINT64_FORMAT, mod_int(attributes, "disk_size_gb")));
	if (*mod_str(attributes, "disk_type"))
		json_object_set_new(params, "diskType",
			type_of(zone, "diskTypes", mod_str(attributes, "disk_type")));
	/* without autoDelete each node would leave its disk behind */
	return json_pack("[{s:b, s:b, s:s, s:o}]", "boot", true, "autoDelete", true, "type",
		"PERSISTENT", "initializeParams", params);
}

static json_t *interfaces_of(const json_t *attributes)
{
	json_t *interface = json_pack("{s:s}", "subnetwork", mod_str(attributes, "subnetwork"));
	if (*mod_str(attributes, "private_ip"))
		json_object_set(interface, "networkIP", json_object_get(attributes, "private_ip"));
	if (*mod_str(attributes, "nic_type"))
		json_object_set(interface, "nicType", json_object_get(attributes, "nic_type"));
	/* absent: no public address */
	if (json_is_true(json_object_get(attributes, "public_ip")))
		json_object_set_new(interface, "accessConfigs",
			json_pack("[{s:s, s:s}]", "type", "ONE_TO_ONE_NAT", "name", EXTERNAL_NAT));
	return json_pack("[o]", interface);
}

static void add_metadata(json_t *items, const char *key, const char *value)
{
	json_array_append_new(items, json_pack("{s:s, s:s}", "key", key, "value", value));
}

/* cloud-init reads user-data, and user-data-encoding (its datasource GCE). */
json_t *gcp_instance_metadata(const GcpCall *call, const json_t *attributes)
{
	const char *plain = mod_str(attributes, "user_data");
	const char *encoded = mod_str(attributes, "user_data_base64");
	json_t *items = json_array();
	add_metadata(items, "block-project-ssh-keys", "true");
	add_metadata(items, "serial-port-enable", "false");
	if (*encoded) {
		/* it contains the Ray token in a form that a search for the token would not find */
		call->talk.host->secret(call->talk.call, mod_bytes(encoded));
		add_metadata(items, "user-data", encoded);
		add_metadata(items, "user-data-encoding", "base64");
	} else if (*plain) {
		add_metadata(items, "user-data", plain);
	}
	if (*mod_str(attributes, "expires"))
		add_metadata(items, GCP_LEASE, mod_str(attributes, "expires"));
	return json_pack("{s:o}", "items", items);
}

/* Deleted when preempted: a stopped instance would be one that nobody counts. Instances of a
 * compact placement policy are not restarted (Google's cluster-toolkit and slurm-gcp: "must be
 * false"). */
static json_t *scheduling_of(const json_t *attributes)
{
	const char *maintenance = mod_str(attributes, "host_maintenance");
	json_t *scheduling =
		json_pack("{s:s, s:b}", "onHostMaintenance", *maintenance ? maintenance : "MIGRATE",
			"automaticRestart", !*mod_str(attributes, "resource_policy"));
	if (g_str_equal(mod_str(attributes, "market"), "spot"))
		json_object_update_new(scheduling,
			json_pack("{s:b, s:s, s:s}", "automaticRestart", false, "provisioningModel",
				"SPOT", "instanceTerminationAction", "DELETE"));
	else if (g_str_equal(mod_str(attributes, "market"), GCP_RESERVATION_BOUND))
		json_object_update_new(scheduling,
			json_pack("{s:b, s:s, s:s}", "automaticRestart", false, "provisioningModel",
				"RESERVATION_BOUND", "instanceTerminationAction", "DELETE"));
	else
		json_object_set_new(scheduling, "provisioningModel", json_string("STANDARD"));
	return scheduling;
}

/* What insert and instanceProperties have in common; zone NULL: types are names. */
static json_t *common_body(const GcpCall *call, const json_t *input, const char *zone)
{
	const json_t *attributes = json_object_get(input, "attributes");
	g_auto(GcpMachine) machine = {0};
	gcp_machine_parse(mod_str(attributes, "instance_type"), &machine);
	json_t *labels = gcp_marks_labels(input);
	gcp_lease_set_label(attributes, labels);
	json_t *body = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "machineType",
		type_of(zone, "machineTypes", machine.type), "disks", disks_of(input, zone),
		"networkInterfaces", interfaces_of(attributes), "labels", labels, "metadata",
		gcp_instance_metadata(call, attributes), "scheduling", scheduling_of(attributes));
	const json_t *tags = json_object_get(attributes, "network_tags");
	if (json_array_size(tags))
		json_object_set_new(body, "tags",
			json_pack("{s:o}", "items",
				gcp_tags_write(tags,
					mod_str(json_object_get(input, "marks"), "lineage"))));
	if (*mod_str(attributes, "service_account"))
		json_object_set_new(body, "serviceAccounts",
			json_pack("[{s:s, s:[s]}]", "email", mod_str(attributes, "service_account"),
				"scopes", SCOPE));
	if (json_is_true(json_object_get(attributes, "secure_boot")))
		json_object_set_new(body, "shieldedInstanceConfig",
			json_pack("{s:b, s:b, s:b}", "enableSecureBoot", true, "enableVtpm", true,
				"enableIntegrityMonitoring", true));
	if (mod_int(attributes, "threads_per_core"))
		json_object_set_new(body, "advancedMachineFeatures",
			json_pack("{s:O}", "threadsPerCore",
				json_object_get(attributes, "threads_per_core")));
	const char *reservation = mod_str(attributes, "reservation");
	if (*reservation)
		json_object_set_new(body, "reservationAffinity",
			json_pack("{s:s, s:s, s:[s]}", "consumeReservationType",
				"SPECIFIC_RESERVATION", "key",
				"compute.googleapis.com/reservation-name", "values", reservation));
	if (machine.accelerator)
		json_object_set_new(body, "guestAccelerators",
			json_pack("[{s:o, s:i}]", "acceleratorType",
				type_of(zone, "acceleratorTypes", machine.accelerator),
				"acceleratorCount", machine.count));
	return body;
}

json_t *gcp_instance_insert_body(const GcpCall *call, const json_t *input)
{
	const json_t *item = json_array_get(json_object_get(input, "items"), 0);
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	g_autofree char *name = gcp_name_of(input, item);
	json_t *body = common_body(call, input, zone);
	json_object_set_new(body, "name", json_string(name));
	return body;
}

json_t *gcp_instance_bulk_body(const GcpCall *call, const json_t *input)
{
	const json_t *items = json_object_get(input, "items");
	const char *policy = mod_str(json_object_get(input, "attributes"), "resource_policy");
	json_int_t count = (json_int_t)json_array_size(items);
	/* left out, minCount is count: all or nothing */
	json_int_t least = CLAMP(mod_int(input, "min_count"), 1, count);
	json_t *properties = common_body(call, input, NULL), *each = json_object();
	mod_foreach (item, items) {
		g_autofree char *name = gcp_name_of(input, item);
		json_object_set_new(each, name, json_pack("{s:s}", "name", name));
	}
	if (*policy) /* a name here, not a URL (InstanceProperties.resourcePolicies) */
		json_object_set_new(properties, "resourcePolicies", json_pack("[s]", policy));
	return json_pack("{s:o, s:o, s:o, s:o}", "count",
		json_sprintf("%" JSON_INTEGER_FORMAT, count), "minCount",
		json_sprintf("%" JSON_INTEGER_FORMAT, least), "perInstanceProperties", each,
		"instanceProperties", properties);
}
