/* compat: which Ray supports which Python and CUDA, and which CUDA and driver support which GPU
 * (data/COMPAT.md). Read by fit's check (src/fit/compat.c), opened only then. Embedded tables, no
 * I/O. Owns everything it returns; immutable once opened, any thread. */
#pragma once
#include "catalog/catalog.h"

typedef struct RgCompat RgCompat;

/* Minor releases from..to of Ray; lists NULL-ended. */
typedef struct {
	const char *from, *to; /* "2.52", "2.56" */
	GStrv image_pythons;   /* of rayproject/ray's images: "3.11" */
	GStrv wheel_pythons;   /* of the wheels on PyPI */
	GStrv cuda_tags;       /* platforms of the images: "cu121" */
	const char *gpu_alias; /* what the platform "gpu" stands for: "cu121" */
} RgRayRelease;

typedef struct {
	const char *tag;	      /* "cu121" */
	const char *cuda;	      /* "12.1" */
	const char *min_driver;	      /* the Linux driver of exactly that CUDA: "530.30.02" */
	const char *min_driver_minor; /* the oldest with which it still runs: "525.60.13" */
} RgCudaRelease;

typedef struct {
	unsigned capability;	  /* tenths: 70 */
	const char *architecture; /* "Volta" */
	const char *first_cuda;	  /* "9.0" */
	const char *last_cuda;	  /* "12.9"; empty: none yet */
	unsigned last_driver;	  /* branch, 580; 0: none yet */
} RgCudaArch;

/* NULL and catalog.bad-data if a table is wrong. */
RgCompat *rg_compat_open(RgDiags *diags);
/* The same with other texts of the files, for tests. */
RgCompat *rg_compat_open_with(RgCatalogText text, void *data, RgDiags *diags);
void rg_compat_free(RgCompat *compat);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgCompat, rg_compat_free)

/* NULL if the table does not have the version, "2.52.0". */
const RgRayRelease *rg_compat_ray(const RgCompat *compat, const char *version);
/* NULL if unknown. */
const RgCudaRelease *rg_compat_cuda(const RgCompat *compat, const char *tag);
const RgCudaArch *rg_compat_arch(const RgCompat *compat, unsigned capability);
