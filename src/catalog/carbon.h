/* carbon: what an hour of a node emits, from power at an assumed utilisation, the provider's PUE
 * and the region's grid (data/CARBON.md: formula, assumptions, sources). Beside the catalog: plan,
 * offers and cost ask for it. Reads embedded tables, no I/O. Owns all it hands out, never changes
 * once opened, any thread. */
#pragma once
#include "catalog/catalog.h"

/* Like money: unknown is said and counted, never taken as nothing. */
#define RG_CARBON_UNKNOWN INT64_MIN
/* For both GPUs and CPUs; the default of cloud-carbon-footprint. */
#define RG_CARBON_UTILISATION_PERCENT 50

typedef struct RgCarbon RgCarbon;

typedef struct {
	int64_t mg_hour; /* milligrams of CO2e an hour, PUE included; RG_CARBON_UNKNOWN */
	/* of the grid's figure: "2024", "cloud-carbon-footprint"; NULL without */
	const char *year, *source;
	double g_per_kwh; /* of the grid; 0 without */
	const char
		*missing; /* what has no figure: "region", "provider", "GPU model"; NULL: nothing */
} RgCarbonHour;

/* NULL with catalog.bad-data when an embedded table is broken. */
RgCarbon *rg_carbon_open(RgDiags *diags);
/* The same over tables of the caller's (tests). */
RgCarbon *rg_carbon_open_with(RgCatalogText text, void *data, RgDiags *diags);
void rg_carbon_free(RgCarbon *carbon);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgCarbon, rg_carbon_free)

/* One node of `type` in a region of `provider`. */
RgCarbonHour rg_carbon_hour(const RgCarbon *carbon, const char *provider,
	const RgInstanceType *type, const char *region);
/* "1.062 kg", "35 g", or "unknown"; g_free the result. */
char *rg_carbon_format(int64_t mg);
