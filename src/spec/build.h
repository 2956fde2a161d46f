/* A document without errors -> RgCluster. src/spec only. */
#pragma once
#include "spec/cluster.h"
#include "spec/document.h"

/* Takes the document's JSON and its table of sources over. */
RgCluster *rg_cluster_build(RgDocument *document);

/* Parts of it (workload.c). */
RgWorkload *rg_workload_build(
	const RgDocument *document, const char *name, const char *pointer, const json_t *value);
void rg_workload_free(gpointer workload);
/* `value`: the pool's share, or NULL. */
void rg_share_build(
	RgShare *share, const RgDocument *document, const char *pool_pointer, const json_t *value);
