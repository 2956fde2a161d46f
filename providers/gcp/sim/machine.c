#include <string.h>
#include "gcp/sim/gce.h"

/* A virtual machine as insert and bulkInsert describe it, checked. make.c makes it. */

#define VALUE_MAX 262144 /* of metadata; all values together: */
#define METADATA_MAX 524288
#define TAGS_MAX 64
#define RESERVATION_KEY "compute.googleapis.com/reservation-name"

static const char *prefix(const GceMachine *machine)
{
	return machine->bulk ? "resource.instanceProperties" : "resource";
}

static bool fail_value(RgSimCall *call, const GceMachine *machine, const char *member,
	const char *value, const char *why)
{
	g_autofree char *field = g_strdup_printf("%s.%s", prefix(machine), member);
	return gce_fail_invalid(call, field, value, why);
}

/* The name in a zonal URL, or in bulk the bare name. NULL and an error otherwise. */
static const char *zonal_name(RgSimCall *call, const GceMachine *machine, const char *member,
	const char *resource, const char *given)
{
	g_autofree char *project = NULL;
	g_autofree char *key = gce_key_of(given, &project);
	g_autofree char *start = g_strdup_printf("zones/%s/%s/", machine->zone, resource);
	if (machine->bulk && !strchr(given, '/'))
		return given;
	if (machine->bulk)
		fail_value(call, machine, member, given, "A name is expected here, not a URL.");
	else if (!key || !g_str_has_prefix(key, start))
		fail_value(call, machine, member, given, "The URL is malformed.");
	else
		return gce_last(given);
	return NULL;
}

/* ---- machine type and accelerators */

static bool read_type(RgSimCall *call, GceMachine *machine)
{
	const char *given = rg_json_str(machine->properties, "machineType", NULL);
	g_autofree char *field = g_strconcat(prefix(machine), ".machineType", NULL);
	if (!given)
		return gce_fail_required(call, field);
	machine->type = zonal_name(call, machine, "machineType", "machineTypes", given);
	if (!machine->type)
		return false;
	machine->facts = gce_type_facts(call_data(call), machine->type);
	const json_t *regions = json_object_get(machine->facts, "regions");
	const char *region = gce_region_of(call_data(call), machine->zone);
	if (machine->facts && (!regions || rg_json_has_text(regions, region)))
		return true;
	g_autofree char *why =
		g_strdup_printf("Machine type with name '%s' does not exist in zone '%s'.",
			machine->type, machine->zone);
	return fail_value(call, machine, "machineType", given, why);
}

static bool check_attached(RgSimCall *call, const GceMachine *machine)
{
	g_autofree char *count = g_strdup_printf("%" G_GINT64_FORMAT, machine->accelerators);
	const char *region = gce_region_of(call_data(call), machine->zone);
	bool fits = gce_can_attach(call_data(call), machine->type, machine->facts,
		machine->accelerator, machine->accelerators);
	if (fits && gce_has_accelerator(call_data(call), machine->accelerator, region))
		return true;
	g_autofree char *why = g_strdup_printf(
		fits ? "Accelerator type with name '%s' does not exist in zone '%s'."
		     : "[%s:%s] features are not compatible for creating instance.",
		machine->accelerator, fits ? machine->zone : count);
	return fail_value(call, machine, "guestAccelerators", machine->type, why);
}

static bool read_accelerators(RgSimCall *call, GceMachine *machine)
{
	const json_t *list = json_object_get(machine->properties, "guestAccelerators");
	const json_t *given = json_array_get(list, 0);
	const json_t *own = json_array_get(json_object_get(machine->facts, "accelerators"), 0);
	if (!given)
		return true;
	if (json_array_size(list) > 1)
		return fail_value(call, machine, "guestAccelerators", machine->type,
			"Instances have accelerators of one type.");
	machine->accelerator = zonal_name(call, machine, "guestAccelerators[0].acceleratorType",
		"acceleratorTypes", doc_str(given, "acceleratorType"));
	machine->accelerators = doc_int(given, "acceleratorCount");
	if (!machine->accelerator)
		return false;
	bool brought = own &&
		       g_str_equal(doc_str(own, "guestAcceleratorType"), machine->accelerator) &&
		       doc_int(own, "guestAcceleratorCount") == machine->accelerators;
	if (!brought)
		return check_attached(call, machine);
	machine->accelerator = NULL;
	return true;
}

/* ---- scheduling */

static bool has_gpus(const GceMachine *machine)
{
	return machine->accelerator || json_object_get(machine->facts, "accelerators");
}

