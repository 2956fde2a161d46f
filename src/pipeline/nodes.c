/* drift: nodes that the cloud shows as recorded, but that do not work. */
#include "pipeline/internal.h"

static RgSource source_of(const void *data, const char *pointer)
{
	return data ? rg_cluster_source(data, pointer) : (RgSource){0};
}

void rg_pipeline_check_nodes(const RgPass *pass, RgDrift *drift, RgDiags *diags)
{
	const RgReadyCheck check = {.provider = pass->provider,
		.recorded = pass->snapshot->recorded,
		.observed = pass->observed,
		.timeouts_s = pass->plan->ready_timeouts,
		.hardware = pass->snapshot->hardware};
	g_autoptr(GPtrArray) found = rg_ready_check(&check, diags);
	for (guint i = 0; i < found->len; i++) {
		const RgUnjoined *unjoined = found->pdata[i];
		rg_drift_add_unhealthy(
			drift, unjoined->record, unjoined->reason, source_of, pass->cluster);
	}
}
