#include "aws/sim/describe.h"
#include "aws/sim/launch.h"

/* docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html */
#define NOTICE_MS (2 * 60 * 1000)

static bool check_price(RgSimCall *call, const Ec2Launch *launch)
{
	if (!launch->max_price)
		return true;
	char *end;
	double price = g_ascii_strtod(launch->max_price, &end);
	if (*end || end == launch->max_price || !(price >= 0.001) || price > 1e6)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Invalid value '%s' for SpotOptions.MaxPrice: prices are from 0.001 USD "
			"an hour",
			launch->max_price);
	const json_t *now =
		json_object_get(json_object_get(call->sim->knobs, "spot_prices"), launch->type);
	if (!now || price >= json_number_value(now))
		return true;
	return rg_sim_fail(call, 400, "SpotMaxPriceTooLow",
		"Your Spot request price of %s is lower than the minimum required Spot request "
		"fulfillment price of %g.",
		launch->max_price, json_number_value(now));
}

bool ec2_spot_read(RgSimCall *call, Ec2Launch *launch)
{
	static const char options[] = "InstanceMarketOptions.SpotOptions.";
	if (!call_has(call, "InstanceMarketOptions"))
		return true;
	const char *market = call_str(call, "InstanceMarketOptions.MarketType");
	if (!market)
		return ec2_fail_missing(call, "InstanceMarketOptions.MarketType");
	g_autofree char *type_path = g_strconcat(options, "SpotInstanceType", NULL);
	g_autofree char *end_path = g_strconcat(options, "InstanceInterruptionBehavior", NULL);
	g_autofree char *price_path = g_strconcat(options, "MaxPrice", NULL);
	const char *type = call_str(call, type_path);
	const char *end = call_str(call, end_path);
	if (end && !g_str_equal(end, "terminate") && g_strcmp0(type, "persistent") != 0)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"Interruption behavior %s requires a persistent request", end);
	launch->block = g_str_equal(market, EC2_BLOCK);
	if (launch->block)
		return !call_has(call, "InstanceMarketOptions.SpotOptions") ||
		       rg_sim_fail(call, 400, "InvalidParameterCombination",
			       "SpotOptions are for the market type spot only");
	if (!g_str_equal(market, "spot") || g_strcmp0(type, "persistent") == 0)
		return rg_sim_fail(call, 400, "UnsupportedOperation",
			"raygpu-sim simulates on-demand instances, Capacity Blocks and one-time "
			"spot requests only");
	launch->spot = true;
	launch->max_price = call_str(call, price_path);
	return check_price(call, launch);
}

static json_t *status_json(const RgSim *sim, const char *code, const char *message)
{
	g_autofree char *now = ec2_time_text(sim->now_ms);
	return json_pack("{s:s, s:s, s:s}", "code", code, "message", message, "updateTime", now);
}

void ec2_spot_add(RgSimCall *call, const Ec2Launch *launch, json_t *instance)
{
	g_autofree char *id = rg_sim_id(call->sim, "sir-");
	g_autofree char *now = ec2_time_text(call->sim->now_ms);
	json_t *status = status_json(call->sim, "fulfilled", "Your spot request is fulfilled.");
	json_t *request = json_pack("{s:s, s:s, s:O, s:s, s:s, s:s, s:s}", "spotInstanceRequestId",
		id, "createTime", now, "instanceId", json_object_get(instance, "instanceId"),
		"instanceInterruptionBehavior", "terminate", "launchedAvailabilityZone",
		launch->zone, "productDescription", "Linux/UNIX", "state", "active");
	json_auto_t *rest = json_pack("{s:s, s:o, s:s, s:{s:s, s:s}, s:O}", "type", "one-time",
		"status", status, "spotPrice", launch->max_price ? launch->max_price : "",
		"launchSpecification", "imageId", doc_str(instance, "imageId"), "instanceType",
		launch->type, "tagSet", launch->spot_tags);
	json_object_update(request, rest);
	/* Without a maximum it is the on-demand price, which the simulator does not know. */
	if (!launch->max_price)
		json_object_del(request, "spotPrice");
	json_object_set_new(instance, "spotInstanceRequestId", json_string(id));
	json_object_set_new(instance, "instanceLifecycle", json_string("spot"));
	rg_sim_put(call->place, EC2_SPOT, request);
}

static void set_status(RgSimPlace *region, const json_t *instance, const char *state,
	const char *status, const char *message)
{
	json_t *request = rg_sim_edit(region, EC2_SPOT, doc_str(instance, "spotInstanceRequestId"));
	if (!request)
		return;
	/* A cancelled request stays cancelled. */
	if (state && !g_str_equal(doc_str(request, "state"), "cancelled"))
		json_object_set_new(request, "state", json_string(state));
	json_object_set_new(request, "status", status_json(region->sim, status, message));
	rg_sim_put(region, EC2_SPOT, request);
}

