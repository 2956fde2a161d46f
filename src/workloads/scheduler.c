#include "workloads/scheduler.h"
#include <string.h>
#include "base/each.h"

#define HALF_USED 0.5 /* scheduler_spread_threshold of ray_config_def.h */

/* Nodes that are equal. */
typedef struct {
	unsigned pool, nodes;
	bool taken;	/* by the group that is being placed; a single node */
	int64_t free[]; /* of each amount; then of each GPU, the emptiest first */
} Nodes;

typedef struct {
	const RgPlaceProblem *problem;
	GPtrArray *nodes; /* Nodes*, no two alike */
	unsigned ties;
	GRand *rand;
	unsigned *visits;
} Ray;

static gsize bytes_of(const RgPlaceProblem *problem, unsigned pool)
{
	return sizeof(Nodes) + (problem->n_amounts + problem->pools[pool].gpus) * sizeof(int64_t);
}

static unsigned node_gpus(const Ray *ray, const Nodes *nodes)
{
	return ray->problem->pools[nodes->pool].gpus;
}

static int64_t *gpus_free(const Ray *ray, Nodes *nodes)
{
	return &nodes->free[ray->problem->n_amounts];
}

/* The GPU for a part of one: the fullest that holds it (resource_instance_set.cc). */
static int gpu_for(const Ray *ray, Nodes *nodes, unsigned part)
{
	int at = (int)node_gpus(ray, nodes) - 1;
	while (at >= 0 && gpus_free(ray, nodes)[at] < part)
		at--;
	return at;
}

static bool holds(const Ray *ray, Nodes *nodes, const RgRayBundle *bundle)
{
	if (!bundle->pools[nodes->pool])
		return false;
	for (unsigned a = 0; a < ray->problem->n_amounts; a++) {
		if (bundle->amounts[a] > nodes->free[a])
			return false;
	}
	if (bundle->gpus < RG_PLACE_ONE)
		return bundle->gpus == 0 || gpu_for(ray, nodes, bundle->gpus) >= 0;
	unsigned whole = bundle->gpus / RG_PLACE_ONE;
	return whole <= node_gpus(ray, nodes) && gpus_free(ray, nodes)[whole - 1] == RG_PLACE_ONE;
}

static void take(const Ray *ray, Nodes *nodes, const RgRayBundle *bundle)
{
	int64_t *gpus = gpus_free(ray, nodes);
	unsigned n = node_gpus(ray, nodes), whole = bundle->gpus / RG_PLACE_ONE;
	for (unsigned a = 0; a < ray->problem->n_amounts; a++)
		nodes->free[a] -= bundle->amounts[a];
	if (whole > 0) {
		memmove(gpus, gpus + whole, (n - whole) * sizeof *gpus);
		memset(gpus + n - whole, 0, whole * sizeof *gpus);
	} else if (bundle->gpus > 0) {
		unsigned at = (unsigned)gpu_for(ray, nodes, bundle->gpus);
		int64_t left = gpus[at] - bundle->gpus;
		for (; at + 1 < n && gpus[at + 1] > left; at++)
			gpus[at] = gpus[at + 1];
		gpus[at] = left;
	}
}

/* ---- which node */

static double share_left(int64_t free, int64_t takes)
{
	return takes > 0 ? (double)(free - takes) / (double)free : 0;
}

/* Of a node for a bundle: what it leaves free of each resource, as a share of what was free; the
 * emptiest and largest node has most. */
static double score_of(const Ray *ray, Nodes *nodes, const RgRayBundle *bundle)
{
	int64_t free = 0;
	double score = 0;
	for (unsigned i = 0; i < node_gpus(ray, nodes); i++)
		free += gpus_free(ray, nodes)[i];
	for (unsigned a = 0; a < ray->problem->n_amounts; a++)
		score += share_left(nodes->free[a], bundle->amounts[a]);
	return score + share_left(free, bundle->gpus);
}

/* Of a node for a task, the less it is used the more: Ray counts CPUs and memory, all that is used
 * by less than half as unused, and tasks without GPUs go to nodes without them. */
