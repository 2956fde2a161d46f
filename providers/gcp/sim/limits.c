#include <math.h>
#include <string.h>
#include "gcp/sim/gce.h"

/* Where machines fit and how many: capacity of zones, quotas of the project, rates of requests. */

/* ---- what machines take */

/* Stopped ones keep their disks only. */
bool gce_instance_takes_place(const json_t *instance)
{
	const char *status = doc_str(instance, "status");
	return !g_str_equal(status, "TERMINATED") && !doc_is(instance, "_doomed");
}

static const json_t *machine_of(const json_t *instance)
{
	return json_object_get(instance, "_machine");
}

json_t *gce_capacity_refusal(const RgSimPlace *place, const GceMachine *machine)
{
	bool of_market;
	const char *market = machine->spot ? "spot" : "on-demand";
	gint64 left = rg_sim_knobs_capacity(
		place->sim->knobs, machine->label, market, machine->zone, &of_market);
	if (left < 0 || machine->reservation)
		return NULL;
	rg_sim_foreach (instance, place, GCE_INSTANCE) {
		const json_t *other = machine_of(instance);
		left -= gce_instance_takes_place(instance) &&
			g_str_equal(doc_str(other, "label"), machine->label) &&
			g_str_equal(doc_str(other, "zone"), machine->zone) &&
			(!of_market || doc_is(other, "spot") == machine->spot);
	}
	if (left > 0)
		return NULL;
	g_autofree char *message = g_strdup_printf("The zone 'projects/%s/zones/%s' does not have "
						   "enough resources available to fulfill "
						   "the request. '(resource type:compute)'.",
		place->name, machine->zone);
	g_autofree char *attached = machine->accelerator
					    ? g_strdup_printf("%s:%" G_GINT64_FORMAT,
						      machine->accelerator, machine->accelerators)
					    : g_strdup("");
	return json_pack("{s:i, s:[{s:s, s:s, s:[{s:{s:s, s:s, s:{s:s, s:s, s:s}}}]}]}", "http",
		503, "errors", "code", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "message",
		message, "errorDetails", "errorInfo", "reason", "resource_availability", "domain",
		"compute.googleapis.com", "metadatas", "vmType", machine->type, "zone",
		machine->zone, "attachment", attached);
}

/* ---- quotas: the knob `quotas`, {METRIC or REGION/METRIC: limit}. Metrics: the description's
 * enumeration Quota.metric */

/* GPUs with a metric of their own; a spot machine counts against PREEMPTIBLE_... instead. Newer
 * ones have quotas per family, which this API does not show. */
static const struct {
	const char *accelerator, *metric;
	bool spot_only;
} gpu_metrics[] = {
	{"nvidia-tesla-a100", "NVIDIA_A100_GPUS"},
	{"nvidia-a100-80gb", "NVIDIA_A100_80GB_GPUS"},
	{"nvidia-h100-80gb", "NVIDIA_H100_GPUS", .spot_only = true},
	{"nvidia-l4", "NVIDIA_L4_GPUS"},
	{"nvidia-tesla-p100", "NVIDIA_P100_GPUS"},
	{"nvidia-tesla-p4", "NVIDIA_P4_GPUS"},
	{"nvidia-tesla-t4", "NVIDIA_T4_GPUS"},
	{"nvidia-tesla-v100", "NVIDIA_V100_GPUS"},
};
static const char *const cpu_metrics[] = {"A2_CPUS", "C2_CPUS", "C2D_CPUS", "C3_CPUS", "E2_CPUS",
	"M1_CPUS", "M2_CPUS", "M3_CPUS", "N2_CPUS", "N2D_CPUS", "T2A_CPUS", "T2D_CPUS"};
static const char *const regional[] = {"CPUS", "IN_USE_ADDRESSES", "INSTANCES", "PREEMPTIBLE_CPUS"};
/* Disks count as long as they exist. That balanced ones are SSDs here, and that Hyperdisk has
 * quotas of its own, is from public reports of QUOTA_EXCEEDED. */
