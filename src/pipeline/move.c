/* Whether a cluster that the cloud has no capacity for here may be put elsewhere (anywhere.c): as
 * long as none of its worker nodes has been in use. */
#include "pipeline/internal.h"
#include "pipeline/place.h"
#include "resource/nodes.h"

static bool is_text(const json_t *object, const char *member, const char *text)
{
	return g_strcmp0(rg_json_str(object, member, NULL), text) == 0;
}

/* The head alone does no work. */
static bool is_worker(const RgPass *pass, const RgResource *resource)
{
	const RgKind *kind = rg_schema_kind(rg_provider_get_schema(pass->provider), resource->kind);
	for (size_t i = 0, n = rg_nodes_pools(resource, kind); i < n; i++) {
		if (!rg_nodes_get(resource, i).is_head)
			return true;
	}
	return false;
}

bool pass_has_workers(const RgPass *pass)
{
	const RgResourceSet *recorded = pass->snapshot->recorded;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		if (is_worker(pass, rg_resource_set_get(recorded, i)))
			return true;
	}
	return false;
}

static bool is_used(const RgPass *pass)
{
	const RgResourceSet *recorded = pass->snapshot->recorded;
	rg_resource_foreach (resource, recorded) {
		if (rg_json_int(resource->joined, "at_s", 0) > 0 && is_worker(pass, resource))
			return true;
	}
	return false;
}

/* A node that is no longer recorded counts as a worker, unless it has the head's address. */
static bool is_worker_address(const RgPass *pass, const char *address)
{
	const RgResource *resource = rg_resource_set_find(pass->snapshot->recorded, address);
	if (!resource && pass->desired)
		resource = rg_resource_set_find(pass->desired, address);
	if (resource)
		return is_worker(pass, resource);
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index = -1;
	const RgKind *found = rg_address_parse(address, &kind, &name, &index)
				      ? rg_schema_kind(rg_provider_get_schema(pass->provider), kind)
				      : NULL;
	return found && found->node;
}

/* In doubt, it did. */
static bool made_worker(
	const RgSession *session, const RgPass *pass, const json_t *run, RgDiags *diags)
{
	json_auto_t *changes =
		rg_store_run_changes(session->store, rg_json_str(run, "id", ""), diags);
	rg_json_foreach (change, changes) {
		if (is_text(change, "action", "create") && is_text(change, "outcome", "done") &&
			is_worker_address(pass, rg_json_str(change, "address", "")))
			return true;
	}
	return !changes;
}

/* What is recorded was created by runs that were cut off, that had begun to move, or that created
 * no worker node: no run has ever completed it here. `runs`: newest first, this one included. */
static bool was_never_complete(
	const RgSession *session, const RgPass *pass, const json_t *runs, RgDiags *diags)
{
	bool used = is_used(pass);
	for (size_t i = 1; i < json_array_size(runs); i++) {
		const json_t *run = json_array_get(runs, i);
		bool leaves =
			is_text(run, "command", PASS_MOVE) || is_text(run, "command", "destroy");
		bool cut_off = json_is_null(json_object_get(run, "outcome")) ||
			       is_text(run, "outcome", "interrupted") ||
			       is_text(run, "outcome", "failed");
		if (is_text(run, "outcome", "moved") || (leaves && is_text(run, "outcome", "done")))
			return true;
		if (used)
			return false;
		if (leaves || cut_off) /* what removes completes nothing */
			continue;
		if (!is_text(run, "outcome", "partial") || made_worker(session, pass, run, diags))
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
	const RgIntent intent = pass_intent(session, pass);
	if (!rg_intent_has_nodes(&intent))
		return true;
	json_auto_t *runs = rg_store_runs(session->store, snapshot->cluster, diags);
	return runs && was_never_complete(session, pass, runs, diags);
}
