/* A project file: limits and the user's own catalog. A project or errors, never both; the built-in
 * rows with its catalog satisfy the promises of a catalog, or it is refused at its line. */
#include <math.h>
#include <string.h>
#include "catalog/carbon.h"
#include "catalog/mig.h"
#include "fuzz.h"
#include "spec/project.h"

#define TYPES                                                                                      \
	"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,gpu_memory_gib,"   \
	"offers_known\n"                                                                           \
	"g4dn.xlarge,g,x86_64,4,16,T4,1,1,16,yes\np4d.24xlarge,p,x86_64,96,1152,A100-40GB,8,1,40," \
	"yes\nm5.2xlarge,m,x86_64,8,32,,0,,,no\n"
#define PRICES                                                                                     \
	"region,instance_type,kind,usd_per_hour,quality,date\n"                                    \
	"us-east-1,g4dn.xlarge,on_demand,0.526,list,2026\n"                                        \
	"us-east-1,g4dn.xlarge,spot,0.2,observed,2026\n"                                           \
	"us-west-2,p4d.24xlarge,on_demand,,unknown,2026\n"
#define REGIONS "region,offers_known\nus-east-1,yes\nus-west-2,no\n"

static const char *text_of(void *data, const char *name, size_t *len)
{
	(void)data;
	const char *text = g_str_equal(name, "instance_types.csv") ? TYPES
			   : g_str_equal(name, "prices.csv")	   ? PRICES
			   : g_str_equal(name, "regions.csv")	   ? REGIONS
								   : NULL;
	*len = text ? strlen(text) : 0;
	return text;
}

static RgSource source_of(const void *data, const char *pointer)
{
	const RgLimits project = rg_limits_of_project(data);
	g_autofree char *at = g_strconcat("/catalog", pointer, NULL);
	return rg_limits_source(&project, at);
}

static void check_type(const RgCatalog *catalog, const RgCarbon *carbon, const RgInstanceType *type)
{
	g_assert_true(rg_catalog_find_type(catalog, type->name) == type);
	g_assert_true(isfinite(type->memory_gib) && type->memory_gib > 0 && type->vcpus > 0);
	g_assert_true((type->gpu != NULL) == (type->gpus > 0));
	for (guint i = 0; i < type->prices->len; i++) {
		const RgPrice *price = type->prices->pdata[i];
		g_assert_true(rg_catalog_has_region(catalog, price->region));
		g_assert_true(price->microusd_hour > 0 || price->microusd_hour == RG_MONEY_UNKNOWN);
		g_assert_true((price->own != NULL) == (g_str_equal(price->quality, "negotiated")));
		rg_carbon_hour(carbon, "aws", type, price->region);
	}
	rg_catalog_offer_state(catalog, type, "us-east-1");
}

static void check_models(const RgGpus *gpus, RgDiags *diags)
{
	g_autoptr(RgMig) mig = rg_mig_open(gpus, diags);
	const GPtrArray *models = rg_gpus_get_all(gpus);
	for (guint i = 0; i < models->len; i++) {
		const RgGpuModel *model = models->pdata[i];
		g_assert_true(rg_gpus_find(gpus, model->name) == model);
		g_assert_true(model->memory_gb > 0 && isfinite(model->power_w));
		g_assert_true(!model->own || rg_gpus_is_model(gpus, model->name, model) ||
			      !g_str_equal(model->vendor, "NVIDIA"));
		const GPtrArray *profiles = rg_mig_profiles(mig, model->name);
		for (guint p = 0; model->own_mig && p < profiles->len; p++) {
			const RgMigProfile *one = profiles->pdata[p];
			g_assert_true(rg_mig_place(&one, 1, NULL));
			g_assert_cmpuint(one->memory_gb, >, 0);
		}
	}
}

static RgCatalog *open_catalog(const RgProject *project, const char *region, RgDiags *diags)
{
	RgOwnRows own = {json_object_get(project->view, "catalog"), source_of, project};
	RgCatalogSource source = {
		.provider = "aws", .region = region, .text = text_of, .own = &own};
	return rg_catalog_open_from(&source, diags);
}

static void try_catalog(const RgProject *project, RgDiags *diags)
{
	static RgCarbon *carbon; /* read once, lives as long as the process */
	if (!carbon)
		carbon = rg_carbon_open(diags);
	g_autoptr(RgCatalog) whole = open_catalog(project, NULL, diags);
	g_assert_true((whole != NULL) != rg_diags_has_errors(diags));
	g_autoptr(RgDiags) again = rg_diags_new();
	g_autoptr(RgCatalog) part = open_catalog(project, "us-east-1", again);
	/* the whole list is checked, whichever region is requested */
	g_assert_true((part != NULL) == (whole != NULL));
	g_assert_cmpuint(rg_diags_count(diags), ==, rg_diags_count(again));
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_assert_cmpuint(rg_diags_get(diags, i)->source.line, >, 0);
	if (!whole)
		return;
	const GPtrArray *types = rg_catalog_get_types(whole);
	for (guint i = 0; i < types->len; i++) {
		const RgInstanceType *a = types->pdata[i], *b;
		check_type(whole, carbon, a);
		b = rg_catalog_find_type(part, a->name);
		const RgPrice *x = rg_catalog_find_price(a, "us-east-1");
		const RgPrice *y = rg_catalog_find_price(b, "us-east-1");
		g_assert_true((!x) == (!y));
		g_assert_true(!x || x->microusd_hour == y->microusd_hour);
	}
	check_models(rg_catalog_get_gpus(whole), diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgProject) project =
		rg_project_load("raygpu.yaml", (const char *)data, size, diags);
	g_assert_true((project != NULL) != rg_diags_has_errors(diags));
	rg_diags_clear(diags);
	if (project)
		try_catalog(project, diags);
	return 0;
}
