/* What the families of resources provide to each other and to cloud.c. Each family is one file; its
 * actions are in its table (ec2.h). */
#pragma once
#include "aws/sim/ec2.h"
#include "sim/core/scenario.h"

/* ---- auth, model.c, limits.c: before an action runs */

/* Checks a request's parameters against the API's published description (data/requests.json):
 * names, types, short enumerations, required ones; and that the simulator supports each of them.
 * Otherwise false and UnknownParameter, InvalidParameterValue, MissingParameter, or
 * UnsupportedOperation (known to EC2, not simulated) on the call. */
bool ec2_params_check(RgSimCall *call);
/* One token for the request; false and RequestLimitExceeded on the call if its bucket is empty. */
bool ec2_throttle_request(RgSimCall *call);
/* The same for the instances that it will affect: all of them or none. */
bool ec2_throttle_instances(RgSimCall *call, gint64 count);

/* ---- limits.c: where instances fit, and how many */

/* Does it use capacity (and count against quotas)? Stopped and terminated ones do not. */
bool ec2_takes_place(const json_t *instance);
/* Instances of the type that still fit in the zone; G_MAXINT64 when unlimited. */
typedef struct {
	const char *type;
	bool spot;
} Ec2Machine;
gint64 ec2_capacity_left(const RgSimCall *call, const Ec2Machine *machine, const char *zone);
bool ec2_fail_capacity(RgSimCall *call, const Ec2Machine *machine, const char *zone);
/* Finds a zone with room for at least `min` of at most `max`: the requested one, or any with a
 * default subnet when `wanted` is NULL. Sets the zone (borrowed) and how many fit; else Unsupported
 * or InsufficientInstanceCapacity on the call. */
bool ec2_choose_zone(RgSimCall *call, const Ec2Machine *machine, const char *wanted, gint64 min,
	gint64 max, const char **zone, gint64 *count);
/* "L-417A185B"; NULL for families without a quota here. */
const char *ec2_quota_code(const char *type, bool spot);
bool ec2_is_quota(const char *code);
/* "Running On-Demand P instances"; NULL: there is no such quota. g_free it. */
char *ec2_quota_name(const char *code);
/* vCPUs left under the code; G_MAXINT64 if unlimited. Pending, running and ending instances
 * count. */
gint64 ec2_quota_left(const RgSimCall *call, const char *code);
bool ec2_fail_quota(RgSimCall *call, const char *code);

/* ---- types.c: instance types, where they are offered, and those that a scenario adds */

/* The type's entry, or NULL for an unknown type. Borrowed. */
json_t *ec2_type_find(const RgSimPlace *region, const char *type);
const char *ec2_type_arch(const json_t *type);
gint64 ec2_type_vcpus(const json_t *type);
gint64 ec2_type_max_interfaces(const json_t *type);
/* Is the type offered in the zone? Types without a table are offered everywhere. */
bool ec2_type_offered(const RgSimPlace *region, const char *type, const char *zone_id);
/* The form of a scenario's type in DescribeInstanceTypes, derived from the given figures. False and
 * *problem (g_free) if it is invalid. */
bool ec2_own_type_check(const void *data, const char *name, const json_t *type, char **problem);
/* A checked one. Replaces a type of an earlier scenario; NULL removes all. */
void ec2_own_type_add(void *data, const char *name, const json_t *type);

/* ---- health.c: what is wrong with machines */

/* For a machine that is launched: the first rule of the knob node_faults that matches it and is not
 * used up, and its GPUs. */
void ec2_health_at_launch(const RgSimCall *call, json_t *instance);
/* Its launch is accepted, but it never runs. */
bool ec2_lacks_capacity(const json_t *instance);

/* ---- routes.c, network.c, groups.c, rules.c, permission.c, images.c */

