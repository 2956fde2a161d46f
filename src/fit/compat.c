#include "fit/compat.h"
#include <string.h>
#include "base/version.h"
#include "catalog/compat.h"
#include "fit/internal.h"
#include "spec/ray_image.h"

/* ray start --labels: Ray's documentation, "Use labels to control scheduling", beta in 2.49. */
#define FIRST_WITH_LABELS "2.49.0"

typedef struct {
	const RgCluster *cluster;
	const RgCompat *compat;
	const RgRayRelease *ray;   /* NULL: newer than the table */
	const RgCudaRelease *cuda; /* NULL: the image has none, or its name does not say */
	const RgRayTag *tag;	   /* of Ray's own image; its fields are NULL otherwise */
	const json_t *facts;
	RgDiags *diags;
} Check;

static RgSource ray_source(const Check *check, const char *key)
{
	g_autofree char *pointer = g_strconcat("/ray/", key, NULL);
	return rg_cluster_source(check->cluster, pointer);
}

/* ---- the container image alone */

static void check_python(const Check *check)
{
	const RgRay *ray = &check->cluster->ray;
	const char *python = check->tag->python ? check->tag->python : ray->python;
	bool own = !check->tag->version;
	GStrv known = own ? check->ray->wheel_pythons : check->ray->image_pythons;
	if (!python || g_strv_contains((const char *const *)known, python))
		return;
	g_autofree char *list = g_strjoinv(", ", known);
	RgDiag *diag = rg_diags_error(check->diags, "compat.ray-python",
		own ? "Ray %s does not run on Python %s"
		    : "rayproject/ray has no image of Ray %s with Python %s",
		ray->version, python);
	rg_diag_at(diag, ray_source(check, ray->python ? "python" : "image"));
	rg_diag_hint(diag, "use one of %s%s", list, own ? "" : ", or your own image");
}

static void check_platform(const Check *check)
{
	const char *platform = check->tag->platform, *version = check->cluster->ray.version;
	if (!platform || g_str_equal(platform, "cpu"))
		return;
	if (g_str_equal(platform, "gpu")) {
		RgDiag *diag = rg_diags_warning(check->diags, "compat.moving-tag",
			"ray.image's \"-gpu\" is a moving tag: %s in "
			"Ray %s",
			check->ray->gpu_alias, version);
		rg_diag_at(diag, ray_source(check, "image"));
		rg_diag_hint(diag, "write -%s", check->ray->gpu_alias);
	} else if (!g_strv_contains((const char *const *)check->ray->cuda_tags, platform)) {
		g_autofree char *list = g_strjoinv(", ", check->ray->cuda_tags);
		RgDiag *diag = rg_diags_error(check->diags, "compat.no-image",
			"rayproject/ray has no image of Ray %s for \"%s\"", version, platform);
		rg_diag_at(diag, ray_source(check, "image"));
		rg_diag_hint(diag, "use one of %s", list);
	}
}

/* A tag without a platform is the CPU image: ray_image_tags of ray-project/ray. */
static void check_cpu_image(const Check *check, bool has_gpus)
{
	const RgRayTag *tag = check->tag;
	if (!has_gpus || !tag->version || (tag->platform && !g_str_equal(tag->platform, "cpu")))
		return;
	RgDiag *diag = rg_diags_warning(check->diags, "compat.cpu-image",
		"ray.image \"%s\" is Ray's image without CUDA, and the cluster has GPUs",
		check->cluster->ray.image);
	rg_diag_at(diag, ray_source(check, "image"));
	rg_diag_hint(diag, "Ray still counts the GPUs; use a tag such as -cu121 unless your "
			   "packages include CUDA");
}

static void check_labels(const Check *check)
{
	const RgCluster *cluster = check->cluster;
	if (rg_version_compare(cluster->ray.version, FIRST_WITH_LABELS) >= 0)
		return;
	for (guint i = 0; i < cluster->pools->len; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		if (json_object_size(pool->labels) == 0)
			continue;
		g_autofree char *pointer = rg_json_pointer_add(pool->origin, "labels");
		RgDiag *diag = rg_diags_warning(check->diags, "compat.ray-feature",
			"Ray %s has no node labels; they came with " FIRST_WITH_LABELS,
			cluster->ray.version);
		rg_diag_at(diag, rg_cluster_source(cluster, pointer));
		rg_diag_hint(diag,
			"pool %s gets none; use Ray " FIRST_WITH_LABELS
			" or later, or custom `resources`",
			pool->name);
	}
}

/* ---- image, GPU and driver of a pool */

