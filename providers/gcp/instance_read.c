/* An instance's record -> attributes of gcp.instance. Fields: compute.v1, schema Instance. */
#include <string.h>
#include "gcp/instance.h"
#include "gcp/machine.h"

static void copy_text(json_t *attributes, const char *name, const char *text)
{
	if (*text)
		json_object_set_new(attributes, name, json_string(text));
	else
		json_object_del(attributes, name);
}

static const json_t *first_interface(const json_t *record)
{
	return json_array_get(json_object_get(record, "networkInterfaces"), 0);
}

static const json_t *access_of(const json_t *record)
{
	return json_array_get(json_object_get(first_interface(record), "accessConfigs"), 0);
}

/* Machines of other series bring their GPUs and then also report guestAccelerators. */
char *gcp_instance_type(const json_t *record)
{
	const char *type = gcp_last_of(mod_str(record, "machineType"));
	const json_t *attached = json_array_get(json_object_get(record, "guestAccelerators"), 0);
	g_auto(GcpMachine) machine = {0};
	gcp_machine_parse(type, &machine);
	bool attaches =
		g_str_has_prefix(machine.type, "n1-") || g_str_has_prefix(machine.type, "custom-");
	if (attaches && attached) {
		machine.accelerator = g_strdup(gcp_last_of(mod_str(attached, "acceleratorType")));
		machine.count = (int)mod_int(attached, "acceleratorCount");
	}
	return gcp_machine_name(&machine);
}

static bool is_one_of(const char *word, const char *const *words)
{
	return g_strv_contains(words, word);
}

static const char *const starting[] = {"PENDING", "PROVISIONING", "STAGING", NULL};
static const char *const working[] = {"RUNNING", "REPAIRING", NULL};

static const char *const stopping[] = {"STOPPING", "PENDING_STOP", "SUSPENDING", NULL};
static const char *const suspended[] = {"SUSPENDING", "SUSPENDED", NULL};

/* The attribute is the requested state: PROVISIONING will be RUNNING, STOPPING will be TERMINATED,
 * which is Compute Engine's word for stopped. */
static const char *settled_state(const char *status)
{
	if (is_one_of(status, suspended))
		return "suspended";
	return is_one_of(status, starting) || is_one_of(status, working) ? "running" : "stopped";
}

bool gcp_instance_is_stopping(const json_t *record)
{
	return is_one_of(mod_str(record, "status"), stopping);
}

static const char *market_of(const json_t *scheduling)
{
	const char *model = mod_str(scheduling, "provisioningModel");
	if (g_str_equal(model, "SPOT") || json_is_true(json_object_get(scheduling, "preemptible")))
		return "spot";
	return g_str_equal(model, "RESERVATION_BOUND") ? GCP_RESERVATION_BOUND : "on-demand";
}

bool gcp_instance_is_spot(const json_t *record)
{
	return g_str_equal(market_of(json_object_get(record, "scheduling")), "spot");
}

static const char *reservation_of(const json_t *record)
{
	const json_t *affinity = json_object_get(record, "reservationAffinity");
	const char *name =
		json_string_value(json_array_get(json_object_get(affinity, "values"), 0));
	bool specific =
		g_str_equal(mod_str(affinity, "consumeReservationType"), "SPECIFIC_RESERVATION");
	return specific && name ? name : "";
}

static void read_network(const json_t *record, const char *lineage, json_t *attributes)
{
	const json_t *tags = json_object_get(json_object_get(record, "tags"), "items");
	copy_text(attributes, "subnetwork",
		gcp_path_of(mod_str(first_interface(record), "subnetwork")));
	copy_text(attributes, "nic_type", mod_str(first_interface(record), "nicType"));
	json_object_set_new(attributes, "public_ip", json_boolean(access_of(record) != NULL));
	json_object_set_new(attributes, "network_tags", gcp_tags_read(tags, lineage));
}

static void read_disk(const GcpDisk *disk, json_t *attributes)
{
	copy_text(attributes, "image", disk->image);
	copy_text(attributes, "disk_type", disk->type);
	json_object_set_new(attributes, "disk_size_gb", json_integer(disk->size_gb));
}

const char *const gcp_instance_own[] = {"private_ip", "public_address", "launch_time",
	"instance_name", "metadata_fingerprint", NULL};

void gcp_instance_read_own(const json_t *record, GcpSeen *seen)
{
	json_t *attributes = seen->attributes;
	g_free(seen->id);
	seen->id = g_strdup_printf(
		"%s/%s", gcp_last_of(mod_str(record, "zone")), mod_str(record, "id"));
	seen->name = mod_str(record, "name");
	seen->status = mod_str(record, "status");
	copy_text(attributes, "private_ip", mod_str(first_interface(record), "networkIP"));
	copy_text(attributes, "public_address", mod_str(access_of(record), "natIP"));
	copy_text(attributes, "launch_time", mod_str(record, "creationTimestamp"));
	copy_text(attributes, "instance_name", seen->name);
	copy_text(attributes, "metadata_fingerprint",
		mod_str(json_object_get(record, "metadata"), "fingerprint"));
}