/* The check of the knob `egress`. */
bool ec2_is_egress(const json_t *value);
/* The default VPC and its subnets (one per zone), which every account has. */
void ec2_network_seed(RgSimPlace *region);
/* The region's default VPC. Borrowed. */
json_t *ec2_default_vpc(const RgSimPlace *region);
/* The default subnet of a zone, or NULL. Borrowed. */
json_t *ec2_default_subnet(const RgSimPlace *region, const char *zone);
/* The default group of a new VPC. */
void ec2_groups_seed(RgSimPlace *region, const char *vpc_id);
/* The group by id, or by name in the default VPC; NULL and an error on the call. Borrowed. */
json_t *ec2_group_of_params(RgSimCall *call, const char *id, const char *name);
/* The group in GroupId or GroupName of the request. */
json_t *ec2_group_of_call(RgSimCall *call);
/* [{groupId, groupName}] of the ids in a list parameter, or of the VPC's default group if the list
 * is empty. NULL and an error if one does not exist or is in another VPC. */
json_t *ec2_group_set(RgSimCall *call, const GPtrArray *ids, const char *vpc_id);

/* A group's document has its rules as a flat list in "_rules", each in the spelling of
 * DescribeSecurityGroupRules; its ipPermissions lists are derived from them. */

/* The rule that allows all outbound traffic, which each new group has. */
json_t *ec2_rule_allow_all_out(RgSim *sim, const char *group_id);
/* All traffic from the group's own members, which the default group has. */
json_t *ec2_rule_allow_itself(RgSim *sim, const char *group_id, const char *vpc_id);
/* Replaces the rules of a group's document (takes them) and what is derived from them. */
void ec2_rules_set(json_t *group, json_t *rules);
/* Does one of the group's rules refer to another group? */
bool ec2_rules_refer_to(const json_t *group, const char *group_id);
/* IpPermissions of the request as rules without ids, protocol and address in EC2's normal form, one
 * for each source or destination; NULL and an error on the call otherwise. */
json_t *ec2_permissions_read(RgSimCall *call, const json_t *group, bool egress);
/* A rule without id: all traffic, to or from `peer` ({member: value}). */
json_t *ec2_permission_all(const char *group_id, bool egress, json_t *peer);
/* The identity of a rule, without descriptions and ids. g_free it. */
char *ec2_permission_key(const json_t *rule);
/* "peer: 10.0.0.0/8, TCP, from port: 22, to port: 22, ALLOW", as in EC2's errors. */
char *ec2_permission_text(const json_t *rule);

/* A few machine images that every region has. Their ids depend on region and name only. */
void ec2_images_seed(RgSimPlace *region);

/* ---- lease.c: a node powers itself off when its lease ends */

/* Do nodes with this user data (base64, or NULL) look at their lease? */
bool ec2_lease_is_watched(const char *user_data);
/* Does the metadata service show the instance its tags? Only with keys that fit into its paths;
 * else false and InvalidParameterValue on the call. */
bool ec2_shows_tags(const json_t *instance);
bool ec2_tags_can_show(RgSimCall *call, const json_t *tags);
/* On an instance being edited whose tags, metadata options or state have changed: the end of its
 * lease, as it sees it. */
void ec2_lease_plan(RgSimPlace *region, json_t *instance);
/* Is this planned state that end? Then the operating system shuts down. */
bool ec2_lease_ends(const char *state);
void ec2_lease_end(RgSimPlace *region, json_t *instance);

/* ---- instances.c, lifecycle.c */

/* Rewrites, in a document being edited, everything that EC2 shows of the interfaces (ids in
 * "_interfaces", first one first): networkInterfaceSet, groupSet, subnet, VPC, addresses. */
void ec2_instance_show_interfaces(const RgSimPlace *region, json_t *instance);
/* Removes the public address (stopped) or assigns a new one (started), and shows it. */
void ec2_instance_drop_public(RgSimPlace *region, json_t *instance);
void ec2_instance_give_public(RgSimPlace *region, json_t *instance);
/* After one of its interfaces changed; an empty or unknown id is ignored. */
void ec2_instance_refresh(RgSimPlace *region, const char *id);

const char *ec2_instance_state(const json_t *instance);
bool ec2_instance_runs(const json_t *instance); /* or is about to be */
/* On a document being edited: its state from now on, and the next one after a time. */
void ec2_instance_set_state(json_t *instance, const char *state);
void ec2_instance_plan(RgSimPlace *region, json_t *instance, gint64 at_ms, const char *state);
/* pending -> running, stopping -> stopped, shutting-down -> terminated -> gone, the reclaim of a
 * spot instance, and the life of a capacity reservation. */
