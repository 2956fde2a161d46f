/* DescribeCapacityReservations -> facts about the reservations of a spec. A Capacity Block is one
 * of type capacity-block (EC2 API 2016-11-15, shape CapacityReservation). */
#include "aws/reservation.h"
#include "aws/form.h"
#include "aws/resolve.h"
#include <string.h>

/* "Thirty minutes before the reservation expires, we begin to terminate any instances that are
 * still running in the Capacity Block" (EC2 user guide, "Work with Capacity Blocks"). */
#define CLEAR_S (30 * 60)

static const AwsShape member_set[] = {{"capacityReservationId"}, {"instanceType"},
	{"instancePlatform"}, {"availabilityZone"}, {"tenancy"}, {"totalInstanceCount"},
	{"availableInstanceCount"}, {"state"}, {"startDate"}, {"endDate"}, {"endDateType"},
	{"outpostArn"}, {"placementGroupArn"}, {"reservationType"}, {"interruptible"}, {0}};
static const AwsShape reservation_set[] = {{"item", member_set, AWS_RECORD}, {0}};
static const AwsShape response_members[] = {
	{"capacityReservationSet", reservation_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_reservations = {
	"DescribeCapacityReservationsResponse", response_members};

static const Ec2Code unknown_codes[] = {
	{"InvalidCapacityReservationId.NotFound"}, {"InvalidCapacityReservationId.Malformed"}, {0}};

static bool is_one_of(const char *word, const char *const *words)
{
	return g_strv_contains(words, word);
}

static const char *state_of(const char *status)
{
	static const char *const planned[] = {
		"pending", "scheduled", "payment-pending", "assessing", "delayed", NULL};
	return g_str_equal(status, "active") ? "usable"
	       : is_one_of(status, planned)  ? "planned"
					     : "over";
}

/* Launches must match its platform, tenancy and place. raygpu's own images are Linux/UNIX; what the
 * user's image is, only EC2 knows. */
static char *refused(const json_t *record, bool own_image)
{
	const char *platform = mod_str(record, "instancePlatform");
	const char *tenancy = mod_str(record, "tenancy");
	const char *group = mod_str(record, "placementGroupArn");
	if (strstr(platform, "Windows") || strstr(platform, "SQL Server") ||
		(*platform && !own_image && strcmp(platform, "Linux/UNIX")))
		return g_strdup_printf("it is for %s, and the nodes are Linux/UNIX", platform);
	if (*tenancy && strcmp(tenancy, "default"))
		return g_strdup_printf(
			"its tenancy is %s, and the nodes have the default one", tenancy);
	if (*mod_str(record, "outpostArn"))
		return g_strdup("it is on an Outpost");
	if (*group)
		return g_strdup_printf("it was made for the placement group %s", group);
	if (g_str_equal(mod_str(record, "interruptible"), "true"))
		return g_strdup("it is interruptible");
	return NULL;
}

static void set_time(json_t *fact, const char *name, const char *text, int64_t less_s)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) when = *text ? g_date_time_new_from_iso8601(text, utc) : NULL;
	if (when)
		json_object_set_new(fact, name, json_integer(g_date_time_to_unix(when) - less_s));
}

static json_t *fact_of(const json_t *record, bool own_image)
{
	const char *status = mod_str(record, "state"), *state = state_of(status);
	bool block = g_str_equal(mod_str(record, "reservationType"), "capacity-block");
	bool planned = g_str_equal(state, "planned");
	const char *end = mod_str(record, "endDate");
	g_autofree char *why = refused(record, own_image);
	int64_t total = aws_xml_number(record, "totalInstanceCount");
	json_t *fact = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b}", "what",
		block ? "Capacity Block" : "capacity reservation", "state", state, "status", status,
		"instance_type", mod_str(record, "instanceType"), "zone",
		mod_str(record, "availabilityZone"), "total", (json_int_t)total, "free",
		(json_int_t)(planned ? total : aws_xml_number(record, "availableInstanceCount")),
		"prepaid", block);
	set_time(fact, "start_s", mod_str(record, "startDate"), 0);
	set_time(fact, "end_s", end, 0);
	if (block)
		set_time(fact, "clear_s", end, CLEAR_S);
	if (why)
		json_object_set_new(fact, "refused", json_string(why));
	return fact;
}

static void take(const json_t *records, const json_t *wanted, json_t *known)
{
	mod_foreach (record, records)
		mod_foreach (one, wanted) {
			const char *id = mod_str(one, "id");
			if (g_str_equal(id, mod_str(record, "capacityReservationId")))
				json_object_set_new(known, id,
					fact_of(record,
						json_is_true(json_object_get(one, "own_image"))));
		}
}

/* No filter of this call is for ids, and one unknown id fails all: then each is asked for itself.
 */
static rgp_status ask(const AwsCall *call, const json_t *wanted, json_t *known)
{
	json_auto_t *ids = json_array(), *records = json_array();
	mod_foreach (one, wanted)
		json_array_append(ids, json_object_get(one, "id"));
	json_auto_t *params = json_pack("{s:O}", "CapacityReservationId", ids);
	const Ec2Request request = {.action = "DescribeCapacityReservations",
		.shape = &describe_reservations,
		.params = params,
		.record = ec2_collect,
		.data = records,
		.reading = true};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send(call, &request, &reply);
	if (status != RGP_OK)
		return status;
	if (reply.failure.class_ == RGP_CLASS_OK) {
		take(records, wanted, known);
		return RGP_OK;
	}
	if (!ec2_match(&reply.failure, unknown_codes))
		return ec2_report(call, request.action, &reply.failure);
	for (size_t i = 0; json_array_size(wanted) > 1 && i < json_array_size(wanted); i++) {
		json_auto_t *single = json_pack("[O]", json_array_get(wanted, i));
		status = ask(call, single, known);
		if (status != RGP_OK)
			return status;
	}
	return RGP_OK;
}

rgp_status aws_reservations_read(const AwsCall *call, const json_t *wanted, json_t *facts)
{
	json_t *known = json_object();
	mod_foreach (one, wanted)
		json_object_set_new(known, mod_str(one, "id"), json_null());
	json_object_set_new(facts, "reservations", known);
	return ask(call, wanted, known);
}
