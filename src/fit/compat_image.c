/* Ray's version, Python and container image: whether they exist, and what the image contains. */
#include <string.h>
#include "base/version.h"
#include "fit/compat_internal.h"

/* Whether nobody but Ray publishes it. */
static bool is_rays_own(const RgCompatImage *image)
{
	return image->tag.version != NULL;
}

void rg_compat_image_open(
	RgCompatImage *image, const RgCompat *compat, const char *name, const char *version)
{
	*image = (RgCompatImage){.name = name};
	if (!rg_ray_tag_parse(name, &image->tag))
		return;
	const char *repository = image->tag.repository;
	image->images = rg_compat_images(compat, repository, version);
	const RgRayImages *alike =
		image->images ? image->images : rg_compat_newest_images(compat, repository);
	image->platform = image->tag.platform ? image->tag.platform : alike ? alike->bare : NULL;
	if (image->images && g_strcmp0(image->platform, "gpu") == 0)
		image->platform = image->images->gpu_alias;
	image->cuda = image->platform ? rg_compat_cuda(compat, image->platform) : NULL;
}

void rg_compat_image_clear(RgCompatImage *image)
{
	rg_ray_tag_clear(&image->tag);
}

static RgSource ray_source(const RgCompatCheck *check, const char *key)
{
	g_autofree char *pointer = g_strconcat("/ray/", key, NULL);
	return rg_cluster_source(check->cluster, pointer);
}

static RgSource image_source(const RgCompatCheck *check)
{
	return ray_source(check, check->cluster->ray.is_default ? "version" : "image");
}

/* ---- Ray's version */

static void check_version(const RgCompatCheck *check)
{
	const char *version = check->cluster->ray.version;
	RgRayState state = rg_compat_ray_state(check->compat, version);
	bool own_build = !is_rays_own(&check->image);
	RgDiag *diag = NULL;
	if (state == RG_RAY_UNKNOWN) {
		diag = rg_diags_warning(check->diags, "compat.ray-not-listed",
			"Ray %s is not in raygpu's table of releases, which is of %s", version,
			rg_compat_ray_date(check->compat));
		rg_diag_hint(diag, "raygpu does not check whether its image and Python exist; look "
				   "at the tags of rayproject/ray, or update raygpu");
	} else if (state == RG_RAY_MISSING) {
		g_autofree char *near = rg_compat_ray_near(check->compat, version);
		diag = own_build ? rg_diags_warning(check->diags, "compat.no-such-ray",
					   "Ray %s was never released", version)
				 : rg_diags_error(check->diags, "compat.no-such-ray",
					   "Ray %s was never released", version);
		rg_diag_hint(diag, "the nearest releases are %s%s", near,
			own_build ? "; ray.image may contain your own build" : "");
	}
	if (diag)
		rg_diag_at(diag, ray_source(check, "version"));
}

/* "3.10, 3.11": those that exist for certain. g_free. */
static char *certain(char **pythons)
{
	GString *text = g_string_new(NULL);
	for (size_t i = 0; pythons[i]; i++) {
		if (!strchr(pythons[i], '?'))
			g_string_append_printf(text, "%s%s", text->len ? ", " : "", pythons[i]);
	}
	return g_string_free(text, FALSE);
}

static void report_python(const RgCompatCheck *check, const char *python, char **known)
{
	const RgRay *ray = &check->cluster->ray;
	const char *repository = check->image.tag.repository;
	bool own = !is_rays_own(&check->image);
	g_autofree char *unsure = g_strconcat(python, "?", NULL);
	g_autofree char *list = certain(known);
	RgDiag *diag = NULL;
	if (own)
		diag = rg_diags_error(check->diags, "compat.ray-python",
			"Ray %s does not run on Python %s", ray->version, python);
	else if (g_strv_contains((const char *const *)known, unsure))
		diag = rg_diags_warning(check->diags, "compat.ray-python",
			"raygpu does not know whether rayproject/%s has an image of Ray %s with "
			"Python %s",
			repository, ray->version, python);
	else
		diag = rg_diags_error(check->diags, "compat.ray-python",
			"rayproject/%s has no image of Ray %s with Python %s", repository,
			ray->version, python);
	rg_diag_at(diag, ray_source(check, ray->python ? "python" : "image"));
	rg_diag_hint(diag, "use one of %s%s", list, own ? "" : ", or your own image");
}

