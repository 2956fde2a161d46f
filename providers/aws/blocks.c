/* DescribeCapacityBlockOfferings: Capacity Blocks that can be bought. raygpu does not buy any. */
#include "aws/form.h"
#include "aws/reservation.h"
#include "aws/resolve.h"

static const AwsShape offering_members[] = {{"capacityBlockOfferingId"}, {"instanceType"},
	{"availabilityZone"}, {"instanceCount"}, {"startDate"}, {"endDate"}, {"upfrontFee"},
	{"currencyCode"}, {0}};
static const AwsShape offering_set[] = {{"item", offering_members, AWS_RECORD}, {0}};
static const AwsShape response_members[] = {
	{"capacityBlockOfferingSet", offering_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_offerings = {
	"DescribeCapacityBlockOfferingsResponse", response_members};

#define COUNT_MAX 64

/* "1-day increments up to 14 days and in 7-day increments up to 182 days" (API reference,
 * CapacityDurationHours); "Each Capacity Block can have up to 64 instances" (InstanceCount). */
static rgp_status check_input(const AwsCall *call, int64_t hours, int64_t count)
{
	int64_t days = hours / 24;
	bool whole = hours % 24 == 0;
	bool sold = hours > 0 && whole && days <= 182 && (days <= 14 || days % 7 == 0);
	if (!sold)
		return mod_refuse(call, NULL, "use 1 to 14 days, or a multiple of 7 days up to 182",
			"no Capacity Block lasts %" G_GINT64_FORMAT " %s", whole ? days : hours,
			whole ? "days" : "hours");
	if (count < 1 || count > COUNT_MAX)
		return mod_refuse(call, NULL, "use several blocks",
			"a Capacity Block has 1 to %d instances, not %" G_GINT64_FORMAT, COUNT_MAX,
			count);
	return RGP_OK;
}

/* `bound`: "Start" or "End". */
static void set_range(json_t *params, const char *bound, const json_t *unix_s)
{
	g_autofree char *name = g_strconcat(bound, "DateRange", NULL);
	g_autoptr(GDateTime) when =
		unix_s ? g_date_time_new_from_unix_utc(json_integer_value(unix_s)) : NULL;
	g_autofree char *text = when ? g_date_time_format(when, "%Y-%m-%dT%H:%M:%SZ") : NULL;
	if (text)
		json_object_set_new(params, name, json_string(text));
}

static int64_t seconds(const json_t *record, const char *key)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) when = g_date_time_new_from_iso8601(mod_str(record, key), utc);
	return when ? g_date_time_to_unix(when) : 0;
}

static rgp_status give(const AwsCall *call, const json_t *record)
{
	double fee = g_ascii_strtod(mod_str(record, "upfrontFee"), NULL);
	return mod_give(&call->talk, "block",
		json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s}", "id",
			mod_str(record, "capacityBlockOfferingId"), "instance_type",
			mod_str(record, "instanceType"), "zone",
			mod_str(record, "availabilityZone"), "count",
			aws_xml_number(record, "instanceCount"), "start_s",
			(json_int_t)seconds(record, "startDate"), "end_s",
			(json_int_t)seconds(record, "endDate"), "fee_microusd",
			(json_int_t)(fee * 1e6 + 0.5), "currency",
			mod_str(record, "currencyCode")));
}

rgp_status aws_blocks(const AwsCall *call, const json_t *input)
{
	int64_t hours = mod_int(input, "hours"), count = mod_int(input, "count");
	rgp_status status = check_input(call, hours, count);
	if (status != RGP_OK)
		return status;
	g_autoptr(GPtrArray) questions = g_ptr_array_new_with_free_func(aws_question_free);
	size_t i;
	const json_t *type;
	json_array_foreach (json_object_get(input, "instance_types"), i, type) {
		json_t *params = json_pack("{s:O, s:I, s:I, s:i}", "InstanceType", type,
			"InstanceCount", (json_int_t)count, "CapacityDurationHours",
			(json_int_t)hours, "MaxResults", 1000);
		set_range(params, "Start", json_object_get(input, "from_s"));
		set_range(params, "End", json_object_get(input, "to_s"));
		aws_ask(questions, "DescribeCapacityBlockOfferings", &describe_offerings, params,
			NULL);
	}
	status = ec2_pages_all(call, (Ec2Pages *const *)questions->pdata, questions->len);
	for (i = 0; i < questions->len; i++)
		mod_foreach (record, ((AwsQuestion *)questions->pdata[i])->records)
			if (status == RGP_OK)
				status = give(call, record);
	return status;
}