void ec2_instance_due(RgSimPlace *region, unsigned kind, const char *id, const char *state);
/* Ends the attachment when the instance ends: the volume is deleted, or available. launch.c */
void ec2_volume_release(RgSimPlace *region, const char *volume_id);

/* ---- interfaces.c: network interfaces and the private addresses that they hold */

/* The properties of a new interface; texts and documents are borrowed. */
typedef struct {
	const json_t *subnet;
	json_t *groups; /* groupSet */
	json_t *tags;	/* tagSet */
	const char *description;
	const char *address; /* NULL: the next free one */
	const char *interface_type;
	bool public_address;
} Ec2InterfaceForm;

typedef struct {
	const char *instance_id;
	gint64 device;
	gint64 card;
	bool delete_on_termination;
} Ec2Attachment;

/* Addresses that are still free in the subnet. */
gint64 ec2_subnet_free(const RgSimPlace *region, const json_t *subnet);
/* Is the requested address in the subnet, and free? Otherwise an error on the call. */
bool ec2_address_check(RgSimCall *call, const json_t *subnet, const char *address);
/* In place->own: the index of the addresses in use. */
void ec2_addresses_free(RgSimPlace *region);
/* Does the interface type have no address? */
bool ec2_is_bare(const char *interface_type);
/* Stores a new interface (attached if `attachment` is set); its id, owned by the document. The
 * subnet must have a free address. */
const char *ec2_interface_add(
	RgSimCall *call, const Ec2InterfaceForm *form, const Ec2Attachment *attachment);
void ec2_interface_attach(RgSimCall *call, const char *id, const Ec2Attachment *attachment);
/* Ends the attachment when the instance ends: deleted, or available again. */
void ec2_interface_release(RgSimPlace *region, const char *id);
/* Adds or removes the public address (a stopped instance has none). */
void ec2_interface_set_public(RgSimPlace *region, const char *id, bool on);

/* ---- reservations.c, blocks.c: capacity reservations and Capacity Blocks */

#define EC2_BLOCK "capacity-block"

/* A new one; texts and tags are borrowed. */
typedef struct {
	const char *type, *zone, *platform, *tenancy;
	bool ebs_optimized, open;
	gint64 count, start_ms;
	gint64 end_ms;	 /* 0: unlimited */
	gint64 clear_ms; /* of a block: when EC2 begins to terminate its instances; 0: no block */
	json_t *tags;
} Ec2ReservationForm;
/* Its id; g_free it. */
char *ec2_reservation_add(RgSimCall *call, const Ec2ReservationForm *form);
/* <capacityReservation> in the answer. */
void ec2_reservation_show(RgSimCall *call, const char *id);
void ec2_reservation_due(RgSimPlace *region, const char *id, const char *state);
/* Instances of the type in the zone that active on-demand reservations keep from other launches:
 * all that are targeted, and those in use of open ones. Capacity Blocks are apart. */
gint64 ec2_reservations_held(const RgSimPlace *region, const char *type, const char *zone);
/* What they count under the quota, used or not. */
gint64 ec2_reservations_vcpus(const RgSimPlace *region, const char *code);
/* A stopped instance that targets a reservation starts only there. False and an error on the
 * call. */
bool ec2_reservation_starts(RgSimCall *call, const json_t *instance, bool *reserved);
/* The check of the knob `capacity_blocks`. */
bool ec2_are_blocks(const json_t *value);

/* ---- spot.c */

/* The instance ends: closes its request, if it has one, with the status. */
void ec2_spot_close(
	RgSimPlace *region, const json_t *instance, const char *status, const char *message);
/* The two minutes are over: the instance, being edited, is shut down. */
void ec2_spot_take(RgSimPlace *region, json_t *instance);
/* Announces the end of spot instances of the region that match the rule. */
void ec2_spot_reclaim(RgSimPlace *region, RgSimReclaim *rule, json_t *hit);
