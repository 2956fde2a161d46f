/* Reserved capacity that pools name: asked about before the instance types are chosen, because it
 * decides them, and compared with what the plan creates when that is known. */
#include "base/clock.h"
#include "fit/reservation.h"
#include "pipeline/internal.h"

static bool is_listed(const json_t *wanted, const char *id)
{
	rg_json_foreach (one, wanted)
		if (g_str_equal(rg_json_str(one, "id", ""), id))
			return true;
	return false;
}

static json_t *wanted_of(const RgCluster *cluster)
{
	json_t *wanted = json_array();
	rg_ptr_foreach (const RgPool, pool, cluster->pools) {
		const char *id = pool->market.reservation;
		if (!id || rg_pool_is_empty(pool))
			continue;
		g_autofree char *origin = g_strconcat(pool->origin, "/market/reservation", NULL);
		if (!is_listed(wanted, id))
			json_array_append_new(
				wanted, json_pack("{s:s, s:s, s:b}", "id", id, "origin", origin,
						"own_image", pool->image != NULL));
	}
	return wanted;
}

/* What the cloud no longer knows but once did has ended; its nodes, if there are any, stay. */
static json_t *fact_of(const json_t *answer, const json_t *known, const char *id)
{
	json_t *fact = json_object_get(answer, id), *before = json_object_get(known, id);
	if (json_is_object(fact))
		return json_incref(fact);
	if (!json_is_object(before))
		return json_null();
	json_t *over = json_copy(before);
	rg_json_set_str(over, "state", "over");
	rg_json_set_str(over, "status", "gone");
	return over;
}

bool pass_ask_reservations(RgSession *session, RgPass *pass, json_t *pins, RgDiags *diags)
{
	json_auto_t *wanted = wanted_of(pass->cluster);
	if (!json_array_size(wanted))
		return true;
	json_auto_t *request = json_pack("{s:[], s:b, s:[], s:[], s:O}", "images", "place", false,
		"instance_types", "zones", "reservations", wanted);
	json_auto_t *facts = pass_resolve(session, pass, request, "reservations", diags);
	if (!facts)
		return false;
	json_t *found = json_object();
	rg_json_foreach (one, wanted) {
		const char *id = rg_json_str(one, "id", "");
		json_object_set_new(found, id,
			fact_of(json_object_get(facts, "reservations"),
				rg_json_at(pins, "/facts/reservations"), id));
	}
	json_object_set_new(pins, "reservations", found);
	return true;
}

/* ---- with the plan */

/* How many nodes of which pools use which reservations. */
typedef struct {
	const RgPass *pass;
	const json_t *known; /* facts by id */
	json_t *facts,
		*uses; /* of RgReservationInput, by id; with its zone if others have the id */
} Uses;

static void count(Uses *uses, const char *id, const json_t *fact, const char *pool,
	const char *what, int64_t n)
{
	bool several = json_object_get(json_object_get(uses->known, id), "others") != NULL;
	g_autofree char *name =
		several ? g_strdup_printf("%s in %s", id, rg_json_str(fact, "zone", ""))
			: g_strdup(id);
	json_t *pools = json_object_get(uses->uses, name);
	if (!pools)
		json_object_set_new(uses->uses, name, pools = json_object());
	json_t *counts = json_object_get(pools, pool);
	if (!counts)
		json_object_set_new(pools, pool, counts = json_object());
	json_object_set_new(counts, what, json_integer(rg_json_int(counts, what, 0) + n));
	json_object_set(uses->facts, name, rg_json_unconst(fact));
}

static unsigned surge_of(const RgPlan *plan, const char *pool)
{
	rg_ptr_foreach (const RgPlanPool, one, plan->pools)
		if (g_str_equal(one->pool, pool))
			return one->max_surge;
	return 0;
}

/* A replaced node leaves its place to the new one, unless that one is created first. What is
 * removed leaves its place too late: other pools' nodes are created at the same time. */
static void count_recorded(Uses *uses, const RgChange *change)
{
	const RgResource *record = change->recorded;
	const json_t *pin = record ? record->pin : NULL;
	const char *id = rg_json_str(pin, "reservation", NULL);
	bool replaced = change->action == RG_ACTION_REPLACE;
	if (!id || !record->group)
		return;
	const json_t *fact = json_object_get(uses->known, id);
	if (json_object_get(fact, "others"))
		fact = rg_fit_reservation_in(fact, rg_json_str(pin, "zone", ""));
	if (!fact)
		return;
	if (change->action != RG_ACTION_DELETE)
		count(uses, id, fact, record->group, "nodes", 1);
	if (change->observed && replaced && !surge_of(uses->pass->plan, record->group))
		count(uses, id, fact, record->group, "freed", 1);
}

/* A request that is sent again may have taken its places already: only the cloud knows. */
static void count_made(Uses *uses, const RgChange *change)
{
	const RgPass *pass = uses->pass;
	const RgResource *desired = change->desired;
	bool makes = change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE;
	const RgPool *pool =
		makes && !change->replay && desired && desired->index >= 0 && desired->group
			? rg_cluster_find_pool(pass->cluster, desired->group)
			: NULL;
	const char *id = pool ? pool->market.reservation : NULL;
	const json_t *known = id ? json_object_get(uses->known, id) : NULL;
	const json_t *fact = json_is_object(known) ? rg_fit_reservation_of(known, pool) : NULL;
	if (!fact)
		return;
	count(uses, id, fact, pool->name, "made", 1);
	if (change->action == RG_ACTION_REPLACE && change->observed)
		count(uses, id, fact, pool->name, "replaced", 1);
}

bool pass_check_reservations(const RgSession *session, const RgPass *pass, RgDiags *diags)
{
	const json_t *facts = pass->facts ? pass->facts : pass->snapshot->facts;
	json_auto_t *named = json_object(), *counts = json_object();
	Uses uses = {pass, json_object_get(facts, "reservations"), named, counts};
	if (session->diff.destroy)
		return true;
	rg_ptr_foreach (const RgChange, change, pass->diff->changes) {
		count_recorded(&uses, change);
		if (pass->cluster && !session->diff.looking)
			count_made(&uses, change);
	}
	const RgReservationInput input = {.cluster = pass->cluster,
		.facts = named,
		.uses = counts,
		.now_s = rg_clock_now_s(),
		.waits = session->waits_for_capacity};
	return rg_fit_check_reservations(&input, diags);
}
