/* Which images a shape's nodes need: that of the node, by its GPU's driver, and the container's. */
#include "base/version.h"
#include "fit/internal.h"
#include "spec/ray_image.h"

bool rg_fit_takes_open_driver(const RgInstanceType *type)
{
	return !type->gpu || type->gpu->compute_capability >= 75;
}

bool rg_fit_needs_open_driver(const RgInstanceType *type)
{
	unsigned capability = type->gpu ? type->gpu->compute_capability : 0;
	return capability >= 100 || (capability >= 90 && g_str_equal(type->arch, "arm64"));
}

/* The default image with a CUDA that knows the GPU, or else the newest CUDA. All nodes still run
 * the same Ray and Python. */
static char *newer_image(const RgShapes *shapes, const RgInstanceType *type)
{
	const RgRay *ray = &shapes->cluster->ray;
	if (!ray->is_default || !type->gpu ||
		rg_version_compare(type->gpu->min_cuda, RG_RAY_IMAGE_CUDA) <= 0)
		return NULL;
	const RgRayImages *images = rg_compat_images(shapes->compat, "ray", ray->version);
	if (!images) /* newer than the table: what there is tends to stay */
		images = rg_compat_newest_images(shapes->compat, "ray");
	if (!images)
		return NULL;
	const RgCudaRelease *cuda =
		rg_compat_platform_from(shapes->compat, images, type->gpu->min_cuda);
	if (!cuda) /* the newest there is knows at least its predecessors */
		cuda = rg_compat_platform_until(shapes->compat, images, type->gpu->min_cuda);
	return cuda ? rg_ray_image_for_platform(ray->image, cuda->tag) : NULL;
}

void rg_fit_choose_images(const RgShapes *shapes, RgShape *shape)
{
	shape->image_key = shape->pool->image			   ? shape->pool->image
			   : rg_fit_takes_open_driver(shape->type) ? RG_FIT_DEFAULT_IMAGE
								   : RG_FIT_OLD_GPU_IMAGE;
	shape->ray_image = newer_image(shapes, shape->type);
}
