/* Credentials that end: one value for all calls of an instance, renewed ahead of its end and after
 * the cloud refused it. Any thread: one of them renews while the others wait. */
#pragma once
#include "common/talk.h"

/* Gets a value, a text such as the ABI's `auth` object, and the Unix second at which it ends (0:
 * not known). Every secret in it is registered with the host. RGP_FAIL after a diagnostic. */
typedef struct {
	rgp_status (*get)(const ModTalk *talk, const void *data, char **value, int64_t *expires_s);
	const void *data;  /* lives as long as the lease */
	const char *title; /* for the log: "the AWS keys" */
} ModLeaseSource;

typedef struct ModLease ModLease;

ModLease *mod_lease_new(const ModLeaseSource *source);
void mod_lease_free(ModLease *lease);
/* The present value, g_free; *serial says which one it is. NULL after a diagnostic, or when the
 * call was canceled. */
char *mod_lease_get(ModLease *lease, const ModTalk *talk, unsigned *serial);
/* The cloud refused the value with this serial: it is not given out again. */
void mod_lease_refuse(ModLease *lease, unsigned serial);
