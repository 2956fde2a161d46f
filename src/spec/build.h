/* A document without errors -> RgCluster. src/spec only. */
#pragma once
#include "spec/cluster.h"
#include "spec/document.h"

/* Takes the document's JSON and its table of sources over. */
RgCluster *rg_cluster_build(RgDocument *document);
