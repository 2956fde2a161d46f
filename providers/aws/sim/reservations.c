#include "aws/sim/describe.h"
#include "aws/sim/launch.h"

/* Capacity reservations: on-demand ones, open or targeted, and those of Capacity Blocks (blocks.c).
 * EC2 user guide, "On-Demand Capacity Reservations" and "Capacity Blocks for ML". How many
 * instances are free is counted for each answer. */

#define MAX_COUNT 1000

static bool is_active(const json_t *reservation)
{
	return g_str_equal(doc_str(reservation, "state"), "active");
}

static bool is_block(const json_t *reservation)
{
	return g_str_equal(doc_str(reservation, "reservationType"), EC2_BLOCK);
}

static bool is_open(const json_t *reservation)
{
	return g_str_equal(doc_str(reservation, "instanceMatchCriteria"), "open");
}

static bool is_in(const json_t *instance, const json_t *reservation)
{
	return g_str_equal(doc_str(instance, "capacityReservationId"),
		doc_str(reservation, "capacityReservationId"));
}

static gint64 free_of(const RgSimPlace *region, const json_t *reservation)
{
	gint64 left = doc_int(reservation, "totalInstanceCount");
	rg_sim_foreach (instance, region, EC2_INSTANCE)
		left -= is_in(instance, reservation) && ec2_takes_place(instance);
	return is_active(reservation) ? MAX(left, 0) : 0;
}

/* As EC2 shows it. */
static json_t *shown(const RgSimPlace *region, const json_t *reservation)
{
	json_t *copy = json_copy(rg_json_unconst(reservation));
	json_object_set_new(
		copy, "availableInstanceCount", json_integer(free_of(region, reservation)));
	return copy;
}

void ec2_reservation_show(RgSimCall *call, const char *id)
{
	json_auto_t *doc = shown(call->place, rg_sim_find(call->place, EC2_RESERVATION, id));
	ec2_xml_value(call->body, "capacityReservation", doc);
}

/* ---- what it means for other launches */

static bool holds(const json_t *doc)
{
	return is_active(doc) && !is_block(doc);
}

gint64 ec2_reservations_held(const RgSimPlace *region, const char *type, const char *zone)
{
	gint64 held = 0;
	rg_sim_foreach (doc, region, EC2_RESERVATION) {
		if (!holds(doc) || !g_str_equal(doc_str(doc, "instanceType"), type) ||
			!g_str_equal(doc_str(doc, "availabilityZone"), zone))
			continue;
		held += doc_int(doc, "totalInstanceCount");
		if (is_open(doc))
			held -= free_of(region, doc);
	}
	return held;
}

gint64 ec2_reservations_vcpus(const RgSimPlace *region, const char *code)
{
	gint64 vcpus = 0;
	rg_sim_foreach (doc, region, EC2_RESERVATION) {
		const char *type = doc_str(doc, "instanceType");
		if (holds(doc) && g_strcmp0(ec2_quota_code(type, false), code) == 0)
			vcpus += doc_int(doc, "totalInstanceCount") *
				 ec2_type_vcpus(ec2_type_find(region, type));
	}
	return vcpus;
}

/* An open one that takes an instance without a target. */
static const json_t *open_one(const RgSimPlace *region, const char *type, const char *zone)
{
	rg_sim_foreach (doc, region, EC2_RESERVATION) {
		if (is_open(doc) && g_str_equal(doc_str(doc, "instanceType"), type) &&
			g_str_equal(doc_str(doc, "availabilityZone"), zone) &&
			free_of(region, doc) > 0)
			return doc;
	}
	return NULL;
}

void ec2_reservation_give(const RgSimPlace *region, const Ec2Launch *launch, json_t *instance)
{
	const json_t *reservation = launch->reservation;
	json_t *wish = reservation ? json_pack("{s:{s:O}}", "capacityReservationTarget",
					     "capacityReservationId",
					     json_object_get(reservation, "capacityReservationId"))
				   : json_pack("{s:s}", "capacityReservationPreference", "open");
	json_object_set_new(instance, "capacityReservationSpecification", wish);
	if (!reservation && !launch->spot)
		reservation = open_one(region, launch->type, launch->zone);
	if (!reservation)
		return;
	json_object_set(instance, "capacityReservationId",
		json_object_get(reservation, "capacityReservationId"));
	if (is_block(reservation))
		json_object_set_new(instance, "instanceLifecycle", json_string(EC2_BLOCK));
}

