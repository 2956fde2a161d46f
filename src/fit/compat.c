/* The nodes of each pool: host, GPU, driver, and what Ray can make of them. */
#include "fit/compat_internal.h"
#include <string.h>
#include "base/version.h"

static void check_node_labels(const RgCompatCheck *check)
{
	const RgCluster *cluster = check->cluster;
	if (rg_compat_has_option(check->compat, "node", "labels", cluster->ray.version))
		return;
	const char *from = rg_compat_option_from(check->compat, "node", "labels");
	rg_ptr_foreach (const RgPool, pool, cluster->pools) {
		if (json_object_size(pool->labels) == 0)
			continue;
		g_autofree char *pointer = rg_json_pointer_add(pool->origin, "labels");
		RgDiag *diag = rg_diags_warning(check->diags, "compat.ray-feature",
			"Ray %s has no node labels; they came with %s", cluster->ray.version, from);
		rg_diag_at(diag, rg_cluster_source(cluster, pointer));
		rg_diag_hint(diag, "pool %s gets none; use Ray %s or later, or custom `resources`",
			pool->name, from);
	}
}

/* Before it had a token check of its own, Ray's dashboard agent on each node ran the jobs of anyone
 * (its port: src/boot/README.md). */
static void check_agent(const RgCompatCheck *check)
{
	const RgRay *ray = &check->cluster->ray;
	if (!ray->auth_token || rg_compat_has_option(check->compat, "agent", "token", ray->version))
		return;
	const char *from = rg_compat_option_from(check->compat, "agent", "token");
	RgDiag *diag = rg_diags_warning(check->diags, "compat.open-agent",
		"Ray %s runs jobs without the token for anyone who reaches port 52365 of a "
		"node",
		ray->version);
	rg_diag_at(diag, rg_cluster_source(check->cluster, "/ray/version"));
	rg_diag_hint(diag, "use Ray %s.0 or later, which requires the token there too", from);
}

/* ---- image, GPU and driver of a pool */

static RgDiag *pool_error(
	const RgCompatCheck *check, const RgShape *shape, const char *code, char *summary)
{
	g_autofree char *text = summary;
	RgDiag *diag = rg_diags_error(check->diags, code, "%s", text);
	return rg_diag_at(diag, shape->pool->shape_source);
}

static RgDiag *pool_warning(
	const RgCompatCheck *check, const RgShape *shape, const char *code, char *summary)
{
	g_autofree char *text = summary;
	RgDiag *diag = rg_diags_warning(check->diags, code, "%s", text);
	return rg_diag_at(diag, shape->pool->shape_source);
}

/* Ray's tags without an architecture are x86_64 images; no tag covers both. */
static void check_host(const RgCompatCheck *check, const RgShape *shape, const RgCompatImage *image)
{
	if (!image->tag.version)
		return;
	bool arm_host = !g_str_equal(shape->type->arch, "x86_64");
	bool arm_image = g_strcmp0(image->tag.arch, "aarch64") == 0;
	if (arm_host == arm_image)
		return;
	RgDiag *diag = pool_error(check, shape, "compat.host-arch",
		g_strdup_printf("%s is an %s host, and ray.image \"%s\" is for %s",
			shape->type->name, shape->type->arch, image->name,
			arm_image ? "arm64" : "x86_64"));
	rg_diag_hint(diag, "all nodes run the same image: use hosts of one architecture, or your "
			   "own image built for both");
}

/* ", such as -cu128"; empty if Ray's release has no such image. g_free. */
static char *example_of(const RgCudaRelease *cuda)
{
	return cuda ? g_strdup_printf(", such as -%s", cuda->tag) : g_strdup("");
}

static void report_too_new(const RgCompatCheck *check, const RgShape *shape,
	const RgCompatImage *image, const RgCudaArch *arch)
{
	const RgCudaRelease *newer = image->images ? rg_compat_platform_from(check->compat,
							     image->images, arch->first_cuda)
						   : NULL;
	g_autofree char *example = example_of(newer);
	RgDiag *diag = pool_warning(check, shape, "compat.gpu-too-new",
		g_strdup_printf("CUDA %s of %s is older than the %s (%s), which requires %s",
			image->cuda->cuda, image->name, shape->type->gpu->name, arch->architecture,
			arch->first_cuda));
	rg_diag_hint(diag,
		"code that is compiled only for older GPUs fails on it or starts slowly; use an "
		"image with CUDA %s or later%s%s",
		arch->first_cuda, example,
		image->images && !newer ? ", which this release of Ray does not have" : "");
}