static bool read_scheduling(RgSimCall *call, GceMachine *machine)
{
	const json_t *given = json_object_get(machine->properties, "scheduling");
	bool preemptible = rg_json_bool(given, "preemptible", false);
	machine->model = rg_json_str(given, "provisioningModel", preemptible ? "SPOT" : "STANDARD");
	machine->spot = g_str_equal(machine->model, "SPOT");
	const char *maintenance =
		rg_json_str(given, "onHostMaintenance", machine->spot ? "TERMINATE" : "MIGRATE");
	const json_t *models = json_object_get(machine->facts, "provisioningModels");
	if (models && !rg_json_has_text(models, machine->model)) {
		g_autofree char *why = g_strdup_printf(
			"Machine type '%s' does not support this provisioning model.",
			machine->type);
		return fail_value(
			call, machine, "scheduling.provisioningModel", machine->model, why);
	}
	if (g_str_equal(machine->model, "FLEX_START"))
		return rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim does not simulate the provisioning model FLEX_START");
	if (has_gpus(machine) && !g_str_equal(maintenance, "TERMINATE"))
		return fail_value(call, machine, "scheduling.onHostMaintenance", maintenance,
			"Instances with guest accelerators do not support live migration.");
	if (!machine->spot && g_str_has_prefix(machine->type, "e2-") &&
		!g_str_equal(maintenance, "MIGRATE"))
		return fail_value(call, machine, "scheduling.onHostMaintenance", maintenance,
			"e2 instances do not support onHostMaintenance=TERMINATE unless they are "
			"preemptible.");
	if (machine->spot && (rg_json_bool(given, "automaticRestart", false) ||
				     !g_str_equal(maintenance, "TERMINATE")))
		return fail_value(call, machine, "scheduling", "SPOT",
			"Spot instances need automaticRestart false and onHostMaintenance "
			"TERMINATE.");
	/* instances of a reservation that ends have one too */
	if (g_str_equal(machine->model, "STANDARD") &&
		json_object_get(given, "instanceTerminationAction"))
		return fail_value(call, machine, "scheduling.instanceTerminationAction",
			doc_str(given, "instanceTerminationAction"),
			"It is for instances that Compute Engine ends.");
	return true;
}

/* ---- disks */

static json_t *image_of(RgSimCall *call, const GceMachine *machine, const json_t *params)
{
	const char *link = doc_str(params, "sourceImage");
	json_t *image = gce_image_find(call->realm, link);
	if (!image)
		fail_value(call, machine, "disks[0].initializeParams.sourceImage", link,
			"The referenced image resource cannot be found.");
	return image;
}

static const char *disk_type_of(RgSimCall *call, const GceMachine *machine, const json_t *params)
{
	const char *given = rg_json_str(params, "diskType", NULL);
	if (!given)
		return rg_json_str(machine->facts, "bootDiskType", "pd-standard");
	return zonal_name(call, machine, "disks[0].initializeParams.diskType", "diskTypes", given);
}

static bool check_disk(RgSimCall *call, GceMachine *machine, const json_t *disk)
{
	const json_t *params = json_object_get(disk, "initializeParams");
	const json_t *known = json_object_get(machine->facts, "bootDiskTypes");
	if (!params)
		return rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim simulates disks with initializeParams only");
	const char *type = disk_type_of(call, machine, params);
	if (!type || !gce_labels_check(
			     call, "initializeParams.labels", json_object_get(params, "labels")))
		return false;
	if (known && !rg_json_has_text(known, type)) {
		g_autofree char *why = g_strdup_printf(
			"[%s] features are not compatible for creating instance.", type);
		return fail_value(call, machine, "disks[0].initializeParams.diskType", type, why);
	}
	json_t *image = image_of(call, machine, params);
	if (!image)
		return false;
	json_array_append_new(machine->images, image);
	gint64 needed = g_ascii_strtoll(doc_str(image, "diskSizeGb"), NULL, 10);
	const char *size = rg_json_str(params, "diskSizeGb", rg_json_str(disk, "diskSizeGb", NULL));
	if (!size || g_ascii_strtoll(size, NULL, 10) >= needed)
		return true;
	g_autofree char *why = g_strdup_printf(
		"Requested disk size cannot be smaller than the image size (%" G_GINT64_FORMAT
		" GB)",
		needed);
	return fail_value(call, machine, "disks[0].initializeParams.diskSizeGb", size, why);
}

static bool read_disks(RgSimCall *call, GceMachine *machine)
{
	const json_t *list = json_object_get(machine->properties, "disks");
	gint64 boots = 0;
	machine->images = json_array();
	rg_json_foreach (disk, list) {
		boots += rg_json_bool(disk, "boot", false);
		if (!check_disk(call, machine, disk))
			return false;
	}
	return boots == 1 ||
	       fail_value(call, machine, "disks", "", "Exactly one boot disk has to be specified.");
}

