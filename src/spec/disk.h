/* Disk sizes of a spec: 200, "200GB", "200 GiB", "2TB". The clouds count GiB, whatever they call
 * them, and so do we. Pure; src/spec only. */
#pragma once
#include <jansson.h>
#include <stdint.h>

#define RG_DISK_MAX_GIB 65536

/* GiB; the value has passed the schema (0 for anything else). */
int64_t rg_disk_gib(const json_t *size);