static RgDiag *pool_error(const Check *check, const RgShape *shape, const char *code, char *summary)
{
	g_autofree char *text = summary;
	RgDiag *diag = rg_diags_error(check->diags, code, "%s", text);
	return rg_diag_at(diag, shape->pool->shape_source);
}

static RgDiag *pool_warning(
	const Check *check, const RgShape *shape, const char *code, char *summary)
{
	g_autofree char *text = summary;
	RgDiag *diag = rg_diags_warning(check->diags, code, "%s", text);
	return rg_diag_at(diag, shape->pool->shape_source);
}

/* Ray's tags without an architecture are x86_64 images; no tag covers both. */
static void check_host(const Check *check, const RgShape *shape)
{
	if (!check->tag->version)
		return;
	bool arm_host = !g_str_equal(shape->type->arch, "x86_64");
	bool arm_image = g_strcmp0(check->tag->arch, "aarch64") == 0;
	if (arm_host == arm_image)
		return;
	RgDiag *diag = pool_error(check, shape, "compat.host-arch",
		g_strdup_printf("%s is an %s host, and ray.image \"%s\" is for %s",
			shape->type->name, shape->type->arch, check->cluster->ray.image,
			arm_image ? "arm64" : "x86_64"));
	rg_diag_hint(diag, "all nodes run the same image: use hosts of one architecture, or your "
			   "own image built for both");
}

static void check_gpu(const Check *check, const RgShape *shape)
{
	const RgGpuModel *gpu = shape->type->gpu;
	const RgCudaArch *arch = rg_compat_arch(check->compat, gpu->compute_capability);
	/* a model of the project file may have an architecture that the table lacks */
	const RgCudaArch own = {
		.architecture = *gpu->architecture != '\0' ? gpu->architecture : "not built in",
		.first_cuda = gpu->min_cuda,
		.last_cuda = ""};
	if (!arch)
		arch = &own;
	if (!check->cuda)
		return;
	const char *cuda = check->cuda->cuda;
	if (*arch->last_cuda != '\0' && rg_version_compare(cuda, arch->last_cuda) > 0) {
		RgDiag *diag = pool_error(check, shape, "compat.gpu-dropped",
			g_strdup_printf(
				"CUDA %s of ray.image no longer supports the %s (%s); %s was "
				"the last",
				cuda, gpu->name, arch->architecture, arch->last_cuda));
		rg_diag_hint(diag, "use an image with CUDA %s or older, such as -cu121",
			arch->last_cuda);
	} else if (*arch->first_cuda != '\0' && rg_version_compare(cuda, arch->first_cuda) < 0) {
		RgDiag *diag = pool_warning(check, shape, "compat.gpu-too-new",
			g_strdup_printf(
				"CUDA %s of ray.image is older than the %s (%s), which requires %s",
				cuda, gpu->name, arch->architecture, arch->first_cuda));
		rg_diag_hint(diag,
			"code that is compiled only for older GPUs fails on it or starts slowly; "
			"use an image with CUDA %s or later",
			arch->first_cuda);
	}
}

static const json_t *image_of(const Check *check, const RgShape *shape)
{
	return json_object_get(json_object_get(check->facts, "images"), shape->image_key);
}

/* What the node image contains, from the spec or the module. */
static const char *find_driver(const Check *check, const RgShape *shape)
{
	const json_t *driver = json_object_get(image_of(check, shape), "driver");
	return shape->pool->driver ? shape->pool->driver : rg_json_str(driver, "version", NULL);
}

static void check_open_driver(const Check *check, const RgShape *shape)
{
	const json_t *image = image_of(check, shape), *driver = json_object_get(image, "driver");
	if (!g_str_equal(rg_json_str(driver, "modules", ""), "open") ||
		rg_fit_takes_open_driver(shape->type))
		return;
	RgDiag *diag = pool_error(check, shape, "compat.open-driver",
		g_strdup_printf("image \"%s\" has NVIDIA's open kernel modules, which do not "
				"support the %s",
			rg_json_str(image, "name", rg_json_str(image, "id", "")),
			shape->type->gpu->name));
	rg_diag_hint(diag, "they support Turing and later; remove `image`, or use one with the "
			   "proprietary modules");
}

