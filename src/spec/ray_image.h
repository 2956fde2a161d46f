/* Ray's versions and container images: the image for a version and a Python, and what a tag of
 * rayproject/ray says about its contents. Pure. */
#pragma once
#include <glib.h>
#include <stdbool.h>

/* What a tag says; fields are NULL if it does not say. */
typedef struct {
	char *repository; /* "ray", "ray-llm", "ray-ml" */
	char *version;	  /* "2.56.1" */
	char *build;	  /* "0e19ea", "deprecated" */
	char *python;	  /* "3.11" */
	char *platform;	  /* "cu121", "gpu", "cpu", "tpu" */
	char *arch;	  /* "aarch64", "x86_64" */
	bool is_extra;	  /* with what clouds' launchers and networks need */
} RgRayTag;

void rg_ray_tag_clear(RgRayTag *tag);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RgRayTag, rg_ray_tag_clear)

/* False if the image is not Ray's own or its tag is not of Ray's grammar. */
bool rg_ray_tag_parse(const char *image, RgRayTag *tag);
/* Whether the image names fixed content: a digest, or a tag that does not move. */
bool rg_ray_image_is_pinned(const char *image);
/* The image itself, or MIRROR/NAME for images of Docker Hub; `mirror` may be NULL. g_free. */
char *rg_ray_image_mirrored(const char *image, const char *mirror);
/* The first version with token authentication: Ray's docs, ray-security/token-auth. */
#define RG_RAY_FIRST_WITH_TOKEN "2.52.0"
/* The first that checks the token at the agent of each node too: the row "agent" of
 * src/catalog/data/ray_options.csv. */
#define RG_RAY_FIRST_CLOSED "2.54.0"
/* CUDA of the default image: Ray's own choice for `-gpu` since 2.31. */
#define RG_RAY_IMAGE_CUDA "12.1"
/* "rayproject/ray:2.56.1-py311-cu121". g_free. */
char *rg_ray_image_default(const char *version, const char *python);
/* A default image, perhaps of a mirror, with another platform, "cu128". g_free. */
char *rg_ray_image_for_platform(const char *image, const char *platform);
