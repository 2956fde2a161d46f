/* A cluster whose spec names several places, and that the cloud has no capacity for in this one:
 * it moves as a whole, as long as none of its nodes has been in use. What was created here is
 * removed first; the next place is planned when nothing is left. */
#include "pipeline/internal.h"
#include "pipeline/place.h"

static bool is_text(const json_t *object, const char *member, const char *text)
{
	return g_strcmp0(rg_json_str(object, member, NULL), text) == 0;
}

static bool is_used(const RgSnapshot *snapshot)
{
	for (size_t i = 0; i < rg_resource_set_size(snapshot->recorded); i++) {
		const RgResource *resource = rg_resource_set_get(snapshot->recorded, i);
		if (rg_json_int(resource->joined, "at_s", 0) > 0)
			return true;
	}
	return false;
}

/* What is recorded was created by runs that were cut off, or that had begun to move: no run has
 * ever completed it here. `runs`: newest first, this one included. */
static bool was_never_complete(const json_t *runs, bool used)
{
	for (size_t i = 1; i < json_array_size(runs); i++) {
		const json_t *run = json_array_get(runs, i);
		bool leaves =
			is_text(run, "command", PASS_MOVE) || is_text(run, "command", "destroy");
		bool cut_off = json_is_null(json_object_get(run, "outcome")) ||
			       is_text(run, "outcome", "interrupted") ||
			       is_text(run, "outcome", "failed");
		if (is_text(run, "outcome", "moved") || (leaves && is_text(run, "outcome", "done")))
			return true;
		if (used || (!leaves && !cut_off)) /* what removes completes nothing */
			return false;
	}
	return !used;
}

bool pass_may_move(const RgSession *session, const RgPass *pass, RgDiags *diags)
{
	const RgSnapshot *snapshot = pass->snapshot;
	if (!pass->cluster || !rg_place_is_open(pass->cluster) || session->diff.destroy ||
		session->diff.targets || session->diff.excludes)
		return false;
	if (!pass_has_nodes(pass))
		return true;
	json_auto_t *runs = rg_store_runs(session->store, snapshot->cluster, diags);
	return runs && was_never_complete(runs, is_used(snapshot));
}
