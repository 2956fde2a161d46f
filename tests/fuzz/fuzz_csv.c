/* The data files of the catalogs: the first byte selects one ('a' is the first of `files`), the
 * rest is its text; the other files beside it are valid. Refused with file and line, or the result
 * satisfies the promises of its header. */
#include <math.h>
#include <string.h>
#include "base/embedded.h"
#include "catalog/carbon.h"
#include "catalog/compat.h"
#include "catalog/mig.h"
#include "fuzz.h"

extern const struct rg_embedded rg_catalog_data[];

typedef struct {
	const char *file, *text;
	size_t len;
} Input;

/* The content of a provider's file while another one is tested. */
static const Input sound[] = {
	{"instance_types.csv",
		"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"
		"gpu_memory_gib,offers_known\n"
		"t4.one,t4,x86_64,4,16,T4,1,1,16,yes\ncpu.one,cpu,arm64,4,16,,0,,,no\n"},
	{"prices.csv", "region,instance_type,kind,usd_per_hour,quality,date\n"},
};

static const char *text_of(void *data, const char *name, size_t *len)
{
	const Input *input = data;
	if (g_str_equal(name, input->file)) {
		*len = input->len;
		return input->text;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(sound); i++) {
		if (!g_str_equal(name, sound[i].file))
			continue;
		*len = strlen(sound[i].text);
		return sound[i].text;
	}
	return rg_catalog_embedded_text((void *)(uintptr_t)rg_catalog_data, name, len);
}

static void check_type(const RgCatalog *catalog, const RgInstanceType *type)
{
	g_assert_true(rg_catalog_find_type(catalog, type->name) == type);
	g_assert_true(isfinite(type->memory_gib) && type->memory_gib > 0);
	g_assert_true((type->gpu != NULL) == (type->gpus > 0));
	g_assert_true(!type->gpu || (type->gpu_fraction > 0 && type->gpu_fraction <= 1));
	g_assert_true(isfinite(type->network_gbps) && type->network_gbps >= 0);
	for (guint i = 0; i < type->prices->len; i++) {
		const RgPrice *price = type->prices->pdata[i];
		g_assert_true(price->microusd_hour > 0 || price->microusd_hour == RG_MONEY_UNKNOWN);
		g_assert_true(price->date && !price->own);
		const RgPrice *found = rg_catalog_find_price_of(type, price->region, price->kind);
		g_assert_true(
			found && (price->microusd_hour == RG_MONEY_UNKNOWN ||
					 (found->microusd_hour != RG_MONEY_UNKNOWN &&
						 found->microusd_hour <= price->microusd_hour)));
	}
}

static bool try_catalog(Input *input, RgDiags *diags)
{
	static RgGpus *gpus; /* read once, lives as long as the process */
	if (!gpus)
		gpus = rg_gpus_open(diags);
	RgCatalogSource source = {.provider = "aws", .text = text_of, .data = input, .gpus = gpus};
	g_autoptr(RgCatalog) catalog = rg_catalog_open_from(&source, diags);
	const GPtrArray *types = catalog ? rg_catalog_get_types(catalog) : NULL;
	for (guint i = 0; types && i < types->len; i++)
		check_type(catalog, types->pdata[i]);
	if (catalog) {
		g_autoptr(RgDiags) unused = rg_diags_new();
		rg_catalog_offer(catalog, "us-east-1", "T4", 1, (RgSource){0}, unused);
		/* rows of other regions are skipped without parsing: fewer may be wrong, never
		 * more, as long as rows are lines, which rg_table_read_only requires */
		source.region = "us-east-1";
		g_autoptr(RgCatalog) part = rg_catalog_open_from(&source, unused);
		g_assert_true(part || memchr(input->text, '"', input->len));
	}
	return catalog != NULL;
}

static bool try_gpus(Input *input, RgDiags *diags)
{
	g_autoptr(RgGpus) gpus = rg_gpus_open_text(text_of, input, NULL, diags);
	const GPtrArray *all = gpus ? rg_gpus_get_all(gpus) : NULL;
	for (guint i = 0; all && i < all->len; i++) {
		const RgGpuModel *model = all->pdata[i];
		g_assert_true(rg_gpus_find(gpus, model->name) == model);
		g_assert_true(isfinite(model->power_w) && model->power_w >= 0);
		rg_gpu_has_precision(model, "fp16");
	}
	return gpus != NULL;
}

