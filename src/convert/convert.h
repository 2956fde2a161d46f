/* convert: a file of another tool that describes a Ray cluster -> a spec with comments. What each
 * key becomes, or why it becomes nothing, is data: ray.csv for Ray's cluster launcher, and
 * convert.csv beside a module's schema.json for what is the cloud's own (README.md). Every key of
 * the file is in `keys`, also the unknown ones. */
#pragma once
#include "base/json.h"
#include "provider/provider.h"

typedef struct {
	char *text;    /* the spec */
	json_t *keys;  /* [{key, line, column, outcome, to?, reason?}] in the order of the lines */
	char *form;    /* Ray's name of the cloud, or the kind of the manifest */
	char *cluster; /* its name */
} RgConverted;
void rg_converted_free(RgConverted *converted);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgConverted, rg_converted_free)

/* `path` "-": standard input. Other documents of the file are skipped and named. Notes about what
 * is not in the spec, or is not what it was, go to `diags`; what is lost is an error, with
 * `partial` a warning. NULL and diagnostics if the file cannot be read or describes no Ray cluster.
 */
RgConverted *rg_convert_file(
	RgProviderHost *providers, const char *path, bool partial, RgDiags *diags);
/* The spec with `problems`, findings about it, above its fields. g_free. */
char *rg_converted_text(const RgConverted *converted, const RgDiags *problems);
