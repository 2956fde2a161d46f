/* YAML -> JSON, for kubeconfig files: libyaml's documents, with anchors. Pure. */
#pragma once
#include <jansson.h>
#include "raygpu/provider.h"

/* The first document as a new reference. Plain true, false and null are values, all other scalars
 * texts. NULL and *problem, the end of a sentence that begins with the file's name, if it is not
 * YAML, has a key twice, is nested too deeply or too large. g_free. */
json_t *kube_yaml_read(struct rgp_bytes text, char **problem);
