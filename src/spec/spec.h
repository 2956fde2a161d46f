/* spec: YAML text -> JSON view with places -> schema check -> RgCluster. Pure except for
 * rg_spec_load_file, which reads one file. All findings of a file are reported at once. */
#pragma once
#include "spec/cluster.h"

/* NULL if there was any error. `file` is the name used in diagnostics. */
RgCluster *rg_spec_load(const char *file, const char *text, size_t len, RgDiags *diags);
/* "-" reads standard input. */
RgCluster *rg_spec_load_file(const char *path, RgDiags *diags);

/* A value of `accelerators:` by itself ("A100:8", '{gpu_memory: ">=40GB"}'): returns a cluster of
 * which only the head's accelerators have a meaning. NULL if there was any error. */
RgCluster *rg_spec_load_query(const char *query, RgDiags *diags);

/* What a YAML file of a folder is, by its top-level keys. A file with faults counts as a spec
 * unless it is clearly something else, so that its faults are reported. */
typedef struct {
	bool is_spec;
	char *cluster; /* NULL if unknown */
	RgSource source;
} RgSpecPeek;
/* Makes no findings, but gives `diags` the text for findings that refer to it. g_free the name. */
RgSpecPeek rg_spec_peek(const char *file, const char *text, size_t len, RgDiags *diags);
/* The same for a file on disk; false if it cannot be read. */
bool rg_spec_peek_file(const char *path, RgSpecPeek *peek, RgDiags *diags);
