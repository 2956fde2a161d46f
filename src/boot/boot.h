/* boot: what a node runs first. Adds `boot.user_data`, a cloud-config, to each node group of the
 * fitted document (src/fit/README.md), after fit and before lower. Pure; same input, same bytes.
 * README.md beside this file says what runs on a node and on which ports. */
#pragma once
#include "spec/cluster.h"

/* Bytes of `data` after gzip; rg_expr_gzip_size (src/resource) is one. */
typedef size_t (*RgBootGzipSize)(const char *data, size_t len);

/* Changes `fitted` in place. `limit_bytes`: the provider's limits.user_data_bytes. The text of a
 * group that may exceed it is compressed; boot.too-large when that doesn't help either, and
 * boot.bad-value for what can't be carried into a container (under the spec's lines). On false
 * `fitted` is unchanged. */
bool rg_boot_render(const RgCluster *cluster, json_t *fitted, size_t limit_bytes,
	RgBootGzipSize gzip_size, RgDiags *diags);

/* What of the spec differs between two user data, expressions as they are recorded and wanted:
 * [{"field": "ray.image", "change": "added" | "removed" | "changed", "before", "after"}] by field.
 * Without values and with "hidden" for environment variables (env.NAME), which may be secrets, and
 * for raygpu's own files, whose field is their path. NULL when either is none that raygpu made. */
json_t *rg_boot_explain(const json_t *before, const json_t *after);

/* Recorded attributes of a node, its user data among them, as they would be had its pool been
 * called `to`; a new reference. The node that runs keeps reporting the old name to Ray. */
json_t *rg_boot_rename_pool(const json_t *value, const char *from, const char *to);
