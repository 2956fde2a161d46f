/* Container images of Ray: which one a version and Python ask for, and what a tag of
 * rayproject/ray says it holds. Pure; src/spec only. */
#pragma once
#include <glib.h>
#include <stdbool.h>

/* What a tag says; the fields are NULL where it is silent. */
typedef struct {
	char *version;	/* "2.52.0" */
	char *python;	/* "3.11" */
	char *platform; /* "cu121", "gpu", "cpu" */
	char *arch;	/* "aarch64", "x86_64" */
	bool is_extra;	/* with what launchers and networks of clouds need */
} RgRayTag;

void rg_ray_tag_clear(RgRayTag *tag);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RgRayTag, rg_ray_tag_clear)

/* False when the image is not Ray's own or its tag not of Ray's grammar. */
bool rg_ray_tag_parse(const char *image, RgRayTag *tag);
/* Whether the image names one fixed content: a digest, or a tag that does not move. */
bool rg_ray_image_is_pinned(const char *image);
/* "rayproject/ray:2.52.0-py311-cu121". g_free. */
char *rg_ray_image_default(const char *version, const char *python);
