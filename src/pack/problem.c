/* What a problem says about itself. */
#include "pack/internal.h"

unsigned rg_place_first_part(const RgPlaceProblem *problem, unsigned task)
{
	unsigned parts = 0;
	for (unsigned t = 0; t < task; t++)
		parts += problem->tasks[t].n_parts;
	return parts;
}

unsigned rg_place_bundles(const RgPlaceTask *task)
{
	unsigned bundles = 0;
	for (unsigned i = 0; i < task->n_parts; i++)
		bundles += task->parts[i].count;
	return bundles;
}

bool rg_part_needs_gpus(const RgPlaceProblem *problem, const RgPlacePart *part)
{
	for (unsigned p = 0; p < problem->n_pools; p++) {
		if (part->on[p].admitted && (part->on[p].whole > 0 || part->on[p].part > 0))
			return true;
	}
	return false;
}

/* Without GPUs nothing has to be alike. */
RgPlaceAlike rg_place_alike(const RgPlaceProblem *problem, unsigned task)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	for (unsigned i = 0; i < wish->n_parts; i++) {
		if (rg_part_needs_gpus(problem, &wish->parts[i]))
			return wish->alike;
	}
	return RG_PLACE_ANY;
}

unsigned rg_place_last_kind(const RgPlaceProblem *problem)
{
	unsigned last = 0;
	for (unsigned p = 0; p < problem->n_pools; p++)
		last = MAX(last, problem->pools[p].kind);
	return last;
}

RgItem *rg_place_all_parts(const RgPlaceProblem *problem)
{
	RgItem *items = g_new0(RgItem, rg_place_first_part(problem, problem->n_tasks) + 1);
	unsigned n = 0;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		for (unsigned i = 0; i < problem->tasks[t].n_parts; i++)
			items[n++] = (RgItem){.task = t, .part = i};
	}
	return items;
}

unsigned rg_place_nodes(const RgPlaceProblem *problem)
{
	uint64_t nodes = 0;
	for (unsigned p = 0; p < problem->n_pools; p++)
		nodes += problem->pools[p].nodes;
	return (unsigned)MIN(nodes, G_MAXUINT32);
}
