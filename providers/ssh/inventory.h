/* The inventory of a spec: its hosts, one by one. Pure. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#define SSH_HOSTS_MAX 4096 /* in all */
#define SSH_PRICE_UNKNOWN (-1)

/* Texts are "" if the spec says nothing. */
typedef struct {
	char *name, *address, *internal_address, *user, *proxy_jump, *rack;
	char *shape;		  /* "A100-80GB:8", or "cpu" */
	json_t *labels;		  /* {KEY: VALUE}; NULL: none */
	char *origin;		  /* JSON pointer to its item in the spec */
	bool is_elsewhere;	  /* it is not in the spec: the origin is what leads to it */
	unsigned port;		  /* 0: ssh's own default */
	int64_t cpus, memory_mib; /* 0: not known */
	int64_t microusd_hour;	  /* SSH_PRICE_UNKNOWN: it has no price */
} SshHost;

typedef struct {
	GPtrArray *all; /* SshHost*, in the order of the spec */
	GHashTable *by_name;
} SshInventory;

/* NULL and what is wrong, with its place in the spec: a range that is none, a name twice. */
SshInventory *ssh_inventory_new(const json_t *config, char **problem, char **origin);
void ssh_inventory_free(SshInventory *inventory);
/* NULL: it has no such host. */
const SshHost *ssh_inventory_find(const SshInventory *inventory, const char *name);

/* "A100:8" -> "A100-40GB:8", as a pool's accelerators; NULL -> "cpu". g_free */
char *ssh_shape_of(const char *gpus);
/* "A100-80GB:8" -> 8, "cpu" -> 0 */
int64_t ssh_shape_gpus(const char *shape);
bool ssh_is_shape(const char *name);

/* "gpu[01-16].example.org" -> 16 texts; one without a range -> itself. NULL: the range is none.
 * char*, with a free function. */
GPtrArray *ssh_range_expand(const char *text);
