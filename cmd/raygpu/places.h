/* The candidates of provider.any_of as `raygpu offers SPEC` compares them (pipeline/place.h). */
#pragma once
#include "command.h"

void places_print(const json_t *choice);
bool places_have(const RgCluster *cluster, const char *provider, const char *region);
