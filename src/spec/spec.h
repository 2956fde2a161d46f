/* spec: YAML text -> JSON view with marks -> schema check -> RgCluster. Pure but for
 * rg_spec_load_file, which reads one file. All findings of a file are reported at once. */
#pragma once
#include "spec/cluster.h"

/* NULL when there was any error. `file` is the name used in diagnostics. */
RgCluster *rg_spec_load(const char *file, const char *text, size_t len, RgDiags *diags);
/* "-" reads standard input. */
RgCluster *rg_spec_load_file(const char *path, RgDiags *diags);

/* A wish by itself, as it may stand after `accelerators:` ("A100:8", '{gpu_memory: ">=40GB"}'): a
 * cluster of which only the head's accelerators mean anything. NULL when there was any error. */
RgCluster *rg_spec_load_query(const char *query, RgDiags *diags);

/* What a YAML file among others is, by its top-level keys; a file with faults counts as a spec
 * unless it is clearly something else, so that its faults are reported. */
typedef struct {
	bool is_spec;
	char *cluster; /* NULL when it is not known */
	RgSource source;
} RgSpecPeek;
/* Makes no findings, but gives `diags` the text for those that name the place. g_free the name. */
RgSpecPeek rg_spec_peek(const char *file, const char *text, size_t len, RgDiags *diags);
/* The same of a file of the disk; false when it can't be read. */
bool rg_spec_peek_file(const char *path, RgSpecPeek *peek, RgDiags *diags);