static bool is_equal(const json_t *a, const json_t *b)
{
	return a && b ? json_equal(a, b) : a == b;
}

/* Members that alike instances may have different values of: gcp_instance_read_own reads what
 * raygpu needs of them, and the boot disk is read by itself. Everything else that the mask asks for
 * must be equal. */
static const char *const own_of_record[] = {"id", "name", "creationTimestamp", "metadata", "disks",
	"labelFingerprint", "networkInterfaces", NULL};
static const char *const own_of_interface[] = {"name", "networkIP", "accessConfigs", NULL};

static bool is_like_beside(const json_t *object, const json_t *other, const char *const *own)
{
	size_t compared = 0, others = 0;
	mod_foreach_member (name, value, object) {
		if (is_one_of(name, own))
			continue;
		if (!is_equal(value, json_object_get(other, name)))
			return false;
		compared++;
	}
	mod_foreach_member (name, value, other)
		others += !is_one_of(name, own);
	return compared == others;
}

bool gcp_instance_is_like(const json_t *record, const json_t *other)
{
	return is_like_beside(record, other, own_of_record) &&
	       is_like_beside(first_interface(record), first_interface(other), own_of_interface) &&
	       !access_of(record) == !access_of(other);
}

/* The policy of ours: others are schedules of starts and stops, whose names raygpu does not know.
 */
static const char *placement_of(const json_t *record)
{
	mod_foreach (policy, json_object_get(record, "resourcePolicies")) {
		const char *url = json_string_value(policy);
		if (url && g_str_has_prefix(gcp_last_of(url), GCP_MARK_PREFIX))
			return gcp_last_of(url);
	}
	return "";
}

void gcp_instance_read(const json_t *record, const GcpDisk *disk, GcpSeen *seen)
{
	const json_t *scheduling = json_object_get(record, "scheduling");
	const json_t *account = json_array_get(json_object_get(record, "serviceAccounts"), 0);
	const char *zone = gcp_last_of(mod_str(record, "zone"));
	const char *maintenance = mod_str(scheduling, "onHostMaintenance");
	g_autofree char *type = gcp_instance_type(record);
	*seen = (GcpSeen){0};
	json_t *labels = gcp_marks_read(json_object_get(record, "labels"), &seen->marks);
	const json_t *shielded = json_object_get(record, "shieldedInstanceConfig");
	seen->attributes = json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:b}",
		"instance_type", type, "zone", zone, "labels", labels, "market",
		market_of(scheduling), "reservation", reservation_of(record), "host_maintenance",
		*maintenance ? maintenance : "MIGRATE", "instance_state",
		settled_state(mod_str(record, "status")), "service_account",
		mod_str(account, "email"), "resource_policy", placement_of(record), "secure_boot",
		json_is_true(json_object_get(shielded, "enableSecureBoot")));
	json_int_t threads =
		mod_int(json_object_get(record, "advancedMachineFeatures"), "threadsPerCore");
	if (threads)
		json_object_set_new(seen->attributes, "threads_per_core", json_integer(threads));
	gcp_lease_read(json_object_get(record, "labels"), seen->attributes);
	gcp_instance_read_own(record, seen);
	read_network(record, seen->marks.lineage ? seen->marks.lineage : "", seen->attributes);
	copy_text(seen->attributes, "cluster", seen->marks.cluster ? seen->marks.cluster : "");
	if (disk)
		read_disk(disk, seen->attributes);
}

const char *gcp_instance_disk(const json_t *record)
{
	mod_foreach (disk, json_object_get(record, "disks"))
		if (json_is_true(json_object_get(disk, "boot")))
			return gcp_path_of(mod_str(disk, "source"));
	return "";
}

void gcp_instance_readiness(const json_t *record, ModFailure *failure)
{
	const char *status = mod_str(record, "status");
	mod_failure_clear(failure);
	if (!record)
		mod_failure_set(failure, RGP_CLASS_GONE, NULL,
			"the instance no longer exists: it was deleted, or it was a spot "
			"instance that was preempted");
	else if (is_one_of(status, starting) || is_one_of(status, stopping))
		mod_failure_set(failure, RGP_CLASS_TRANSIENT, NULL, "it is %s", status);
	else if (!is_one_of(status, working))
		mod_failure_set(failure, RGP_CLASS_GONE, NULL, "the instance is %s%s", status,
			gcp_instance_is_spot(record) ? ": it was stopped or preempted" : "");
}
