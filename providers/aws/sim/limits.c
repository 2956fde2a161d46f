#include <string.h>
#include "aws/sim/resources.h"

/* ---- capacity: zones that offer a type, and what the knobs leave there */

bool ec2_takes_place(const json_t *instance)
{
	const char *state = ec2_instance_state(instance);
	return !g_str_equal(state, "terminated") && !g_str_equal(state, "stopped");
}

gint64 ec2_capacity_left(const RgSimCall *call, const Ec2Machine *machine, const char *zone)
{
	bool of_market;
	gint64 left = rg_sim_knobs_capacity(call->sim->knobs, machine->type,
		machine->spot ? "spot" : "on-demand", zone, &of_market);
	/* A dry run checks permission and form; EC2 reports capacity only at a real launch. */
	if (left < 0 || call->dry_run)
		return G_MAXINT64;
	if (!of_market || !machine->spot)
		left -= ec2_reservations_held(call->place, machine->type, zone);
	rg_sim_foreach (instance, call->place, EC2_INSTANCE) {
		if (*doc_str(instance, "capacityReservationId"))
			continue; /* counted with its reservation */
		const json_t *placement = json_object_get(instance, "placement");
		bool spot = *doc_str(instance, "instanceLifecycle") != '\0';
		if (ec2_takes_place(instance) && (!of_market || spot == machine->spot) &&
			g_str_equal(doc_str(instance, "instanceType"), machine->type) &&
			g_str_equal(doc_str(placement, "availabilityZone"), zone))
			left--;
	}
	return MAX(left, 0);
}

static bool zone_offers(const RgSimCall *call, const char *type, const json_t *zone)
{
	return ec2_type_offered(call->place, type, doc_str(zone, "id"));
}

/* "us-east-1b, us-east-1c": zones other than `but` that offer the type, and have room for one if
 * `with_room`. g_free it. */
static char *other_zones(
	const RgSimCall *call, const Ec2Machine *machine, const char *but, bool with_room)
{
	GString *out = g_string_new(NULL);
	rg_json_foreach (zone, ec2_zones(call->place)) {
		const char *name = doc_str(zone, "name");
		if (g_str_equal(name, but) || !zone_offers(call, machine->type, zone) ||
			(with_room && ec2_capacity_left(call, machine, name) < 1))
			continue;
		g_string_append_printf(out, "%s%s", out->len ? ", " : "", name);
	}
	return g_string_free(out, FALSE);
}

bool ec2_fail_capacity(RgSimCall *call, const Ec2Machine *machine, const char *zone)
{
	const char *type = machine->type;
	if (!zone)
		return rg_sim_fail(call, 500, "InsufficientInstanceCapacity",
			"There is no Spot or On-Demand capacity available that matches your "
			"request.");
	g_autofree char *others = other_zones(call, machine, zone, true);
	if (!*others)
		return rg_sim_fail(call, 500, "InsufficientInstanceCapacity",
			"We currently do not have sufficient %s capacity in the Availability Zone "
			"you requested (%s). Our system will be working on provisioning "
			"additional capacity.",
			type, zone);
	return rg_sim_fail(call, 500, "InsufficientInstanceCapacity",
		"We currently do not have sufficient %s capacity in the Availability Zone you "
		"requested (%s). Our system will be working on provisioning additional capacity. "
		"You can currently get %s capacity by not specifying an Availability Zone in your "
		"request or choosing %s.",
		type, zone, type, others);
}

static bool fail_unsupported(RgSimCall *call, const Ec2Machine *machine, const char *zone)
{
	const char *type = machine->type;
	g_autofree char *others = other_zones(call, machine, zone, false);
	if (!*others)
		return rg_sim_fail(call, 400, "Unsupported",
			"The requested configuration is currently not supported. Please check the "
			"documentation for supported configurations.");
	return rg_sim_fail(call, 400, "Unsupported",
		"Your requested instance type (%s) is not supported in your requested "
		"Availability Zone (%s). Please retry your request by not specifying an "
		"Availability Zone or choosing %s.",
		type, zone, others);
}

