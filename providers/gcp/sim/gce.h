/* What every file of the simulated Compute Engine works with: kinds, facts, the parameters of a
 * call, its errors and answers. A place is a project. Documents have the spelling of the API's
 * answers; the id of a document is its path in the project ("zones/us-central1-a/instances/head").
 */
#pragma once
#include "sim/core/call.h"
#include "sim/core/knobs.h"
#include "sim/core/scenario.h"
#include "sim/core/world.h"

#define GCE_ROOT "https://www.googleapis.com/compute/v1/"
#define GCE_KEY "_key"

enum {
	GCE_ADDRESS,
	GCE_DISK,
	GCE_FIREWALL,
	GCE_INSTANCE,
	GCE_NETWORK,
	GCE_OPERATION,
	GCE_POLICY, /* resource policies */
	GCE_RESERVATION,
	GCE_ROUTER,
	GCE_SUBNETWORK,
	GCE_REQUEST, /* requestIds and their operations */
	GCE_KINDS,
};

/* RgSimAction.service */
enum { GCE_COMPUTE, GCE_LOGIN, GCE_METADATA, GCE_RESOURCES };

/* Each family's actions; the tables end with a NULL name. Names are those of the description; a
 * word of `handled` is a query parameter, or with a leading dot a member of the body and all below
 * it. */
extern const RgSimAction gce_address_actions[], gce_bulk_actions[], gce_change_actions[],
	gce_console_actions[], gce_fact_actions[], gce_instance_actions[], gce_login_actions[],
	gce_network_actions[], gce_operation_actions[], gce_permission_actions[],
	gce_reservation_actions[];
#define GCE_LISTED "filter maxResults orderBy pageToken returnPartialSuccess"
#define GCE_AGGREGATED GCE_LISTED " includeAllScopes serviceProjectNumber"

/* ---- facts (data/) */

typedef struct {
	json_t *methods; /* {name: {httpMethod, path, parameters, request, response}} */
	json_t *schemas;
	json_t *patterns; /* {path parameter: regular expression} */
	json_t *types;	 /* {name: {guestCpus, memoryMb, accelerators, attachable, regions, ...}} */
	json_t *own;	 /* {name: true}: those of them that a scenario has added */
	json_t *custom;	 /* rules of machine types that are not listed, and of attached GPUs */
	json_t *made;	 /* such types that were asked for, as in `types` */
	json_t *regions; /* {name: [zone]} */
	json_t *images;	 /* [{family, project, name, architecture, diskSizeGb}] */
	GPtrArray *routes;
} GceData;

static inline const GceData *gce_data(const RgSimPlace *place)
{
	return place->realm->data;
}
/* Aborts if the embedded files are broken, which is a bug of the build. */
void *gce_data_new(void);
void gce_data_free(void *data);

/* custom.c: the facts of a machine type, also of one that is not listed; NULL: there is none. */
const json_t *gce_type_facts(const GceData *data, const char *name);
bool gce_can_attach(const GceData *data, const char *type, const json_t *facts,
	const char *accelerator, gint64 count);
bool gce_has_accelerator(const GceData *data, const char *accelerator, const char *region);

/* own_types.c: machine types of a scenario. False and *problem (g_free) if one is wrong. */
bool gce_own_type_check(const void *data, const char *name, const json_t *type, char **problem);
/* Adds a checked one; NULL: removes all. */
void gce_own_type_add(void *data, const char *name, const json_t *type);

/* ---- the description: route.c, body.c, fields.c */

/* The method of this HTTP request; adds its path parameters to `params`. NULL: there is none. */
const char *gce_route(const GceData *data, const RgSimRequest *request, json_t *params);
/* Checks path, query and body of the call against its method and against what the action handles.
 */