static bool try_carbon(Input *input, RgDiags *diags)
{
	static const RgGpuModel t4 = {.name = "T4"};
	const RgInstanceType type = {.vcpus = 4, .memory_gib = 16, .gpu = &t4, .gpus = 1};
	g_autoptr(RgCarbon) carbon = rg_carbon_open_with(text_of, input, diags);
	if (!carbon)
		return false;
	RgCarbonHour hour = rg_carbon_hour(carbon, "aws", &type, "us-east-1");
	g_assert_true((hour.mg_hour == RG_CARBON_UNKNOWN) == (hour.missing != NULL));
	g_assert_true(hour.missing || hour.mg_hour >= 0);
	return true;
}

static bool try_compat(Input *input, RgDiags *diags)
{
	g_autoptr(RgCompat) compat = rg_compat_open_with(text_of, input, diags);
	if (!compat)
		return false;
	const RgRayRelease *ray = rg_compat_ray(compat, "2.52.0");
	g_assert_true(!ray || ray->patches);
	g_autofree char *near = rg_compat_ray_near(compat, "2.52.9");
	g_assert_true(!near || *near);
	const RgRayImages *images = rg_compat_images(compat, "ray", "2.52.0");
	if (images)
		rg_compat_platform_from(compat, images, "12.8");
	rg_compat_ray_state(compat, "2.52.9");
	rg_compat_has_option(compat, "train", "label_selector", "2.54.0");
	rg_compat_cuda(compat, "cu121");
	rg_compat_arch(compat, 80);
	return true;
}

static void check_profile(const RgMigProfile *profile)
{
	const RgMigProfile *wish[RG_MIG_MAX_SLICES + 1];
	g_assert_true(profile->instances >= 1 && profile->instances <= RG_MIG_MAX_SLICES);
	g_assert_true(profile->n_starts <= RG_MIG_MAX_PLACEMENTS);
	for (size_t i = 0; i < G_N_ELEMENTS(wish); i++)
		wish[i] = profile;
	g_assert_false(rg_mig_place(wish, profile->instances + 1, NULL));
	rg_mig_place(wish, profile->instances, NULL);
}

static bool try_mig(Input *input, RgDiags *diags)
{
	g_autoptr(RgMig) mig = rg_mig_open_text(text_of, input, diags);
	const GPtrArray *profiles = mig ? rg_mig_profiles(mig, "A100-40GB") : NULL;
	for (guint i = 0; profiles && i < profiles->len; i++)
		check_profile(profiles->pdata[i]);
	return mig != NULL;
}

static const struct {
	const char *name;
	bool (*try)(Input *input, RgDiags *diags);
} files[] = {
	{"instance_types.csv", try_catalog},
	{"prices.csv", try_catalog},
	{"regions.csv", try_catalog},
	{"refusals.csv", try_catalog},
	{"retired.csv", try_catalog},
	{"gpu_models.csv", try_gpus},
	{"grid_intensity.csv", try_carbon},
	{"gpu_power.csv", try_carbon},
	{"host_power.csv", try_carbon},
	{"mig_profiles.csv", try_mig},
	{"mig_placements.csv", try_mig},
	{"ray_releases.csv", try_compat},
	{"cuda_releases.csv", try_compat},
	{"cuda_archs.csv", try_compat},
	{"ray_images.csv", try_compat},
	{"ray_options.csv", try_compat},
	{"custom_types.csv", try_catalog},
	{"attached_gpus.csv", try_catalog},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	size_t which = (size_t)(data[0] + 256 - 'a') % 256 % G_N_ELEMENTS(files);
	Input input = {files[which].name, (const char *)data + 1, size - 1};
	g_autoptr(RgDiags) diags = rg_diags_new();
	bool taken = files[which].try(&input, diags);
	g_assert_true(taken != rg_diags_has_errors(diags));
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		g_assert_cmpstr(diag->code, ==, "catalog.bad-data");
		/* the file beside it notices a missing profile or type */
		g_assert_true(diag->source.file || strstr(diag->summary, "missing"));
	}
	return 0;
}