static bool place_in(RgSimCall *call, const Ec2Machine *machine, const char *wanted, gint64 min,
	const char **zone, gint64 *count)
{
	const json_t *entry = ec2_zone(call->place, wanted);
	if (!entry)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Invalid availability zone: [%s]", wanted);
	if (!zone_offers(call, machine->type, entry))
		return fail_unsupported(call, machine, wanted);
	gint64 left = ec2_capacity_left(call, machine, wanted);
	if (left < min)
		return ec2_fail_capacity(call, machine, wanted);
	*zone = doc_str(entry, "name");
	*count = MIN(left, *count);
	return true;
}

bool ec2_choose_zone(RgSimCall *call, const Ec2Machine *machine, const char *wanted, gint64 min,
	gint64 max, const char **zone, gint64 *count)
{
	*count = max;
	if (wanted)
		return place_in(call, machine, wanted, min, zone, count);
	gint64 best = -1;
	rg_json_foreach (entry, ec2_zones(call->place)) {
		const char *name = doc_str(entry, "name");
		if (!zone_offers(call, machine->type, entry) ||
			!ec2_default_subnet(call->place, name))
			continue;
		gint64 left = MIN(ec2_capacity_left(call, machine, name), max);
		if (left > best) {
			best = left;
			*zone = name;
		}
	}
	if (best < 0)
		return fail_unsupported(call, machine, "");
	if (best < min)
		return ec2_fail_capacity(call, machine, NULL);
	*count = best;
	return true;
}

/* ---- the account's vCPU quotas, per instance family and market, from the knob `quotas`. Families
 * and codes: Service Quotas, service "ec2" */

static const struct {
	const char *families; /* letters before the generation's digit, blank-separated */
	const char *on_demand;
	const char *spot;
	const char *name, *spot_name; /* what the quota's name says of them; NULL: the same */
} quotas[] = {
	{"p", "L-417A185B", "L-7212CCBC", "P", "P4, P3 and P2"},
	{"g gr vt", "L-DB2E81BA", "L-3819A6DF", "G and VT", NULL},
	{"trn", "L-2C3B7624", "L-5480EFD2", "Trn", NULL},
	{"inf", "L-1945791B", "L-B5D1601B", "Inf", NULL},
	{"dl", "L-6E869C2A", "L-85EED4F7", "DL", NULL},
	{"a c d h i im is m r t z", "L-1216C47A", "L-34B43A08",
		"Standard (A, C, D, H, I, M, R, T, Z)", NULL},
};
/* Spot instances of P5 have one of their own ("All P5 Spot Instance Requests"). */
#define P5_SPOT "L-C4BD4855"

const char *ec2_quota_code(const char *type, bool spot)
{
	g_autofree char *family = g_strndup(type, strcspn(type, "0123456789.-"));
	if (spot && g_str_has_prefix(type, "p5"))
		return P5_SPOT;
	for (size_t i = 0; i < G_N_ELEMENTS(quotas); i++) {
		g_auto(GStrv) names = g_strsplit(quotas[i].families, " ", -1);
		if (g_strv_contains((const char *const *)names, family))
			return spot ? quotas[i].spot : quotas[i].on_demand;
	}
	return NULL;
}

char *ec2_quota_name(const char *code)
{
	for (size_t i = 0; i < G_N_ELEMENTS(quotas); i++) {
		if (g_str_equal(code, quotas[i].on_demand))
			return g_strdup_printf("Running On-Demand %s instances", quotas[i].name);
		if (g_str_equal(code, quotas[i].spot))
			return g_strdup_printf("All %s Spot Instance Requests",
				quotas[i].spot_name ? quotas[i].spot_name : quotas[i].name);
	}
	return g_str_equal(code, P5_SPOT) ? g_strdup("All P5 Spot Instance Requests") : NULL;
}

bool ec2_is_quota(const char *code)
{
	g_autofree char *name = ec2_quota_name(code);
	return name != NULL;
}

gint64 ec2_quota_left(const RgSimCall *call, const char *code)
{
	const json_t *limit =
		code ? json_object_get(json_object_get(call->sim->knobs, "quotas"), code) : NULL;
	/* A dry run checks only permission and form. */
	if (!limit || call->dry_run)
		return G_MAXINT64;
	gint64 left = json_integer_value(limit) - ec2_reservations_vcpus(call->place, code);
	rg_sim_foreach (instance, call->place, EC2_INSTANCE) {
		const char *type = doc_str(instance, "instanceType");
		bool spot = *doc_str(instance, "instanceLifecycle") != '\0';
		if (*doc_str(instance, "capacityReservationId"))
			continue; /* counted with its reservation; Capacity Blocks are not */
		if (ec2_takes_place(instance) && g_strcmp0(ec2_quota_code(type, spot), code) == 0)
			left -= ec2_type_vcpus(ec2_type_find(call->place, type));
	}
	return MAX(left, 0);
}

