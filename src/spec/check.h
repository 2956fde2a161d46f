/* What can be wrong with a spec that is readable YAML: first its shape
 * (schemas/cluster.schema.json, embedded), then what a schema cannot say. Both put findings where
 * the value stands. src/spec and its tests only. */
#pragma once
#include "spec/document.h"

/* An embedded schema as JSON, a new reference; a build that carries a broken one is a bug. */
json_t *rg_spec_schema(const char *name);
/* Spoils every pointer that it reports. `schema`: "cluster.schema.json". */
void rg_spec_check_shape(RgDocument *document, const char *schema, RgDiags *diags);
/* Rules over values whose shape is right; skips what is spoiled. */
void rg_spec_check_rules(RgDocument *document, RgDiags *diags);
/* Those of them that concern Ray, its image and Python (ray_rules.c). */
void rg_spec_check_ray(RgDocument *document, RgDiags *diags);
/* Those of them that concern workloads (workload_rules.c). */
void rg_spec_check_workloads(RgDocument *document, RgDiags *diags);
/* A pool's count, also as {min, max}; the most nodes that it can have. */
double rg_spec_check_nodes(RgDocument *document, const char *pointer, RgDiags *diags);

/* A finding about the value at `pointer`, and its pointer spoiled. */
RgDiag *rg_spec_report(RgDocument *document, const char *pointer, const char *code, RgDiags *diags,
	const char *format, ...) G_GNUC_PRINTF(5, 6);
/* "/pools/train/zones/1" as people write it: "pools.train.zones[1]"; "the spec" for "". g_free. */
char *rg_spec_path(const RgDocument *document, const char *pointer);
