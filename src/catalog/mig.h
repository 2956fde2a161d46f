/* mig: what a GPU can be cut into (NVIDIA's Multi-Instance GPU): its profiles, and where on the
 * chip an instance of each may lie (data/mig_profiles.csv, data/mig_placements.csv, embedded).
 * Read by fit for pools with `share: {mig: ...}`, and opened only then. Owns all it hands out,
 * never changes once opened, may be read by any thread. */
#pragma once
#include "catalog/catalog.h"

#define RG_MIG_MAX_SLICES 8	/* of memory, on every chip so far */
#define RG_MIG_MAX_PLACEMENTS 8 /* of one profile */

typedef struct {
	const char *name;	 /* "1g.5gb": as nvidia-smi has it */
	unsigned compute_slices; /* the 1 of 1g */
	unsigned memory_gb;	 /* as the profile's name says */
	unsigned instances;	 /* at most, of this profile alone, on one GPU */
	unsigned size;		 /* memory slices that one covers; 0: placements are not known */
	unsigned n_starts, starts[RG_MIG_MAX_PLACEMENTS]; /* ascending */
} RgMigProfile;

typedef struct RgMig RgMig;

/* NULL and catalog.bad-data when a table is wrong. With the profiles that the project file gives to
 * models of `gpus` (may be NULL); where those may lie on the chip is not known. */
RgMig *rg_mig_open(const RgGpus *gpus, RgDiags *diags);
/* The same over other texts of the two files, for tests. */
RgMig *rg_mig_open_text(RgCatalogText text, void *data, RgDiags *diags);
void rg_mig_free(RgMig *mig);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgMig, rg_mig_free)

/* RgMigProfile* of a GPU model of gpu_models.csv, in the order of the table; NULL when it can't be
 * cut. */
const GPtrArray *rg_mig_profiles(const RgMig *mig, const char *gpu_model);
/* NULL when the model has no such profile. */
const RgMigProfile *rg_mig_find(const RgMig *mig, const char *gpu_model, const char *profile);

/* Whether all of `wish` lie on one GPU at once, by trying their placements: no two overlap, and no
 * profile is there more often than `instances`. starts[i] (may be
 * NULL) gets the first slice of wish[i], RG_MIG_MAX_SLICES where placements are not known; those
 * are accepted only without other profiles beside them. */
bool rg_mig_place(const RgMigProfile *const *wish, size_t n, unsigned *starts);