bool gce_params_check(RgSimCall *call);
/* Checks a body or a part of it against a schema; `path` as in "resource.disks[0]". */
bool gce_body_check(RgSimCall *call, const char *schema, const json_t *body);
/* The parameter `fields` as a tree; NULL without one, or after an error on the call. */
bool gce_fields_read(RgSimCall *call, json_t **tree);
/* The selected members. Internal ones (with a leading "_") are never among them. */
json_t *gce_fields_pick(const json_t *tree, const json_t *value);

/* ---- a call */

static inline const char *call_str(const RgSimCall *call, const char *name)
{
	return rg_json_str(call->params, name, NULL);
}
static inline const json_t *call_body(const RgSimCall *call)
{
	return json_object_get(call->params, "body");
}
static inline bool call_bool(const RgSimCall *call, const char *name)
{
	return g_ascii_strcasecmp(doc_str(call->params, name), "true") == 0;
}
static inline const GceData *call_data(const RgSimCall *call)
{
	return call->realm->data;
}
/* "zones/Z", "regions/R" or "global", as the path has it. g_free it. */
char *gce_scope(const RgSimCall *call);
/* The region of a zone or region, borrowed; NULL if there is none of this name. */
const char *gce_region_of(const GceData *data, const char *place);
/* A name that the path, the body or a URL gives: is it a zone or region? Fails as Google does. */
bool gce_check_scope(RgSimCall *call);

/* Errors, as far as several files have them. Each returns false. */
bool gce_fail_invalid(RgSimCall *call, const char *field, const char *value, const char *why);
bool gce_fail_required(RgSimCall *call, const char *field);
bool gce_fail_missing(RgSimCall *call, const char *project, const char *key);
bool gce_fail_exists(RgSimCall *call, const char *key);
bool gce_fail_in_use(RgSimCall *call, const char *key, const char *user);
bool gce_fail_not_ready(RgSimCall *call, const char *key);

/* Sets the answer from a document; takes it. */
bool gce_answer(RgSimCall *call, json_t *answer);

/* ---- documents: document.c */

/* GCE_ROOT projects/P/KEY. g_free it. */
char *gce_link(const RgSimPlace *place, const char *key);
/* The last part of a URL or path. Borrowed. */
const char *gce_last(const char *link);
/* The key in a URL, a partial URL or a path of this form: "zones/Z/instances/N", with *project set
 * to its project or NULL. Both g_free. NULL if it is
 * another path. */
char *gce_key_of(const char *link, char **project);
/* A decimal number of up to 19 digits. g_free it. */
char *gce_number(RgSim *sim);
char *gce_fixed_number(const char *place, const char *word);
/* 2026-11-21T01:47:02.123-08:00 */
char *gce_time(gint64 unix_ms);
/* Eight bytes of the value's hash, in URL-safe base64. */
char *gce_fingerprint(const json_t *value);

typedef struct {
	const char *resource; /* "instances" */
	const char *singular; /* "instance": the path parameter, and the kind of answers */
	bool by_number;	      /* its number may stand for its name */
} GceKind;
extern const GceKind gce_kinds[GCE_KINDS];

/* The resource that the path names, by name or number; NULL and an error on the call. */
json_t *gce_target(RgSimCall *call, unsigned kind);
/* By scope and name; NULL if there is none, or it is not finished yet. Borrowed. */
json_t *gce_find(const RgSimPlace *place, unsigned kind, const char *scope, const char *name);
/* What a URL in the body refers to, also in another project; NULL and an error on the call. */
json_t *gce_refer(RgSimCall *call, unsigned kind, const char *field, const char *link);
/* A new document of a resource with what all have: kind, id, name, selfLink, creationTimestamp,
 * zone or region. `name` NULL: that of the body. It starts hidden; its operation shows it. */
json_t *gce_new(RgSimCall *call, unsigned kind, const char *scope, const char *name);
/* Checks that a new resource's name is well formed and free. */
bool gce_name_check(RgSimCall *call, unsigned kind, const char *scope, const char *name);
/* Removes it, and frees what it used. */
void gce_remove(RgSimPlace *place, unsigned kind, const char *key);
static inline bool gce_is_hidden(const json_t *doc)
{
	return doc_is(doc, "_hidden");
}

