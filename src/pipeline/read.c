/* clouds -> observed: starts as soon as the records are known, and ends when the comparison needs
 * it. */
#include "base/clock.h"
#include "pipeline/internal.h"

static void on_reading(void *data, const char *kind, size_t seen, bool done)
{
	pass_tell(data, "reading", kind, seen, done);
}

static void on_waiting(void *data, const char *kind, int64_t left_s)
{
	const RgSession *session = data;
	g_autofree char *line = g_strdup_printf(
		"Waiting until the cloud shows the latest changes of %s. This can take up to "
		"%" G_GINT64_FORMAT " s.\n",
		kind, left_s);
	if (session->waiting)
		session->waiting(session->progress_data, line);
}

RgRefreshInput pass_look_again(const RgPass *pass)
{
	return (RgRefreshInput){.cluster = pass->snapshot->cluster,
		.lineage = pass->snapshot->lineage,
		.recorded = pass->snapshot->recorded,
		.tombstones = pass->snapshot->tombstones,
		.now_s = rg_clock_now_s(),
		.since_ms = pass->looked_ms,
		.quiet = pass->quiet};
}

RgRefreshInput pass_refresh_input(RgPass *pass)
{
	g_clear_pointer(&pass->strangers, g_ptr_array_unref);
	pass->strangers = g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
	if (!pass->looked_ms)
		pass->looked_ms = rg_clock_monotonic_ms();
	RgRefreshInput input = pass_look_again(pass);
	input.strangers = pass->strangers;
	return input;
}

void pass_begin_refresh(RgSession *session, RgPass *pass)
{
	RgRefreshInput input = pass_refresh_input(pass);
	input.desired = pass->desired;
	input.removing = session->diff.destroy;
	input.settle_ms = session->settle_ms;
	input.in_vain = pass_is_elsewhere;
	input.in_vain_data = pass;
	input.progress = on_reading;
	input.waiting = on_waiting;
	input.progress_data = session;
	pass->reading = rg_refresh_begin(pass->provider, &input);
}

void pass_refresh(RgSession *session, RgPass *pass, RgDiags *diags)
{
	if (!pass->reading)
		pass_begin_refresh(session, pass);
	pass->observed = rg_refresh_end(g_steal_pointer(&pass->reading), pass->desired, diags);
	pass_tell(session, "reading", "", 0, true);
}
