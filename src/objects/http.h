/* Requests of Terraform's HTTP backend protocol: one document, and a lock. Private to this
 * folder. */
#pragma once
#include "objects/internal.h"

typedef struct {
	RgHttp *http;
	json_t *auth; /* or NULL */
	char *address, *lock_address, *unlock_address;
	char *update_method, *lock_method, *unlock_method;
	char *shown;
	bool writes;
} HttpPlace;

/* False and diagnostics. */
bool http_place_open(HttpPlace *place, const RgObjectsHost *host, const ObjectsUrl *url,
	const RgRemoteOpen *how, RgDiags *diags);
void http_place_clear(HttpPlace *place);
/* The document, an object, a new reference; NULL and *absent (404, 204, an empty body), or
 * diagnostics. */
json_t *http_read(HttpPlace *place, bool *absent, RgDiags *diags);
/* CONFLICT: the lock is not ours. `id` NULL: without one. */
RgObjectResult http_write(HttpPlace *place, const char *id, const json_t *document, RgDiags *diags);
/* CONFLICT: held; *holder is the server's answer, or NULL. */
RgObjectResult http_lock(HttpPlace *place, const json_t *info, json_t **holder, RgDiags *diags);
bool http_unlock(HttpPlace *place, const json_t *info, RgDiags *diags);
