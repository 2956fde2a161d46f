#include "catalog/carbon.h"
#include <string.h>

typedef struct {
	const char *name, *text;
} File;

static const char good_grid[] = "provider,region,year,g_co2e_per_kwh,source\nx,r,2024,100,s\n";
static const char good_gpu[] = "gpu_model,idle_watts,full_watts\nT4,8,71\n";
static const char good_host[] =
	"provider,vcpu_idle_watts,vcpu_full_watts,memory_watts_per_gb,pue\nx,1,3,0.5,1.2\n";

static const char *file_text(void *data, const char *name, size_t *len)
{
	const File *override = data;
	const char *text = g_str_equal(name, override->name)	     ? override->text
			   : g_str_equal(name, "grid_intensity.csv") ? good_grid
			   : g_str_equal(name, "gpu_power.csv")	     ? good_gpu
								     : good_host;
	*len = text ? strlen(text) : 0;
	return text;
}

static RgCarbon *open_own(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgCarbon *carbon = rg_carbon_open(diags);
	g_assert_nonnull(carbon);
	return carbon;
}

/* Computed manually with data/CARBON.md's formula: a node's watts from its model's and host's
 * rows. */
static void test_figures(void)
{
	static const RgGpuModel a100 = {.name = "A100-40GB"}, v100 = {.name = "V100-16GB"},
				t4 = {.name = "T4"};
	static const struct {
		const char *provider, *region;
		RgInstanceType type;
		int64_t mg;
	} rows[] = {
		/* (8 x 226.5 + 96 x 2.12 + 1152 x 0.392) x 1.135 x 379.07 */
		{"aws", "us-east-1",
			{.gpu = &a100,
				.gpus = 8,
				.gpu_fraction = 1,
				.vcpus = 96,
				.memory_gib = 1152},
			1061458},
		{"aws", "us-east-1",
			{.gpu = &v100,
				.gpus = 4,
				.gpu_fraction = 1,
				.vcpus = 32,
				.memory_gib = 244},
			363767},
		{"aws", "us-east-1",
			{.gpu = &t4, .gpus = 1, .gpu_fraction = 1, .vcpus = 4, .memory_gib = 16},
			23342},
		{"aws", "us-east-1", {.vcpus = 4, .memory_gib = 16}, 6347},
		/* GCP's own PUE, vCPU and grid of 2024 */
		{"gcp", "us-central1",
			{.gpu = &a100,
				.gpus = 8,
				.gpu_fraction = 1,
				.vcpus = 96,
				.memory_gib = 680},
			1048031},
		{"azure", "westeurope",
			{.gpu = &a100,
				.gpus = 8,
				.gpu_fraction = 1,
				.vcpus = 96,
				.memory_gib = 900},
			922388},
	};
	g_autoptr(RgCarbon) carbon = open_own();
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		RgCarbonHour hour =
			rg_carbon_hour(carbon, rows[i].provider, &rows[i].type, rows[i].region);
		g_assert_cmpint(hour.mg_hour, ==, rows[i].mg);
		g_assert_null(hour.missing);
		g_assert_nonnull(hour.source);
	}
}

static void test_what_is_missing_is_named(void)
{
	static const RgGpuModel odd = {.name = "no-such-GPU"};
	RgInstanceType type = {.gpu = &odd, .gpus = 1, .gpu_fraction = 1, .vcpus = 4};
	g_autoptr(RgCarbon) carbon = open_own();
	RgCarbonHour hour = rg_carbon_hour(carbon, "aws", &type, "us-east-1");
	g_assert_cmpint(hour.mg_hour, ==, RG_CARBON_UNKNOWN);
	g_assert_cmpstr(hour.missing, ==, "GPU model");
	g_assert_cmpstr(hour.year, ==, "2021-2023");
	type.gpu = NULL;
	g_assert_cmpstr(rg_carbon_hour(carbon, "aws", &type, "mars-1").missing, ==, "region");
	g_assert_cmpstr(rg_carbon_hour(carbon, "acme", &type, "us-east-1").missing, ==, "provider");
	g_assert_null(rg_carbon_hour(carbon, "aws", &type, "mars-1").year);
}

static void test_a_slice_counts_as_its_share(void)
{
	static const RgGpuModel a10 = {.name = "A10"};
	RgInstanceType whole = {.gpu = &a10, .gpus = 1, .gpu_fraction = 1},
		       half = {.gpu = &a10, .gpus = 1, .gpu_fraction = 0.5};
	g_autoptr(RgCarbon) carbon = open_own();
	int64_t all = rg_carbon_hour(carbon, "azure", &whole, "westeurope").mg_hour;
	int64_t twice = 2 * rg_carbon_hour(carbon, "azure", &half, "westeurope").mg_hour;
	g_assert_cmpint(ABS(twice - all), <=, 1); /* each is rounded to a milligram */
}

static void test_broken_tables_are_refused(void)
{
	static const struct {
		File file;
		const char *message;
	} rows[] = {
		{{"grid_intensity.csv",
			 "provider,region,year,g_co2e_per_kwh,source\nx,r,2024,nan,s\n"},
			"grid_intensity.csv: g_co2e_per_kwh is \"nan\", expected a number above 0, "
			"at most 1000000"},
		{{"grid_intensity.csv", "provider,region,year,g_co2e_per_kwh,source\nx,r,2024,1,"
					"s\nx,r,2023,1,s\n"},
			"grid_intensity.csv: provider is \"x\", expected a unique name"},
		{{"grid_intensity.csv", "provider,region,year,g_co2e_per_kwh,source\nx,r,,1,s\n"},
			"grid_intensity.csv: year is \"\", expected a year, and a source beside "
			"it"},
		{{"gpu_power.csv", "gpu_model,idle_watts,full_watts\nT4,80,71\n"},
			"gpu_power.csv: idle_watts is \"80\", expected at most the watts at full "
			"load"},
		{{"host_power.csv", "provider,vcpu_idle_watts,vcpu_full_watts,memory_watts_per_gb,"
				    "pue\nx,1,3,0.5,0.9\n"},
			"host_power.csv: pue is \"0.9\", expected 1 or more"},
		{{"host_power.csv", "provider,pue\nx,1.1\n"},
			"host_power.csv: no column \"vcpu_idle_watts\""},
		{{"gpu_power.csv", NULL}, "the catalog file \"gpu_power.csv\" is missing"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_null(
			rg_carbon_open_with(file_text, (void *)(uintptr_t)&rows[i].file, diags));
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "catalog.bad-data");
		g_assert_cmpstr(rg_diags_get(diags, 0)->summary, ==, rows[i].message);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/catalog/carbon/figures", test_figures);
	g_test_add_func("/catalog/carbon/missing", test_what_is_missing_is_named);
	g_test_add_func("/catalog/carbon/slice", test_a_slice_counts_as_its_share);
	g_test_add_func("/catalog/carbon/broken", test_broken_tables_are_refused);
	return g_test_run();
}
