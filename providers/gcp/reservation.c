/* reservations.get -> facts about the reservations of a spec (compute.v1, schema Reservation). */
#include <string.h>
#include "gcp/instance.h"
#include "gcp/resolve.h"

#define OF_PROJECT "projects/"
#define IN_PROJECT "/reservations/"

/* An id is a name, that of another project "projects/OWNER/reservations/NAME"; a block follows as
 * "/reservationBlocks/BLOCK" ("Consume reserved instances", "Consume a shared reservation"). The
 * owner, g_free; NULL: the cluster's project. */
static char *owner_of(const char *id)
{
	const char *end = g_str_has_prefix(id, OF_PROJECT) ? strstr(id, IN_PROJECT) : NULL;
	return end ? g_strndup(id + strlen(OF_PROJECT), (gsize)(end - id) - strlen(OF_PROJECT))
		   : NULL;
}

static char *name_of(const char *id)
{
	const char *end = g_str_has_prefix(id, OF_PROJECT) ? strstr(id, IN_PROJECT) : NULL;
	const char *name = end ? end + strlen(IN_PROJECT) : id;
	return g_strndup(name, strcspn(name, "/"));
}

void gcp_reservations_ask(GcpAsking *asking, const json_t *wanted, const json_t *zones)
{
	mod_foreach (one, wanted) {
		g_autofree char *owner = owner_of(mod_str(one, "id"));
		g_autofree char *name = name_of(mod_str(one, "id"));
		mod_foreach (zone, zones) {
			GcpQuestion *question = gcp_ask(asking, "reservations.get",
				g_strdup_printf("projects/%s/zones/%s/reservations/%s",
					owner ? owner : gcp_project(asking->call),
					json_string_value(zone), name),
				mod_str(one, "origin"));
			question->about = g_strdup(json_string_value(zone));
		}
	}
}

static const char *state_of(const char *status)
{
	if (g_str_equal(status, "READY") || g_str_equal(status, "UPDATING"))
		return "usable";
	return g_str_equal(status, "CREATING") ? "planned" : "over";
}

/* Only a reservation that must be named can be named. */
static const char *refused(const json_t *record, bool is_others)
{
	const char *shared = mod_str(json_object_get(record, "shareSettings"), "shareType");
	if (is_others && (!*shared || g_str_equal(shared, "LOCAL")))
		return "its project does not share it";
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

static json_t *fact_of(const json_t *record, const char *zone, bool is_others)
{
	const json_t *specific = json_object_get(record, "specificReservation");
	const char *status = mod_str(record, "status"), *why = refused(record, is_others);
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

/* The facts of one, of the questions about it: a zone each. */
static rgp_status take_one(const GcpCall *call, const GcpAsking *asking, guint first, guint end,
	const char *id, json_t *known)
{
	json_auto_t *found = json_array();
	g_autofree char *owner = owner_of(id);
	bool is_others = owner && !g_str_equal(owner, gcp_project(call));
	for (guint q = first; q < end; q++) {
		const GcpQuestion *question = asking->questions->pdata[q];
		bool exists;
		if (gcp_answered(call, question, &exists) != RGP_OK)
			return RGP_FAIL;
		if (exists)
			json_array_append_new(
				found, fact_of(question->answer.body, question->about, is_others));
	}
	json_object_set_new(known, id, with_others(found));
	return RGP_OK;
}

rgp_status gcp_reservations_take(const GcpCall *call, const GcpAsking *asking, guint first,
	guint end, const json_t *wanted, json_t *facts)
{
	json_t *known = json_object();
	json_object_set_new(facts, "reservations", known);
	guint zones = json_array_size(wanted) ? (end - first) / (guint)json_array_size(wanted) : 0;
	for (size_t i = 0; i < json_array_size(wanted); i++, first += zones) {
		const char *id = mod_str(json_array_get(wanted, i), "id");
		if (take_one(call, asking, first, first + zones, id, known) != RGP_OK)
			return RGP_FAIL;
	}
	return RGP_OK;
}
