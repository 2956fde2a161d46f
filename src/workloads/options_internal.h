/* Inside options: options.c divides what was placed into units, options_entry.c writes down each of
 * them in Ray's words. */
#pragma once
#include "workloads/demand.h"

/* Shared by all steps for one workload. */
typedef struct {
	const RgDemand *demand;
	const RgWorkload *workload;
	const RgPlaceTask *task;
	unsigned index, n_pools;
	bool pins;
	uint64_t *placed; /* [part * n_pools + pool]: bundles */
	unsigned *form; /* [part * n_pools + pool]: of one unit, at the first pool of each class */
	json_t *list;
	GHashTable *known; /* form as text -> its entry, borrowed */
} RgOptions;

/* Whether something of the part is on the pool. */
bool rg_options_is_used(const RgOptions *options, unsigned part, unsigned pool);
/* Whether the part needs the same on both pools: then one selector can name both. */
bool rg_options_is_like(const RgOptions *options, unsigned part, unsigned a, unsigned b);
/* The first used pool with the same needs. */
unsigned rg_options_class(const RgOptions *options, unsigned part, unsigned pool);

/* Tasks or actors of their own, on the pools of a class. */
void rg_options_add_single(RgOptions *options, unsigned class, uint64_t replicas);
/* The unit in `form`, `groups` times; clears `form`. */
void rg_options_add_form(
	RgOptions *options, RgStrategy strategy, uint64_t groups, uint64_t replicas);
