/* What can be wrong with a spec that is readable YAML: first its shape
 * (schemas/cluster.schema.json, embedded), then what a schema cannot express. Both put findings at
 * the value's place. src/spec and its tests only. */
#pragma once
#include "spec/document.h"

/* An embedded schema as JSON, a new reference; a broken one is a bug of the build. */
json_t *rg_spec_schema(const char *name);
/* Marks every pointer that it reports as spoiled. `schema`: "cluster.schema.json". */
void rg_spec_check_shape(RgDocument *document, const char *schema, RgDiags *diags);
/* Rules about values whose shape is correct; skips spoiled ones. */
void rg_spec_check_rules(RgDocument *document, RgDiags *diags);
/* The rules about Ray, its image and Python (ray_rules.c). */
void rg_spec_check_ray(RgDocument *document, RgDiags *diags);
/* The rules about `expires` (lease.c). */
void rg_spec_check_leases(RgDocument *document, RgDiags *diags);
/* The rules about workloads (workload_rules.c). */
void rg_spec_check_workloads(RgDocument *document, RgDiags *diags);
/* The rules about `imports` and `removed` (once.c). */
void rg_spec_check_once(RgDocument *document, RgDiags *diags);
/* A pool's count, also as {min, max}; the maximum number of nodes. */
double rg_spec_check_nodes(RgDocument *document, const char *pointer, RgDiags *diags);

/* A finding about the value at `pointer`, which it marks as spoiled. */
RgDiag *rg_spec_report(RgDocument *document, const char *pointer, const char *code, RgDiags *diags,
	const char *format, ...) G_GNUC_PRINTF(5, 6);
