/* What a pool with `enabled: false` would be if it were enabled: the hardware that was chosen for
 * it before, else the best of today; and what it is once it is enabled again. Pure; after shapes,
 * from which it borrows. */
#pragma once
#include "fit/fit.h"

typedef struct {
	unsigned nodes, gpus, unpriced; /* `unpriced` nodes are in no sum */
	int64_t microusd_hour;
} RgDisabledSum;

typedef struct {
	const char *instance_type, *accelerator, *market; /* accelerator: Ray's name, or NULL */
	RgDisabledSum least, most;			  /* of an elastic pool; else equal */
} RgDisabled;

/* The nodes of a pool that was disabled which come back as what they were: "2 nodes, p4d.24xlarge
 * in east-1a"; g_free, NULL: none. */
char *rg_fit_again(const RgShapes *shapes, const RgPool *pool);
/* Of a pool that is disabled. */
RgDisabled rg_fit_disabled(const RgShapes *shapes, const RgPool *pool);
