#include <string.h>
#include "base/embedded.h"
#include "catalog/compat.h"

static RgCompat *compat;

static void test_ray(void)
{
	const RgRayRelease *ray = rg_compat_ray(compat, "2.52.0");
	g_assert_cmpstr(ray->release, ==, "2.52");
	g_assert_cmpstr(ray->patches[1], ==, "1");
	g_assert_true(g_strv_contains((const char *const *)ray->wheel_pythons, "3.13"));
	g_assert_null(rg_compat_ray(compat, "2.99.0"));
	g_assert_null(rg_compat_ray(compat, "2.6.3"));
	g_assert_cmpstr(rg_compat_ray_date(compat), >=, "2026-11-28");
}

static void test_ray_states(void)
{
	static const struct {
		const char *version;
		RgRayState state;
		const char *near;
	} cases[] = {
		{"2.52.1", RG_RAY_LISTED, NULL},
		{"2.52.9", RG_RAY_MISSING, "2.52.1 and 2.53.0"},
		{"2.15.0", RG_RAY_MISSING, "2.12.0 and 2.20.0"},
		{"2.7.3", RG_RAY_MISSING, "2.7.2 and 2.8.0"},
		{"2.58.1", RG_RAY_LISTED, NULL},
		{"2.60.4", RG_RAY_UNKNOWN, NULL},
		{"2.59.1", RG_RAY_UNKNOWN, NULL}, /* may have come since */
		{"2.99.0", RG_RAY_UNKNOWN, "2.60.0"},
		{"2.6.3", RG_RAY_UNKNOWN, "2.7.0"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_cmpint(rg_compat_ray_state(compat, cases[i].version), ==, cases[i].state);
		g_autofree char *near = rg_compat_ray_near(compat, cases[i].version);
		if (cases[i].near)
			g_assert_cmpstr(near, ==, cases[i].near);
	}
}

static bool has_platform(const char *repository, const char *version, const char *platform)
{
	const RgRayImages *images = rg_compat_images(compat, repository, version);
	return images && g_strv_contains((const char *const *)images->cuda_tags, platform);
}

/* Sources: the rows of ray_images.csv. */
static void test_images(void)
{
	g_assert_true(has_platform("ray", "2.53.0", "cu129"));
	g_assert_false(has_platform("ray", "2.52.1", "cu129"));
	g_assert_false(has_platform("ray", "2.56.1", "cu130"));
	g_assert_true(has_platform("ray", "2.57.0", "cu130"));
	g_assert_true(has_platform("ray-llm", "2.56.0", "cu130"));
	g_assert_false(has_platform("ray-llm", "2.52.0", "cu121"));
	g_assert_null(rg_compat_images(compat, "ray-ml", "2.50.0"));
	g_assert_null(rg_compat_images(compat, "ray-cpp", "2.52.0"));
	g_assert_cmpstr(rg_compat_newest_images(compat, "ray-ml")->to, ==, "2.49");
	g_assert_null(rg_compat_newest_images(compat, "ray-cpp"));
	g_assert_cmpstr(rg_compat_images(compat, "ray", "2.9.3")->gpu_alias, ==, "cu118");
	g_assert_cmpstr(rg_compat_images(compat, "ray-llm", "2.58.0")->bare, ==, "gpu");
	const RgRayImages *images = rg_compat_images(compat, "ray", "2.52.0");
	g_assert_cmpstr(rg_compat_platform_from(compat, images, "12.8")->tag, ==, "cu128");
	g_assert_cmpstr(rg_compat_platform_until(compat, images, "12.0")->tag, ==, "cu118");
	g_assert_null(rg_compat_platform_from(compat, images, "12.9"));
	g_assert_null(rg_compat_platform_until(compat, images, "11.0"));
}

static void test_options(void)
{
	g_assert_true(rg_compat_has_option(compat, "train", "label_selector", "2.53.0"));
	g_assert_false(rg_compat_has_option(compat, "train", "label_selector", "2.52.1"));
	g_assert_true(rg_compat_has_option(compat, "train", "trainer_resources", "2.50.1"));
	g_assert_false(rg_compat_has_option(compat, "train", "trainer_resources", "2.51.0"));
	g_assert_true(rg_compat_has_option(compat, "serve", "num_replicas", "2.99.0"));
	g_assert_false(rg_compat_has_option(compat, "serve", "label_selector", "2.58.0"));
	g_assert_cmpstr(rg_compat_option_from(compat, "serve_actor", "label_selector"), ==, "2.54");
	g_assert_null(rg_compat_option_from(compat, "core", "label_selector"));
}

static void test_cuda(void)
{
	const RgCudaRelease *cuda = rg_compat_cuda(compat, "cu121");
	g_assert_cmpstr(cuda->cuda, ==, "12.1");
	g_assert_cmpstr(cuda->min_driver, ==, "530.30.02");
	g_assert_cmpstr(cuda->min_driver_minor, ==, "525.60.13");
	g_assert_null(rg_compat_cuda(compat, "cu999"));
	g_assert_cmpuint(rg_compat_arch(compat, 70)->last_driver, ==, 580);
	g_assert_cmpstr(rg_compat_arch(compat, 80)->last_cuda, ==, "");
	g_assert_null(rg_compat_arch(compat, 71));
}

static const char *one_bad_file(void *data, const char *name, size_t *len)
{
	const char *const *file = data;
	extern const struct rg_embedded rg_catalog_data[];
	if (!g_str_equal(name, file[0]))
		return rg_catalog_embedded_text((void *)(uintptr_t)rg_catalog_data, name, len);
	*len = strlen(file[1]);
	return file[1];
}

#define RELEASES "release,patches,wheel_pythons,checked\n"
#define IMAGES "repository,from,to,pythons,cuda_tags,gpu_alias,cpu,bare,arm64,tags\n"

static void test_broken_files_are_refused(void)
{
	static const char *const cases[][2] = {
		{"ray_releases.csv", "release,patches\n2.7,0\n"},
		{"ray_releases.csv", RELEASES "2.8,0,3.9,2026-10-01\n2.7,0,3.9,2026-10-01\n"},
		{"ray_releases.csv", RELEASES "2.8,0|x,3.9,2026-10-01\n"},
		{"ray_releases.csv", RELEASES "2.8,,3.9,2026-10-01\n"},
		{"ray_releases.csv", RELEASES "2.8,0,3.9,October\n"},
		{"ray_images.csv", IMAGES "ray,2.9,2.8,3.9,cu121,cu121,yes,cpu,yes,plain\n"},
		{"ray_images.csv", IMAGES "ray,2.7,2.8,3.9,cu121,cu118,yes,cpu,yes,plain\n"},
		{"ray_images.csv", IMAGES "ray,2.7,2.8,3.9,cu121,cu121,yes,tpu,yes,plain\n"},
		{"ray_images.csv", IMAGES "ray,2.7,2.8,3.9,cu121,cu121,yes,cpu,yes,old\n"},
		{"ray_images.csv", IMAGES "ray,2.7,2.8,3.9,cu121,cu121,yes,cpu,yes,plain\n"
					  "ray,2.8,2.9,3.9,cu121,cu121,yes,cpu,yes,plain\n"},
		{"ray_options.csv", "api,option,from,to\ntrain,x,2.7,\ntrain,x,2.8,\n"},
		{"cuda_releases.csv", "tag,cuda,min_driver,min_driver_minor\ncu121,NaN,530,525\n"},
		{"cuda_releases.csv",
			"tag,cuda,min_driver,min_driver_minor\ncu1,1,1,1\ncu1,1,1,1\n"},
		{"cuda_archs.csv",
			"compute_capability,architecture,first_cuda,last_cuda,last_driver_branch\n"
			"seven,Volta,9.0,12.9,580\n"},
		{"cuda_archs.csv",
			"compute_capability,architecture,first_cuda,last_cuda,last_driver_branch\n"
			"7.0,Volta,9.0,12.9,-1\n"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_null(
			rg_compat_open_with(one_bad_file, (void *)(uintptr_t)cases[i], diags));
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_assert_cmpstr(diag->code, ==, "catalog.bad-data");
		g_assert_cmpstr(diag->source.file, ==, cases[i][0]);
		g_assert_cmpuint(diag->source.line, >=, 1);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	compat = rg_compat_open(diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("%s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(compat);
	g_test_add_func("/catalog/compat/ray", test_ray);
	g_test_add_func("/catalog/compat/ray-states", test_ray_states);
	g_test_add_func("/catalog/compat/images", test_images);
	g_test_add_func("/catalog/compat/options", test_options);
	g_test_add_func("/catalog/compat/cuda", test_cuda);
	g_test_add_func("/catalog/compat/broken-files", test_broken_files_are_refused);
	int result = g_test_run();
	rg_compat_free(compat);
	return result;
}