static const struct {
	const char *metric, *types;
} disk_metrics[] = {
	{"DISKS_TOTAL_GB", "pd-standard"},
	{"HDB_TOTAL_GB", "hyperdisk-balanced"},
	{"SSD_TOTAL_GB", "pd-balanced pd-ssd pd-extreme"},
};
static const char *const global[] = {"CPUS_ALL_REGIONS", "GPUS_ALL_REGIONS"};
#define NO_LIMIT 1e6

static bool is_metric(const char *metric)
{
	const char *own = g_str_has_prefix(metric, "PREEMPTIBLE_NVIDIA_")
				  ? metric + strlen("PREEMPTIBLE_")
				  : metric;
	bool known = false;
	for (gsize i = 0; i < G_N_ELEMENTS(gpu_metrics); i++)
		known |= g_str_equal(own, gpu_metrics[i].metric) &&
			 (own != metric || !gpu_metrics[i].spot_only);
	for (gsize i = 0; i < G_N_ELEMENTS(cpu_metrics); i++)
		known |= g_str_equal(metric, cpu_metrics[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(regional); i++)
		known |= g_str_equal(metric, regional[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(disk_metrics); i++)
		known |= g_str_equal(metric, disk_metrics[i].metric);
	for (gsize i = 0; i < G_N_ELEMENTS(global); i++)
		known |= g_str_equal(metric, global[i]);
	return known;
}

bool gce_is_quota(const char *code)
{
	return is_metric(gce_last(code));
}

static const char *disk_metric_of(const char *type)
{
	for (gsize i = 0; i < G_N_ELEMENTS(disk_metrics); i++) {
		g_auto(GStrv) types = g_strsplit(disk_metrics[i].types, " ", -1);
		if (g_strv_contains((const char *const *)types, type))
			return disk_metrics[i].metric;
	}
	return "";
}

/* What a machine takes of a metric. */
static gint64 share(const char *metric, const json_t *machine)
{
	gint64 vcpus = doc_int(machine, "vcpus"), gpus = doc_int(machine, "gpus");
	if (g_str_equal(metric, "INSTANCES"))
		return 1;
	if (g_str_equal(metric, "GPUS_ALL_REGIONS"))
		return gpus;
	if (g_str_equal(metric, "CPUS_ALL_REGIONS"))
		return vcpus;
	if (g_str_equal(metric, doc_str(machine, "gpu_metric")))
		return gpus;
	if (g_str_equal(metric, doc_str(machine, "cpu_metric")))
		return vcpus;
	if (g_str_equal(metric, "IN_USE_ADDRESSES"))
		return doc_int(machine, "addresses");
	return doc_int(json_object_get(machine, "disks"), metric);
}

static gint64 usage_of_disks(const RgSimPlace *place, const char *metric, const char *region)
{
	gint64 used = 0;
	rg_sim_foreach (disk, place, GCE_DISK) {
		const char *zone = gce_last(doc_str(disk, "zone"));
		if (g_str_equal(disk_metric_of(gce_last(doc_str(disk, "type"))), metric) &&
			g_strcmp0(gce_region_of(gce_data(place), zone), region) == 0)
			used += g_ascii_strtoll(doc_str(disk, "sizeGb"), NULL, 10);
	}
	return used;
}

static bool is_disk_metric(const char *metric)
{
	for (gsize i = 0; i < G_N_ELEMENTS(disk_metrics); i++) {
		if (g_str_equal(disk_metrics[i].metric, metric))
			return true;
	}
	return false;
}

/* External ones can be added and removed later. */
static gint64 addresses_of(const json_t *properties)
{
	const json_t *interfaces = json_object_get(properties, "networkInterfaces");
	return (gint64)json_array_size(
		json_object_get(json_array_get(interfaces, 0), "accessConfigs"));
}

static gint64 usage(const RgSimPlace *place, const char *metric, const char *region)
{
	gint64 used = 0;
	if (is_disk_metric(metric))
		return usage_of_disks(place, metric, region);
	rg_sim_foreach (instance, place, GCE_INSTANCE) {
		const json_t *machine = machine_of(instance);
		if (!gce_instance_takes_place(instance) ||
			(region && !g_str_equal(doc_str(machine, "region"), region)))
			continue;
		used += g_str_equal(metric, "IN_USE_ADDRESSES") ? addresses_of(instance)
								: share(metric, machine);
	}
	return used;
}

/* -1: the knob has no limit. */
static gint64 limit_of(const RgSimPlace *place, const char *metric, const char *region)
{
	const json_t *quotas = json_object_get(place->sim->knobs, "quotas");
	g_autofree char *own = g_strdup_printf("%s/%s", region ? region : "global", metric);
	return rg_json_int(quotas, own, rg_json_int(quotas, metric, -1));
}

static void add_quota(const RgSimPlace *place, json_t *list, const char *metric, const char *region)
{
	gint64 limit = limit_of(place, metric, region);
	json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "metric", metric, "limit",
					    limit < 0 ? NO_LIMIT : (double)limit, "usage",
					    (double)usage(place, metric, region)));
}

