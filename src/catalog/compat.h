/* compat: which Ray supports which Python and CUDA, and which CUDA and driver support which GPU
 * (data/COMPAT.md). Read by fit's check (src/fit/compat.c), opened only then. Embedded tables, no
 * I/O. Owns everything it returns; immutable once opened, any thread. */
#pragma once
#include "catalog/catalog.h"

typedef struct RgCompat RgCompat;

/* A minor release of Ray. */
typedef struct {
	const char *release; /* "2.52" */
	GStrv patches;	     /* "0", "1": 2.52.0 and 2.52.1; in ascending order */
	GStrv wheel_pythons; /* of the wheels on PyPI: "3.11" */
	const char *checked; /* the date on which the row was compared with what is published */
} RgRayRelease;

/* Images of minor releases from..to in one of Ray's repositories. */
typedef struct {
	const char *repository, *from, *to; /* "ray-llm", "2.49", "2.53" */
	GStrv pythons;			    /* "3.11", or "3.14?": not known whether */
	GStrv cuda_tags;		    /* platforms: "cu121" */
	const char *gpu_alias;		    /* what the platform "gpu" stands for: "cu121" */
	const char *bare;		    /* the platform of a tag without one: "cpu" or "gpu" */
	bool cpu, arm64;		    /* there are images without CUDA, and for arm64 */
	bool deprecated; /* the tags are VERSION.deprecated-..., and nobody maintains the images */
} RgRayImages;

typedef enum {
	RG_RAY_LISTED,
	RG_RAY_UNKNOWN, /* older or newer than the table, or a patch that may have come since */
	RG_RAY_MISSING, /* was never released */
} RgRayState;

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

/* NULL if the table does not have the minor release of the version, "2.52.0". */
const RgRayRelease *rg_compat_ray(const RgCompat *compat, const char *version);
/* The date of the newest row. */
const char *rg_compat_ray_date(const RgCompat *compat);
RgRayState rg_compat_ray_state(const RgCompat *compat, const char *version);
/* "2.52.1 and 2.53.0": the releases before and after a version that does not exist. g_free. */
char *rg_compat_ray_near(const RgCompat *compat, const char *version);
/* NULL if the repository has none, or is unknown. */
const RgRayImages *rg_compat_images(
	const RgCompat *compat, const char *repository, const char *version);
/* Those of the last minor releases that have any; NULL if the repository is unknown. */
const RgRayImages *rg_compat_newest_images(const RgCompat *compat, const char *repository);
/* The platform of the images with the oldest CUDA from `cuda` on, or with the newest up to `cuda`.
 * NULL: none. */
const RgCudaRelease *rg_compat_platform_from(
	const RgCompat *compat, const RgRayImages *images, const char *cuda);
const RgCudaRelease *rg_compat_platform_until(
	const RgCompat *compat, const RgRayImages *images, const char *cuda);
/* Whether an API of Ray's libraries has the option in this version: "train" (ScalingConfig),
 * "serve" (a deployment), "serve_actor" (its ray_actor_options). */
bool rg_compat_has_option(
	const RgCompat *compat, const char *api, const char *option, const char *version);
/* "2.54": the release that introduced it; NULL if the table does not have it. */
const char *rg_compat_option_from(const RgCompat *compat, const char *api, const char *option);
/* NULL if unknown. */
const RgCudaRelease *rg_compat_cuda(const RgCompat *compat, const char *tag);
const RgCudaArch *rg_compat_arch(const RgCompat *compat, unsigned capability);
