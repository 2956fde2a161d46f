/* Inside boot: node.c defines a Ray node, conf.c and cloud_init.c put it into a cloud-config
 * or, with script.c, a shell script;
 * render.c into what the cloud boots from. */
#pragma once
#include "base/json.h"
#include "boot/boot.h"

typedef struct {
	const RgBootOptions *options;
	const json_t *fitted, *node;
	RgDiags *diags;
	GHashTable *scripts; /* char* script -> char* as it is written: all nodes have the same */
	GHashTable *sizes;   /* char* all scripts of a node -> bytes after gzip */
} RgBootNode;

/* The token and the head's address are inserted by reference at apply. */
#define RG_BOOT_TOKEN_FILE "/etc/raygpu/token"
#define RG_BOOT_HEAD_FILE "/etc/raygpu/head"
#define RG_BOOT_ENV_FILE "/etc/raygpu/ray.env"
#define RG_BOOT_CONF_FILE "/etc/raygpu/node.conf"
#define RG_BOOT_GCS_PORT "6379"

/* {"env", "labels", "resources", "gpus", "cpus", "start"} of the Ray node; NULL and boot.bad-value
 * if something cannot be represented. A new reference, like all JSON here. */
json_t *rg_boot_ray_node(const RgBootNode *node);
/* Arguments of `ray start`, without the head's address. */
json_t *rg_boot_ray_args(const RgBootNode *node, const json_t *ray);
json_t *rg_boot_token_ref(void);
/* The module replaces it with a reference to its own resource. */
json_t *rg_boot_head_ref(void);
/* /etc/raygpu/ray.env, read by docker --env-file; /etc/raygpu/node.conf, read by bash. g_free. */
char *rg_boot_env_file(const json_t *env);
char *rg_boot_node_conf(const RgBootNode *node, const json_t *ray);
/* The cloud-config or script, a text or an expression; NULL and boot.too-large. */
json_t *rg_boot_user_data(const RgBootNode *node, const json_t *ray);
/* script.c: how a script begins; a text as one word, g_free; {path: content} of a script, NULL if
 * raygpu did not render it. In the script each file is a line "put MODE PATH 'CONTENT'". */
extern const char rg_boot_script_head[];
char *rg_boot_quote(const char *text);
json_t *rg_boot_script_files(const char *script);
/* raygpu's own script starts Ray. */
bool rg_boot_runs_start_ray(const RgBootNode *node);
bool rg_boot_uses_token(const RgBootNode *node);
bool rg_boot_is_head(const RgBootNode *node);
/* The container image. */
const char *rg_boot_image_of(const RgBootNode *node);
int64_t rg_boot_gpus_of(const RgBootNode *node);
/* What Ray assigns: slices if the GPUs are divided. */
int64_t rg_boot_ray_gpus_of(const RgBootNode *node);
/* The checks before Ray starts; NULL: none. */
const json_t *rg_boot_health_of(const RgBootNode *node);
/* The spec's commands and mounts; NULL: none. */
const json_t *rg_boot_prepare_of(const RgBootNode *node);
/* The MIG slices of each GPU; NULL: it is not divided. */
const json_t *rg_boot_slices_of(const RgBootNode *node);
/* Adapters of the fast network of each node; 0: none. */
int64_t rg_boot_rdma_of(const RgBootNode *node);
/* A variable that raygpu sets itself. */
bool rg_boot_is_own_variable(const char *name);
/* Keys of an object by name; borrowed, free the list. */
GList *rg_boot_sorted_keys(json_t *object);
