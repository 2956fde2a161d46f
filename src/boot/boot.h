/* boot: what a node runs first. Adds `boot` to each node group of the fitted document
 * (src/fit/README.md), after fit and before lower: the Ray node, and what the provider's cloud
 * starts it with. Pure; same input, same bytes. README.md beside this file describes what runs on a
 * node and on which ports. */
#pragma once
#include "base/diag.h"
#include <jansson.h>

/* Bytes of `data` after gzip, or more if that is not more than `enough`; rg_expr_gzip_size
 * (src/resource) is one. */
typedef size_t (*RgBootGzipSize)(const char *data, size_t len, size_t enough);

typedef enum {
	RG_BOOT_NOTHING,    /* nothing that raygpu renders */
	RG_BOOT_CLOUD_INIT, /* a cloud-config, the user data of a virtual machine */
	RG_BOOT_SCRIPT,	    /* the same as a shell script, which the module runs */
	RG_BOOT_CONTAINER,  /* the cloud starts the container itself */
} RgBootBy;

/* `boot` of the provider's schema. The rest is only for RG_BOOT_CLOUD_INIT and _SCRIPT. */
typedef struct {
	RgBootBy by;
	size_t user_data_bytes;		  /* G_MAXSIZE: no limit */
	const char *cloud, *fast_network; /* texts of the module's fragments, UTF-8; NULL: none */
	bool install_docker;		  /* where the image has none */
	bool lease;			  /* the fragment `cloud` finds the lease of a node */
	RgBootGzipSize gzip_size;
} RgBootOptions;

/* Changes `fitted` in place. A cloud-config that may exceed user_data_bytes is compressed;
 * boot.too-large if that is not enough, and boot.bad-value for what cannot be passed to a container
 * (their origin is the pointer into the spec). If false, `fitted` is unchanged. */
bool rg_boot_render(json_t *fitted, const RgBootOptions *options, RgDiags *diags);

/* Which fields of the spec differ between two user data, expressions as recorded and as desired:
 * [{"field": "ray.image", "change": "added" | "removed" | "changed", "before", "after"}] by field.
 * Without values and with "hidden" for environment variables (env.NAME), which may be secrets, and
 * for raygpu's own files, whose field is their path. NULL if raygpu did not render one of them. */
json_t *rg_boot_explain(const json_t *before, const json_t *after);

/* Do they differ only in raygpu's own scripts and units, as those of two versions of raygpu do? All
 * that comes from the spec is in other files. False if raygpu did not render one of them. */
bool rg_boot_is_same_node(const json_t *before, const json_t *after);

/* Recorded attributes of a node, including its user data, as if its pool had been called `to`; a
 * new reference. The running node keeps reporting the old name to Ray. */
json_t *rg_boot_rename_pool(const json_t *value, const char *from, const char *to);
