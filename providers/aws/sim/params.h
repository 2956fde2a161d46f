/* A request's parameters, parsed once from the form ("A.1.B=x") into a tree of JSON objects with
 * text at the leaves ({"A": {"1": {"B": "x"}}}). Everything later reads only the tree. Paths are
 * dotted names; a list is an object whose keys are numbers. Results are borrowed. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* NULL and *problem (g_free) if the form is not well-formed: bad percent-encoding, text that is not
 * UTF-8 or has control characters, the same name twice, a name that is both value and prefix, names
 * nested deeper than any parameter of the API. */
json_t *ec2_params_parse(const char *form, char **problem);

/* The part of the tree at a path, or NULL. */
json_t *ec2_param_at(const json_t *tree, const char *path);
/* The text at a path, or NULL if absent. */
const char *ec2_param_str(const json_t *tree, const char *path);
/* Numbers and booleans have already been checked against the API model (model.c). */
int64_t ec2_param_int(const json_t *tree, const char *path, int64_t otherwise);
bool ec2_param_bool(const json_t *tree, const char *path, bool otherwise);
/* A list's entries (const json_t *) in order of their numbers; empty if absent. Free the array. */
GPtrArray *ec2_param_list(const json_t *tree, const char *path);
/* The same for a list of texts (const char *). */
GPtrArray *ec2_param_texts(const json_t *tree, const char *path);
