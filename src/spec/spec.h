/* spec: YAML text -> JSON view with places -> schema check -> RgCluster. Pure except for
 * rg_spec_load_file, which reads one file. All findings of a file are reported at once. */
#pragma once
#include "spec/cluster.h"

/* NULL if there was any error. `file` is the name used in diagnostics. */
RgCluster *rg_spec_load(const char *file, const char *text, size_t len, RgDiags *diags);

/* Reads a file that a spec extends: by its path relative to the working folder. g_free the text;
 * NULL and diagnostics. */
typedef struct {
	char *(*read)(const void *data, const char *path, size_t *len, RgDiags *diags);
	const void *data;
} RgSpecReader;
/* The same for a text that may extend files. */
RgCluster *rg_spec_load_from(
	const char *file, const char *text, size_t len, const RgSpecReader *reader, RgDiags *diags);

/* What a text means together with the files that it extends, as YAML that begins with comments on
 * what was replaced, or as JSON. Neither the schema nor the rules are checked. g_free it; NULL if
 * there was any error. */
char *rg_spec_merged(const char *file, const char *text, size_t len, const RgSpecReader *reader,
	bool json, RgDiags *diags);
char *rg_spec_merged_file(const char *path, bool json, RgDiags *diags);

/* A spec as YAML text, g_free it: `comments`, JSON pointer -> char*, follow their values. */
char *rg_spec_write(const json_t *spec, GHashTable *comments);

/* "-" reads standard input. */
RgCluster *rg_spec_load_file(const char *path, RgDiags *diags);

/* A value of `accelerators:` by itself ("A100:8", '{gpu_memory: ">=40GB"}'): returns a cluster of
 * which only the head's accelerators have a meaning. NULL if there was any error. */
RgCluster *rg_spec_load_query(const char *query, RgDiags *diags);

/* What a YAML file of a folder is, by its top-level keys. A file with faults counts as a spec
 * unless it is clearly something else, so that its faults are reported. */
typedef struct {
	bool is_spec;
	char *cluster; /* NULL if unknown */
	RgSource source;
	GPtrArray *files; /* char*: the file and those that it extends, NULL: it is not a spec */
} RgSpecPeek;
/* Makes no findings, but gives `diags` the text for findings that refer to it. */
RgSpecPeek rg_spec_peek(
	const char *file, const char *text, size_t len, const RgSpecReader *reader, RgDiags *diags);
void rg_spec_peek_clear(RgSpecPeek *peek);
/* The same for a file on disk; false if it cannot be read. */
bool rg_spec_peek_file(const char *path, RgSpecPeek *peek, RgDiags *diags);