static void check_python(const RgCompatCheck *check)
{
	const RgRay *ray = &check->cluster->ray;
	const RgCompatImage *image = &check->image;
	const char *python = image->tag.python ? image->tag.python : ray->python;
	char **known = NULL;
	if (!is_rays_own(image))
		known = check->ray ? check->ray->wheel_pythons : NULL;
	else if (image->images)
		known = image->images->pythons;
	if (python && known && !g_strv_contains((const char *const *)known, python))
		report_python(check, python, known);
}

/* ---- whether the image exists */

/* Ray's release is in the table, but the repository has no images of it. */
static void report_no_images(const RgCompatCheck *check)
{
	const char *repository = check->image.tag.repository,
		   *version = check->cluster->ray.version;
	const RgRayImages *newest = rg_compat_newest_images(check->compat, repository);
	RgDiag *diag = rg_diags_error(check->diags, "compat.no-image",
		"rayproject/%s has no images of Ray %s", repository, version);
	rg_diag_at(diag, image_source(check));
	if (newest && rg_version_compare_common(version, newest->to) > 0)
		rg_diag_detail(diag, "Ray %s was the last with images there", newest->to);
	rg_diag_hint(diag, "use rayproject/ray, and add your packages to it");
}

static void check_build(const RgCompatCheck *check)
{
	const RgRayTag *tag = &check->image.tag;
	const RgRayImages *images = check->image.images;
	bool deprecated = g_strcmp0(tag->build, "deprecated") == 0;
	if (images->deprecated == deprecated && !deprecated)
		return;
	RgDiag *diag = NULL;
	if (images->deprecated && (deprecated || tag->build)) {
		const RgRayImages *newest = rg_compat_newest_images(check->compat, tag->repository);
		diag = rg_diags_warning(check->diags, "compat.old-image",
			"rayproject/%s is not maintained, and its last images are of Ray %s%s",
			tag->repository, newest->to,
			deprecated ? "" : "; tags with a commit were deleted");
		rg_diag_hint(diag, "use rayproject/ray, and add your packages to it");
	} else {
		diag = rg_diags_error(check->diags, "compat.no-image",
			"rayproject/%s has no image \"%s\"", tag->repository, check->image.name);
		rg_diag_hint(diag, "the tags of this release begin with %s%s", tag->version,
			images->deprecated ? ".deprecated; better, use rayproject/ray" : "-");
	}
	rg_diag_at(diag, image_source(check));
}

static void report_no_platform(const RgCompatCheck *check, const char *what)
{
	const RgRayImages *images = check->image.images;
	g_autofree char *list = g_strjoinv(", ", images->cuda_tags);
	RgDiag *diag = rg_diags_error(check->diags, "compat.no-image",
		"rayproject/%s has no image of Ray %s for %s", images->repository,
		check->cluster->ray.version, what);
	rg_diag_at(diag, image_source(check));
	rg_diag_hint(diag, "use one of %s", list);
}

