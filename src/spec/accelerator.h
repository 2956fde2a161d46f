/* The GPUs that a pool requests: `accelerators`, as one of several alternatives. Built by
 * rg_accelerators_build from the checked spec, read by fit; owned by the pool, immutable. */
#pragma once
#include "base/json.h"
#include "spec/document.h"

typedef enum {
	RG_BOUND_NONE,
	RG_BOUND_LEAST, /* ">=", or nothing */
	RG_BOUND_MORE,	/* ">" */
	RG_BOUND_EQUAL, /* "=" */
	RG_BOUND_LESS,	/* "<" */
	RG_BOUND_MOST,	/* "<=" */
} RgBoundKind;

typedef struct {
	RgBoundKind kind;
	double value;
} RgBound;

/* "A100:8" names one model; {gpu_memory: ">=40GB", count: 8} none. */
typedef struct {
	char *text;	    /* as the user wrote it, a mapping as JSON: for messages */
	GStrv names;	    /* models as written, any of them matches; NULL: any */
	unsigned count;	    /* whole GPUs per node, >= 1 */
	bool counted;	    /* the user gave the count; else it is 1 */
	RgBound memory_gb;  /* as marketed */
	RgBound memory_gib; /* as the GPU reports it, in all clouds the same */
	RgBound capability; /* tenths: 80 is 8.0 */
	RgSource source;
} RgAccelerator;

/* RgAccelerator*, in order of preference: the value of `accelerators` at `pointer`. */
GPtrArray *rg_accelerators_build(
	const RgDocument *document, const char *pointer, const json_t *value);

bool rg_bound_holds(const RgBound *bound, double value);
