#include "aws/sim/spot.h"
#include "aws/sim/describe.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/xml.h"

/* docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html */
#define NOTICE_MS (2 * 60 * 1000)

static bool check_price(RgSimCall *call, const RgSimLaunch *launch)
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
	const json_t *now = json_object_get(call->knobs->spot_prices, launch->type);
	if (!now || price >= json_number_value(now))
		return true;
	return rg_sim_fail(call, 400, "SpotMaxPriceTooLow",
		"Your Spot request price of %s is lower than the minimum required Spot request "
		"fulfillment price of %g.",
		launch->max_price, json_number_value(now));
}

bool rg_sim_spot_read(RgSimCall *call, RgSimLaunch *launch)
{
	static const char options[] = "InstanceMarketOptions.SpotOptions.";
	if (!rg_sim_param_at(call->params, "InstanceMarketOptions"))
		return true;
	const char *market = rg_sim_param_str(call->params, "InstanceMarketOptions.MarketType");
	if (!market)
		return rg_sim_fail_missing(call, "InstanceMarketOptions.MarketType");
	g_autofree char *type_path = g_strconcat(options, "SpotInstanceType", NULL);
	g_autofree char *end_path = g_strconcat(options, "InstanceInterruptionBehavior", NULL);
	g_autofree char *price_path = g_strconcat(options, "MaxPrice", NULL);
	const char *type = rg_sim_param_str(call->params, type_path);
	const char *end = rg_sim_param_str(call->params, end_path);
	if (end && !g_str_equal(end, "terminate") && g_strcmp0(type, "persistent") != 0)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"Interruption behavior %s requires a persistent request", end);
	if (!g_str_equal(market, "spot") || g_strcmp0(type, "persistent") == 0)
		return rg_sim_fail(call, 400, "UnsupportedOperation",
			"raygpu-sim simulates on-demand instances and one-time spot requests only");
	launch->spot = true;
	launch->max_price = rg_sim_param_str(call->params, price_path);
	return check_price(call, launch);
}

static json_t *status_json(const RgSimWorld *world, const char *code, const char *message)
{
	g_autofree char *now = rg_sim_time_text(world->now_ms);
	return json_pack("{s:s, s:s, s:s}", "code", code, "message", message, "updateTime", now);
}

void rg_sim_spot_add(RgSimCall *call, const RgSimLaunch *launch, json_t *instance)
{
	g_autofree char *id = rg_sim_world_id(call->world, "sir-");
	g_autofree char *now = rg_sim_time_text(call->world->now_ms);
	json_t *status = status_json(call->world, "fulfilled", "Your spot request is fulfilled.");
	json_t *request = json_pack("{s:s, s:s, s:O, s:s, s:s, s:s, s:s}", "spotInstanceRequestId",
		id, "createTime", now, "instanceId", json_object_get(instance, "instanceId"),
		"instanceInterruptionBehavior", "terminate", "launchedAvailabilityZone",
		launch->zone, "productDescription", "Linux/UNIX", "state", "active");
	json_auto_t *rest = json_pack("{s:s, s:o, s:s, s:{s:s, s:s}, s:O}", "type", "one-time",
		"status", status, "spotPrice", launch->max_price ? launch->max_price : "",
		"launchSpecification", "imageId", rg_sim_doc_str(instance, "imageId"),
		"instanceType", launch->type, "tagSet", launch->spot_tags);
	json_object_update(request, rest);
	/* Without a maximum it is on-demand's price, which nobody here knows. */
	if (!launch->max_price)
		json_object_del(request, "spotPrice");
	json_object_set_new(instance, "spotInstanceRequestId", json_string(id));
	json_object_set_new(instance, "instanceLifecycle", json_string("spot"));
	rg_sim_world_put(call->world, call->region, RG_SIM_SPOT, request);
}

static void set_status(RgSimWorld *world, RgSimRegion *region, const json_t *instance,
	const char *state, const char *status, const char *message)
{
	json_t *request = rg_sim_world_edit(
		region, RG_SIM_SPOT, rg_sim_doc_str(instance, "spotInstanceRequestId"));
	if (!request)
		return;
	/* A cancelled request stays cancelled. */
	if (state && !g_str_equal(rg_sim_doc_str(request, "state"), "cancelled"))
		json_object_set_new(request, "state", json_string(state));
	json_object_set_new(request, "status", status_json(world, status, message));
	rg_sim_world_put(world, region, RG_SIM_SPOT, request);
}

void rg_sim_spot_close(RgSimWorld *world, RgSimRegion *region, const json_t *instance,
	const char *status, const char *message)
{
	set_status(world, region, instance, "closed", status, message);
}

void rg_sim_spot_take(RgSimWorld *world, RgSimRegion *region, json_t *instance)
{
	gint64 shutdown_ms = json_integer_value(json_object_get(instance, "_shutdownMs"));
	rg_sim_instance_set_state(instance, "shutting-down");
	json_object_set_new(instance, "reason", json_string("Server.SpotInstanceTermination"));
	json_object_set_new(instance, "stateReason",
		json_pack("{s:s, s:s}", "code", "Server.SpotInstanceTermination", "message",
			"Server.SpotInstanceTermination: Spot instance termination"));
	rg_sim_spot_close(world, region, instance, "instance-terminated-no-capacity",
		"There is no Spot capacity available that matches your request.");
	rg_sim_instance_plan(world, region, instance, world->now_ms + shutdown_ms, "terminated");
}

typedef struct {
	const json_t *ids; /* NULL: any */
	const char *type;  /* these, too */
	const char *zone;
	json_int_t left;
	gint64 notice_ms;
} Reclaim;

