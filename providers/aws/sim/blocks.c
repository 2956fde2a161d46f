#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

/* Capacity Blocks: what the knob `capacity_blocks` offers, and buying it, which makes a capacity
 * reservation (reservations.c). */

#define MAX_COUNT 64
#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS (60 * MINUTE_MS)
/* EC2 begins to terminate the instances that early: user guide, "Work with Capacity Blocks" */
#define CLEAR_MS (30 * MINUTE_MS)

bool ec2_are_blocks(const json_t *value)
{
	rg_json_foreach (block, value) {
		if (json_unpack_ex(block, NULL, JSON_VALIDATE_ONLY | JSON_STRICT,
			    "{s:s, s:s, s:I, s:I, s:F, s?I, s?I, s?I}", "type", "zone", "count",
			    "hours", "fee", "starts_in_ms", "lasts_ms", "clear_ms"))
			return false;
	}
	return json_is_array(value);
}

/* In steps of a day up to 14 days, then in steps of a week up to 26 weeks. */
static bool is_duration(gint64 hours)
{
	return hours > 0 && hours <= 182 * 24 && hours % (hours <= 14 * 24 ? 24 : 7 * 24) == 0;
}

/* An offering's id says which one, and of how many instances. g_free it. */
static char *id_of(const RgSimPlace *region, size_t i, gint64 count)
{
	g_autofree char *word = g_strdup_printf("%zu/%" G_GINT64_FORMAT, i, count);
	return rg_sim_fixed_id("cb-", region->name, word);
}

typedef struct {
	const json_t *knob;
	gint64 count, start_ms, end_ms;
} Block;

static Block block_of(const RgSimCall *call, const json_t *knob, gint64 count)
{
	Block block = {.knob = knob, .count = count};
	gint64 lasts = doc_int(knob, "lasts_ms");
	block.start_ms = call->sim->now_ms + doc_int(knob, "starts_in_ms");
	block.end_ms = block.start_ms + (lasts ? lasts : doc_int(knob, "hours") * HOUR_MS);
	return block;
}

static json_t *offering_new(const RgSimCall *call, size_t i, const Block *block)
{
	g_autofree char *id = id_of(call->place, i, block->count);
	g_autofree char *start = ec2_time_text(block->start_ms);
	g_autofree char *end = ec2_time_text(block->end_ms);
	double fee = json_number_value(json_object_get(block->knob, "fee"));
	g_autofree char *whole = g_strdup_printf("%.2f", fee * (double)block->count);
	gint64 minutes = (block->end_ms - block->start_ms) / MINUTE_MS;
	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:s, s:s, s:s}",
		"capacityBlockOfferingId", id, "instanceType", doc_str(block->knob, "type"),
		"availabilityZone", doc_str(block->knob, "zone"), "instanceCount",
		(json_int_t)block->count, "startDate", start, "endDate", end,
		"capacityBlockDurationHours", (json_int_t)(minutes / 60),
		"capacityBlockDurationMinutes", (json_int_t)(minutes % 60), "upfrontFee", whole,
		"currencyCode", "USD", "tenancy", "default");
}

static bool fits(const RgSimCall *call, const Block *block)
{
	const char *type = call_str(call, "InstanceType");
	const char *from = call_str(call, "StartDateRange"), *to = call_str(call, "EndDateRange");
	return ec2_zone(call->place, doc_str(block->knob, "zone")) &&
	       (!type || g_str_equal(type, doc_str(block->knob, "type"))) &&
	       doc_int(block->knob, "hours") == call_int(call, "CapacityDurationHours", 0) &&
	       block->count <= doc_int(block->knob, "count") &&
	       (!from || block->start_ms >= ec2_time_ms(from)) &&
	       (!to || block->end_ms <= ec2_time_ms(to));
}

static bool describe_offerings(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{NULL}};
	static const Ec2Listing listing = {.set = "capacityBlockOfferingSet",
		.kind = EC2_KINDS,
		.filters = filters,
		.least = 1,
		.most = 1000};
	gint64 hours = call_int(call, "CapacityDurationHours", 0);
	gint64 count = call_int(call, "InstanceCount", 1);
	if (!is_duration(hours))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Invalid value '%" G_GINT64_FORMAT "' for CapacityDurationHours", hours);
	if (count < 1 || count > MAX_COUNT)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Invalid value '%" G_GINT64_FORMAT "' for InstanceCount", count);
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
	size_t i;
	json_t *knob;
	json_array_foreach (json_object_get(call->sim->knobs, "capacity_blocks"), i, knob) {
		const Block block = block_of(call, knob, count);
		if (fits(call, &block))
			g_ptr_array_add(docs, offering_new(call, i, &block));
	}
	return ec2_describe_docs(call, &listing, docs);
}

static const json_t *find_offering(const RgSimCall *call, const char *id, gint64 *count)
{
	size_t i;
	json_t *knob;
	json_array_foreach (json_object_get(call->sim->knobs, "capacity_blocks"), i, knob) {
		for (*count = 1; *count <= doc_int(knob, "count"); ++*count) {
			g_autofree char *known = id_of(call->place, i, *count);
			if (g_str_equal(known, id))
				return knob;
		}
	}
	return NULL;
}

static bool purchase(RgSimCall *call)
{
	gint64 count = 0;
	const char *id = call_str(call, "CapacityBlockOfferingId");
	const json_t *knob = find_offering(call, id, &count);
	if (!knob)
		return rg_sim_fail(call, 400, "InvalidCapacityBlockOfferingIdNotFound",
			"The Capacity Block offering ID cannot be found for this account.");
	json_auto_t *tags = ec2_tags_of_request(
		call, "capacity-reservation", "capacity-reservation capacity-block");
	if (!tags || !ec2_go(call))
		return false;
	const Block block = block_of(call, knob, count);
	gint64 clear = doc_int(knob, "clear_ms");
	const Ec2ReservationForm form = {.type = doc_str(knob, "type"),
		.zone = doc_str(knob, "zone"),
		.platform = call_str(call, "InstancePlatform"),
		.tenancy = "default",
		.start_ms = block.start_ms,
		.end_ms = block.end_ms,
		.clear_ms = block.end_ms - (clear ? clear : CLEAR_MS),
		.count = count,
		.tags = tags};
	g_autofree char *made = ec2_reservation_add(call, &form);
	ec2_reservation_show(call, made);
	return true;
}

const RgSimAction ec2_block_actions[] = {
	{"DescribeCapacityBlockOfferings", describe_offerings, false,
		"CapacityDurationHours DryRun EndDateRange InstanceCount InstanceType MaxResults "
		"NextToken StartDateRange"},
	{"PurchaseCapacityBlock", purchase, true,
		"CapacityBlockOfferingId DryRun InstancePlatform TagSpecification"},
	{NULL},
};