static double idleness_of(const Ray *ray, Nodes *nodes, const RgRayBundle *bundle)
{
	const RgPlacePool *pool = &ray->problem->pools[nodes->pool];
	bool avoided = bundle->gpus == 0 && pool->gpus > 0;
	double used = 0;
	for (unsigned a = 0; a < MIN(ray->problem->n_amounts, 2); a++) {
		if (pool->amounts[a] > 0)
			used = MAX(used, 1 - (double)nodes->free[a] / (double)pool->amounts[a]);
	}
	if (ray->ties == RG_RAY_LAST) {
		int64_t free = 0;
		for (unsigned i = 0; i < pool->gpus; i++)
			free += gpus_free(ray, nodes)[i];
		if (pool->gpus > 0)
			used = MAX(used, 1 - (double)free / ((double)pool->gpus * RG_PLACE_ONE));
	} else if (used < HALF_USED) {
		used = 0;
	}
	return -used - avoided * 2;
}

/* The best node so far. */
typedef struct {
	Nodes *nodes;
	double score;
	unsigned equal; /* nodes with that score */
} Choice;

static void consider(const Ray *ray, Choice *choice, Nodes *nodes, double score)
{
	bool better = !choice->nodes || score > choice->score;
	if (!better && score < choice->score)
		return;
	choice->equal = nodes->nodes + (better ? 0 : choice->equal);
	choice->score = score;
	if (better || ray->ties == RG_RAY_LAST ||
		(ray->ties >= RG_RAY_CHANCE &&
			g_rand_int_range(ray->rand, 0, (gint)choice->equal) < (gint)nodes->nodes))
		choice->nodes = nodes;
}

/* The one with the highest score, of those that the group has or of the others; NULL: none. */
static Nodes *best(const Ray *ray, const RgRayBundle *bundle, bool is_group, bool taken)
{
	Choice choice = {0};
	for (guint i = 0; i<ray->nodes->len && * ray->visits> 0; i++) {
		Nodes *nodes = ray->nodes->pdata[i];
		--*ray->visits;
		if (nodes->taken == taken && holds(ray, nodes, bundle))
			consider(ray, &choice, nodes,
				is_group ? score_of(ray, nodes, bundle)
					 : idleness_of(ray, nodes, bundle));
	}
	return choice.nodes;
}

/* ---- on that node */

/* One of the nodes, apart from those equal to it. */
static Nodes *single_out(const Ray *ray, Nodes *nodes)
{
	nodes->taken = true;
	if (nodes->nodes == 1)
		return nodes;
	Nodes *rest = g_memdup2(nodes, bytes_of(ray->problem, nodes->pool));
	rest->nodes--;
	rest->taken = false;
	nodes->nodes = 1;
	g_ptr_array_add(ray->nodes, rest);
	return nodes;
}

/* The group is placed: its nodes are like others. Returns how many with GPUs there were. */
static unsigned release(const Ray *ray)
{
	unsigned count = 0;
	for (guint i = 0; i < ray->nodes->len; i++) {
		Nodes *nodes = ray->nodes->pdata[i];
		if (!nodes->taken)
			continue;
		count += node_gpus(ray, nodes) > 0;
		nodes->taken = false;
		rg_ptr_foreach (Nodes, other, ray->nodes) {
			gsize bytes = bytes_of(ray->problem, nodes->pool) - sizeof *nodes;
			if (other == nodes || other->taken || other->pool != nodes->pool ||
				memcmp(other->free, nodes->free, bytes) != 0)
				continue;
			other->nodes += nodes->nodes;
			g_ptr_array_remove_index(ray->nodes, i--);
			break;
		}
	}
	return count;
}

static bool place_task(const Ray *ray, const RgRayBundle *bundle)
{
	Nodes *nodes = best(ray, bundle, false, false);
	if (nodes)
		take(ray, single_out(ray, nodes), bundle);
	return nodes != NULL;
}

/* The node that is best for the first bundle that is left takes all that it holds. */
static bool pack(const Ray *ray, const RgRayAsk *ask)
{
	g_autofree bool *done = g_new0(bool, ask->n_bundles + 1);
	for (unsigned i = 0; i < ask->n_bundles; i++) {
		if (done[i])
			continue;
		Nodes *nodes = best(ray, &ask->bundles[i], true, false);
		if (!nodes)
			return false;
		single_out(ray, nodes);
		for (unsigned k = i; k < ask->n_bundles; k++) {
			if (done[k] || !holds(ray, nodes, &ask->bundles[k]))
				continue;
			take(ray, nodes, &ask->bundles[k]);
			done[k] = true;
		}
	}
	return true;
}

