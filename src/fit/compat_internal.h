/* Inside the check of compatibility: compat.c checks the nodes of each pool, compat_image.c the
 * container image. */
#pragma once
#include "fit/compat.h"
#include "fit/internal.h"
#include "spec/ray_image.h"

/* A container image and what the tables say about it. */
typedef struct {
	const char *name;
	RgRayTag tag;		   /* its fields are NULL if the image is not Ray's own */
	const RgRayImages *images; /* NULL: not Ray's own, or not in the table */
	const char *platform;	   /* of Ray's own: "cu121", "cpu"; NULL: unknown */
	const RgCudaRelease *cuda; /* NULL: it has none, or its name does not say */
} RgCompatImage;

typedef struct {
	const RgCluster *cluster;
	const RgCompat *compat;
	const RgRayRelease *ray; /* NULL: not in the table */
	RgCompatImage image;	 /* the cluster's */
	const json_t *facts;
	const json_t *image_rules; /* of the provider's schema.json; NULL: none */
	RgDiags *diags;
} RgCompatCheck;

void rg_compat_image_open(
	RgCompatImage *image, const RgCompat *compat, const char *name, const char *version);
void rg_compat_image_clear(RgCompatImage *image);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RgCompatImage, rg_compat_image_clear)

/* Ray's version, its Python and its image, whatever the nodes are. */
void rg_compat_check_ray(const RgCompatCheck *check);
/* An image without CUDA on a node with GPUs. */
void rg_compat_check_cpu_image(const RgCompatCheck *check);
/* The image of pools with RDMA: whether it has the libraries. */
void rg_compat_check_rdma(const RgCompatCheck *check, const RgShapes *shapes);
