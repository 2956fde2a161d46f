/* Network interfaces and the private addresses that they hold. */
#pragma once
#include "sim/core/call.h"

/* What a new interface is to be; texts and documents are borrowed. */
typedef struct {
	const json_t *subnet;
	json_t *groups; /* groupSet */
	json_t *tags;	/* tagSet */
	const char *description;
	const char *address; /* NULL: the next free one */
	const char *interface_type;
	bool public_address;
} RgSimInterfaceForm;

typedef struct {
	const char *instance_id;
	gint64 device;
	gint64 card;
	bool delete_on_termination;
} RgSimAttachment;

/* Addresses that are still free in the subnet. */
gint64 rg_sim_subnet_free(const RgSimRegion *region, const json_t *subnet);
/* Is the wanted address one of the subnet's, and free? Else an error on the call. */
bool rg_sim_address_check(RgSimCall *call, const json_t *subnet, const char *address);
/* Stores a new interface (attached if `attachment` is set); its id, owned by the document. The
 * subnet must have a free address. */
const char *rg_sim_interface_add(
	RgSimCall *call, const RgSimInterfaceForm *form, const RgSimAttachment *attachment);
void rg_sim_interface_attach(RgSimCall *call, const char *id, const RgSimAttachment *attachment);
/* Ends the attachment when the instance ends: deleted, or available again. */
void rg_sim_interface_release(RgSimWorld *world, RgSimRegion *region, const char *id);
/* Gives or takes the public address (a stopped instance has none). */
void rg_sim_interface_set_public(RgSimWorld *world, RgSimRegion *region, const char *id, bool on);
/* Notes the addresses of loaded interfaces as used. */
void rg_sim_interfaces_restore(RgSimRegion *region);

bool rg_sim_create_interface(RgSimCall *call);
bool rg_sim_delete_interface(RgSimCall *call);
bool rg_sim_modify_interface(RgSimCall *call);
bool rg_sim_describe_interfaces(RgSimCall *call);
