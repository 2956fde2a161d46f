/* drift: nodes that the cloud shows as recorded, but that do not work. */
#include "pipeline/internal.h"

static RgSource source_of(const void *data, const char *pointer)
{
	return data ? rg_cluster_source(data, pointer) : (RgSource){0};
}

void rg_pipeline_check_nodes(RgStore *store, const RgPass *pass, RgDrift *drift, RgDiags *diags)
{
	json_auto_t *lifetimes = rg_store_lifetimes(store, pass->plan->cluster, 0, diags);
	const RgReadyCheck check = {.provider = pass->provider,
		.snapshot = pass->snapshot,
		.observed = pass->observed,
		.unmanaged = pass->diff->unmanaged,
		.lifetimes = lifetimes,
		.timeouts_s = pass->plan->ready_timeouts};
	g_autoptr(GPtrArray) found = rg_ready_check(&check, &drift->seen, diags);
	rg_ptr_foreach (const RgUnjoined, unjoined, found)
		rg_drift_add_unhealthy(drift, unjoined->record, unjoined->reason,
			unjoined->strangers, source_of, pass->cluster);
	drift->groups = rg_ready_groups(&check, diags);
	rg_json_foreach (group, drift->groups) {
		g_autofree char *reason = rg_ready_short_group(group);
		if (reason)
			rg_drift_add_unhealthy(drift,
				rg_resource_set_find(check.snapshot->recorded,
					rg_json_str(group, "address", "")),
				reason, false, source_of, pass->cluster);
	}
}
