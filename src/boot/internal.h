/* Inside of boot: node.c says what a node's files hold, render.c puts them into a cloud-config. */
#pragma once
#include "boot/boot.h"

/* Where values of a node group stand in the spec. */
typedef struct {
	const RgCluster *cluster;
	const json_t *fitted, *node;
	RgDiags *diags;
} RgBootNode;

/* The token and the head's address come in by reference at apply. */
#define RG_BOOT_TOKEN_FILE "/etc/raygpu/token"
#define RG_BOOT_HEAD_FILE "/etc/raygpu/head"
#define RG_BOOT_ENV_FILE "/etc/raygpu/ray.env"
#define RG_BOOT_CONF_FILE "/etc/raygpu/node.conf"

/* /etc/raygpu/ray.env, read by docker --env-file; /etc/raygpu/node.conf, read by bash. NULL and
 * boot.bad-value when something can't be carried. g_free the results. */
char *rg_boot_env_file(const RgBootNode *node);
char *rg_boot_node_conf(const RgBootNode *node);
bool rg_boot_uses_token(const RgBootNode *node);
/* Whether the GPUs are cut into MIG slices. */
bool rg_boot_cuts_gpus(const RgBootNode *node);
/* RDMA adapters of each node; 0: none. */
int64_t rg_boot_rdma_of(const RgBootNode *node);
bool rg_boot_is_head(const RgBootNode *node);
/* A variable that raygpu sets itself. */
bool rg_boot_is_own_variable(const char *name);
/* Keys of an object by name; borrowed, free the list. */
GList *rg_boot_sorted_keys(json_t *object);
