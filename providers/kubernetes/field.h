/* Where in the spec a field of an object comes from. Pure. */
#pragma once
#include <jansson.h>

/* `field` as the API writes it, "spec.workerGroupSpecs[0].minReplicas"; `body`: the object;
 * `settings`: of the provider. A JSON pointer into the spec, g_free; NULL: unknown. */
char *kube_field_origin(
	const char *kind, const json_t *body, const json_t *settings, const char *field);
