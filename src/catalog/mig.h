/* mig: how a GPU can be divided (NVIDIA's Multi-Instance GPU): its profiles, and where on the chip
 * an instance of each may be (data/mig_profiles.csv, data/mig_placements.csv, embedded). Read by
 * fit for pools with `share: {mig: ...}`, opened only then. Owns everything it returns; immutable
 * once opened, any thread. */
#pragma once
#include "catalog/catalog.h"

#define RG_MIG_MAX_SLICES 8	/* of memory, the same on every chip so far */
#define RG_MIG_MAX_PLACEMENTS 8 /* of one profile */

typedef struct {
	const char *name;	 /* "1g.5gb", as in nvidia-smi */
	unsigned compute_slices; /* the 1 of 1g */
	unsigned memory_gb;	 /* as the profile's name says */
	unsigned instances;	 /* at most, of this profile alone, on one GPU */
	unsigned size;		 /* memory slices that one covers; 0: placements are unknown */
	unsigned n_starts, starts[RG_MIG_MAX_PLACEMENTS]; /* ascending */
} RgMigProfile;

typedef struct RgMig RgMig;

/* NULL and catalog.bad-data if a table is wrong. Includes the profiles that the project file gives
 * to models of `gpus` (may be NULL); their places on the chip are unknown. */
RgMig *rg_mig_open(const RgGpus *gpus, RgDiags *diags);
/* The same with other texts of the two files, for tests. */
RgMig *rg_mig_open_text(RgCatalogText text, void *data, RgDiags *diags);
void rg_mig_free(RgMig *mig);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgMig, rg_mig_free)

/* RgMigProfile* of a GPU model in gpu_models.csv, in the order of the table; NULL if it cannot be
 * divided. */
const GPtrArray *rg_mig_profiles(const RgMig *mig, const char *gpu_model);
/* NULL if the model has no such profile. */
const RgMigProfile *rg_mig_find(const RgMig *mig, const char *gpu_model, const char *profile);

/* Whether all of `wish` fit on one GPU at once, by trying their placements: none overlap, and no
 * profile occurs more often than `instances`. starts[i] (may be NULL) gets the first slice of
 * wish[i], or RG_MIG_MAX_SLICES if placements are unknown; such profiles are accepted only without
 * others beside them. */
bool rg_mig_place(const RgMigProfile *const *wish, size_t n, unsigned *starts);
