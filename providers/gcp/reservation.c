/* reservations.get -> facts about the reservations of a spec (compute.v1, schema Reservation). */
#include <string.h>
#include "gcp/instance.h"
#include "gcp/resolve.h"

void gcp_reservations_ask(GcpAsking *asking, const json_t *wanted, const json_t *zones)
{
	mod_foreach (one, wanted)
		mod_foreach (zone, zones) {
			g_autofree char *name = gcp_escape(mod_str(one, "id"));
			GcpQuestion *question = gcp_ask(asking, "reservations.get",
				g_strdup_printf("projects/%s/zones/%s/reservations/%s",
					gcp_project(asking->call), json_string_value(zone), name),
				mod_str(one, "origin"));
			question->about = g_strdup(json_string_value(zone));
		}
}

static const char *state_of(const char *status)
{
	if (g_str_equal(status, "READY") || g_str_equal(status, "UPDATING"))
		return "usable";
	return g_str_equal(status, "CREATING") ? "planned" : "over";
}

/* Only a reservation that must be named can be named. */
static const char *refused(const json_t *record)
{
	if (!json_object_get(record, "specificReservation"))
		return "it is not one for a machine type";
	if (!json_is_true(json_object_get(record, "specificReservationRequired")))
		return "instances use it without naming it (specificReservationRequired is false): "
		       "leave `reservation` out";
	return NULL;
}

static int64_t number(const json_t *object, const char *key)
{
	return g_ascii_strtoll(mod_str(object, key), NULL, 10);
}

static json_t *fact_of(const json_t *record, const char *zone)
{
	const json_t *specific = json_object_get(record, "specificReservation");
	const char *status = mod_str(record, "status"), *why = refused(record);
	int64_t total = number(specific, "count"), used = number(specific, "inUseCount");
	g_autofree char *type = gcp_instance_type(json_object_get(specific, "instanceProperties"));
	json_t *fact = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b}", "what", "reservation",
		"state", state_of(status), "status", status, "instance_type", type, "zone", zone,
		"total", (json_int_t)total, "free", (json_int_t)MAX(total - used, 0), "prepaid",
		false);
	if (why)
		json_object_set_new(fact, "refused", json_string(why));
	return fact;
}

/* Names are unique in a zone only. */
static json_t *with_others(json_t *found)
{
	json_t *fact = json_array_size(found) ? json_incref(json_array_get(found, 0)) : json_null();
	if (json_array_size(found) > 1) {
		json_array_remove(found, 0);
		json_object_set(fact, "others", found);
	}
	return fact;
}

rgp_status gcp_reservations_take(const GcpCall *call, const GcpAsking *asking, guint first,
	guint end, const json_t *wanted, json_t *facts)
{
	json_auto_t *found = json_object();
	json_t *known = json_object();
	json_object_set_new(facts, "reservations", known);
	mod_foreach (one, wanted)
		json_object_set_new(found, mod_str(one, "id"), json_array());
	for (guint q = first; q < end; q++) {
		const GcpQuestion *question = asking->questions->pdata[q];
		const json_t *record = question->answer.body;
		bool exists;
		if (gcp_answered(call, question, &exists) != RGP_OK)
			return RGP_FAIL;
		if (exists)
			json_array_append_new(json_object_get(found, mod_str(record, "name")),
				fact_of(record, question->about));
	}
	mod_foreach (one, wanted) {
		const char *id = mod_str(one, "id");
		json_object_set_new(known, id, with_others(json_object_get(found, id)));
	}
	return RGP_OK;
}
