/* What an inventory says of its hosts in numbers, and how a host differs. Pure. */
#pragma once
#include "common/talk.h"
#include "ssh/inventory.h"

/* {SHAPE: {"vcpus", "memory_mib", "microusd_hour", "partly_priced"}} of all shapes, as the facts
 * have it (schemas/calls.schema.json); a new reference. */
json_t *ssh_figures(const SshInventory *inventory);
/* The price of an item, NULL: it has none; and "512GiB", "2TiB", NULL: 0. */
int64_t ssh_microusd_of(const json_t *usd);
int64_t ssh_memory_mib_of(const char *size);
/* "gpu01 has 8 CPUs, and 16 in the inventory": its answer to the probe shows something else than
 * the inventory says under `key`. NULL: it does not. g_free */
char *ssh_figures_differ(const SshHost *host, const json_t *answer, const char **key);
