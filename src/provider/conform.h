/* The conformance script of `raygpu providers check`: makes the calls that raygpu makes, with
 * well-formed and with hostile input, against a test cloud, and evaluates what the module does.
 * Nothing else calls it. It creates a head and two workers under its own lineage and removes them
 * again, whatever fails in between. */
#pragma once
#include "provider/provider.h"

/* BEGIN precedes a step in which a module may crash, so that a crash can be attributed. */
typedef enum {
	RG_CONFORM_PASS,
	RG_CONFORM_FAIL,
	RG_CONFORM_SKIP,
	RG_CONFORM_BEGIN,
} RgConformOutcome;

/* One step has ended. `why` is NULL if it passed without a message. */
typedef void (*RgConformFn)(
	void *data, const char *step, RgConformOutcome outcome, const char *why);

typedef struct {
	const char *region; /* NULL: none was given */
	const json_t *config;
	const char *instance_type; /* NULL: the first in the module's instance_types.csv */
	const RgHttpOptions *http; /* NULL: only steps that need no cloud */
	unsigned wait_ms; /* limit for a node to start, and for a removed one to disappear */
	RgConformFn told;
	void *data;
} RgConformOptions;

/* Main thread. True if no step failed. */
bool rg_provider_conform(RgProviderHost *host, const char *name, const RgConformOptions *options);