static void check_driver_branch(const Check *check, const RgShape *shape, const char *driver)
{
	const RgGpuModel *gpu = shape->type->gpu;
	const RgCudaArch *arch = rg_compat_arch(check->compat, gpu->compute_capability);
	unsigned branch = (unsigned)g_ascii_strtoull(driver, NULL, 10);
	if (arch && arch->last_driver != 0 && branch > arch->last_driver) {
		RgDiag *diag = pool_error(check, shape, "compat.gpu-dropped",
			g_strdup_printf(
				"NVIDIA driver %s of the node image no longer supports the %s "
				"(%s); branch %u was the last",
				driver, gpu->name, arch->architecture, arch->last_driver));
		rg_diag_hint(diag, "use an `image` with a driver of branch %u", arch->last_driver);
	} else if (*gpu->min_driver != '\0' && rg_version_compare(driver, gpu->min_driver) < 0) {
		RgDiag *diag = pool_error(check, shape, "compat.driver-too-old",
			g_strdup_printf("NVIDIA driver %s of the node image is older than the %s, "
					"which needs %s",
				driver, gpu->name, gpu->min_driver));
		rg_diag_hint(diag, "use an `image` with driver %s or later", gpu->min_driver);
	}
}

static void check_driver_of_cuda(const Check *check, const RgShape *shape, const char *driver)
{
	const RgCudaRelease *cuda = check->cuda;
	if (!cuda || rg_version_compare(driver, cuda->min_driver) >= 0)
		return;
	if (rg_version_compare(driver, cuda->min_driver_minor) >= 0) {
		RgDiag *diag = pool_warning(check, shape, "compat.driver-too-old",
			g_strdup_printf("NVIDIA driver %s of the node image is older than CUDA %s "
					"of ray.image, which came with %s",
				driver, cuda->cuda, cuda->min_driver));
		rg_diag_hint(diag,
			"it works by NVIDIA's minor version compatibility, without PTX and new "
			"features; driver %s or later supports everything",
			cuda->min_driver);
		return;
	}
	RgDiag *diag = pool_error(check, shape, "compat.driver-too-old",
		g_strdup_printf("NVIDIA driver %s of the node image is too old for CUDA %s of "
				"ray.image, which needs %s",
			driver, cuda->cuda, cuda->min_driver_minor));
	rg_diag_hint(
		diag, "use a newer `image` for the nodes, or an older CUDA version in ray.image");
}

static void check_shape(const Check *check, const RgShape *shape)
{
	check_host(check, shape);
	if (!shape->type->gpu || shape->type->gpu->compute_capability == 0)
		return;
	check_gpu(check, shape);
	const char *driver = find_driver(check, shape);
	check_open_driver(check, shape);
	if (!driver)
		return;
	check_driver_branch(check, shape, driver);
	check_driver_of_cuda(check, shape, driver);
}

/* ---- all of it */

static bool has_gpus(const RgShapes *shapes)
{
	for (guint i = 0; i < shapes->shapes->len; i++) {
		if (((const RgShape *)shapes->shapes->pdata[i])->type->gpu)
			return true;
	}
	return false;
}

static void check_all(Check *check, const void *data)
{
	const RgShapes *shapes = data;
	if (check->ray) {
		check_python(check);
		check_platform(check);
	}
	check_cpu_image(check, has_gpus(shapes));
	check_labels(check);
	for (guint i = 0; i < shapes->shapes->len; i++)
		check_shape(check, shapes->shapes->pdata[i]);
}

/* `found` is empty. */
static bool with_check(const RgCluster *cluster, const json_t *facts, RgDiags *found,
	void (*work)(Check *check, const void *data), const void *data)
{
	g_autoptr(RgCompat) compat = rg_compat_open(found);
	g_auto(RgRayTag) tag = {0};
	rg_ray_tag_parse(cluster->ray.image, &tag);
	Check check = {
		.cluster = cluster, .compat = compat, .tag = &tag, .facts = facts, .diags = found};
	if (!compat)
		return false;
	check.ray = rg_compat_ray(compat, cluster->ray.version);
	const char *platform = tag.platform;
	if (g_strcmp0(platform, "gpu") == 0)
		platform = check.ray ? check.ray->gpu_alias : NULL;
	check.cuda = platform ? rg_compat_cuda(compat, platform) : NULL;
	work(&check, data);
	return !rg_diags_has_errors(found);
}

bool rg_fit_check_compat(
	const RgCluster *cluster, const RgShapes *shapes, const json_t *facts, RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	bool good = with_check(cluster, facts, found, check_all, shapes);
	rg_diags_take_all(diags, found);
	return good;
}

static void check_only(Check *check, const void *shape)
{
	check_shape(check, shape);
}

bool rg_fit_compat_admits(
	const RgCluster *cluster, const RgShape *shape, const json_t *facts, RgDiags *diags)
{
	return with_check(cluster, facts, diags, check_only, shape);
}
