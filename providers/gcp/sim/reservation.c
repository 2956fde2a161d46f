#include "gcp/sim/gce.h"
#include <string.h>

/* Reservations of capacity, and the instances that name one: NAME, of another project
 * projects/PROJECT/reservations/NAME, of which a block NAME/reservationBlocks/BLOCK. */

#define OF_PROJECT "projects/"
#define IN_PROJECT "/reservations/"

/* "PROJECT/NAME" of what an instance in that project names; g_free. */
static char *whole_name(const char *project, const char *named)
{
	const char *end = g_str_has_prefix(named, OF_PROJECT) ? strstr(named, IN_PROJECT) : NULL;
	const char *name = end ? end + strlen(IN_PROJECT) : named;
	const char *owner = end ? named + strlen(OF_PROJECT) : project;
	return g_strdup_printf("%.*s/%.*s", end ? (int)(end - owner) : (int)strlen(owner), owner,
		(int)strcspn(name, "/"), name);
}

static gint64 in_use_of(const RgSimPlace *place, const char *wanted, const char *zone)
{
	gint64 used = 0;
	rg_sim_foreach (instance, place, GCE_INSTANCE) {
		g_autofree char *name = whole_name(place->name, doc_str(instance, "_reservation"));
		used += gce_instance_takes_place(instance) && g_str_equal(name, wanted) &&
			g_str_equal(gce_last(doc_str(instance, "zone")), gce_last(zone));
	}
	return used;
}

/* `place`: of the reservation. */
static gint64 in_use(const RgSimPlace *place, const json_t *reservation)
{
	g_autofree char *wanted = g_strconcat(place->name, "/", doc_str(reservation, "name"), NULL);
	gint64 used = 0;
	rg_hash_values (RgSimPlace, other, place->realm->places)
		used += in_use_of(other, wanted, doc_str(reservation, "zone"));
	return used;
}

/* Whether instances of the project may use it (shareSettings). */
static bool is_shared_with(const json_t *reservation, const char *project)
{
	const json_t *settings = json_object_get(reservation, "shareSettings");
	return json_object_get(json_object_get(settings, "projectMap"), project) != NULL;
}

json_t *gce_reservation_refusal(const RgSimPlace *place, const GceMachine *machine)
{
	g_autofree char *scope = g_strconcat("zones/", machine->zone, NULL);
	g_autofree char *whole = whole_name(place->name, machine->reservation);
	char *name = strchr(whole, '/');
	*name++ = '\0';
	RgSimPlace *owner = rg_sim_place(place->realm, whole);
	const json_t *doc = owner ? gce_find(owner, GCE_RESERVATION, scope, name) : NULL;
	if (doc && !g_str_equal(whole, place->name) && !is_shared_with(doc, place->name))
		doc = NULL;
	const json_t *specific = json_object_get(doc, "specificReservation");
	if (!doc)
		return gce_error(404, "RESERVATION_NOT_FOUND",
			g_strdup_printf(
				"The reservation '%s' was not found.", machine->reservation));
	const char *type = doc_str(json_object_get(specific, "instanceProperties"), "machineType");
	if (!g_str_equal(type, machine->type))
		return gce_error(400, "RESERVATION_INCOMPATIBLE",
			g_strdup_printf("The reservation '%s' is for machine type %s.",
				machine->reservation, type));
	gint64 left = g_ascii_strtoll(doc_str(specific, "count"), NULL, 10);
	left -= in_use(owner, doc);
	return left > 0 ? NULL
			: gce_error(503, "RESERVATION_CAPACITY_EXCEEDED",
				  g_strdup_printf(
					  "The reservation '%s' is full.", machine->reservation));
}

static bool reservation_insert(RgSimCall *call)
{
	const json_t *specific = json_object_get(call_body(call), "specificReservation");
	const json_t *properties = json_object_get(specific, "instanceProperties");
	if (!gce_name_is_good(call, GCE_RESERVATION))
		return false;
	if (!*doc_str(specific, "count"))
		return gce_fail_required(call, "resource.specificReservation.count");
	if (!gce_type_facts(call_data(call), doc_str(properties, "machineType")))
		return gce_fail_invalid(call,
			"resource.specificReservation.instanceProperties.machineType",
			doc_str(properties, "machineType"), "There is no such machine type.");
	json_t *own = json_copy(rg_json_unconst(specific));
	json_object_set_new(own, "inUseCount", json_string("0"));
	return gce_insert_with(call, GCE_RESERVATION,
		json_pack("{s:o, s:s, s:b, s:O*}", "specificReservation", own, "status", "READY",
			"specificReservationRequired",
			rg_json_bool(call_body(call), "specificReservationRequired", false),
			"shareSettings", json_object_get(call_body(call), "shareSettings")));
}

/* With what is in use now. */
static json_t *shown(const RgSimPlace *place, const json_t *doc)
{
	g_autofree char *used = g_strdup_printf("%" G_GINT64_FORMAT, in_use(place, doc));
	json_t *copy = json_copy(rg_json_unconst(doc));
	json_t *specific = json_copy(json_object_get(doc, "specificReservation"));
	json_object_set_new(specific, "inUseCount", json_string(used));
	json_object_set_new(copy, "specificReservation", specific);
	return copy;
}

static json_t *all_shown(const RgSimPlace *place)
{
	json_t *docs = json_array();
	rg_sim_foreach (doc, place, GCE_RESERVATION)
		json_array_append_new(docs, shown(place, doc));
	return docs;
}

static bool reservation_get(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_RESERVATION);
	return doc && gce_answer(call, shown(call->place, doc));
}

static bool reservation_list(RgSimCall *call)
{
	return gce_list_docs(call, all_shown(call->place));
}

static bool reservation_aggregate(RgSimCall *call)
{
	return gce_aggregate_docs(call, all_shown(call->place));
}

const RgSimAction gce_reservation_actions[] = {
	{"reservations.aggregatedList", reservation_aggregate, false, GCE_AGGREGATED},
	{"reservations.delete", gce_delete_plain, true, "requestId"},
	{"reservations.get", reservation_get, false, ""},
	{"reservations.insert", reservation_insert, true,
		"requestId .name .description .specificReservationRequired "
		".specificReservation.count "
		".specificReservation.instanceProperties.machineType "
		".specificReservation.instanceProperties.guestAccelerators "
		".shareSettings.shareType .shareSettings.projectMap"},
	{"reservations.list", reservation_list, false, GCE_LISTED},
	{NULL},
};