/* ---- network, metadata, and the rest */

/* The subnetwork of the network's that is in this region, as "auto" networks have. */
static const json_t *subnetwork_of_network(RgSimCall *call, const char *link, const char *region)
{
	const json_t *network = gce_refer(call, GCE_NETWORK, "networkInterfaces[0].network", link);
	g_autofree char *scope = g_strconcat("regions/", region, NULL);
	const json_t *found =
		network ? gce_find(call->place, GCE_SUBNETWORK, scope, doc_str(network, "name"))
			: NULL;
	if (network && !found)
		gce_fail_invalid(call, "networkInterfaces[0].network", link,
			"Subnetwork should be specified for custom subnetmode network.");
	return found;
}

/* After the disks: the image of the boot disk must have the driver. */
static bool check_nic(RgSimCall *call, const GceMachine *machine, const json_t *interface)
{
	const char *type = gce_machine_nic(machine, interface);
	if (!type)
		return true;
	if (!g_str_equal(type, "GVNIC") && !g_str_equal(type, "VIRTIO_NET"))
		return rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim simulates the NIC types GVNIC and VIRTIO_NET only");
	if (g_str_equal(type, "VIRTIO_NET") && rg_json_bool(machine->facts, "gvnicOnly", false)) {
		g_autofree char *why = g_strdup_printf(
			"[%s, VIRTIO_NET] features are not compatible for creating instance.",
			machine->type);
		return fail_value(call, machine, "networkInterfaces[0].nicType", type, why);
	}
	size_t i;
	const json_t *image;
	json_array_foreach (machine->images, i, image) {
		bool boots = rg_json_bool(
			json_array_get(json_object_get(machine->properties, "disks"), i), "boot",
			false);
		if (boots && g_str_equal(type, "GVNIC") &&
			!rg_sim_entry(json_object_get(image, "guestOsFeatures"), "type", type))
			return fail_value(call, machine, "networkInterfaces[0].nicType", type,
				"This boot disk source does not support gVNIC.");
	}
	return true;
}

static bool read_network(RgSimCall *call, GceMachine *machine)
{
	const json_t *list = json_object_get(machine->properties, "networkInterfaces");
	const json_t *first = json_array_get(list, 0);
	const char *region = gce_region_of(call_data(call), machine->zone);
	const char *link = rg_json_str(first, "subnetwork", NULL);
	g_autofree char *field = g_strconcat(prefix(machine), ".networkInterfaces", NULL);
	g_autofree char *otherwise = gce_link(call->place, "global/networks/default");
	if (!first)
		return gce_fail_required(call, field);
	if (json_array_size(list) > 1)
		return rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim simulates one network interface per instance");
	machine->subnetwork =
		link ? gce_refer(call, GCE_SUBNETWORK, "networkInterfaces[0].subnetwork", link)
		     : subnetwork_of_network(
			       call, rg_json_str(first, "network", otherwise), region);
	if (!machine->subnetwork || !check_nic(call, machine, first))
		return false;
	return g_str_equal(gce_last(doc_str(machine->subnetwork, "region")), region) ||
	       fail_value(call, machine, "networkInterfaces[0].subnetwork", link ? link : "",
		       "The subnetwork is in another region than the zone.");
}

static bool check_metadata(RgSimCall *call, const GceMachine *machine)
{
	const json_t *items =
		json_object_get(json_object_get(machine->properties, "metadata"), "items");
	g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
	gsize total = 0;
	for (size_t i = 0; i < json_array_size(items); i++) {
		const char *key = doc_str(json_array_get(items, i), "key");
		if (!g_regex_match_simple("^[a-zA-Z0-9_-]{1,128}$", key, G_REGEX_DOLLAR_ENDONLY, 0))
			return fail_value(call, machine, "metadata.items.key", key,
				"Must be a match of regex '[a-zA-Z0-9-_]{1,128}'.");
		if (!g_hash_table_add(keys, (void *)(guintptr)key))
			return fail_value(call, machine, "metadata.items", key,
				"Metadata has duplicate keys.");
		gsize len = strlen(doc_str(json_array_get(items, i), "value"));
		total += len + strlen(doc_str(json_array_get(items, i), "key"));
		if (len > VALUE_MAX || total > METADATA_MAX)
			return rg_sim_fail(call, 400, "invalid",
				"Value for field '%s.metadata.items[%zu].value' is too large: "
				"maximum size %d character(s); actual size %zu.",
				prefix(machine), i, VALUE_MAX, len);
	}
	return true;
}