/* Each on another node; if there is none, on one that the group has, unless that is forbidden. */
static bool spread(const Ray *ray, const RgRayAsk *ask)
{
	for (unsigned i = 0; i < ask->n_bundles; i++) {
		Nodes *nodes = best(ray, &ask->bundles[i], true, false);
		if (!nodes && ask->strategy == RG_PLACE_SPREAD)
			nodes = best(ray, &ask->bundles[i], true, true);
		if (!nodes)
			return false;
		take(ray, single_out(ray, nodes), &ask->bundles[i]);
	}
	return true;
}

/* What the sum of the bundles is, whose place Ray looks for. */
static void add_up(const Ray *ray, const RgRayAsk *ask, RgRayBundle *sum)
{
	memcpy(sum->pools, ask->bundles[0].pools, ray->problem->n_pools * sizeof *sum->pools);
	for (unsigned i = 0; i < ask->n_bundles; i++) {
		const RgRayBundle *bundle = &ask->bundles[i];
		sum->gpus += bundle->gpus;
		for (unsigned a = 0; a < ray->problem->n_amounts; a++)
			sum->amounts[a] += bundle->amounts[a];
		for (unsigned p = 0; p < ray->problem->n_pools; p++)
			sum->pools[p] &= bundle->pools[p];
	}
}

static bool holds_all(const Ray *ray, const Nodes *nodes, const RgRayAsk *ask)
{
	g_autofree Nodes *copy = g_memdup2(nodes, bytes_of(ray->problem, nodes->pool));
	bool good = true;
	for (unsigned i = 0; i < ask->n_bundles && good; i++) {
		good = holds(ray, copy, &ask->bundles[i]);
		if (good)
			take(ray, copy, &ask->bundles[i]);
	}
	return good;
}

static bool pack_strictly(const Ray *ray, const RgRayAsk *ask)
{
	g_autofree bool *pools = g_new0(bool, ray->problem->n_pools + 1);
	g_autofree int64_t *amounts = g_new0(int64_t, ray->problem->n_amounts + 1);
	RgRayBundle sum = {.pools = pools, .amounts = amounts};
	Choice choice = {0};
	add_up(ray, ask, &sum);
	for (guint i = 0; i<ray->nodes->len && * ray->visits> 0; i++) {
		Nodes *nodes = ray->nodes->pdata[i];
		--*ray->visits;
		if (pools[nodes->pool] && holds_all(ray, nodes, ask))
			consider(ray, &choice, nodes, score_of(ray, nodes, &sum));
	}
	if (!choice.nodes)
		return false;
	single_out(ray, choice.nodes);
	for (unsigned i = 0; i < ask->n_bundles; i++)
		take(ray, choice.nodes, &ask->bundles[i]);
	return true;
}

static bool place_unit(const Ray *ray, const RgRayAsk *ask)
{
	if (!ask->is_group)
		return place_task(ray, &ask->bundles[0]);
	if (ask->strategy == RG_PLACE_STRICT_PACK)
		return pack_strictly(ray, ask);
	return ask->strategy == RG_PLACE_PACK ? pack(ray, ask) : spread(ray, ask);
}

bool rg_ray_places(const RgPlaceProblem *problem, RgRayAsk *asks, const unsigned *order, unsigned n,
	unsigned ties, unsigned *visits)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GRand) rand = g_rand_new_with_seed(ties);
	Ray ray = {problem, all, ties, rand, visits};
	for (unsigned p = 0; p < problem->n_pools; p++) {
		if (problem->pools[p].nodes == 0)
			continue;
		Nodes *nodes = g_malloc0(bytes_of(problem, p));
		nodes->pool = p;
		nodes->nodes = problem->pools[p].nodes;
		memcpy(nodes->free, problem->pools[p].amounts,
			problem->n_amounts * sizeof nodes->free[0]);
		for (unsigned i = 0; i < problem->pools[p].gpus; i++)
			gpus_free(&ray, nodes)[i] = RG_PLACE_ONE;
		g_ptr_array_add(all, nodes);
	}
	for (unsigned i = 0; i < n; i++) {
		RgRayAsk *ask = &asks[order[i]];
		ask->nodes = 0;
		for (unsigned unit = 0; unit < ask->units; unit++) {
			if (!place_unit(&ray, ask))
				return false;
			unsigned nodes = release(&ray);
			ask->nodes = MAX(ask->nodes, nodes);
		}
	}
	return true;
}
