/* Turns a document without errors into an RgCluster. src/spec only. */
#pragma once
#include "spec/cluster.h"
#include "spec/document.h"
#include "spec/spec.h"

/* The result of a checked document: an object, or NULL with errors. */
typedef void *(*SpecBuild)(RgDocument *document, const RgSpecReader *reader, RgDiags *diags);
/* load.c: reads a file ("-": standard input) and reports its findings in the order of its lines. */
void *spec_load_file(const char *path, SpecBuild build, RgDiags *diags);
void *spec_load_text(const char *file, const char *text, size_t len, SpecBuild build,
	const RgSpecReader *reader, RgDiags *diags);

/* Takes ownership of the document's JSON and its table of sources. */
RgCluster *rg_cluster_build(RgDocument *document);

/* Parts of it (workload.c). */
RgWorkload *rg_workload_build(
	const RgDocument *document, const char *name, const char *pointer, const json_t *value);
void rg_workload_free(gpointer workload);
/* `value`: the pool's share, or NULL. */
void rg_share_build(
	RgShare *share, const RgDocument *document, const char *pool_pointer, const json_t *value);