void ec2_spot_close(
	RgSimPlace *region, const json_t *instance, const char *status, const char *message)
{
	set_status(region, instance, "closed", status, message);
}

void ec2_spot_take(RgSimPlace *region, json_t *instance)
{
	gint64 shutdown_ms = doc_int(instance, "_shutdownMs");
	ec2_instance_set_state(instance, "shutting-down");
	json_object_set_new(instance, "reason", json_string("Server.SpotInstanceTermination"));
	json_object_set_new(instance, "stateReason",
		json_pack("{s:s, s:s}", "code", "Server.SpotInstanceTermination", "message",
			"Server.SpotInstanceTermination: Spot instance termination"));
	ec2_spot_close(region, instance, "instance-terminated-no-capacity",
		"There is no Spot capacity available that matches your request.");
	ec2_instance_plan(region, instance, region->sim->now_ms + shutdown_ms, "terminated");
}

static bool is_wanted(const RgSimReclaim *rule, const json_t *instance)
{
	const char *zone = doc_str(json_object_get(instance, "placement"), "availabilityZone");
	return *doc_str(instance, "spotInstanceRequestId") && ec2_instance_runs(instance) &&
	       !json_object_get(instance, "_shutdownMs") &&
	       (!rule->ids || rg_json_has_text(rule->ids, doc_str(instance, "instanceId"))) &&
	       (!rule->type || g_str_equal(rule->type, doc_str(instance, "instanceType"))) &&
	       (!rule->zone || g_str_equal(rule->zone, zone));
}

void ec2_spot_reclaim(RgSimPlace *region, RgSimReclaim *rule, json_t *hit)
{
	const json_t *knobs = region->sim->knobs, *found;
	gint64 notice_ms = rule->notice_ms < 0 ? NOTICE_MS : rule->notice_ms;
	for (unsigned at = 0; rule->left > 0 && (found = rg_sim_next(region, EC2_INSTANCE, &at));) {
		if (!is_wanted(rule, found))
			continue;
		json_t *instance = json_copy(rg_json_unconst(found));
		json_object_set(instance, "_shutdownMs", json_object_get(knobs, "shutdown_ms"));
		json_object_set(instance, "_terminatedMs", json_object_get(knobs, "terminated_ms"));
		set_status(region, instance, NULL, "marked-for-termination",
			"The Spot Instance is marked for termination.");
		ec2_instance_plan(region, instance, region->sim->now_ms + notice_ms, "reclaimed");
		json_array_append(hit, json_object_get(instance, "instanceId"));
		rg_sim_put(region, EC2_INSTANCE, instance);
		rule->left--;
	}
}

static bool describe_spot(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"spot-instance-request-id", "spotInstanceRequestId"},
		{"state", "state"}, {"status-code", "status.code"}, {"instance-id", "instanceId"},
		{"launched-availability-zone", "launchedAvailabilityZone"}, {"type", "type"},
		{"launch.instance-type", "launchSpecification.instanceType"},
		{"launch.image-id", "launchSpecification.imageId"}, {NULL}};
	static const Ec2Listing listing = {
		"spotInstanceRequestSet", EC2_SPOT, "SpotInstanceRequestId", filters};
	return ec2_describe(call, &listing);
}

/* Cancels only the requests: their instances keep running. */
static bool cancel_spot(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = ec2_ids(call, EC2_SPOT, "SpotInstanceRequestId");
	if (!ids || !ec2_go(call))
		return false;
	json_auto_t *answer = json_array();
	rg_ptr_foreach (const char, id, ids) {
		json_t *request = rg_sim_edit(call->place, EC2_SPOT, id);
		if (g_str_equal(doc_str(request, "state"), "active")) {
			json_object_set_new(request, "state", json_string("cancelled"));
			json_object_set_new(request, "status",
				status_json(call->sim, "request-canceled-and-instance-running",
					"Your Spot request is canceled, but your instance is still "
					"running."));
		}
		json_array_append_new(answer, json_pack("{s:s, s:O}", "spotInstanceRequestId", id,
						      "state", json_object_get(request, "state")));
		rg_sim_put(call->place, EC2_SPOT, request);
	}
	ec2_xml_value(call->body, "spotInstanceRequestSet", answer);
	return true;
}

const RgSimAction ec2_spot_actions[] = {
	{"CancelSpotInstanceRequests", cancel_spot, true, "DryRun SpotInstanceRequestId"},
	{"DescribeSpotInstanceRequests", describe_spot, false, "SpotInstanceRequestId" PAGED},
	{NULL},
};
