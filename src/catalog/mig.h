/* mig: how a GPU can be divided (NVIDIA's Multi-Instance GPU): its profiles, and where on the chip
 * an instance of each may be (data/mig_profiles.csv, data/mig_placements.csv, embedded). Read by
 * fit for pools with `share: {mig: ...}`, opened only then. Owns everything it returns; immutable
 * once opened, any thread. */
#pragma once
#include "catalog/catalog.h"

#define RG_MIG_MAX_SLICES 12	/* places for memory slices on one chip, and slices of one GPU */
#define RG_MIG_MAX_PLACEMENTS 8 /* of one profile */

/* The engines for video, images and optical flow that it holds (NVIDIA's MIG user guide, Supported
 * MIG Profiles, Profile References). */
typedef enum {
	RG_MIG_MEDIA_SHARE, /* its share: "1g.24gb", "1g.24gb+gfx" */
	RG_MIG_MEDIA_NONE,  /* "1g.24gb-me" */
	RG_MIG_MEDIA_FLOW,  /* "1g.24gb+me": its share, and what the chip has once */
	RG_MIG_MEDIA_ALL,   /* "1g.24gb+me.all" */
} RgMigMedia;

typedef struct {
	const char *name;	 /* "1g.5gb", as in nvidia-smi */
	unsigned compute_slices; /* the 1 of 1g */
	unsigned memory_gb;	 /* as the profile's name says */
	unsigned memory_mib;	 /* that programs can use; less than the name says */
	unsigned instances;	 /* at most, of this profile alone, on one GPU */
	unsigned size;		 /* places that one covers; 0: placements are unknown */
	RgMigMedia media;
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

/* The places on a chip of that model; 0: unknown. */
unsigned rg_mig_places(const RgMig *mig, const char *gpu_model);

/* Whether no media engine is held by two of them. */
bool rg_mig_media_suffices(const RgMigProfile *const *wish, size_t n);

/* Whether all of `wish` fit on one GPU at once, by trying their placements: none overlap, no
 * profile occurs more often than `instances`, and no media engine is held twice. starts[i] (may be
 * NULL) gets the first slice of wish[i], or RG_MIG_MAX_SLICES if placements are unknown; such
 * profiles are accepted only without others beside them. */
bool rg_mig_place(const RgMigProfile *const *wish, size_t n, unsigned *starts);
