#include "gcp/sim/gce.h"

/* What goes with a document that is removed: disks of an instance, addresses. */

static void release_disk(RgSimPlace *place, const json_t *attached)
{
	g_autofree char *project = NULL;
	g_autofree char *key = gce_key_of(doc_str(attached, "source"), &project);
	json_t *disk = key ? rg_sim_edit(place, GCE_DISK, key) : NULL;
	if (!disk)
		return;
	json_object_del(disk, "users");
	if (doc_is(attached, "autoDelete")) {
		json_decref(disk);
		rg_sim_remove(place, GCE_DISK, key);
	} else {
		rg_sim_put(place, GCE_DISK, disk);
	}
}

static void release_instance(RgSimPlace *place, const json_t *instance)
{
	rg_json_foreach (attached, json_object_get(instance, "disks"))
		release_disk(place, attached);
	const json_t *interface = json_array_get(json_object_get(instance, "networkInterfaces"), 0);
	const char *subnetwork = doc_str(interface, "subnetwork"),
		   *address = doc_str(interface, "networkIP");
	const json_t *reserved = gce_address_find(place, subnetwork, address);
	if (reserved)
		gce_address_set_user(place, reserved, NULL);
	else
		gce_address_give_back(place, subnetwork, address);
}

void gce_remove(RgSimPlace *place, unsigned kind, const char *key)
{
	const json_t *doc = rg_sim_find(place, kind, key);
	if (kind == GCE_INSTANCE)
		release_instance(place, doc);
	if (kind == GCE_ADDRESS)
		gce_address_give_back(place, doc_str(doc, "subnetwork"), doc_str(doc, "address"));
	rg_sim_remove(place, kind, key);
}
