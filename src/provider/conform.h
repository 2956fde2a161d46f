/* The conformance script of `raygpu providers check`: makes the calls that raygpu makes, with
 * well-formed and with hostile input, against a cloud that is there to be played with, and judges
 * what the module does. Stands beside the path of data: nothing else calls it. It makes a head and
 * two workers under a lineage of its own and removes them again, whatever fails in between. */
#pragma once
#include "provider/provider.h"

/* BEGIN comes before a step in which a module may well fall, so that the fall has a name. */
typedef enum {
	RG_CONFORM_PASS,
	RG_CONFORM_FAIL,
	RG_CONFORM_SKIP,
	RG_CONFORM_BEGIN,
} RgConformOutcome;

/* One step is over. `why` is NULL when it passed without a word. */
typedef void (*RgConformFn)(
	void *data, const char *step, RgConformOutcome outcome, const char *why);

typedef struct {
	const char *region; /* NULL: none was given */
	const json_t *config;
	const char *instance_type; /* NULL: the first of the module's instance_types.csv */
	const RgHttpOptions *http; /* NULL: only what needs no cloud */
	unsigned wait_ms;	   /* for a node to run, and for a removed one to go */
	RgConformFn told;
	void *data;
} RgConformOptions;

/* Main thread. True when no step failed. */
bool rg_provider_conform(RgProviderHost *host, const char *name, const RgConformOptions *options);
