#include "aws/sim/throttle.h"
#include <string.h>

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

typedef struct {
	double tokens;
	gint64 at_ms;
} Bucket;

struct RgSimThrottle {
	GHashTable *buckets; /* "region/name" -> Bucket */
};

RgSimThrottle *rg_sim_throttle_new(void)
{
	RgSimThrottle *throttle = g_new0(RgSimThrottle, 1);
	throttle->buckets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return throttle;
}

void rg_sim_throttle_free(RgSimThrottle *throttle)
{
	if (!throttle)
		return;
	g_hash_table_unref(throttle->buckets);
	g_free(throttle);
}

void rg_sim_throttle_clear(RgSimThrottle *throttle)
{
	g_hash_table_remove_all(throttle->buckets);
}

static const Rate *find(const Rate *rates, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (g_str_equal(rates[i].name, name))
			return &rates[i];
	}
	return NULL;
}

/* The knob `buckets` ({name: [size, tokens a second]}) wins over AWS's figures. */
static Rate with_knobs(const RgSimKnobs *knobs, const char *name, const Rate *rate)
{
	const json_t *own = json_object_get(knobs->buckets, name);
	if (!own)
		return *rate;
	return (Rate){name, json_number_value(json_array_get(own, 0)),
		json_number_value(json_array_get(own, 1))};
}

static bool take(RgSimCall *call, const char *region, const char *name, Rate rate, double tokens)
{
	g_autofree char *key = g_strconcat(region, "/", name, NULL);
	gint64 now_ms = call->world->now_ms;
	Bucket *bucket = g_hash_table_lookup(call->throttle->buckets, key);
	if (!bucket) {
		bucket = g_new0(Bucket, 1);
		*bucket = (Bucket){rate.size, now_ms};
		g_hash_table_insert(call->throttle->buckets, g_steal_pointer(&key), bucket);
	}
	bucket->tokens += (double)(now_ms - bucket->at_ms) * rate.per_s / 1000;
	bucket->tokens = MIN(bucket->tokens, rate.size);
	bucket->at_ms = now_ms;
	if (bucket->tokens < tokens)
		return rg_sim_fail(call, 503, "RequestLimitExceeded", "Request limit exceeded.");
	bucket->tokens -= tokens;
	return true;
}

static bool is_unfiltered(const RgSimCall *call)
{
	return g_strv_contains(unfiltered_actions, call->action->name) &&
	       !rg_sim_param_at(call->params, "Filter") &&
	       !rg_sim_param_at(call->params, "MaxResults");
}

bool rg_sim_throttle_request(RgSimCall *call, const char *region)
{
	const char *name = call->action->name;
	if (!call->knobs->throttle || call->service != RG_SIM_EC2)
		return true;
	if (is_unfiltered(call)) {
		g_autofree char *own = g_strconcat(name, ":unfiltered", NULL);
		return take(call, region, own, with_knobs(call->knobs, own, &unfiltered), 1);
	}
	const Rate *rate = find(actions, G_N_ELEMENTS(actions), name);
	if (!rate)
		rate = call->action->mutating ? &mutating : &reading;
	return take(call, region, name, with_knobs(call->knobs, name, rate), 1);
}

bool rg_sim_throttle_instances(RgSimCall *call, gint64 count)
{
	const Rate *rate = find(instances, G_N_ELEMENTS(instances), call->action->name);
	if (!call->knobs->throttle || !rate)
		return true;
	g_autofree char *name = g_strconcat(rate->name, ":instances", NULL);
	return take(
		call, call->region->name, name, with_knobs(call->knobs, name, rate), (double)count);
}
