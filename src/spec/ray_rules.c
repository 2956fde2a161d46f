#include "spec/check.h"

#include <string.h>
#include "base/version.h"
#include "spec/ray_image.h"
#include "spec/words.h"

/* `ray drain-node` came with it (ray-project/ray pull 43189), and the port of the agent of runtime
 * environments is fixed with an option of 2.8 (pull 39919): earlier ones end with "No such option".
 * All have images with CUDA 12.1 (issue 37907). */
#define FIRST_THAT_STARTS "2.10.0"

typedef struct {
	RgDocument *document;
	const char *version, *python, *image, *auth; /* NULL if absent or wrong */
	RgDiags *diags;
} Ray;

static const char *find_text(RgDocument *document, const char *pointer)
{
	if (rg_document_is_spoiled(document, pointer))
		return NULL;
	return json_string_value(rg_json_at(document->value, pointer));
}

/* True: the version can be used at all. */
static bool check_options(const Ray *ray)
{
	if (!ray->version || rg_version_compare(ray->version, FIRST_THAT_STARTS) >= 0)
		return true;
	RgDiag *diag = rg_spec_report(ray->document, "/ray/version", "spec.ray-too-old", ray->diags,
		"Ray %s lacks options with which nodes start it; they came with " FIRST_THAT_STARTS,
		ray->version);
	rg_diag_hint(diag, "use Ray " RG_RAY_FIRST_CLOSED " or later");
	return false;
}

static void check_age(const Ray *ray)
{
	if (!ray->version || g_strcmp0(ray->auth, "none") == 0 ||
		rg_document_is_spoiled(ray->document, "/ray/auth") ||
		rg_version_compare(ray->version, RG_RAY_FIRST_WITH_TOKEN) >= 0)
		return;
	RgDiag *diag = rg_spec_report(ray->document, "/ray/version", "spec.ray-too-old", ray->diags,
		"Ray %s has no token authentication; it came with %s", ray->version,
		RG_RAY_FIRST_WITH_TOKEN);
	rg_diag_hint(diag, "use Ray " RG_RAY_FIRST_CLOSED
			   " or later, or accept an open cluster with ray: {auth: none}");
}

static void check_image(const Ray *ray)
{
	if (!rg_ray_image_is_pinned(ray->image)) {
		RgDiag *diag = rg_spec_report(ray->document, "/ray/image", "spec.bad-value",
			ray->diags, "ray.image \"%s\" uses a moving tag", ray->image);
		rg_diag_hint(diag, "use a fixed tag, such as "
				   "rayproject/ray:2.56.1-py311-cu121, or a digest");
		return;
	}
	g_auto(RgRayTag) tag = {0};
	if (!rg_ray_tag_parse(ray->image, &tag))
		return;
	const char *what = NULL, *wanted = NULL, *got = NULL;
	if (ray->version && !g_str_equal(tag.version, ray->version)) {
		what = "version";
		wanted = ray->version;
		got = tag.version;
	} else if (ray->python && tag.python && !g_str_equal(tag.python, ray->python)) {
		what = "python";
		wanted = ray->python;
		got = tag.python;
	}
	if (!what)
		return;
	RgDiag *diag = rg_spec_report(ray->document, "/ray/image", "spec.ray-image-mismatch",
		ray->diags, "ray.image contains %s %s, but ray.%s is %s",
		g_str_equal(what, "python") ? "Python" : "Ray", got, what, wanted);
	rg_diag_hint(diag, "make ray.image and ray.%s agree", what);
}

/* Without an image, one is derived if it is known to exist. */
static void check_derived(const Ray *ray)
{
	if (!ray->version)
		return;
	RgDocument *document = ray->document;
	if (json_object_get(json_object_get(document->value, "ray"), "python"))
		return;
	RgDiag *diag = rg_diags_error(
		ray->diags, "spec.missing-key", "ray has neither \"python\" nor \"image\"");
	rg_diag_at(diag, rg_document_key_source(document, "/ray"));
	rg_diag_hint(diag, "add python: \"3.11\" to use Ray's own image, or set ray.image");
}

void rg_spec_check_ray(RgDocument *document, RgDiags *diags)
{
	if (!json_is_object(json_object_get(document->value, "ray")))
		return;
	Ray ray = {
		.document = document,
		.version = find_text(document, "/ray/version"),
		.python = find_text(document, "/ray/python"),
		.image = find_text(document, "/ray/image"),
		.auth = find_text(document, "/ray/auth"),
		.diags = diags,
	};
	if (!check_options(&ray))
		return;
	check_age(&ray);
	if (ray.image)
		check_image(&ray);
	else if (!rg_document_is_spoiled(document, "/ray/image"))
		check_derived(&ray);
}
