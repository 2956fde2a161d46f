/* A RunInstances request: parsed and checked (launch_form.c, launch_network.c), then executed
 * (launch.c). All documents and texts are borrowed from the request or the world unless noted
 * otherwise. */
#pragma once
#include "aws/sim/resources.h"

typedef struct {
	Ec2InterfaceForm form;
	Ec2Attachment attachment; /* instance_id set at the launch */
	const char *existing;	  /* an interface to attach; the form is unused then */
	json_t *groups;		  /* owned */
} Ec2LaunchInterface;

typedef struct {
	gint64 min;
	gint64 max;
	gint64 count; /* how many there will be */
	const char *type;
	const json_t *type_entry;
	const json_t *image;
	const char *zone;
	bool spot, block;
	const json_t *reservation; /* the targeted one; NULL: none */
	const char *max_price;	   /* NULL: on-demand's */
	const json_t *placement;   /* the placement group; NULL: none */
	json_t *spot_tags;	   /* owned */
	char *user_data;	   /* owned; base64, NULL: none */
	bool watches_lease;
	json_t *devices;	/* owned: [{device, size, type, encrypted, delete, snapshot}] */
	json_t *instance_tags;	/* owned */
	json_t *volume_tags;	/* owned */
	json_t *interface_tags; /* owned */
	GArray *interfaces;	/* owned: of Ec2LaunchInterface */
} Ec2Launch;

/* Parses what does not depend on the world's state: counts, type, image, texts, tags, disks. */
bool ec2_launch_read(RgSimCall *call, Ec2Launch *launch);
/* The zone that the request names, directly or through a subnet; "" if it leaves it to EC2. NULL
 * and an error if the subnet does not exist. */
const char *ec2_launch_zone(RgSimCall *call);
/* Chooses zone, subnet, interfaces and the number of instances. */
bool ec2_launch_place(RgSimCall *call, Ec2Launch *launch);
void ec2_launch_clear(Ec2Launch *launch);

/* Reads CapacityReservationSpecification into launch->reservation (reservations.c). */
bool ec2_reservation_read(RgSimCall *call, Ec2Launch *launch);
/* Chooses its zone, and as many instances as are free in it. */
bool ec2_reservation_place(RgSimCall *call, Ec2Launch *launch);
/* On an instance that is being launched: the reservation that it runs in. */
void ec2_reservation_give(const RgSimPlace *region, const Ec2Launch *launch, json_t *instance);
/* Reads InstanceMarketOptions into launch->spot, ->block and ->max_price (spot.c). */
bool ec2_spot_read(RgSimCall *call, Ec2Launch *launch);
/* The request of a spot instance that is being launched; stores it on the instance. */
void ec2_spot_add(RgSimCall *call, const Ec2Launch *launch, json_t *instance);
/* Stores the group that Placement names in launch->placement, and checks whether the type is
 * allowed in it (placement_group.c). */
bool ec2_placement_group_read(RgSimCall *call, Ec2Launch *launch);
/* Does the chosen zone match the group's other instances? */
bool ec2_placement_group_fits(RgSimCall *call, const Ec2Launch *launch);