/* ---- lists: list.c, filter.c */

typedef struct GceFilter GceFilter;
/* NULL for an empty text, or after an error on the call. */
bool gce_filter_read(RgSimCall *call, GceFilter **filter);
bool gce_filter_accepts(const GceFilter *filter, const json_t *doc);
void gce_filter_free(GceFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GceFilter, gce_filter_free)

/* The methods get, list and aggregatedList of a kind, which is that of the action's name. */
bool gce_get(RgSimCall *call);
bool gce_list(RgSimCall *call);
bool gce_aggregate(RgSimCall *call);
unsigned gce_kind_of(const RgSimCall *call);
/* The same for computed documents {_key, ...}; takes them. */
bool gce_list_docs(RgSimCall *call, json_t *docs);
bool gce_aggregate_docs(RgSimCall *call, json_t *docs);

/* ---- operations: operation.c, request_id.c */

/* What an operation does when it ends well or badly: [{do, kind, key, id, set}]. */
json_t *gce_effect_show(json_t *list, unsigned kind, const json_t *doc);
json_t *gce_effect_remove(json_t *list, unsigned kind, const json_t *doc);
/* Replaces members; takes `set`. */
json_t *gce_effect_set(json_t *list, unsigned kind, const json_t *doc, json_t *set);
/* The same, unless the status is another one by then. */
json_t *gce_effect_set_from(const char *status, const json_t *doc, unsigned kind, json_t *set);

typedef struct {
	const char *type;
	const char *scope;
	const json_t *target;	    /* document; may be NULL */
	const char *target_key;	    /* where there is no document */
	gint64 ms;		    /* how long it takes; negative: as the knob operation_ms says */
	json_t *begin, *end, *undo; /* effects; taken, may be NULL */
	json_t *error;	 /* {http, errors: [{code, message, ...}]}; taken, NULL: it ends well */
	json_t *finally; /* members that it gets at its end; taken, may be NULL */
	const char *group;
	const char *user; /* NULL: the caller */
} GceOperation;
/* Starts it. An injected fault of the knob operation_faults applies. Borrowed. */
json_t *gce_operation_start(RgSimCall *call, GceOperation *operation);
/* The same, as the answer of the call, whose requestId will find it. */
bool gce_operate(RgSimCall *call, GceOperation *operation);
/* One on the document in the call's scope, of the usual duration; takes the effects, or NULL. */
bool gce_operate_on(
	RgSimCall *call, const char *type, const json_t *doc, json_t *end, json_t *undo);
/* In a place without a call: what Compute Engine does by itself. */
void gce_operation_system(RgSimPlace *place, GceOperation *operation);
bool gce_are_operation_faults(const json_t *value);
json_t *gce_error(int http, const char *code, char *message);
void gce_operation_due(RgSimPlace *place, unsigned kind, const char *key, const char *state);
/* Has this requestId been used? Then the call is answered, or fails. */
bool gce_request_is_known(RgSimCall *call, bool *done);

/* Creates a document from the body by an operation, with the given members on top; takes `more`. */
bool gce_insert_with(RgSimCall *call, unsigned kind, json_t *more);
/* The same with a document; takes it. */
bool gce_insert_doc(RgSimCall *call, unsigned kind, json_t *doc);
/* Is the body's name well formed and free? */
bool gce_name_is_good(RgSimCall *call, unsigned kind);
/* The method delete of what nothing else refers to. */
bool gce_delete_plain(RgSimCall *call);
/* That of a document that lists its users. */
bool gce_delete_unused(RgSimCall *call);
/* Deletes the document by an operation, which is the answer. */
bool gce_delete(RgSimCall *call, unsigned kind, const json_t *doc);

/* ---- labels.c */

