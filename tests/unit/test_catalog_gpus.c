#include "catalog/gpus.h"

static RgGpus *open_gpus(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgGpus *gpus = rg_gpus_open(diags);
	g_assert_nonnull(gpus);
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
	return gpus;
}

/* Copied from NVIDIA's data sheets of the boards, not from the table. */
static void test_figures(void)
{
	static const struct {
		const char *name, *ray, *architecture;
		unsigned memory, capability, mig;
		double bandwidth, power, nvlink;
		const char *driver, *cuda;
		unsigned last_cuda;
	} rows[] = {
		{"A100-40GB", "A100", "Ampere", 40, 80, 7, 1555, 400, 600, "450.36.06", "11.0", 13},
		{"A100-80GB", "A100", "Ampere", 80, 80, 7, 2039, 400, 600, "450.80.02", "11.0", 13},
		{"A100-80GB-PCIe", "A100", "Ampere", 80, 80, 7, 1935, 300, 600, "450.80.02", "11.0",
			13},
		{"V100-16GB", "V100", "Volta", 16, 70, 0, 900, 300, 300, "384.81", "9.0", 12},
		{"V100-32GB", "V100", "Volta", 32, 70, 0, 900, 300, 300, "384.81", "9.0", 12},
		{"T4", "T4", "Turing", 16, 75, 0, 320, 70, 0, "410.48", "10.0", 13},
		{"A10G", "A10G", "Ampere", 24, 86, 0, 600, 300, 0, "455.23", "11.1", 13},
		{"A30", "A30", "Ampere", 24, 80, 4, 933, 165, 200, "450.36.06", "11.0", 13},
		{"L4", "L4", "Ada Lovelace", 24, 89, 0, 300, 72, 0, "520.61.05", "11.8", 13},
		{"L40S", "L40S", "Ada Lovelace", 48, 89, 0, 864, 350, 0, "520.61.05", "11.8", 13},
		{"H100-80GB", "H100", "Hopper", 80, 90, 7, 3350, 700, 900, "520.61.05", "11.8", 13},
		{"H200-141GB", "H200", "Hopper", 141, 90, 7, 4800, 700, 900, "535.161.07", "11.8",
			13},
		{"B200-180GB", "B200", "Blackwell", 180, 100, 7, 8000, 1000, 1800, "570.133.20",
			"12.8", 13},
		{"K80", "K80", "Kepler", 12, 37, 0, 240, 150, 0, "346.46", "5.5", 11},
	};
	g_autoptr(RgGpus) gpus = open_gpus();
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_test_message("%s", rows[i].name);
		const RgGpuModel *model = rg_gpus_find(gpus, rows[i].name);
		g_assert_nonnull(model);
		g_assert_cmpstr(model->vendor, ==, "NVIDIA");
		g_assert_cmpstr(model->ray_type, ==, rows[i].ray);
		g_assert_cmpstr(model->architecture, ==, rows[i].architecture);
		g_assert_cmpuint(model->memory_gb, ==, rows[i].memory);
		g_assert_cmpuint(model->compute_capability, ==, rows[i].capability);
		g_assert_cmpuint(model->mig_instances, ==, rows[i].mig);
		g_assert_cmpfloat(model->bandwidth_gb_s, ==, rows[i].bandwidth);
		g_assert_cmpfloat(model->power_w, ==, rows[i].power);
		g_assert_cmpfloat(model->nvlink_gb_s, ==, rows[i].nvlink);
		g_assert_cmpstr(model->min_driver, ==, rows[i].driver);
		g_assert_cmpstr(model->min_cuda, ==, rows[i].cuda);
		g_assert_cmpuint(model->last_cuda_major, ==, rows[i].last_cuda);
	}
}

static bool means(const RgGpus *gpus, const char *word, const char *name)
{
	const RgGpuModel *model = rg_gpus_find(gpus, name);
	g_assert_nonnull(model);
	return rg_gpus_is_model(gpus, word, model);
}