/* Schema Tags: RFC 1035 names, each once. */
bool gce_tags_check(RgSimCall *call, const json_t *items)
{
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < json_array_size(items); i++) {
		const char *name = json_string_value(json_array_get(items, i));
		if (!name || !g_regex_match_simple("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", name,
				     G_REGEX_DOLLAR_ENDONLY, 0))
			return gce_fail_invalid(call, "tags", name ? name : "",
				"Must be a match of regex "
				"'(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'.");
		if (!g_hash_table_add(names, (void *)(guintptr)name))
			return gce_fail_invalid(call, "tags", name, "Tags must be unique.");
	}
	return json_array_size(items) <= TAGS_MAX ||
	       gce_fail_invalid(call, "tags", "", "An instance has at most 64 tags.");
}

/* The knob google_service_accounts lists those that exist. */
static bool check_accounts(RgSimCall *call, const GceMachine *machine)
{
	const json_t *list = json_object_get(machine->properties, "serviceAccounts");
	const char *email = doc_str(json_array_get(list, 0), "email");
	if (json_array_size(list) > 1)
		return fail_value(call, machine, "serviceAccounts", "",
			"At most one service account can be specified.");
	if (!json_array_size(list) || g_str_equal(email, "default"))
		return true;
	if (!g_str_has_suffix(email, ".gserviceaccount.com") ||
		!rg_sim_knobs_lists(
			json_object_get(call->sim->knobs, "google_service_accounts"), email))
		return rg_sim_fail(call, 400, "invalid",
			"The resource '%s' of type 'serviceAccount' was not found.", email);
	return true;
}

/* In bulk, names of the zone's region (InstanceProperties.resourcePolicies: "names, not URLs"). */
const json_t *gce_machine_policy(RgSimCall *call, const GceMachine *machine, const char *given)
{
	const char *region = gce_region_of(call_data(call), machine->zone);
	g_autofree char *key = g_strdup_printf("regions/%s/resourcePolicies/%s", region, given);
	if (machine->bulk && strchr(given, '/')) {
		fail_value(call, machine, "resourcePolicies", given,
			"A name is expected here, not a URL.");
		return NULL;
	}
	return gce_refer(call, GCE_POLICY, "resourcePolicies", machine->bulk ? key : given);
}

static bool check_policies(RgSimCall *call, const GceMachine *machine)
{
	const json_t *list = json_object_get(machine->properties, "resourcePolicies");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!gce_machine_policy(call, machine, json_string_value(json_array_get(list, i))))
			return false;
	}
	return true;
}

static bool read_reservation(RgSimCall *call, GceMachine *machine)
{
	const json_t *given = json_object_get(machine->properties, "reservationAffinity");
	const char *type = rg_json_str(given, "consumeReservationType", "NO_RESERVATION");
	bool specific = g_str_equal(type, "SPECIFIC_RESERVATION");
	if (g_str_equal(machine->model, "RESERVATION_BOUND") && !specific)
		return fail_value(call, machine, "reservationAffinity", type,
			"The provisioning model RESERVATION_BOUND needs a specific reservation.");
	if (!specific)
		return true;
	if (!g_str_equal(doc_str(given, "key"), RESERVATION_KEY))
		return fail_value(call, machine, "reservationAffinity.key", doc_str(given, "key"),
			"Must be " RESERVATION_KEY ".");
	const char *value = json_string_value(json_array_get(json_object_get(given, "values"), 0));
	machine->reservation = value;
	return value || fail_value(call, machine, "reservationAffinity.values", "",
				"One reservation has to be named.");
}

bool gce_machine_read_type(
	RgSimCall *call, const json_t *properties, bool bulk, GceMachine *machine)
{
	*machine = (GceMachine){
		.properties = properties, .bulk = bulk, .zone = call_str(call, "zone")};
	if (!read_type(call, machine) || !read_accelerators(call, machine))
		return false;
	machine->label = machine->accelerator
				 ? g_strdup_printf("%s+%s:%" G_GINT64_FORMAT, machine->type,
					   machine->accelerator, machine->accelerators)
				 : g_strdup(machine->type);
	return true;
}

bool gce_machine_read(RgSimCall *call, const json_t *properties, bool bulk, GceMachine *machine)
{
	return gce_machine_read_type(call, properties, bulk, machine) &&
	       read_scheduling(call, machine) && read_disks(call, machine) &&
	       read_network(call, machine) && check_metadata(call, machine) &&
	       gce_tags_check(
		       call, json_object_get(json_object_get(properties, "tags"), "items")) &&
	       check_accounts(call, machine) && check_policies(call, machine) &&
	       read_reservation(call, machine) &&
	       gce_labels_check(call, "resource.labels", json_object_get(properties, "labels"));
}

void gce_machine_clear(GceMachine *machine)
{
	json_decref(machine->images);
	g_free(machine->label);
}