bool ec2_fail_quota(RgSimCall *call, const char *code)
{
	gint64 limit = doc_int(json_object_get(call->sim->knobs, "quotas"), code);
	g_autofree char *name = ec2_quota_name(code);
	if (g_str_has_suffix(name, " Spot Instance Requests"))
		return rg_sim_fail(call, 400, "MaxSpotInstanceCountExceeded",
			"Max spot instance count exceeded");
	return rg_sim_fail(call, 400, "VcpuLimitExceeded",
		"You have requested more vCPU capacity than your current vCPU limit of "
		"%" G_GINT64_FORMAT
		" allows for the instance bucket that the specified instance type belongs to. "
		"Please visit http://aws.amazon.com/contact-us/ec2-request to request an "
		"adjustment to this limit.",
		limit);
}

/* ---- request throttling: token buckets for each action of a region, and for the instances that
 * four actions affect. Sizes and rates:
 * docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html Off unless the knob `throttle` is
 * 1 */

typedef struct {
	const char *name;
	double size;
	double per_s;
} Rate;

static const Rate actions[] = {{"CreateNetworkInterface", 100, 5}, {"CreateTags", 100, 10},
	{"DeleteNetworkInterface", 100, 5}, {"DeleteTags", 100, 10},
	{"ModifyInstanceMetadataOptions", 100, 5}, {"ModifyNetworkInterfaceAttribute", 100, 5},
	{"RunInstances", 5, 2}, {"StartInstances", 5, 2}, {"TerminateInstances", 100, 5}};
static const Rate reading = {"reading", 100, 20};
static const Rate mutating = {"mutating", 50, 5};
static const Rate unfiltered = {"unfiltered", 50, 10};
static const Rate instances[] = {{"RunInstances", 1000, 2}, {"TerminateInstances", 1000, 20},
	{"StartInstances", 1000, 2}, {"StopInstances", 1000, 20}};
static const char *const unfiltered_actions[] = {"DescribeInstances", "DescribeInstanceStatus",
	"DescribeNetworkInterfaces", "DescribeSecurityGroups", "DescribeSpotInstanceRequests",
	"DescribeVolumes", NULL};

static const Rate *rate_find(const Rate *rates, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (g_str_equal(rates[i].name, name))
			return &rates[i];
	}
	return NULL;
}

static bool rate_take(RgSimCall *call, const char *name, const Rate *rate, double tokens)
{
	return rg_sim_take_tokens(call, name, rate->size, rate->per_s, tokens) ||
	       rg_sim_fail(call, 503, "RequestLimitExceeded", "Request limit exceeded.");
}

static bool is_unfiltered(const RgSimCall *call)
{
	return g_strv_contains(unfiltered_actions, call->action->name) &&
	       !call_has(call, "Filter") && !call_has(call, "MaxResults");
}

bool ec2_throttle_request(RgSimCall *call)
{
	const char *name = call->action->name;
	if (!doc_int(call->sim->knobs, "throttle") || call->service != EC2_API)
		return true;
	if (is_unfiltered(call)) {
		g_autofree char *own = g_strconcat(name, ":unfiltered", NULL);
		return rate_take(call, own, &unfiltered, 1);
	}
	const Rate *rate = rate_find(actions, G_N_ELEMENTS(actions), name);
	if (!rate)
		rate = call->action->mutating ? &mutating : &reading;
	return rate_take(call, name, rate, 1);
}

bool ec2_throttle_instances(RgSimCall *call, gint64 count)
{
	const Rate *rate = rate_find(instances, G_N_ELEMENTS(instances), call->action->name);
	if (!doc_int(call->sim->knobs, "throttle") || !rate)
		return true;
	g_autofree char *name = g_strconcat(rate->name, ":instances", NULL);
	return rate_take(call, name, rate, (double)count);
}
