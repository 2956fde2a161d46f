/* What admission webhooks changed in an object. Pure. */
#pragma once
#include <jansson.h>

#include <stdbool.h>

/* Fields of `sent` that `got`, the server's answer, has otherwise; lists that are longer; of a
 * `new_` object also labels and annotations that were added: "spec.x becomes 1, ...", g_free. NULL:
 * none. What else was added may be defaults of the CRD. */
char *kube_altered(const json_t *sent, const json_t *got, bool new_);
