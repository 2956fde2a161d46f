/* spec: YAML text -> JSON view with marks -> schema check -> RgCluster. Pure but for
 * rg_spec_load_file, which reads one file. All findings of a file are reported at once. */
#pragma once
#include "spec/cluster.h"

/* NULL when there was any error. `file` is the name used in diagnostics. */
RgCluster *rg_spec_load(const char *file, const char *text, size_t len, RgDiags *diags);
/* "-" reads standard input. */
RgCluster *rg_spec_load_file(const char *path, RgDiags *diags);
