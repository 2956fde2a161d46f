/* A RunInstances request, read and checked: what launch.c then carries out. All documents and texts
 * are borrowed from the request or the world unless a line says otherwise. */
#pragma once
#include "sim/core/call.h"
#include "aws/sim/interfaces.h"

typedef struct {
	RgSimInterfaceForm form;
	RgSimAttachment attachment; /* instance_id set at the launch */
	const char *existing;	    /* an interface to attach; the form is unused then */
	json_t *groups;		    /* owned */
} RgSimLaunchInterface;

typedef struct {
	gint64 min;
	gint64 max;
	gint64 count; /* how many there will be */
	const char *type;
	const json_t *type_entry;
	const json_t *image;
	const char *zone;
	bool spot;
	const char *max_price;	 /* NULL: on-demand's */
	const json_t *placement; /* the placement group; NULL: none */
	json_t *spot_tags;	 /* owned */
	char *user_data;	 /* owned; base64, NULL: none */
	json_t *devices;	 /* owned: [{device, size, type, encrypted, delete, snapshot}] */
	json_t *instance_tags;	 /* owned */
	json_t *volume_tags;	 /* owned */
	json_t *interface_tags;	 /* owned */
	GArray *interfaces;	 /* owned: of RgSimLaunchInterface */
} RgSimLaunch;

/* Reads what doesn't depend on the world's state: counts, type, image, texts, tags, disks. */
bool rg_sim_launch_read(RgSimCall *call, RgSimLaunch *launch);
/* The zone that the request names, directly or by a subnet; "" when it leaves it to EC2. NULL and
 * an error when the subnet doesn't exist. */
const char *rg_sim_launch_zone(RgSimCall *call);
/* Chooses zone, subnet, interfaces and the number of instances. */
bool rg_sim_launch_place(RgSimCall *call, RgSimLaunch *launch);
void rg_sim_launch_clear(RgSimLaunch *launch);
