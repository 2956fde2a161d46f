/* What one node holds: amounts, whole GPUs, and fractions, of which several share a GPU. */
#include <string.h>
#include "pack/internal.h"

/* Ways to divide the fractions among the GPUs of one node. */
#define MOST_WAYS 8000
#define MOST_SIZES 32 /* of fractions on one node */
/* On one node; each needs something, so this is never the limit. */
#define MOST_BUNDLES 1000000

void rg_node_check_init(
	RgNodeCheck *check, const RgPlaceProblem *problem, const RgItem *items, unsigned n_items)
{
	unsigned parts = rg_place_first_part(problem, problem->n_tasks) + n_items + 1, gpus = 0;
	*check = (RgNodeCheck){.problem = problem, .items = items, .n_items = n_items};
	check->amounts = g_new0(int64_t, problem->n_amounts + 1);
	check->sizes = g_new0(unsigned, parts);
	check->counts = g_new0(unsigned, parts);
	for (unsigned p = 0; p < problem->n_pools; p++)
		gpus = MAX(gpus, problem->pools[p].gpus);
	check->free = g_new0(unsigned, gpus + 1);
	check->known = g_hash_table_new_full(
		g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	check->sure = true;
}

void rg_node_check_clear(RgNodeCheck *check)
{
	g_free(check->amounts);
	g_free(check->sizes);
	g_free(check->counts);
	g_free(check->free);
	g_hash_table_unref(check->known);
}

bool rg_item_is_admitted(const RgPlaceProblem *problem, const RgItem *item, unsigned pool)
{
	const RgPlaceTask *task = &problem->tasks[item->task];
	if (item->kind > 0 && problem->pools[pool].kind != item->kind)
		return false;
	for (unsigned i = 0; item->is_unit && i < task->n_parts; i++) {
		if (!task->parts[i].on[pool].admitted)
			return false;
	}
	return item->is_unit || task->parts[item->part].on[pool].admitted;
}

/* Answers of fits_somehow. */
enum { FITS = 1, FITS_NOT, NOT_KNOWN };

/* Fractions still to be put on GPUs; sizes descend. */
typedef struct {
	const unsigned *sizes;
	unsigned *counts, n, ways;
	uint64_t slack; /* what may stay free of all GPUs */
} Fractions;

/* Each on the first GPU with room, large ones first; false: this way needs more GPUs. */
static bool fits_first(const Fractions *given, unsigned gpus, unsigned *room)
{
	for (unsigned d = 0; d < gpus; d++)
		room[d] = RG_PLACE_ONE;
	for (unsigned i = 0; i < given->n; i++) {
		unsigned left = given->counts[i];
		for (unsigned d = 0; d < gpus && left > 0; d++) {
			unsigned here = MIN(left, room[d] / given->sizes[i]);
			room[d] -= here * given->sizes[i];
			left -= here;
		}
		if (left > 0)
			return false;
	}
	return true;
}

static bool fill_gpus(Fractions *left, unsigned gpus, unsigned from, unsigned room);

/* One GPU after the other, which takes the largest that is left, since it has to be somewhere. */
static bool next_gpu(Fractions *left, unsigned gpus)
{
	unsigned i = 0;
	while (i < left->n && left->counts[i] == 0)
		i++;
	if (i == left->n)
		return true;
	if (gpus == 0 || left->ways == 0)
		return false;
	left->ways--;
	left->counts[i]--;
	bool good = fill_gpus(left, gpus - 1, i, RG_PLACE_ONE - left->sizes[i]);
	left->counts[i]++;
	return good;
}

static bool takes_more_fractions(const Fractions *left, unsigned room)
{
	for (unsigned i = 0; i < left->n; i++) {
		if (left->counts[i] > 0 && left->sizes[i] <= room)
			return true;
	}
	return false;
}

/* A GPU with room for what is left need not be looked at: something could move there. */
static bool close_gpu(Fractions *left, unsigned gpus, unsigned room)
{
	if (room > left->slack || takes_more_fractions(left, room))
		return false;
	left->slack -= room;
	bool good = next_gpu(left, gpus);
	left->slack += room;
	return good;
}

/* The GPU's remaining `room`, with sizes from `from` on, as many of each as fit, then fewer. */
static bool fill_gpus(Fractions *left, unsigned gpus, unsigned from, unsigned room)
{
	if (from == left->n)
		return close_gpu(left, gpus, room);
	left->ways -= left->ways > 0;
	unsigned most = MIN(left->counts[from], room / left->sizes[from]);
	for (unsigned take = most + 1; take-- > 0 && left->ways > 0;) {
		left->counts[from] -= take;
		bool good = fill_gpus(left, gpus, from + 1, room - take * left->sizes[from]);
		left->counts[from] += take;
		if (good)
			return true;
	}
	return false;
}

/* By trying all ways; what was found is remembered, since a search asks about the same again. */
static bool fits_somehow(RgNodeCheck *check, Fractions *left, unsigned gpus)
{
	unsigned key[2 * MOST_SIZES + 1] = {gpus};
	if (left->n > MOST_SIZES) {
		check->sure = false;
		return false;
	}
	memcpy(&key[1], left->sizes, left->n * sizeof key[0]);
	memcpy(&key[1 + left->n], left->counts, left->n * sizeof key[0]);
	GBytes *bytes = g_bytes_new(key, (1 + 2 * left->n) * sizeof key[0]);
	gpointer known = g_hash_table_lookup(check->known, bytes);
	if (!known) {
		bool found = next_gpu(left, gpus);
		known = GINT_TO_POINTER(found ? FITS : left->ways > 0 ? FITS_NOT : NOT_KNOWN);
		g_hash_table_insert(check->known, g_bytes_ref(bytes), known);
	}
	g_bytes_unref(bytes);
	check->sure &= GPOINTER_TO_INT(known) != NOT_KNOWN;
	return GPOINTER_TO_INT(known) == FITS;
}

static bool hold_fractions(RgNodeCheck *check, unsigned n, unsigned gpus)
{
	Fractions left = {check->sizes, check->counts, n, MOST_WAYS, 0};
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += (uint64_t)check->sizes[i] * check->counts[i];
	if (sum > (uint64_t)gpus * RG_PLACE_ONE)
		return false;
	left.slack = (uint64_t)gpus * RG_PLACE_ONE - sum;
	if (fits_first(&left, gpus, check->free))
		return true;
	/* of one size this way is the best */
	return n > 1 && fits_somehow(check, &left, gpus);
}

/* Adds to the descending sizes; returns how many there are. */
static unsigned note_size(RgNodeCheck *check, unsigned n, unsigned size, unsigned count)
{
	unsigned at = 0;
	while (at < n && check->sizes[at] > size)
		at++;
	if (at < n && check->sizes[at] == size) {
		check->counts[at] += count;
		return n;
	}
	memmove(&check->sizes[at + 1], &check->sizes[at], (n - at) * sizeof check->sizes[0]);
	memmove(&check->counts[at + 1], &check->counts[at], (n - at) * sizeof check->counts[0]);
	check->sizes[at] = size;
	check->counts[at] = count;
	return n + 1;
}

static bool within_most(const RgNodeCheck *check, const unsigned *n)
{
	for (unsigned i = 0; i < check->n_items; i++) {
		const RgItem *item = &check->items[i];
		unsigned together = 0;
		if (item->most == 0 || n[i] == 0)
			continue;
		for (unsigned k = 0; k < check->n_items; k++)
			together += check->items[k].sharing == item->sharing ? n[k] : 0;
		if (together > item->most)
			return false;
	}
	return true;
}

bool rg_node_holds(RgNodeCheck *check, unsigned pool, const unsigned *n)
{
	const RgPlaceProblem *problem = check->problem;
	const RgPlacePool *node = &problem->pools[pool];
	uint64_t whole = 0;
	unsigned sizes = 0;
	if (!within_most(check, n))
		return false;
	if (problem->n_amounts)
		memcpy(check->amounts, node->amounts,
			problem->n_amounts * sizeof check->amounts[0]);
	for (unsigned i = 0; i < check->n_items; i++) {
		const RgItem *item = &check->items[i];
		const RgPlaceTask *task = &problem->tasks[item->task];
		unsigned from = item->is_unit ? 0 : item->part;
		unsigned to = item->is_unit ? task->n_parts : item->part + 1;
		if (n[i] > 0 && !rg_item_is_admitted(problem, item, pool))
			return false;
		for (unsigned k = from; n[i] > 0 && k < to; k++) {
			const RgPlacePart *part = &task->parts[k];
			uint64_t bundles = (uint64_t)n[i] * (item->is_unit ? part->count : 1);
			if (bundles > MOST_BUNDLES)
				return false;
			for (unsigned a = 0; a < problem->n_amounts; a++) {
				check->amounts[a] -= (int64_t)bundles * part->amounts[a];
				if (check->amounts[a] < 0)
					return false;
			}
			whole += bundles * part->on[pool].whole;
			if (part->on[pool].part > 0)
				sizes = note_size(
					check, sizes, part->on[pool].part, (unsigned)bundles);
		}
	}
	return whole <= node->gpus && hold_fractions(check, sizes, node->gpus - (unsigned)whole);
}

unsigned rg_node_most(RgNodeCheck *check, unsigned pool, unsigned *n, unsigned i, unsigned limit)
{
	unsigned before = n[i], low = 0, high = limit;
	if (!rg_item_is_admitted(check->problem, &check->items[i], pool))
		return 0;
	while (low < high) {
		n[i] = low + (high - low + 1) / 2;
		if (rg_node_holds(check, pool, n))
			low = n[i];
		else
			high = n[i] - 1;
	}
	n[i] = before;
	return low;
}