/* ---- a launch that names one */

static bool fail_exceeded(RgSimCall *call)
{
	return rg_sim_fail(call, 400, "ReservationCapacityExceeded",
		"The requested reservation does not have sufficient compatible and available "
		"capacity for this request.");
}

bool ec2_reservation_read(RgSimCall *call, Ec2Launch *launch)
{
	const char *id = call_str(call,
		"CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId");
	launch->reservation = id ? ec2_find(call, EC2_RESERVATION, id) : NULL;
	if (id && !launch->reservation)
		return false;
	if (launch->block && !id)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The market type " EC2_BLOCK " requires the target of a Capacity Block");
	if (id && (launch->spot || launch->block != is_block(launch->reservation)))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The market type does not match the capacity reservation '%s'", id);
	return true;
}

/* Its zone, and as many instances as are free in it. No capacity or quota beyond it counts. */
bool ec2_reservation_place(RgSimCall *call, Ec2Launch *launch)
{
	const json_t *reservation = launch->reservation;
	const char *state = doc_str(reservation, "state");
	const char *zone = doc_str(reservation, "availabilityZone");
	bool matches = g_str_equal(doc_str(reservation, "instanceType"), launch->type) &&
		       (!launch->zone || g_str_equal(launch->zone, zone));
	launch->zone = zone;
	launch->count = launch->max;
	if (call->dry_run) /* permission and form only */
		return true;
	if (g_str_equal(state, "scheduled"))
		return rg_sim_fail(call, 400, "InvalidCapacityReservationState.PendingActivation",
			"Your Capacity Block is not active yet.");
	gint64 left = free_of(call->place, reservation);
	if (!matches || left < launch->min)
		return fail_exceeded(call);
	launch->count = MIN(left, launch->max);
	return true;
}

bool ec2_reservation_starts(RgSimCall *call, const json_t *instance, bool *reserved)
{
	const char *id = doc_str(
		json_object_get(json_object_get(instance, "capacityReservationSpecification"),
			"capacityReservationTarget"),
		"capacityReservationId");
	const json_t *reservation = *id ? rg_sim_find(call->place, EC2_RESERVATION, id) : NULL;
	*reserved = *id != '\0';
	return !*reserved || (reservation && free_of(call->place, reservation) > 0) ||
	       fail_exceeded(call);
}

/* ---- its life */

/* A block's instances are terminated, an on-demand reservation's go on outside of it. */
static void let_go(RgSimPlace *region, const json_t *reservation)
{
	const json_t *knobs = region->sim->knobs;
	rg_sim_foreach (found, region, EC2_INSTANCE) {
		if (!is_in(found, reservation) ||
			(is_block(reservation) && !ec2_instance_runs(found)))
			continue;
		json_t *instance = json_copy(rg_json_unconst(found));
		if (is_block(reservation)) {
			ec2_instance_set_state(instance, "shutting-down");
			json_object_set(
				instance, "_terminatedMs", json_object_get(knobs, "terminated_ms"));
			ec2_instance_plan(region, instance,
				region->sim->now_ms + doc_int(knobs, "shutdown_ms"), "terminated");
		} else {
			json_object_del(instance, "capacityReservationId");
		}
		rg_sim_put(region, EC2_INSTANCE, instance);
	}
}

static void plan_next(RgSimPlace *region, json_t *doc)
{
	json_int_t end = doc_int(doc, "_endMs"), early = doc_int(doc, "_clearMs");
	json_object_del(doc, "_due");
	if (g_str_equal(doc_str(doc, "state"), "scheduled"))
		rg_sim_plan(region, EC2_RESERVATION, doc, doc_int(doc, "_startMs"), "active");
	else if (early && !doc_is(doc, "_cleared"))
		rg_sim_plan(region, EC2_RESERVATION, doc, early, "clear");
	else if (end)
		rg_sim_plan(region, EC2_RESERVATION, doc, end, "expired");
}