static void test_words(void)
{
	g_autoptr(RgGpus) gpus = open_gpus();
	g_assert_true(means(gpus, "A100", "A100-40GB"));
	g_assert_true(means(gpus, "a100", "A100-40GB"));
	g_assert_true(means(gpus, "nvidia-tesla-a100", "A100-40GB"));
	g_assert_false(means(gpus, "A100", "A100-80GB"));
	g_assert_true(means(gpus, "A100-80GB", "A100-80GB"));
	g_assert_true(means(gpus, "A100-80GB", "A100-80GB-PCIe"));
	g_assert_false(means(gpus, "A100-80GB-SXM", "A100-80GB-PCIe"));
	g_assert_true(means(gpus, "V100", "V100-16GB"));
	g_assert_true(means(gpus, "V100", "V100-16GB-PCIe"));
	g_assert_false(means(gpus, "V100", "V100-32GB"));
	g_assert_true(means(gpus, "nvidia-tesla-t4", "T4"));
	g_assert_null(rg_gpus_named(gpus, "A1000"));
	g_assert_null(rg_gpus_named(gpus, ""));
	g_assert_null(rg_gpus_named(gpus, "|"));
}

/* A model that Ray cannot run on cannot be requested; its figures exist nevertheless. */
static void test_other_vendors(void)
{
	g_autoptr(RgGpus) gpus = open_gpus();
	const GPtrArray *all = rg_gpus_get_all(gpus);
	unsigned others = 0;
	for (guint i = 0; i < all->len; i++) {
		const RgGpuModel *model = all->pdata[i];
		bool nvidia = g_str_equal(model->vendor, "NVIDIA");
		others += !nvidia;
		g_assert_true(rg_gpus_find(gpus, model->name) == model);
		g_assert_cmpint(nvidia, ==, rg_gpus_is_model(gpus, model->name, model));
		g_assert_cmpint(nvidia, ==, model->compute_capability > 0);
		g_assert_cmpint(nvidia, ==, model->ray_type[0] != '\0');
		g_assert_cmpuint(model->memory_gb, >, 0);
		g_assert_cmpuint(model->memory_mib, >, 0);
	}
	g_assert_cmpuint(others, ==, 6);
}

static void test_precisions(void)
{
	g_autoptr(RgGpus) gpus = open_gpus();
	g_assert_true(rg_gpu_has_precision(rg_gpus_find(gpus, "A100-40GB"), "bf16"));
	g_assert_false(rg_gpu_has_precision(rg_gpus_find(gpus, "A100-40GB"), "fp8"));
	g_assert_false(rg_gpu_has_precision(rg_gpus_find(gpus, "A100-40GB"), "bf1"));
	g_assert_true(rg_gpu_has_precision(rg_gpus_find(gpus, "H100-80GB"), "fp8"));
	g_assert_false(rg_gpu_has_precision(rg_gpus_find(gpus, "V100-16GB"), "bf16"));
	g_assert_false(rg_gpu_has_precision(rg_gpus_find(gpus, "P100"), ""));
}

static void test_capability(void)
{
	static const char *const bad[] = {
		"", "8", "8.", ".0", "8.00", "-8.0", " 8.0", "8.0 ", "8,0", "9999.0", "gfx942"};
	unsigned tenths = 7;
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(rg_gpu_parse_capability(bad[i], &tenths));
	g_assert_cmpuint(tenths, ==, 7);
	g_assert_true(rg_gpu_parse_capability("12.0", &tenths));
	g_assert_cmpuint(tenths, ==, 120);
	g_assert_true(rg_gpu_parse_capability("8.6", &tenths));
	g_assert_cmpuint(tenths, ==, 86);
}

int main(int argc, char *argv[])
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gpus/figures", test_figures);
	g_test_add_func("/gpus/words", test_words);
	g_test_add_func("/gpus/other-vendors", test_other_vendors);
	g_test_add_func("/gpus/precisions", test_precisions);
	g_test_add_func("/gpus/capability", test_capability);
	return g_test_run();
}
