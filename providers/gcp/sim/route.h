/* Which method of the description a request is for. */
#pragma once
#include <glib.h>
#include <jansson.h>

/* Of all methods; an array of its own routes. */
GPtrArray *gce_routes_new(const json_t *methods);