void ec2_reservation_due(RgSimPlace *region, const char *id, const char *state)
{
	json_t *doc = rg_sim_edit(region, EC2_RESERVATION, id);
	bool ends = g_str_equal(state, "expired");
	if (g_str_equal(state, "clear"))
		json_object_set_new(doc, "_cleared", json_true());
	else
		json_object_set_new(doc, "state", json_string(state));
	if (!g_str_equal(state, "active"))
		let_go(region, doc);
	if (ends)
		json_object_del(doc, "_due");
	else
		plan_next(region, doc);
	rg_sim_put(region, EC2_RESERVATION, doc);
}

char *ec2_reservation_add(RgSimCall *call, const Ec2ReservationForm *form)
{
	RgSimPlace *region = call->place;
	g_autofree char *id = rg_sim_id(call->sim, "cr-");
	g_autofree char *arn = g_strdup_printf(
		"arn:aws:ec2:%s:" EC2_ACCOUNT ":capacity-reservation/%s", region->name, id);
	g_autofree char *now = ec2_time_text(call->sim->now_ms);
	g_autofree char *start = ec2_time_text(form->start_ms);
	bool later = form->start_ms > call->sim->now_ms;
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O?, s:s, s:s, s:I, s:b, s:b, s:s}",
		"capacityReservationId", id, "ownerId", EC2_ACCOUNT, "capacityReservationArn", arn,
		"instanceType", form->type, "availabilityZone", form->zone, "availabilityZoneId",
		json_object_get(ec2_zone(region, form->zone), "id"), "instancePlatform",
		form->platform, "tenancy", form->tenancy, "totalInstanceCount",
		(json_int_t)form->count, "ebsOptimized", form->ebs_optimized, "ephemeralStorage", 0,
		"state", later ? "scheduled" : "active");
	json_auto_t *rest = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:I}", "startDate", start,
		"endDateType", form->end_ms ? "limited" : "unlimited", "instanceMatchCriteria",
		form->open ? "open" : "targeted", "createDate", now, "reservationType",
		form->clear_ms ? EC2_BLOCK : "default", "tagSet", form->tags, "_startMs",
		(json_int_t)form->start_ms);
	json_object_update(doc, rest);
	if (form->end_ms) {
		g_autofree char *end = ec2_time_text(form->end_ms);
		json_object_set_new(doc, "endDate", json_string(end));
		json_object_set_new(doc, "_endMs", json_integer(form->end_ms));
	}
	if (form->clear_ms)
		json_object_set_new(doc, "_clearMs", json_integer(form->clear_ms));
	plan_next(region, doc);
	rg_sim_put(region, EC2_RESERVATION, doc);
	return g_steal_pointer(&id);
}

/* ---- actions */

static bool read_end(RgSimCall *call, gint64 *end_ms)
{
	const char *given = call_str(call, "EndDate"), *kind = call_str(call, "EndDateType");
	bool limited = g_strcmp0(kind, "limited") == 0;
	if ((given != NULL) != limited)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"EndDate is required for the EndDateType limited, and for it only");
	if (!given)
		return true;
	*end_ms = ec2_time_ms(given);
	return *end_ms > call->sim->now_ms || ec2_fail_value(call, "EndDate", given);
}

static bool check_room(RgSimCall *call, const Ec2ReservationForm *form)
{
	const Ec2Machine machine = {form->type, false};
	const json_t *type = ec2_type_find(call->place, form->type);
	const char *code = ec2_quota_code(form->type, false), *zone = NULL;
	gint64 count;
	if (!type)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Invalid value '%s' for InstanceType.", form->type);
	if (!ec2_choose_zone(call, &machine, form->zone, form->count, form->count, &zone, &count))
		return false;
	return ec2_quota_left(call, code) >= form->count * ec2_type_vcpus(type) ||
	       rg_sim_fail(call, 400, "InstanceLimitExceeded",
		       "The requested quantity exceeds your On-Demand Instance quota.");
}

