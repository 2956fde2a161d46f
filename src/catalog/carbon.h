/* carbon: what a node emits per hour, from power at an assumed utilisation, the provider's PUE and
 * the region's grid (data/CARBON.md: formula, assumptions, sources). Separate from the catalog:
 * plan, offers and cost use it. Reads embedded tables, no I/O. Owns everything it returns;
 * immutable once opened, any thread. */
#pragma once
#include "catalog/catalog.h"

/* Like money: an unknown value is reported and counted, never treated as zero. */
#define RG_CARBON_UNKNOWN INT64_MIN
/* For GPUs and CPUs; the default of cloud-carbon-footprint. */
#define RG_CARBON_UTILISATION_PERCENT 50

typedef struct RgCarbon RgCarbon;

typedef struct {
	int64_t mg_hour; /* milligrams of CO2e per hour, including PUE; RG_CARBON_UNKNOWN */
	/* of the grid's figure: "2024", "cloud-carbon-footprint"; NULL if none */
	const char *year, *source;
	double g_per_kwh;    /* of the grid; 0 if none */
	const char *missing; /* what has no figure: "region", "provider", "GPU model"; NULL: all
				have one */
} RgCarbonHour;

/* NULL with catalog.bad-data if an embedded table is broken. */
RgCarbon *rg_carbon_open(RgDiags *diags);
/* The same with the caller's tables (tests). */
RgCarbon *rg_carbon_open_with(RgCatalogText text, void *data, RgDiags *diags);
void rg_carbon_free(RgCarbon *carbon);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgCarbon, rg_carbon_free)

/* One node of `type` in a region of `provider`. */
RgCarbonHour rg_carbon_hour(const RgCarbon *carbon, const char *provider,
	const RgInstanceType *type, const char *region);
