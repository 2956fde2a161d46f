/* Credentials that expire: one value for all calls of an instance, renewed before it expires and
 * after the cloud refused it. Any thread: one of them renews while the others wait. */
#pragma once
#include "common/talk.h"

/* Gets a value, a text such as the ABI's `auth` object, and the Unix second at which it expires (0:
 * unknown). Every secret in it is registered with the host. RGP_FAIL after a diagnostic. */
typedef struct {
	rgp_status (*get)(const ModTalk *talk, const void *data, char **value, int64_t *expires_s);
	const void *data;  /* must live as long as the lease */
	const char *title; /* for the log: "the AWS keys" */
} ModLeaseSource;

typedef struct ModLease ModLease;

ModLease *mod_lease_new(const ModLeaseSource *source);
void mod_lease_free(ModLease *lease);
/* The current value, g_free; *serial identifies it. NULL after a diagnostic, or if the call was
 * canceled. */
char *mod_lease_get(ModLease *lease, const ModTalk *talk, unsigned *serial);
/* The cloud refused the value with this serial: it is not returned again. */
void mod_lease_refuse(ModLease *lease, unsigned serial);
