/* The parts of the kind gcp.instance: the request's body, reading a record, creating, changing and
 * removing. */
#pragma once
#include "gcp/kinds.h"

/* What raygpu reads of an instance: without `fields`, each would carry its user data. */
#define GCP_INSTANCE_FACTS                                                                         \
	"id,name,machineType,status,creationTimestamp,labels,scheduling(provisioningModel,"        \
	"preemptible,onHostMaintenance),reservationAffinity(consumeReservationType,values),"       \
	"disks(boot,source),guestAccelerators(acceleratorType,acceleratorCount),"                  \
	"serviceAccounts(email),resourcePolicies,metadata(fingerprint),"                           \
	"shieldedInstanceConfig(enableSecureBoot),advancedMachineFeatures(threadsPerCore),"
/* For a list of all; the zone is that of its part of the answer. */
#define GCP_INSTANCE_LISTED                                                                        \
	GCP_INSTANCE_FACTS                                                                         \
	"tags(items),networkInterfaces(networkIP,subnetwork,nicType,accessConfigs(natIP))"
/* For changes: also the zone, fingerprints and the interface's name. */
#define GCP_INSTANCE_FIELDS                                                                        \
	GCP_INSTANCE_FACTS                                                                         \
	"zone,labelFingerprint,tags(items,fingerprint),"                                           \
	"networkInterfaces(name,networkIP,subnetwork,nicType,accessConfigs(name,natIP))"

/* A boot disk's image, type and size. */
typedef struct {
	char *image, *type;
	int64_t size_gb;
} GcpDisk;

/* `disk`: its boot disk, NULL: not read. */
void gcp_instance_read(const json_t *record, const GcpDisk *disk, GcpSeen *seen);
/* Does it differ from the other one only in what gcp_instance_read_own reads? */
bool gcp_instance_is_like(const json_t *record, const json_t *other);
/* Updates what was read of such another one: id, name and the attributes gcp_instance_own. */
void gcp_instance_read_own(const json_t *record, GcpSeen *seen);
extern const char *const gcp_instance_own[];
/* The machine type with attached GPUs, of an instance or of what a reservation is for. g_free. */
char *gcp_instance_type(const json_t *record);
/* "projects/p/zones/z/disks/name" of its boot disk, "" if it has none; borrowed */
const char *gcp_instance_disk(const json_t *record);
/* The body of instances.insert (one item without an index), or of instances.bulkInsert. */
json_t *gcp_instance_insert_body(const GcpCall *call, const json_t *input);
json_t *gcp_instance_bulk_body(const GcpCall *call, const json_t *input);
/* Its metadata as raygpu sets it, without the fingerprint. */
json_t *gcp_instance_metadata(const GcpCall *call, const json_t *attributes);
/* The lease (lease.c): its label, or none; the attribute of a record's labels. */
#define GCP_LEASE GCP_MARK_PREFIX "expires"
void gcp_lease_set_label(const json_t *attributes, json_t *labels);
void gcp_lease_read(const json_t *labels, json_t *attributes);
/* Completes the records of items that are released with all of their metadata. */
rgp_status gcp_lease_read_metadata(const GcpCall *call, const json_t *items, json_t *records);
/* The metadata of such a record without the lease, a new reference; NULL: it has none. */
json_t *gcp_lease_removed(const json_t *record);
/* Whether it runs: class OK: yes; TRANSIENT: not yet; else it ended. */
void gcp_instance_readiness(const json_t *record, ModFailure *failure);
/* Is it being stopped or suspended? Nothing can start it meanwhile. */
bool gcp_instance_is_stopping(const json_t *record);
/* May it be preempted? */
bool gcp_instance_is_spot(const json_t *record);
/* "projects/p/zones/z/instances/NUMBER" of an id ZONE/NUMBER; g_free; NULL: it is not such an id,
 * or after a diagnostic. */
char *gcp_instance_url(const GcpCall *call, const char *id);
/* All instances of one zone with a label, as records. */
rgp_status gcp_instance_zone_list(const GcpCall *call, const char *zone, const char *mark,
	const char *value, json_t *records);
/* The records of these items: {id: record}; an id without an instance has none. Lists by cluster
 * where that costs less than a request for each. */
rgp_status gcp_instance_records(const GcpCall *call, const json_t *items, json_t *records);
/* The same, but one that the list of its cluster does not have is not read by itself. */
rgp_status gcp_instance_listed(const GcpCall *call, const json_t *items, json_t *records);

/* What still changes these items, perhaps for a run that was interrupted: {number: operation}.
 * `denied`: as in gcp_operations_running. */
rgp_status gcp_instance_running(
	const GcpCall *call, const json_t *items, json_t *running, ModFailure *denied);

/* The records of these ids: {id: record} of those that exist. */
rgp_status gcp_instance_get(const GcpCall *call, const GPtrArray *ids, json_t *records);
/* GETs, concurrently; records[i] is NULL for what does not exist. RGP_FAIL after a diagnostic. */
rgp_status gcp_get_all(const GcpCall *call, const char *what, const GPtrArray *urls,
	const char *fields, json_t **records);

/* One reading request per item, its URL with `suffix`; `give` reports the answer's item. Of kinds
 * other than instances: RGP_UNSUPPORTED. */
rgp_status gcp_instance_each(const GcpCall *call, const GcpKind *kind, const json_t *input,
	const char *what, const char *suffix,
	rgp_status (*give)(const GcpCall *, const json_t *item, const ModRestAnswer *));

/* A change of an instance that has begun. */
typedef struct {
	const json_t *item, *operation;
	size_t member; /* what `is_applied` knows it by */
	ModFailure *failure;
} GcpBegun;

/* Waits for the ends of operations: of a few by operations.wait, of many by lists of operations. Of
 * those that are forgotten, the instances show whether the change is applied. */
rgp_status gcp_instance_await(const GcpCall *call, const GArray *begun,
	bool (*is_applied)(void *data, size_t member, const json_t *now), void *data);

rgp_status gcp_instance_scan(const GcpCall *call, const GcpKind *kind, const char *mark,
	const char *value, GcpSink sink, void *data);
rgp_status gcp_instance_look(
	const GcpCall *call, const GcpKind *kind, const GPtrArray *ids, GcpSink sink, void *data);

/* Takes the objects of one zone; `scope`: "zones/us-central1-a". */
typedef rgp_status (*GcpZoneSink)(void *data, const char *scope, const json_t *list);
/* The objects of a collection ("machineTypes") in all zones of the region that match the filter,
 * with these fields. A zone that cannot be listed is reported, and RGP_FAIL. */
rgp_status gcp_list_zones(const GcpCall *call, const char *collection, const char *fields,
	const char *filter, GcpZoneSink list, void *data);
rgp_status gcp_instance_create(const GcpCall *call, const GcpKind *kind, const json_t *input);
rgp_status gcp_instance_update(const GcpCall *call, const GcpKind *kind, const json_t *items);
rgp_status gcp_instance_remove(const GcpCall *call, const GcpKind *kind, const json_t *items);
