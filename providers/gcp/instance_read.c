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
	if (!g_str_has_prefix(type, "n1-") || !attached)
		return g_strdup(type);
	return g_strdup_printf("%s+%s:%" G_GINT64_FORMAT, type,
		gcp_last_of(mod_str(attached, "acceleratorType")),
		mod_int(attached, "acceleratorCount"));
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

static bool is_spot(const json_t *scheduling)
{
	return g_str_equal(market_of(scheduling), "spot");
}

static const char *reservation_of(const json_t *record)
{
	const json_t *affinity = json_object_get(record, "reservationAffinity");
	const char *name =
		json_string_value(json_array_get(json_object_get(affinity, "values"), 0));
	bool specific =
		g_str_equal(mod_str(affinity, "consumeReservationType"), "SPECIFIC_RESERVATION");
	return specific && name ? gcp_last_of(name) : "";
}

static void read_network(const json_t *record, const char *lineage, json_t *attributes)
{
	const json_t *tags = json_object_get(json_object_get(record, "tags"), "items");
	copy_text(attributes, "subnetwork",
		gcp_path_of(mod_str(first_interface(record), "subnetwork")));
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

bool gcp_instance_is_like(const json_t *record, const json_t *other)
{
	static const char *const common[] = {"labels", "zone", "status", "machineType", "tags",
		"scheduling", "guestAccelerators", "serviceAccounts", "resourcePolicies",
		"reservationAffinity"};
	for (size_t i = 0; i < G_N_ELEMENTS(common); i++)
		if (!is_equal(
			    json_object_get(record, common[i]), json_object_get(other, common[i])))
			return false;
	return is_equal(json_object_get(first_interface(record), "subnetwork"),
		       json_object_get(first_interface(other), "subnetwork")) &&
	       !access_of(record) == !access_of(other);
}

/* The policy of ours: others are schedules of starts and stops, whose names raygpu does not know.
 */
static const char *placement_of(const json_t *record)
{
	size_t i;
	const json_t *policy;
	json_array_foreach (json_object_get(record, "resourcePolicies"), i, policy) {
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
	seen->attributes = json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:s}",
		"instance_type", type, "zone", zone, "labels", labels, "market",
		market_of(scheduling), "reservation", reservation_of(record), "host_maintenance",
		*maintenance ? maintenance : "MIGRATE", "instance_state",
		settled_state(mod_str(record, "status")), "service_account",
		mod_str(account, "email"), "resource_policy", placement_of(record));
	gcp_lease_read(json_object_get(record, "labels"), seen->attributes);
	gcp_instance_read_own(record, seen);
	read_network(record, seen->marks.lineage ? seen->marks.lineage : "", seen->attributes);
	copy_text(seen->attributes, "cluster", seen->marks.cluster ? seen->marks.cluster : "");
	if (disk)
		read_disk(disk, seen->attributes);
}

const char *gcp_instance_disk(const json_t *record)
{
	size_t i;
	const json_t *disk;
	json_array_foreach (json_object_get(record, "disks"), i, disk)
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
			is_spot(json_object_get(record, "scheduling"))
				? ": it was stopped or preempted"
				: "");
}
