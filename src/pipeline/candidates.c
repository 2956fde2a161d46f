/* What apply may ask for when the nodes that a plan creates can't be had: fit's candidates, with
 * what their nodes boot from. */
#include "fit/candidates.h"
#include "pipeline/internal.h"
#include "resource/nodes.h"

/* {pool: number of its nodes that the diff creates}, the head among them, elastic pools left out.
 */
static json_t *made_of(const RgDiff *diff)
{
	json_t *made = json_object();
	rg_ptr_foreach (const RgChange, change, diff->changes) {
		bool makes =
			change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE;
		if (!makes || !change->desired || !change->desired->group ||
			!rg_nodes_are_plain(change->desired) ||
			(change->desired->index < 0 && !rg_nodes_get(change->desired, 0).is_head))
			continue;
		const char *pool = change->desired->group;
		json_object_set_new(made, pool, json_integer(rg_json_int(made, pool, 0) + 1));
	}
	return made;
}

static void add_entries(json_t *nodes, const json_t *pools)
{
	rg_json_foreach (pool, pools) {
		rg_json_foreach (candidate, json_object_get(pool, "candidates")) {
			json_t *below = json_object_get(candidate, "floor");
			json_array_append(nodes, json_object_get(candidate, "node"));
			if (below)
				json_array_append(nodes, below);
		}
	}
}

/* Of one document, so that all entries get their disks and their `boot` in place. */
static bool complete(RgSession *session, const RgPass *pass, const json_t *pools)
{
	g_autoptr(RgDiags) unsaid = rg_diags_new();
	json_auto_t *document = json_copy(pass->fitted), *nodes = json_array();
	add_entries(nodes, pools);
	json_object_set(document, "nodes", nodes);
	pass_choose_disks(rg_provider_get_schema(pass->provider), document);
	return pass_boot(session, pass, document, unsaid);
}

json_t *pass_candidates(RgSession *session, const RgPass *pass)
{
	json_auto_t *made = made_of(pass->diff);
	RgLimits limits[RG_LIMITS_MAX] = {0};
	if (!pass->shapes || !json_object_size(made))
		return NULL;
	const RgCandidatesInput input = {.cluster = pass->cluster,
		.shapes = pass->shapes,
		.fitted = pass->fitted,
		.made = made,
		.head_stays = pass_has_workers(pass),
		.limits = limits,
		.n_limits = rg_limits_all(pass->cluster, pass->project, limits)};
	json_auto_t *pools = rg_fit_candidates(&input);
	return complete(session, pass, pools) ? g_steal_pointer(&pools) : NULL;
}