/* On a document being edited: labels and their fingerprint. `labels` may be NULL. */
void gce_labels_set(json_t *doc, const json_t *labels);
bool gce_labels_check(RgSimCall *call, const char *field, const json_t *labels);
/* The method setLabels of a kind. */
bool gce_set_labels(RgSimCall *call);
/* 412 unless `given` is the fingerprint of what is there. */
bool gce_fingerprint_check(RgSimCall *call, const char *what, const char *given, const char *now);

/* ---- instances: machine.c, instance.c, bulk.c, change.c */

/* A virtual machine to be made, as insert and bulkInsert describe it. */
typedef struct {
	const json_t *properties;
	bool bulk;	  /* names instead of URLs */
	const char *zone; /* texts are borrowed */
	const char *type;
	const json_t *facts;
	const char *accelerator; /* attached; NULL: none */
	gint64 accelerators;
	bool spot;
	const char *model; /* provisioning model */
	const json_t *subnetwork;
	json_t *images;		 /* of the disks, owned */
	const char *reservation; /* its name, or NULL */
	char *label; /* "n1-standard-8+nvidia-tesla-v100:1": the key of the knob `capacity` */
} GceMachine;
/* The members that are simulated, each behind the prefix. */
#define GCE_MACHINE(p)                                                                             \
	p "description " p "machineType " p "labels " p "tags.items " p "metadata.items " p        \
	  "disks.boot " p "disks.autoDelete " p "disks.deviceName " p "disks.diskSizeGb " p        \
	  "disks.mode " p "disks.type " p "disks.interface " p                                     \
	  "disks.initializeParams.sourceImage " p "disks.initializeParams.diskSizeGb " p           \
	  "disks.initializeParams.diskType " p "disks.initializeParams.diskName " p                \
	  "disks.initializeParams.labels " p "networkInterfaces.network " p                        \
	  "networkInterfaces.subnetwork " p "networkInterfaces.networkIP " p                       \
	  "networkInterfaces.nicType " p "networkInterfaces.stackType " p                          \
	  "networkInterfaces.accessConfigs.name " p "networkInterfaces.accessConfigs.type " p      \
	  "networkInterfaces.accessConfigs.networkTier " p "scheduling.automaticRestart " p        \
	  "scheduling.onHostMaintenance " p "scheduling.preemptible " p                            \
	  "scheduling.provisioningModel " p "scheduling.instanceTerminationAction " p              \
	  "serviceAccounts " p "guestAccelerators " p "resourcePolicies " p                        \
	  "reservationAffinity " p "canIpForward " p "shieldedInstanceConfig " p                   \
	  "advancedMachineFeatures.threadsPerCore "
/* Checks it as Compute Engine does before it starts an operation. */
bool gce_machine_read(RgSimCall *call, const json_t *properties, bool bulk, GceMachine *machine);
/* Only its type and accelerators. Clear it whatever the result. */
bool gce_machine_read_type(
	RgSimCall *call, const json_t *properties, bool bulk, GceMachine *machine);
void gce_machine_clear(GceMachine *machine);
/* Network tags, as an instance or setTags has them. */
bool gce_tags_check(RgSimCall *call, const json_t *items);
/* The NIC type of its interface: what is given, or the only one of its series; NULL: Compute Engine
 * chooses, and does not say. */
static inline const char *gce_machine_nic(const GceMachine *machine, const json_t *interface)
{
	bool only = rg_json_bool(machine->facts, "gvnicOnly", false);
	return rg_json_str(interface, "nicType", only ? "GVNIC" : NULL);
}
/* The resource policy that it names; NULL and an error on the call. */
const json_t *gce_machine_policy(RgSimCall *call, const GceMachine *machine, const char *given);
/* Makes instance and disks; NULL and *error (as GceOperation.error) if it cannot be had now. */
json_t *gce_machine_make(
	RgSimCall *call, const GceMachine *machine, const char *name, json_t **error);
/* What the operation that makes it has to do. */
void gce_machine_effects(RgSimPlace *place, const json_t *instance, GceOperation *operation);

/* ---- lease.c: a node powers itself off when its lease ends */

