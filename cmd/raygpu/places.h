/* The candidates of provider.any_of as `raygpu offers SPEC` compares them (pipeline/place.h). */
#pragma once
#include "command.h"

/* Settles the cluster on the best of them. A new reference; NULL with diagnostics. */
json_t *places_of(Context *context, RgCluster *cluster);
void places_print(const json_t *choice);
bool places_have(const RgCluster *cluster, const char *provider, const char *region);