static void check_gpu(const RgCompatCheck *check, const RgShape *shape, const RgCompatImage *image)
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
	if (!image->cuda)
		return;
	const char *cuda = image->cuda->cuda;
	if (*arch->last_cuda != '\0' && rg_version_compare(cuda, arch->last_cuda) > 0) {
		RgDiag *diag = pool_error(check, shape, "compat.gpu-dropped",
			g_strdup_printf(
				"CUDA %s of ray.image no longer supports the %s (%s); %s was "
				"the last",
				cuda, gpu->name, arch->architecture, arch->last_cuda));
		g_autofree char *example =
			example_of(image->images ? rg_compat_platform_until(check->compat,
							   image->images, arch->last_cuda)
						 : NULL);
		rg_diag_hint(
			diag, "use an image with CUDA %s or older%s", arch->last_cuda, example);
	} else if (*arch->first_cuda != '\0' && rg_version_compare(cuda, arch->first_cuda) < 0) {
		report_too_new(check, shape, image, arch);
	}
}

static const json_t *node_image_of(const RgCompatCheck *check, const RgShape *shape)
{
	return json_object_get(json_object_get(check->facts, "images"), shape->image_key);
}

/* What the node image contains, from the spec or the module. */
static const char *find_driver(const RgCompatCheck *check, const RgShape *shape)
{
	const json_t *driver = json_object_get(node_image_of(check, shape), "driver");
	return shape->pool->driver ? shape->pool->driver : rg_json_str(driver, "version", NULL);
}

/* What the spec's name of the image says about its kernel modules. */
static const char *modules_of_name(const RgCompatCheck *check, const RgShape *shape)
{
	rg_json_foreach (form, json_object_get(check->image_rules, "modules")) {
		if (shape->pool->image && g_regex_match_simple(rg_json_str(form, "pattern", "^$"),
						  shape->pool->image, G_REGEX_DOLLAR_ENDONLY, 0))
			return rg_json_str(form, "modules", "");
	}
	return "";
}

static void check_modules(const RgCompatCheck *check, const RgShape *shape)
{
	const json_t *image = node_image_of(check, shape),
		     *driver = json_object_get(image, "driver");
	const char *modules = rg_json_str(driver, "modules", modules_of_name(check, shape));
	const char *name = rg_json_str(image, "name", rg_json_str(image, "id", shape->image_key));
	const char *gpu = shape->type->gpu->name;
	if (g_str_equal(modules, "open") && !rg_fit_takes_open_driver(shape->type)) {
		RgDiag *diag = pool_error(check, shape, "compat.open-driver",
			g_strdup_printf("image \"%s\" has NVIDIA's open kernel modules, which do "
					"not support the %s",
				name, gpu));
		rg_diag_hint(diag, "they support Turing and later; use an image with the "
				   "proprietary modules");
	} else if (g_str_equal(modules, "proprietary") && rg_fit_needs_open_driver(shape->type)) {
		RgDiag *diag = pool_error(check, shape, "compat.proprietary-driver",
			g_strdup_printf("image \"%s\" has NVIDIA's proprietary kernel modules, "
					"which do not support the %s",
				name, gpu));
		rg_diag_hint(diag,
			"Grace Hopper, Blackwell and later need the open modules; remove "
			"`image`, or use one with them");
	}
}

static void check_driver_branch(
	const RgCompatCheck *check, const RgShape *shape, const char *driver)
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

