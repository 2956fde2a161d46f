/* JSON -> YAML 1.2 text: block style, keys in the given order, texts quoted where a reader could
 * take them for something else. Pure; the same value gives the same bytes. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Appends `value` as one document that begins with "---". */
void kube_yaml_append(GString *text, const json_t *value);