static void check_platform(const RgCompatCheck *check)
{
	const RgRayTag *tag = &check->image.tag;
	const RgRayImages *images = check->image.images;
	const char *platform = tag->platform;
	if (g_strcmp0(tag->arch, "aarch64") == 0 && !images->arm64) {
		RgDiag *diag = rg_diags_error(check->diags, "compat.no-image",
			"rayproject/%s has no images for arm64", images->repository);
		rg_diag_at(diag, image_source(check));
		rg_diag_hint(diag, "use rayproject/ray, or hosts with x86_64");
	}
	if (!platform || g_str_equal(platform, "tpu"))
		return;
	if (g_str_equal(platform, "gpu")) {
		RgDiag *diag = rg_diags_warning(check->diags, "compat.moving-tag",
			"ray.image's \"-gpu\" is a moving tag: %s in Ray %s", images->gpu_alias,
			check->cluster->ray.version);
		rg_diag_at(diag, image_source(check));
		rg_diag_hint(diag, "write -%s", images->gpu_alias);
	} else if (g_str_equal(platform, "cpu")) {
		if (!images->cpu)
			report_no_platform(check, "CPUs alone");
	} else if (!g_strv_contains((const char *const *)images->cuda_tags, platform)) {
		g_autofree char *quoted = g_strdup_printf("\"%s\"", platform);
		report_no_platform(check, quoted);
	}
}

void rg_compat_check_ray(const RgCompatCheck *check)
{
	check_version(check);
	check_python(check);
	if (check->image.images) {
		check_build(check);
		check_platform(check);
	} else if (is_rays_own(&check->image) &&
		   rg_compat_ray_state(check->compat, check->cluster->ray.version) ==
			   RG_RAY_LISTED) {
		report_no_images(check);
	}
}

/* ---- what the image contains */

void rg_compat_check_cpu_image(const RgCompatCheck *check)
{
	const char *platform = check->image.platform;
	if (!platform || (!g_str_equal(platform, "cpu") && !g_str_equal(platform, "tpu")))
		return;
	const RgRayImages *images = check->image.images;
	RgDiag *diag = rg_diags_warning(check->diags, "compat.cpu-image",
		"ray.image \"%s\" is Ray's image without CUDA, and the cluster has GPUs",
		check->image.name);
	rg_diag_at(diag, image_source(check));
	rg_diag_hint(diag,
		"Ray still counts the GPUs; use a tag such as -%s unless your packages include "
		"CUDA",
		images ? images->gpu_alias : "cu121");
}

/* "rayproject/ray:2.56.1-extra-py311-cu121": the same image with -extra. g_free. */
static char *extra_image(const RgRayTag *tag)
{
	GString *text = g_string_new(NULL);
	g_string_append_printf(text, "rayproject/%s:%s-extra", tag->repository, tag->version);
	g_auto(GStrv) python = tag->python ? g_strsplit(tag->python, ".", 2) : NULL;
	if (python)
		g_string_append_printf(text, "-py%s%s", python[0], python[1]);
	if (tag->platform)
		g_string_append_printf(text, "-%s", tag->platform);
	return g_string_free(text, FALSE);
}

/* The module's words say what Ray's own images contain; raygpu knows nothing about others. */
static void check_rdma_of(const RgCompatCheck *check, const RgWords *words, const RgShape *shape)
{
	const RgPool *pool = shape->pool;
	g_auto(RgCompatImage) image = {0};
	rg_compat_image_open(&image, check->compat,
		shape->ray_image ? shape->ray_image : check->image.name,
		check->cluster->ray.version);
	if (!pool->rdma || !is_rays_own(&image) || image.tag.is_extra)
		return;
	RgDiag *diag = rg_diags_warning(check->diags, "topology.rdma-image",
		"%s does not contain the libraries that use %s (%s): NCCL on pool %s falls back to "
		"TCP",
		image.name, words->fast_network, words->fast_network_libraries, pool->name);
	g_autofree char *extra = extra_image(&image.tag);
	rg_diag_at(diag, pool->rdma_source);
	rg_diag_hint(diag, "set ray.image to %s, which contains them, or to your own image", extra);
}

void rg_compat_check_rdma(const RgCompatCheck *check, const RgShapes *shapes)
{
	const RgWords *words = rg_catalog_words(shapes->catalog);
	for (guint i = 0; i < shapes->shapes->len && words->fast_network_libraries; i++)
		check_rdma_of(check, words, shapes->shapes->pdata[i]);
}
