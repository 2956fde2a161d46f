#include <string.h>
#include "base/embedded.h"
#include "catalog/compat.h"

static RgCompat *compat;

static void test_ray(void)
{
	const RgRayRelease *ray = rg_compat_ray(compat, "2.52.0");
	g_assert_cmpstr(ray->from, ==, "2.52");
	g_assert_cmpstr(ray->gpu_alias, ==, "cu121");
	g_assert_true(g_strv_contains((const char *const *)ray->cuda_tags, "cu129"));
	g_assert_false(g_strv_contains((const char *const *)ray->cuda_tags, "cu130"));
	ray = rg_compat_ray(compat, "2.50.1");
	g_assert_true(g_strv_contains((const char *const *)ray->wheel_pythons, "3.13"));
	g_assert_false(g_strv_contains((const char *const *)ray->image_pythons, "3.13"));
	g_assert_cmpstr(rg_compat_ray(compat, "2.9.3")->from, ==, "2.8");
	g_assert_null(rg_compat_ray(compat, "2.99.0"));
	g_assert_null(rg_compat_ray(compat, "2.6.3"));
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

static void test_broken_files_are_refused(void)
{
	static const char *const cases[][2] = {
		{"ray_releases.csv", "from,to\n2.7,2.8\n"},
		{"ray_releases.csv", "from,to,image_pythons,wheel_pythons,cuda_tags,gpu_alias\n"
				     "2.9,2.8,3.9,3.9,cu121,cu121\n"},
		{"ray_releases.csv", "from,to,image_pythons,wheel_pythons,cuda_tags,gpu_alias\n"
				     "2.7,2.8,3.9,3.9,cu121,cu118\n"},
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
	g_test_add_func("/catalog/compat/cuda", test_cuda);
	g_test_add_func("/catalog/compat/broken-files", test_broken_files_are_refused);
	int result = g_test_run();
	rg_compat_free(compat);
	return result;
}