json_t *gce_quotas_json(const RgSimPlace *place, const char *region)
{
	json_t *list = json_array();
	for (gsize i = 0; !region && i < G_N_ELEMENTS(global); i++)
		add_quota(place, list, global[i], NULL);
	for (gsize i = 0; region && i < G_N_ELEMENTS(regional); i++)
		add_quota(place, list, regional[i], region);
	for (gsize i = 0; region && i < G_N_ELEMENTS(disk_metrics); i++)
		add_quota(place, list, disk_metrics[i].metric, region);
	for (gsize i = 0; region && i < G_N_ELEMENTS(cpu_metrics); i++)
		add_quota(place, list, cpu_metrics[i], region);
	for (gsize i = 0; region && i < G_N_ELEMENTS(gpu_metrics); i++) {
		g_autofree char *spot = g_strconcat("PREEMPTIBLE_", gpu_metrics[i].metric, NULL);
		if (!gpu_metrics[i].spot_only)
			add_quota(place, list, gpu_metrics[i].metric, region);
		add_quota(place, list, spot, region);
	}
	return list;
}

static const char *gpu_metric_of(const json_t *facts, const char *attached, char **owned, bool spot)
{
	const json_t *own = json_array_get(json_object_get(facts, "accelerators"), 0);
	const char *accelerator = attached ? attached : doc_str(own, "guestAcceleratorType");
	for (gsize i = 0; i < G_N_ELEMENTS(gpu_metrics); i++) {
		if (g_str_equal(gpu_metrics[i].accelerator, accelerator) &&
			(spot || !gpu_metrics[i].spot_only))
			return *owned = g_strconcat(
				       spot ? "PREEMPTIBLE_" : "", gpu_metrics[i].metric, NULL);
	}
	return "";
}

/* E2, N1 and shared cores count against CPUS, newer series against a quota per family, which this
 * API does not show; spot machines against PREEMPTIBLE_CPUS, unless the project has none (docs,
 * "Allocation quotas"). */
static const char *cpu_metric_of(const RgSimPlace *place, const GceMachine *machine)
{
	const char *type = machine->type, *region = gce_region_of(gce_data(place), machine->zone);
	if (machine->spot && limit_of(place, "PREEMPTIBLE_CPUS", region))
		return "PREEMPTIBLE_CPUS";
	static const char *const of_cpus[] = {"custom", "e2", "f1", "g1", "n1", NULL};
	g_autofree char *family = g_strndup(type, strcspn(type, "-"));
	g_autofree char *upper = g_ascii_strup(family, -1);
	g_autofree char *metric = g_strconcat(upper, "_CPUS", NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(cpu_metrics); i++) {
		if (g_str_equal(cpu_metrics[i], metric) && !g_str_equal(metric, "E2_CPUS"))
			return cpu_metrics[i];
	}
	return g_strv_contains(of_cpus, family) ? "CPUS" : "";
}

/* {metric: GB} */
static json_t *disks_json(const GceMachine *machine)
{
	const json_t *list = json_object_get(machine->properties, "disks");
	json_t *out = json_object();
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *given = json_array_get(list, i);
		const json_t *params = json_object_get(given, "initializeParams");
		const char *metric = disk_metric_of(gce_last(rg_json_str(params, "diskType",
			rg_json_str(machine->facts, "bootDiskType", "pd-standard"))));
		const char *size = rg_json_str(params, "diskSizeGb",
			rg_json_str(given, "diskSizeGb",
				doc_str(json_array_get(machine->images, i), "diskSizeGb")));
		json_object_set_new(out, metric,
			json_integer(doc_int(out, metric) + g_ascii_strtoll(size, NULL, 10)));
	}
	return out;
}