/* Its user data as the guest reads it; g_free. */
char *gce_user_data(const json_t *instance, gsize *len);
/* On an instance being made: does it look at its lease? */
void gce_lease_at_launch(json_t *instance);
/* On an instance being edited whose metadata or status has changed: the end of its lease. */
void gce_lease_plan(RgSimPlace *place, json_t *instance);
/* instance.c. That end: the operating system shuts down. */
void gce_lease_end(RgSimPlace *place, const char *key);
bool gce_instance_takes_place(const json_t *instance);
/* The end of spot machines. */
void gce_reclaim(RgSimPlace *place, RgSimReclaim *rule, json_t *hit);

/* ---- limits.c */

bool gce_is_quota(const char *code);
/* The quotas of a region, or of the project (NULL), with their usage. */
json_t *gce_quotas_json(const RgSimPlace *place, const char *region);
/* Why one more machine of this form cannot be had now; NULL: it can. Owned, as GceOperation.error.
 */
json_t *gce_capacity_refusal(const RgSimPlace *place, const GceMachine *machine);
json_t *gce_quota_refusal(const RgSimPlace *place, const GceMachine *machine);
/* What an instance's "_machine" has, by which capacity and quotas are counted. */
json_t *gce_machine_json(const RgSimPlace *place, const GceMachine *machine);
/* One token of the request's group. */
bool gce_throttle(RgSimCall *call);
bool gce_fail_rate(RgSimCall *call, const char *what);

/* ---- pool.c */

/* A free address of the subnetwork, or the given one; NULL and *error (as GceOperation.error).
 * `place` is the project of what gets it. g_free it. */
char *gce_address_take(
	RgSimPlace *place, const json_t *subnetwork, const char *wanted, json_t **error);
void gce_address_give_back(RgSimPlace *place, const char *subnetwork, const char *address);
/* The reserved address of this text; NULL: none. Borrowed. */
json_t *gce_address_find(const RgSimPlace *place, const char *subnetwork, const char *address);
/* IN_USE by the URL, or free again (NULL). */
void gce_address_set_user(RgSimPlace *place, const json_t *address, const char *user);
void gce_place_clear(RgSimPlace *place);
/* Number -> key of instances, because URLs may have either. */
json_t *gce_instance_by_number(RgSimPlace *place, const char *scope, const char *number);

/* ---- reservation.c */

/* Why the reservation that the machine names does not have it; NULL: it does. As
 * GceOperation.error. */
json_t *gce_reservation_refusal(const RgSimPlace *place, const GceMachine *machine);

/* ---- the rest */

/* places.c: the image of a URL, by name, number or family; NULL: there is none. json_decref it. */
json_t *gce_image_find(RgSimRealm *realm, const char *link);
/* A public project that has images. */
bool gce_is_image_project(const GceData *data, const char *project);
/* network.c: what every project has from the start. */
void gce_network_seed(RgSimPlace *place);
/* console.c: on a new instance, the fault that the knob node_faults has for it. */
void gce_console_give_fault(const RgSimPlace *place, json_t *instance, const char *type);
/* machine.c: an access config with an address. */
json_t *gce_access_config(RgSim *sim, const json_t *given);
/* A value with its fingerprint: tags, metadata. Takes it. */
json_t *gce_printed(json_t *value);
/* auth.c: the caller by the access token; otherwise 401. */
bool gce_auth_check(RgSimCall *call);
/* permission.c: may the caller, and is the API enabled? */
bool gce_permission_check(RgSimCall *call);
/* The same for the Cloud Resource Manager API, which needs no permission. */
bool gce_resources_check(RgSimCall *call);
/* The project of a request to that API; NULL: it is another request. g_free. */
char *gce_resources_project(const RgSimRequest *request);
/* login.c: GCE_COMPUTE and so on, or -1; and the action of a request that is not Compute Engine's.
 */
int gce_service_of(const RgSimRequest *request);
const char *gce_login_action(const RgSimRequest *request);