static void check_driver_of_cuda(const RgCompatCheck *check, const RgShape *shape,
	const RgCudaRelease *cuda, const char *driver)
{
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

static void check_driver_of_mig(
	const RgCompatCheck *check, const RgShape *shape, const char *driver)
{
	const RgGpuModel *gpu = shape->type->gpu;
	if (!shape->slices || *gpu->mig_min_driver == '\0' ||
		rg_version_compare(driver, gpu->mig_min_driver) >= 0)
		return;
	RgDiag *diag = pool_error(check, shape, "compat.driver-too-old",
		g_strdup_printf("NVIDIA driver %s of the node image is too old for MIG on the %s, "
				"which needs %s",
			driver, gpu->name, gpu->mig_min_driver));
	rg_diag_hint(diag, "use an `image` with driver %s or later, or remove share.mig",
		gpu->mig_min_driver);
}

/* Ray assigns GPUs by number and knows nothing of their size. */
static void check_slices(const RgCompatCheck *check, const RgShape *shape)
{
	g_autofree char *word = rg_fit_slice_word(shape);
	if (g_strcmp0(word, "mixed") != 0)
		return;
	RgDiag *diag = rg_diags_warning(check->diags, "compat.mixed-slices",
		"Ray cannot choose between the MIG slices of pool %s: each is one GPU to it",
		shape->pool->name);
	rg_diag_at(diag, shape->pool->share.source);
	rg_diag_hint(diag, "use one pool for each profile; workloads choose a pool by its labels");
}

/* Ray ends where its object store is larger than the memory, and kills tasks where both are. */
static void check_memory(const RgCompatCheck *check, const RgShape *shape)
{
	const json_t *said = shape->pool->ray_start;
	int64_t both = rg_json_int(said, "memory", 0) + rg_json_int(said, "object_store_memory", 0);
	double gib = shape->type->memory_gib;
	if (gib <= 0 || (double)(both >> 30) <= gib)
		return;
	RgDiag *diag = pool_error(check, shape, "compat.ray-memory",
		g_strdup_printf("ray_start gives Ray %" G_GINT64_FORMAT
				" GiB of memory; %s has %g GiB",
			both >> 30, shape->type->name, gib));
	rg_diag_hint(diag, "lower memory or object_store_memory, or remove one: Ray chooses it");
}

static void check_shape(const RgCompatCheck *check, const RgShape *shape)
{
	g_auto(RgCompatImage) newer = {0};
	const RgCompatImage *image = &check->image;
	if (shape->ray_image) {
		rg_compat_image_open(
			&newer, check->compat, shape->ray_image, check->cluster->ray.version);
		image = &newer;
	}
	check_memory(check, shape);
	check_host(check, shape, image);
	check_slices(check, shape);
	if (!shape->type->gpu || shape->type->gpu->compute_capability == 0)
		return;
	check_gpu(check, shape, image);
	const char *driver = find_driver(check, shape);
	check_modules(check, shape);
	if (!driver)
		return;
	check_driver_branch(check, shape, driver);
	check_driver_of_cuda(check, shape, image->cuda, driver);
	check_driver_of_mig(check, shape, driver);
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

static void check_all(const RgCompatCheck *check, const RgShapes *shapes)
{
	rg_compat_check_ray(check);
	if (has_gpus(shapes))
		rg_compat_check_cpu_image(check);
	check_node_labels(check);
	check_agent(check);
	for (guint i = 0; i < shapes->shapes->len; i++)
		check_shape(check, shapes->shapes->pdata[i]);
	rg_compat_check_rdma(check, shapes);
}

/* `only` NULL: all of the cluster. `found` is empty. */
static bool run_checks(const RgCluster *cluster, const RgShapes *shapes, const RgShape *only,
	const json_t *facts, RgDiags *found)
{
	RgCompatCheck check = {.cluster = cluster,
		.compat = shapes->compat,
		.ray = rg_compat_ray(shapes->compat, cluster->ray.version),
		.facts = facts,
		.image_rules = shapes->image,
		.diags = found};
	rg_compat_image_open(&check.image, check.compat, cluster->ray.image, cluster->ray.version);
	if (only)
		check_shape(&check, only);
	else
		check_all(&check, shapes);
	rg_compat_image_clear(&check.image);
	return !rg_diags_has_errors(found);
}

bool rg_fit_check_compat(
	const RgCluster *cluster, const RgShapes *shapes, const json_t *facts, RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	bool good = run_checks(cluster, shapes, NULL, facts, found);
	rg_diags_take_all(diags, found);
	return good;
}

bool rg_fit_compat_admits(const RgCluster *cluster, const RgShapes *shapes, const RgShape *shape,
	const json_t *facts, RgDiags *diags)
{
	return run_checks(cluster, shapes, shape, facts, diags);
}
