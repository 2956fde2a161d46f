/* clouds -> observed: starts as soon as the records are known, and ends when the comparison needs
 * it. */
#include "base/clock.h"
#include "pipeline/internal.h"

static void on_reading(void *data, const char *kind, size_t seen, bool done)
{
	RgSession *session = data;
	if (session->progress)
		session->progress(session->progress_data, "reading", kind, seen, done);
}

GPtrArray *pass_strangers_new(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
}

void pass_begin_refresh(RgSession *session, RgPass *pass)
{
	g_clear_pointer(&pass->strangers, g_ptr_array_unref);
	pass->strangers = pass_strangers_new();
	const RgRefreshInput input = {.cluster = pass->snapshot->cluster,
		.lineage = pass->snapshot->lineage,
		.recorded = pass->snapshot->recorded,
		.desired = pass->desired,
		.tombstones = pass->snapshot->tombstones,
		.strangers = pass->strangers,
		.removing = session->diff.destroy,
		.now_s = rg_clock_now_s(),
		.settle_ms = session->settle_ms,
		.in_vain = pass_is_elsewhere,
		.in_vain_data = pass,
		.progress = on_reading,
		.progress_data = session};
	pass->reading = rg_refresh_begin(pass->provider, &input);
}

void pass_refresh(RgSession *session, RgPass *pass, RgDiags *diags)
{
	if (!pass->reading)
		pass_begin_refresh(session, pass);
	pass->observed = rg_refresh_end(g_steal_pointer(&pass->reading), pass->desired, diags);
	if (session->progress)
		session->progress(session->progress_data, "reading", "", 0, true);
}