json_t *gce_machine_json(const RgSimPlace *place, const GceMachine *machine)
{
	const json_t *own = json_array_get(json_object_get(machine->facts, "accelerators"), 0);
	gint64 gpus = machine->accelerator ? machine->accelerators
					   : doc_int(own, "guestAcceleratorCount");
	g_autofree char *owned = NULL;
	const char *gpu_metric =
		gpu_metric_of(machine->facts, machine->accelerator, &owned, machine->spot);
	return json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:s, s:s, s:I, s:o}", "label",
		machine->label, "zone", machine->zone, "region",
		gce_region_of(gce_data(place), machine->zone), "spot", machine->spot, "vcpus",
		(json_int_t)doc_int(machine->facts, "guestCpus"), "gpus", (json_int_t)gpus,
		"gpu_metric", gpu_metric, "cpu_metric", cpu_metric_of(place, machine), "addresses",
		(json_int_t)addresses_of(machine->properties), "disks", disks_json(machine));
}

static json_t *quota_error(const char *metric, gint64 limit, const char *region)
{
	g_autofree char *low = g_ascii_strdown(metric, -1);
	g_autofree char *name = g_strconcat("compute.googleapis.com/", low, NULL);
	g_autofree char *dashed = g_strdelimit(g_strdup(metric), "_", '-');
	g_autofree char *limit_name =
		g_strconcat(dashed, region ? "-per-project-region" : "-per-project", NULL);
	g_autofree char *where =
		region ? g_strdup_printf("in region %s", region) : g_strdup("globally");
	g_autofree char *message = g_strdup_printf(
		"Quota '%s' exceeded.  Limit: %" G_GINT64_FORMAT ".0 %s.", metric, limit, where);
	return json_pack("{s:i, s:[{s:s, s:s, s:[{s:{s:s, s:s, s:{s:s}, s:f}}]}]}", "http", 403,
		"errors", "code", "QUOTA_EXCEEDED", "message", message, "errorDetails", "quotaInfo",
		"metricName", name, "limitName", limit_name, "dimensions",
		region ? "region" : "global", region ? region : "global", "limit", (double)limit);
}

json_t *gce_quota_refusal(const RgSimPlace *place, const GceMachine *machine)
{
	json_auto_t *wanted = gce_machine_json(place, machine);
	const char *region = doc_str(wanted, "region");
	rg_json_foreach_member (code, unused, json_object_get(place->sim->knobs, "quotas")) {
		const char *metric = gce_last(code);
		bool is_global = g_str_has_suffix(metric, "_ALL_REGIONS");
		const char *where = is_global ? NULL : region;
		gint64 limit = is_metric(metric) ? limit_of(place, metric, where) : -1;
		gint64 needed = is_metric(metric) ? share(metric, wanted) : 0;
		if (limit >= 0 && needed && usage(place, metric, where) + needed > limit)
			return quota_error(metric, limit, where);
	}
	return NULL;
}

/* ---- rates (cloud.google.com/compute/docs/api/rate-limits): per minute, project and group; off
 * unless the knob `throttle` is 1 */

#define A_MINUTE 1500

bool gce_fail_rate(RgSimCall *call, const char *what)
{
	return rg_sim_fail(call, 403, "rateLimitExceeded",
		"Quota exceeded for quota metric '%s' and limit '%s per minute' of service "
		"'compute.googleapis.com' for consumer 'project:%s'.",
		what, what, call->place_name);
}

bool gce_throttle(RgSimCall *call)
{
	if (!doc_int(call->sim->knobs, "throttle"))
		return true;
	const char *zone = call_str(call, "zone"), *region = call_str(call, "region");
	const char *where = zone ? gce_region_of(call_data(call), zone) : region;
	g_autofree char *group = g_strdup_printf(
		"%s:%s", call->action->mutating ? "write" : "read", where ? where : "global");
	return rg_sim_take_tokens(call, group, A_MINUTE, A_MINUTE / 60.0, 1) ||
	       gce_fail_rate(call, call->action->mutating ? "Mutate requests" : "Read requests");
}
