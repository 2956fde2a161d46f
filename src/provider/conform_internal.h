/* What the files of the conformance script share. Lives on the stack of rg_provider_conform. */
#pragma once
#include "provider/conform.h"
#include "provider/internal.h"

/* One thing that the script made and has to remove. */
typedef struct {
	const RgResource *wanted; /* of `desired` */
	char *id, *token;
	json_t *outputs;
} RgConformMade;

typedef struct {
	RgProviderHost *host;
	const RgConformOptions *options;
	RgProvider *provider;
	char lineage[33], type[65];
	json_t *facts;
	RgResourceSet *desired;
	GPtrArray *made; /* RgConformMade*, in order of creation */
	unsigned failed;
} RgConform;

/* Tells the step; the reason of a failure is `why` or the first error of `diags` (may be NULL). */
bool rg_conform_tell(RgConform *c, const char *step, bool passed, const char *why, RgDiags *diags);
void rg_conform_skip(RgConform *c, const char *step, const char *why);
const RgConformMade *rg_conform_find(const RgConform *c, const char *address);

/* conform_lower.c: resolve and lower. False when there is nothing to build on. */
bool rg_conform_lower(RgConform *c);
/* conform_life.c: create, ready, list, find, update, remove. */
void rg_conform_life(RgConform *c);
/* conform_hostile.c: what no raygpu would send; the module must answer, not fall. */
void rg_conform_hostile(RgConform *c);