static bool names(const json_t *ids, const char *id)
{
	for (size_t i = 0; i < json_array_size(ids); i++) {
		if (g_strcmp0(json_string_value(json_array_get(ids, i)), id) == 0)
			return true;
	}
	return !ids;
}

static bool is_wanted(const Reclaim *reclaim, const json_t *instance)
{
	const char *state = rg_sim_instance_state(instance);
	const char *zone =
		rg_sim_doc_str(json_object_get(instance, "placement"), "availabilityZone");
	return *rg_sim_doc_str(instance, "spotInstanceRequestId") &&
	       (g_str_equal(state, "pending") || g_str_equal(state, "running")) &&
	       !json_object_get(instance, "_shutdownMs") &&
	       names(reclaim->ids, rg_sim_doc_str(instance, "instanceId")) &&
	       (!reclaim->type ||
		       g_str_equal(reclaim->type, rg_sim_doc_str(instance, "instanceType"))) &&
	       (!reclaim->zone || g_str_equal(reclaim->zone, zone));
}

static void reclaim_in(RgSimWorld *world, const RgSimKnobs *knobs, RgSimRegion *region,
	Reclaim *reclaim, json_t *hit)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_INSTANCE);
	for (unsigned i = 0; i < all->len && reclaim->left > 0; i++) {
		const json_t *found = g_ptr_array_index(all, i);
		const char *id = rg_sim_doc_str(found, "instanceId");
		if (!is_wanted(reclaim, found))
			continue;
		json_t *instance = rg_sim_world_edit(region, RG_SIM_INSTANCE, id);
		json_object_set_new(instance, "_shutdownMs", json_integer(knobs->shutdown_ms));
		json_object_set_new(instance, "_terminatedMs", json_integer(knobs->terminated_ms));
		set_status(world, region, instance, NULL, "marked-for-termination",
			"The Spot Instance is marked for termination.");
		rg_sim_instance_plan(
			world, region, instance, world->now_ms + reclaim->notice_ms, "reclaimed");
		json_array_append_new(hit, json_string(id));
		rg_sim_world_put(world, region, RG_SIM_INSTANCE, instance);
		reclaim->left--;
	}
}

static bool read_reclaim(const json_t *rule, Reclaim *reclaim, char **problem)
{
	json_t *ids = NULL;
	json_int_t count = G_MAXINT32, notice_ms = NOTICE_MS;
	*reclaim = (Reclaim){0};
	json_error_t error;
	int unpacked = json_unpack_ex((json_t *)(guintptr)rule, &error, 0,
		"{s?o, s?s, s?s, s?I, s?I !}", "instance_ids", &ids, "type", &reclaim->type, "zone",
		&reclaim->zone, "count", &count, "notice_ms", &notice_ms);
	reclaim->ids = ids;
	reclaim->left = count;
	reclaim->notice_ms = notice_ms;
	if (unpacked < 0)
		*problem = g_strdup_printf("not a reclaim: %s", error.text);
	else if ((ids && !json_is_array(ids)) || count < 1 || notice_ms < 0 ||
		 notice_ms > 24 * 3600 * 1000)
		*problem = g_strdup("not a reclaim: instance_ids is a list, count from 1, "
				    "notice_ms from 0 to a day");
	return !*problem;
}

bool rg_sim_spot_reclaim_check(const json_t *rule, char **problem)
{
	Reclaim reclaim;
	return read_reclaim(rule, &reclaim, problem);
}

json_t *rg_sim_spot_reclaim(
	RgSimWorld *world, const RgSimKnobs *knobs, const json_t *rule, char **problem)
{
	Reclaim reclaim;
	if (!read_reclaim(rule, &reclaim, problem))
		return NULL;
	json_t *hit = json_array();
	GHashTableIter iter;
	void *region;
	g_hash_table_iter_init(&iter, world->regions);
	while (g_hash_table_iter_next(&iter, NULL, &region))
		reclaim_in(world, knobs, region, &reclaim, hit);
	return hit;
}

bool rg_sim_describe_spot(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {
		{"spot-instance-request-id", "spotInstanceRequestId"}, {"state", "state"},
		{"status-code", "status.code"}, {"instance-id", "instanceId"},
		{"launched-availability-zone", "launchedAvailabilityZone"}, {"type", "type"},
		{"launch.instance-type", "launchSpecification.instanceType"},
		{"launch.image-id", "launchSpecification.imageId"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "spotInstanceRequestSet",
		.kind = RG_SIM_SPOT,
		.ids = "SpotInstanceRequestId",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000};
	return rg_sim_describe(call, &listing);
}

/* Cancels the requests only: their instances run on. */
bool rg_sim_cancel_spot(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = rg_sim_call_ids(call, RG_SIM_SPOT, "SpotInstanceRequestId");
	if (!ids || !rg_sim_go(call))
		return false;
	json_auto_t *answer = json_array();
	for (unsigned i = 0; i < ids->len; i++) {
		const char *id = g_ptr_array_index(ids, i);
		json_t *request = rg_sim_world_edit(call->region, RG_SIM_SPOT, id);
		if (g_str_equal(rg_sim_doc_str(request, "state"), "active")) {
			json_object_set_new(request, "state", json_string("cancelled"));
			json_object_set_new(request, "status",
				status_json(call->world, "request-canceled-and-instance-running",
					"Your Spot request is canceled, but your instance is still "
					"running."));
		}
		json_array_append_new(answer, json_pack("{s:s, s:O}", "spotInstanceRequestId", id,
						      "state", json_object_get(request, "state")));
		rg_sim_world_put(call->world, call->region, RG_SIM_SPOT, request);
	}
	rg_sim_xml_value(call->body, "spotInstanceRequestSet", answer);
	return true;
}