static bool create_new(RgSimCall *call)
{
	const char *zone = call_str(call, "AvailabilityZone");
	const char *tenancy = call_str(call, "Tenancy");
	Ec2ReservationForm form = {.type = call_str(call, "InstanceType"),
		.zone = zone,
		.platform = call_str(call, "InstancePlatform"),
		.tenancy = tenancy ? tenancy : "default",
		.ebs_optimized = call_bool(call, "EbsOptimized", false),
		.open = g_strcmp0(call_str(call, "InstanceMatchCriteria"), "targeted") != 0,
		.start_ms = call->sim->now_ms,
		.count = call_int(call, "InstanceCount", 0)};
	if (!zone)
		return ec2_fail_missing(call, "AvailabilityZone");
	if (form.count < 1 || form.count > MAX_COUNT)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"%" G_GINT64_FORMAT
			" is an invalid value for InstanceCount. InstanceCount must be between 1 "
			"and %d.",
			form.count, MAX_COUNT);
	if (!read_end(call, &form.end_ms) || !check_room(call, &form))
		return false;
	json_auto_t *tags = json_array();
	form.tags = tags;
	if (!ec2_go(call))
		return false;
	g_autofree char *id = ec2_reservation_add(call, &form);
	json_auto_t *ids = json_pack("[s]", id);
	ec2_token_store(call, "", ids, NULL);
	ec2_reservation_show(call, id);
	return true;
}

static bool create_reservation(RgSimCall *call)
{
	const json_t *earlier = NULL;
	if (!ec2_token_check(call, "", &earlier))
		return false;
	if (!earlier)
		return create_new(call);
	ec2_reservation_show(
		call, json_string_value(json_array_get(json_object_get(earlier, "ids"), 0)));
	return true;
}

static bool cancel_reservation(RgSimCall *call)
{
	const char *id = call_str(call, "CapacityReservationId");
	const json_t *found = ec2_find(call, EC2_RESERVATION, id);
	if (!found)
		return false;
	if (is_block(found))
		return rg_sim_fail(call, 400, "OperationNotPermitted",
			"You can't modify or cancel a Capacity Block.");
	if (!is_active(found))
		return rg_sim_fail(call, 400, "IncorrectState",
			"The capacity reservation '%s' is %s", id, doc_str(found, "state"));
	if (!ec2_go(call))
		return false;
	json_t *doc = rg_sim_edit(call->place, EC2_RESERVATION, id);
	json_object_set_new(doc, "state", json_string("cancelled"));
	json_object_del(doc, "_due");
	let_go(call->place, doc);
	rg_sim_put(call->place, EC2_RESERVATION, doc);
	return ec2_done(call);
}

static void write_set(RgSimCall *call, const GPtrArray *page)
{
	ec2_xml_open(call->body, "capacityReservationSet");
	for (unsigned i = 0; i < page->len; i++) {
		json_auto_t *doc = shown(call->place, page->pdata[i]);
		ec2_xml_value(call->body, "item", doc);
	}
	ec2_xml_close(call->body, "capacityReservationSet");
}

static bool describe_reservations(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"instance-type", "instanceType"},
		{"owner-id", "ownerId"}, {"instance-platform", "instancePlatform"},
		{"availability-zone", "availabilityZone"}, {"tenancy", "tenancy"},
		{"state", "state"}, {"end-date-type", "endDateType"},
		{"instance-match-criteria", "instanceMatchCriteria"}, {NULL}};
	static const Ec2Listing listing = {.kind = EC2_RESERVATION,
		.ids = "CapacityReservationId",
		.filters = filters,
		.write = write_set,
		.least = 1,
		.most = 1000};
	return ec2_describe(call, &listing);
}

const RgSimAction ec2_reservation_actions[] = {
	{"CancelCapacityReservation", cancel_reservation, true, "CapacityReservationId DryRun"},
	{"CreateCapacityReservation", create_reservation, true,
		"AvailabilityZone ClientToken DryRun EbsOptimized EndDate EndDateType "
		"InstanceCount "
		"InstanceMatchCriteria InstancePlatform InstanceType Tenancy"},
	{"DescribeCapacityReservations", describe_reservations, false,
		"CapacityReservationId" PAGED},
	{NULL},
};
