#include "catalog/catalog.h"
#include <string.h>

/* The provider's files as the caller would pass them; a test may replace one. */
typedef struct {
	const char *name, *text;
} Override;

static const char *file_text(void *data, const char *name, size_t *len)
{
	static GHashTable *files;
	for (const Override *o = data; o && o->name; o++) {
		if (g_str_equal(o->name, name)) {
			*len = o->text ? strlen(o->text) : 0;
			return o->text;
		}
	}
	if (!files)
		files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (!g_hash_table_contains(files, name)) {
		g_autofree char *path = g_build_filename(DATA_DIR, name, NULL);
		char *text = NULL;
		g_file_get_contents(path, &text, NULL, NULL); /* some are optional */
		g_hash_table_insert(files, g_strdup(name), text);
	}
	const char *text = g_hash_table_lookup(files, name);
	*len = text ? strlen(text) : 0;
	return text;
}

static RgCatalog *open_aws(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgCatalog *catalog = rg_catalog_open("aws", file_text, NULL, diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("%s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(catalog);
	return catalog;
}

/* Copied from contracts/gpu/instance_types.csv and prices.csv (us-east-1, 2026-07-20). */
static void test_figures_of_types(void)
{
	static const struct {
		const char *type, *gpu, *ray;
		unsigned gpus, vcpus;
		double memory;
		unsigned gpu_memory;
		int64_t price;
		const char *arch;
	} rows[] = {
		{"p4d.24xlarge", "A100-40GB", "A100", 8, 96, 1152, 40960, 21957642, "x86_64"},
		{"p4de.24xlarge", "A100-80GB", "A100", 8, 96, 1152, 81920, 27447050, "x86_64"},
		{"p3dn.24xlarge", "V100-32GB", "V100", 8, 96, 768, 32768, 31212000, "x86_64"},
		{"g4dn.xlarge", "T4", "T4", 1, 4, 16, 15360, 526000, "x86_64"},
		{"g4dn.12xlarge", "T4", "T4", 4, 48, 192, 15360, 3912000, "x86_64"},
		{"g4dn.metal", "T4", "T4", 8, 96, 384, 15360, 7824000, "x86_64"},
		{"g5.xlarge", "A10G", "A10G", 1, 4, 16, 23028, 1006000, "x86_64"},
		{"g5.48xlarge", "A10G", "A10G", 8, 192, 768, 23028, 16288000, "x86_64"},
		{"g5g.xlarge", "T4G", "T4G", 1, 4, 8, 15360, 420000, "arm64"},
		{"g6.12xlarge", "L4", "L4", 4, 48, 192, 23034, 4601600, "x86_64"},
		{"p5.48xlarge", "H100-80GB", "H100", 8, 192, 2048, 81559, 55040000, "x86_64"},
		{"m6i.2xlarge", NULL, NULL, 0, 8, 32, 0, 384000, "x86_64"},
		{"c6i.large", NULL, NULL, 0, 2, 4, 0, 85000, "x86_64"},
		{"m7g.large", NULL, NULL, 0, 2, 8, 0, 81600, "arm64"},
	};
	g_autoptr(RgCatalog) catalog = open_aws();
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_test_message("%s", rows[i].type);
		const RgInstanceType *type = rg_catalog_find_type(catalog, rows[i].type);
		g_assert_nonnull(type);
		g_assert_cmpuint(type->gpus, ==, rows[i].gpus);
		g_assert_cmpuint(type->vcpus, ==, rows[i].vcpus);
		g_assert_cmpfloat(type->memory_gib, ==, rows[i].memory);
		g_assert_cmpuint(type->gpu_memory_mib, ==, rows[i].gpu_memory);
		g_assert_cmpstr(type->arch, ==, rows[i].arch);
		g_assert_cmpstr(type->gpu ? type->gpu->name : NULL, ==, rows[i].gpu);
		g_assert_cmpstr(type->gpu ? type->gpu->ray_type : NULL, ==, rows[i].ray);
		const RgPrice *price = rg_catalog_find_price(type, "us-east-1");
		g_assert_nonnull(price);
		g_assert_cmpint(price->microusd_hour, ==, rows[i].price);
		g_assert_cmpstr(price->quality, ==, "list");
		g_assert_cmpstr(price->date, ==, "2026-07-20");
	}
}

/* In neither table of the types, and what replaces each is. */
static void test_retired_types(void)
{
	g_autoptr(RgCatalog) catalog = open_aws();
	const GPtrArray *all = rg_catalog_get_retired(catalog);
	g_assert_cmpuint(all->len, ==, 12);
	for (guint i = 0; i < all->len; i++) {
		const RgRetiredType *retired = all->pdata[i];
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_null(rg_catalog_find_type(catalog, retired->name));
		g_assert_null(rg_catalog_get_type(
			catalog, retired->name, (RgSource){"c.yaml", 3, 7, 0}, diags));
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_assert_cmpstr(diag->code, ==, "catalog.retired-type");
		g_assert_cmpuint(diag->source.line, ==, 3);
		g_auto(GStrv) instead = g_strsplit(retired->replaced_by, "|", 0);
		g_assert_nonnull(instead[0]);
		for (size_t k = 0; instead[k]; k++) {
			g_assert_nonnull(rg_catalog_find_type(catalog, instead[k]));
			g_assert_nonnull(strstr(diag->hint, instead[k]));
		}
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	rg_catalog_get_type(catalog, "g3.4xlarge", (RgSource){0}, diags);
	rg_catalog_get_type(catalog, "p3.2xlarge", (RgSource){0}, diags);
	g_assert_cmpstr(rg_diags_get(diags, 0)->summary, ==,
		"aws no longer sells g3.4xlarge: retired on 2025-10-31");
	g_assert_cmpstr(rg_diags_get(diags, 1)->summary, ==,
		"aws no longer sells p3.2xlarge: retired in or before 2026-05");
}

static void test_words_of_users(void)
{
	static const struct {
		const char *word;
		unsigned count;
		const char *type;
	} rows[] = {
		{"A100", 8, "p4d.24xlarge"},
		{"a100-40gb", 8, "p4d.24xlarge"},
		{"A100-80GB", 8, "p4de.24xlarge"},
		{"V100-32GB", 8, "p3dn.24xlarge"},
		{"T4", 1, "g4dn.xlarge"},
		{"T4", 8, "g4dn.metal"},
		{"A10G", 4, "g5.12xlarge"},
		{"L4", 1, "g6.xlarge"},
		{"H100", 8, "p5.48xlarge"},
		{"H100-80GB", 1, "p5.4xlarge"},
		{"H200", 8, "p5en.48xlarge"},
	};
	g_autoptr(RgCatalog) catalog = open_aws();
	g_autoptr(RgDiags) diags = rg_diags_new();
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const RgInstanceType *type = rg_catalog_offer(
			catalog, "us-east-1", rows[i].word, rows[i].count, (RgSource){0}, diags);
		g_assert_nonnull(type);
		g_assert_cmpstr(type->name, ==, rows[i].type);
		g_assert_true(rg_catalog_is_model(catalog, rows[i].word, type->gpu));
	}
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
}

/* An independent parser of the files (they contain no quotes) and a linear search over all rows. */
static GPtrArray *split_file(const char *name)
{
	size_t len = 0;
	g_auto(GStrv) lines = g_strsplit(file_text(NULL, name, &len), "\n", -1);
	GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	for (size_t i = 1; lines[i] && lines[i][0] != '\0'; i++)
		g_ptr_array_add(rows, g_strsplit(lines[i], ",", -1));
	return rows;
}

static char *brute_force(GPtrArray *types, GPtrArray *prices, const char *region, const char *model,
	const char *gpus)
{
	const char *best = NULL;
	double lowest = 1e9;
	for (guint t = 0; t < types->len; t++) {
		GStrv type = types->pdata[t];
		if (!g_str_equal(type[5], model) || !g_str_equal(type[6], gpus) ||
			!g_str_equal(type[7], "1.0") || !g_str_equal(type[2], "x86_64"))
			continue;
		for (guint p = 0; p < prices->len; p++) {
			GStrv price = prices->pdata[p];
			if (!g_str_equal(price[0], region) || !g_str_equal(price[2], type[0]) ||
				!g_str_equal(price[3], "on_demand") || price[4][0] == '\0')
				continue;
			double usd = g_ascii_strtod(price[4], NULL);
			if (usd < lowest || (usd == lowest && strcmp(type[0], best) < 0)) {
				lowest = usd;
				best = type[0];
			}
		}
	}
	return g_strdup(best);
}

static void test_cheapest_against_brute_force(void)
{
	g_autoptr(RgCatalog) catalog = open_aws();
	g_autoptr(GPtrArray) types = split_file("instance_types.csv");
	g_autoptr(GPtrArray) prices = split_file("prices.csv");
	g_autoptr(GPtrArray) regions = split_file("regions.csv");
	unsigned compared = 0;
	for (guint r = 0; r < regions->len; r++) {
		const char *region = ((GStrv)regions->pdata[r])[0];
		for (guint t = 0; t < types->len; t++) {
			GStrv type = types->pdata[t];
			g_autoptr(RgDiags) diags = rg_diags_new();
			const RgInstanceType *like = rg_catalog_find_type(catalog, type[0]);
			if (!like->gpu || !g_str_equal(like->gpu->vendor, "NVIDIA"))
				continue;
			g_autofree char *wanted =
				brute_force(types, prices, region, type[5], type[6]);
			const RgInstanceType *got = rg_catalog_offer(
				catalog, region, type[5], like->gpus, (RgSource){0}, diags);
			if (wanted) {
				g_assert_nonnull(got);
				g_assert_cmpstr(got->name, ==, wanted);
				compared++;
			} else if (got) {
				g_assert_cmpint(rg_catalog_offer_state(catalog, got, region), >,
					RG_OFFER_PRICED);
			} else {
				g_assert_cmpstr(
					rg_diags_get(diags, 0)->code, ==, "catalog.no-offer");
			}
		}
	}
	g_assert_cmpuint(compared, >, 200);
}

static void test_fractions_and_arm_are_not_offered(void)
{
	g_autoptr(RgCatalog) catalog = open_aws();
	g_autoptr(RgDiags) diags = rg_diags_new();
	const RgInstanceType *type =
		rg_catalog_offer(catalog, "us-east-1", "L4", 1, (RgSource){0}, diags);
	g_assert_cmpstr(type->family, ==, "g6");
	g_assert_null(rg_catalog_offer(catalog, "us-east-1", "T4G", 1, (RgSource){0}, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "catalog.no-offer");
	g_assert_null(rg_catalog_offer(catalog, "us-east-1", "V520", 1, (RgSource){0}, diags));
	g_assert_cmpstr(rg_diags_get(diags, 1)->code, ==, "catalog.unsupported-accelerator");
}

static void test_says_what_exists(void)
{
	g_autoptr(RgCatalog) catalog = open_aws();
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgSource at = {"c.yaml", 7, 3, 9};
	g_assert_null(rg_catalog_offer(catalog, "us-east-1", "T4", 3, at, diags));
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_assert_cmpstr(diag->code, ==, "catalog.no-offer");
	g_assert_cmpstr(diag->summary, ==, "no aws instance type has 3 T4 GPUs in us-east-1");
	g_assert_cmpstr(diag->detail, ==,
		"T4 in us-east-1, GPUs per node: 1 (g4dn.xlarge), 4 (g4dn.12xlarge), 8 "
		"(g4dn.metal)");
	g_assert_cmpuint(diag->source.line, ==, 7);

	g_assert_null(rg_catalog_offer(catalog, "sa-east-1", "A100-80GB", 8, at, diags));
	diag = rg_diags_get(diags, 1);
	g_assert_cmpstr(diag->detail, ==,
		"sa-east-1 has no whole A100-80GB on x86_64 hosts\nA100-40GB in sa-east-1, GPUs "
		"per "
		"node: 8 (p4d.24xlarge)");
	g_assert_true(g_str_has_prefix(
		diag->hint, "`A100-40GB:8` is offered there, A100-80GB:8 in ap-northeast-1"));
	g_assert_null(rg_catalog_offer(catalog, "us-east-1", "A1000", 8, at, diags));
	g_assert_cmpstr(rg_diags_get(diags, 2)->code, ==, "catalog.unknown-accelerator");
	g_assert_cmpstr(rg_diags_get(diags, 2)->hint, ==, "did you mean `A100`?");
	g_assert_false(rg_catalog_check_region(catalog, "us-east-11", at, diags));
	g_assert_cmpstr(rg_diags_get(diags, 3)->code, ==, "catalog.unknown-region");
	g_assert_cmpstr(rg_diags_get(diags, 3)->hint, ==, "did you mean `us-east-1`?");
	g_assert_null(rg_catalog_get_type(catalog, "p4d.24xlarg", at, diags));
	g_assert_cmpstr(rg_diags_get(diags, 4)->code, ==, "catalog.unknown-type");
	g_assert_cmpstr(rg_diags_get(diags, 4)->hint, ==, "did you mean `p4d.24xlarge`?");
	g_assert_true(rg_catalog_check_region(catalog, "mx-central-1", at, diags));
	g_assert_null(rg_catalog_offer(catalog, "us-east-1", "V100", 4, at, diags));
	diag = rg_diags_get(diags, 5);
	g_assert_cmpstr(diag->detail, ==,
		"us-east-1 has no whole V100 on x86_64 hosts\nV100-32GB in us-east-1, GPUs per "
		"node: "
		"8 (p3dn.24xlarge)\naws no longer sells p3.16xlarge, p3.2xlarge, p3.8xlarge");
	g_assert_cmpstr(diag->hint, ==, "`raygpu offers V100` lists where else it is offered");
	g_assert_null(rg_catalog_offer(catalog, "us-east-1", "V100", 8, at, diags));
	g_assert_cmpstr(rg_diags_get(diags, 6)->hint, ==, "`V100-32GB:8` is offered there");
	g_assert_null(rg_catalog_get_type(catalog, "c7x.large", at, diags)); /* not c7g: arm64 */
	g_assert_cmpstr(rg_diags_get(diags, 7)->hint, ==, "did you mean `c7i.large`?");
	g_assert_cmpuint(rg_diags_count(diags), ==, 8);
}

#define TYPES_HEAD                                                                                 \
	"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,gpu_memory_gib,"   \
	"offers_known\n"
#define RETIRED_HEAD "instance_type,gpu_model,since,gone_by,replaced_by\n"
#define PRICES_HEAD "region,instance_type,kind,usd_per_hour,quality,date,source\n"
#define WIDE_HEAD                                                                                  \
	"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,gpu_memory_gib,"   \
	"offers_known,network_gbps,lowest_usd_per_hour\n"
#define ZONE_HEAD "region,zone,instance_type,kind,usd_per_hour,quality,date\n"
#define TYPES TYPES_HEAD "b.one,b,x86_64,4,16,T4,1,1,16,yes\na.one,a,x86_64,4,16,T4,1,1,16,yes\n"

static void test_unpriced_come_last_and_ties_by_name(void)
{
	const Override files[] = {
		{"instance_types.csv", TYPES},
		{"prices.csv", PRICES_HEAD
			"r1,b.one,on_demand,2,list,2026,x\nr1,a.one,on_demand,2,list,2026,x\n"
			"r2,b.one,on_demand,9,list,2026,x\nr2,a.one,on_demand,,unknown,2026,x\n"
			"r3,b.one,on_demand,,unknown,2026,x\n"},
		{"refusals.csv", NULL},
		{"retired.csv", NULL},
		{"regions.csv", "region,offers_known\nr1,yes\nr2,yes\nr3,yes\nr4,no\n"},
		{NULL, NULL},
	};
	static const char *const wanted[][2] = {
		{"r1", "a.one"}, {"r2", "b.one"}, {"r3", "b.one"}, {"r4", "a.one"}};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog =
		rg_catalog_open("aws", file_text, (void *)(uintptr_t)files, diags);
	g_assert_nonnull(catalog);
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
		const RgInstanceType *type =
			rg_catalog_offer(catalog, wanted[i][0], "T4", 1, (RgSource){0}, diags);
		g_assert_nonnull(type);
		g_assert_cmpstr(type->name, ==, wanted[i][1]);
	}
}

static void test_without_a_table_nodes_are_shapes(void)
{
	static const Override files[] = {{"instance_types.csv", NULL}, {"prices.csv", NULL},
		{"refusals.csv", NULL}, {"retired.csv", NULL}, {"regions.csv", NULL}, {NULL, NULL}};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog =
		rg_catalog_open("aws", file_text, (void *)(uintptr_t)files, diags);
	g_assert_nonnull(catalog);
	const RgInstanceType *cpu = rg_catalog_find_type(catalog, "cpu");
	g_assert_nonnull(cpu);
	g_assert_null(cpu->gpu);
	const RgInstanceType *type =
		rg_catalog_offer(catalog, "anywhere", "T4", 3, (RgSource){0}, diags);
	g_assert_nonnull(type);
	g_assert_cmpstr(type->name, ==, "T4:3");
	g_assert_cmpuint(type->gpus, ==, 3);
	g_assert_cmpuint(type->vcpus, ==, 0);
	g_assert_null(rg_catalog_find_price(type, "anywhere"));
	g_assert_cmpint(rg_catalog_offer_state(catalog, type, "anywhere"), ==, RG_OFFER_UNSEEN);
	g_assert_null(rg_catalog_find_type(catalog, "T4:17"));
	g_assert_true(rg_catalog_has_region(catalog, "anywhere"));
}

#define CUSTOM_HEAD                                                                                \
	"instance_type,family,arch,vcpus,least_gib_per_vcpu,most_gib_per_vcpu,most_gib,step_mib\n"
#define CUSTOM_ALIAS_HEAD                                                                          \
	"instance_type,family,arch,vcpus,least_gib_per_vcpu,most_gib_per_vcpu,most_gib,step_mib,"  \
	"same_as\n"
#define ATTACHED_HEAD "accelerator,gpu_model,families,gpus,most_vcpus,most_gib\n"

/* Their names give their size; lists and choices do not have them. */
static void test_types_that_are_not_listed(void)
{
	static const Override files[] = {
		{"instance_types.csv", TYPES_HEAD "m.small,m,x86_64,2,8,,0,,,yes\n"
						  "m.big,m,x86_64,8,32,,0,,,yes\n"
						  "m.big+acc:1,m,x86_64,8,32,T4,1,1,16,yes\n"},
		{"prices.csv", PRICES_HEAD "r1,m.small,on_demand,0.5,list,2026,x\n"
					   "r1,m.big,on_demand,2,list,2026,x\n"
					   "r1,m.big+acc:1,on_demand,2.25,list,2026,x\n"},
		{"custom_types.csv", CUSTOM_HEAD "m-VCPUS-MIB,m,x86_64,1 2-8/2,0.5,4,24,256\n"
						 "m.odd-VCPUS,m,x86_64,3,1.5,1.5,,\n"},
		{"attached_gpus.csv", ATTACHED_HEAD "acc,T4,m,1,8,24\n"}, {"refusals.csv", NULL},
		{"retired.csv", NULL}, {"regions.csv", "region,offers_known\nr1,yes\n"},
		{NULL, NULL}};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog =
		rg_catalog_open("aws", file_text, (void *)(uintptr_t)files, diags);
	g_assert_nonnull(catalog);
	const RgInstanceType *type = rg_catalog_find_type(catalog, "m-4-8448");
	g_assert_nonnull(type);
	g_assert_cmpuint(type->vcpus, ==, 4);
	g_assert_cmpfloat(type->memory_gib, ==, 8.25);
	g_assert_true(type == rg_catalog_find_type(catalog, "m-4-8448"));
	g_assert_cmpint(rg_catalog_offer_state(catalog, type, "r1"), ==, RG_OFFER_UNSEEN);
	g_assert_cmpfloat(rg_catalog_find_type(catalog, "m.odd-3")->memory_gib, ==, 4.5);
	type = rg_catalog_find_type(catalog, "m.small+acc:1");
	g_assert_nonnull(type);
	g_assert_cmpstr(type->gpu->name, ==, "T4");
	g_assert_cmpint(rg_catalog_find_price(type, "r1")->microusd_hour, ==, 750000);
	g_assert_cmpstr(rg_catalog_find_price(type, "r1")->quality, ==, "derived");
	g_assert_cmpint(type->lowest_microusd_hour, ==, 750000);
	g_assert_nonnull(rg_catalog_find_type(catalog, "m-8-24576+acc:1"));
	static const char *const wrong[] = {"m-3-3072", "m-4-8449", "m-4-1792", "m-2-8448",
		"m-8-24832", "m-04-8448", "m-4-8448-", "m.odd-4", "m.small+acc:2", "m.small+acc",
		"m.small+other:1", "m.big+acc:1+acc:1", "nope+acc:1", "+acc:1", ""};
	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
		g_assert_null(rg_catalog_find_type(catalog, wrong[i]));
	g_assert_cmpuint(rg_catalog_get_types(catalog)->len, ==, 3);
	g_assert_cmpstr(rg_catalog_offer(catalog, "r1", "T4", 1, (RgSource){0}, diags)->name, ==,
		"m.big+acc:1");
}

/* Must not be mistaken for a provider without any: its prices name types. */
static void test_a_lost_table_is_noticed(void)
{
	static const Override files[] = {{"instance_types.csv", NULL}, {NULL, NULL}};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_catalog_open("aws", file_text, (void *)(uintptr_t)files, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "catalog.bad-data");
}

static void test_broken_data_is_refused(void)
{
	static const struct {
		const char *name, *text;
		unsigned line;
	} cases[] = {
		{"prices.csv", NULL, 0},
		{"instance_types.csv", "instance_type\nx\n", 1},
		{"instance_types.csv", TYPES "a.one,a,x86_64,4,16,T4,1,1,16,yes\n", 4},
		{"instance_types.csv", TYPES_HEAD "a.one,a,x86_64,nan,16,T4,1,1,16,yes\n", 2},
		{"instance_types.csv", TYPES_HEAD "a.one,a,x86_64,4,NaN,T4,1,1,16,yes\n", 2},
		{"instance_types.csv", TYPES_HEAD "a.one,a,x86_64,4,16,T9,1,1,16,yes\n", 2},
		{"instance_types.csv", TYPES_HEAD "a.one,a,x86_64,4,16,T4,0,1,16,yes\n", 2},
		{"instance_types.csv", TYPES_HEAD "a.one,a,x86_64,4,16,,1,,,yes\n", 2},
		{"instance_types.csv", TYPES_HEAD "a.one,a,x86_64,4,16,T4,1,2,16,yes\n", 2},
		{"instance_types.csv", TYPES_HEAD "a.one,a,mips,4,16,T4,1,1,16,yes\n", 2},
		{"instance_types.csv", TYPES_HEAD "a.one,a,x86_64,4,16,T4,1,1,16,maybe\n", 2},
		{"instance_types.csv", TYPES_HEAD ",a,x86_64,4,16,T4,1,1,16,yes\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,on_demand,1\n", 2},
		{"prices.csv", PRICES_HEAD "r,nope,on_demand,1,list,2026,x\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,reserved,1,list,2026,x\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,on_demand,NaN,list,2026,x\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,on_demand,-1,list,2026,x\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,on_demand,0,list,2026,x\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,on_demand,,list,2026,x\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,on_demand,1,unknown,2026,x\n", 2},
		{"prices.csv", PRICES_HEAD "r,m6i.large,on_demand,1,list,July,x\n", 2},
		{"prices.csv",
			PRICES_HEAD "r,m6i.large,on_demand,1,list,2026,x\nr,m6i.large,on_demand,2,"
				    "list,2026,x\n",
			3},
		{"instance_types.csv", WIDE_HEAD "a.one,a,x86_64,4,16,T4,1,1,16,yes,10Gbps,1\n", 2},
		{"instance_types.csv", WIDE_HEAD "a.one,a,x86_64,4,16,T4,1,1,16,yes,-10,1\n", 2},
		{"instance_types.csv", WIDE_HEAD "a.one,a,x86_64,4,16,T4,1,1,16,yes,inf,1\n", 2},
		{"instance_types.csv", WIDE_HEAD "a.one,a,x86_64,4,16,T4,1,1,16,yes,10,-1\n", 2},
		{"instance_types.csv", WIDE_HEAD "a.one,a,x86_64,4,16,T4,1,1,16,yes,10,$1\n", 2},
		{"prices.csv",
			ZONE_HEAD
			"r,z1,m6i.large,spot,1,list,2026\nr,z2,m6i.large,spot,1,list,2026\n"
			"r,z1,m6i.large,spot,2,list,2026\n",
			4},
		{"regions.csv", "region,offers_known\nr,yes\nr,no\n", 3},
		{"regions.csv", "region,offers_known\nr,1\n", 2},
		{"custom_types.csv", CUSTOM_HEAD "x-MIB,x,x86_64,1,1,8,,256\n", 2},
		{"custom_types.csv", CUSTOM_HEAD "x-VCPUS,x,x86_64,2-,1,8,,\n", 2},
		{"custom_types.csv", CUSTOM_HEAD "x-VCPUS-MIB,x,x86_64,2,1,,,256\n", 2},
		{"custom_types.csv",
			CUSTOM_ALIAS_HEAD "x-VCPUS-MIB,x,x86_64,2,1,8,,256,\n"
					  "y-VCPUS-MIB,x,x86_64,2,1,8,,256,z-VCPUS-MIB\n",
			3},
		{"custom_types.csv",
			CUSTOM_ALIAS_HEAD "x-VCPUS-MIB,x,x86_64,2,1,8,,256,x-VCPUS-MIB\n", 2},
		{"attached_gpus.csv", ATTACHED_HEAD "acc,T9,m,1,4,16\n", 2},
		{"attached_gpus.csv", ATTACHED_HEAD "acc,T4,m,one,4,16\n", 2},
		{"refusals.csv", "instance_type,wish\nt3.large,placement\nnope,placement\n", 3},
		{"refusals.csv", "instance_type,wish\nt3.large,colour\n", 2},
		{"retired.csv", RETIRED_HEAD "m5.large,,2025-10-31,,\n", 2},
		{"retired.csv", RETIRED_HEAD "p3.2xlarge,V1,2025-10-31,,\n", 2},
		{"retired.csv", RETIRED_HEAD "p3.2xlarge,,,,\n", 2},
		{"retired.csv", RETIRED_HEAD "p3.2xlarge,,soon,,\n", 2},
		{"retired.csv", RETIRED_HEAD "p3.2xlarge,,,2026-05,\np3.2xlarge,,,2026,\n", 3},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Override files[] = {{cases[i].name, cases[i].text}, {NULL, NULL}};
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_null(rg_catalog_open("aws", file_text, (void *)(uintptr_t)files, diags));
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_test_message("%zu: %s", i, diag->summary);
		g_assert_cmpstr(diag->code, ==, "catalog.bad-data");
		g_assert_cmpuint(diag->source.line, ==, cases[i].line);
		if (cases[i].line > 0)
			g_assert_cmpstr(diag->source.file, ==, cases[i].name);
	}
}

/* The model is that of the name, of Ray's name or of the cloud's whose memory is nearest. */
static void test_described_types(void)
{
	static const struct {
		const char *gpu, *model, *code;
	} rows[] = {
		{"{'vendor':'NVIDIA','name':'A100','count':8,'memory_mib':81920}", "A100-80GB",
			NULL},
		{"{'vendor':'NVIDIA','name':'A100','count':8,'memory_mib':40960}", "A100-40GB",
			NULL},
		{"{'vendor':'NVIDIA','name':'T4','count':1,'memory_mib':16384}", "T4", NULL},
		{"{'vendor':'NVIDIA','name':'nvidia-b200','count':8}", "B200-180GB", NULL},
		{"{'vendor':'NVIDIA','name':'L4','count':1,'memory_mib':5722,'fraction':0.25}",
			"L4", NULL},
		{"{'vendor':'NVIDIA','name':'A100','count':8,'memory_mib':163840}", NULL,
			"catalog.unknown-accelerator"},
		{"{'vendor':'NVIDIA','name':'R100','count':8}", NULL,
			"catalog.unknown-accelerator"},
		{"{'vendor':'AMD','name':'T4','count':8}", NULL, "catalog.unsupported-accelerator"},
		{"{'vendor':'NVIDIA','name':'T4','count':8},{'vendor':'AWS','name':'X','count':1}",
			NULL, "catalog.unsupported-accelerator"},
	};
	g_autoptr(RgDiags) diags = rg_diags_new();
	const RgCatalogSource source = {.provider = "aws", .text = file_text, .asks_types = true};
	g_autoptr(RgCatalog) catalog = rg_catalog_open_from(&source, diags);
	g_assert_nonnull(catalog);
	const guint listed = rg_catalog_get_types(catalog)->len;
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *name = g_strdup_printf("p9.%zu", i);
		g_autofree char *text =
			g_strdup_printf("{'%s':{'vcpus':96,'memory_mib':1024,'arch':"
					"'x86_64','gpus':[%s]}}",
				name, rows[i].gpu);
		g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
		json_t *types = json_loads(json, 0, NULL);
		g_assert_true(rg_catalog_may_ask(catalog, name));
		rg_catalog_describe(catalog, types);
		json_decref(types);
		g_autoptr(RgDiags) said = rg_diags_new();
		const RgInstanceType *type =
			rg_catalog_get_type(catalog, name, (RgSource){0}, said);
		g_assert_cmpstr(type ? type->gpu->name : NULL, ==, rows[i].model);
		g_assert_cmpstr(type ? NULL : rg_diags_get(said, 0)->code, ==, rows[i].code);
		g_assert_true(!type || (type->described && type->memory_gib == 1));
	}
	g_assert_cmpfloat(rg_catalog_find_type(catalog, "p9.4")->gpu_fraction, ==, 0.25);
	/* from a state that someone edited */
	json_t *odd = json_pack("{s:{s:i, s:s, s:[i], s:i}, s:i}", "p9.odd", "vcpus", -1,
		"memory_mib", "much", "markets", 1, "gpus", 3, "p9.none", 1);
	rg_catalog_describe(catalog, odd);
	json_decref(odd);
	g_assert_cmpuint(rg_catalog_find_type(catalog, "p9.odd")->vcpus, ==, 0);
	g_assert_cmpuint(rg_catalog_get_types(catalog)->len, ==, listed);
}

/* Only names that no table knows are worth a question. */
static void test_what_may_be_asked(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	const RgCatalogSource source = {.provider = "aws", .text = file_text, .asks_types = true};
	g_autoptr(RgCatalog) catalog = rg_catalog_open_from(&source, diags);
	g_autoptr(RgCatalog) silent = open_aws();
	json_t *types = json_pack("{s:{s:i, s:i, s:s}, s:n}", "p4d.24xlarge", "vcpus", 1,
		"memory_mib", 1, "arch", "x86_64", "p9.none");
	g_assert_true(rg_catalog_may_ask(catalog, "p9.none"));
	g_assert_false(rg_catalog_may_ask(catalog, "p4d.24xlarge"));
	g_assert_false(rg_catalog_may_ask(catalog, "p3.2xlarge")); /* no longer sold */
	g_assert_false(rg_catalog_may_ask(catalog, "p9.none+t4:1"));
	g_assert_false(rg_catalog_may_ask(silent, "p9.none"));
	rg_catalog_describe(catalog, types);
	json_decref(types);
	g_assert_cmpuint(rg_catalog_find_type(catalog, "p4d.24xlarge")->vcpus, ==, 96);
	g_assert_null(rg_catalog_get_type(catalog, "p9.none", (RgSource){0}, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->summary, ==,
		"\"p9.none\" is not in the catalog of aws instance types, and the region has none "
		"of "
		"this name");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/catalog/figures_of_types", test_figures_of_types);
	g_test_add_func("/catalog/retired_types", test_retired_types);
	g_test_add_func("/catalog/words_of_users", test_words_of_users);
	g_test_add_func("/catalog/cheapest_against_brute_force", test_cheapest_against_brute_force);
	g_test_add_func("/catalog/fractions_and_arm_are_not_offered",
		test_fractions_and_arm_are_not_offered);
	g_test_add_func("/catalog/says_what_exists", test_says_what_exists);
	g_test_add_func("/catalog/unpriced_come_last_and_ties_by_name",
		test_unpriced_come_last_and_ties_by_name);
	g_test_add_func(
		"/catalog/without_a_table_nodes_are_shapes", test_without_a_table_nodes_are_shapes);
	g_test_add_func("/catalog/a_lost_table_is_noticed", test_a_lost_table_is_noticed);
	g_test_add_func("/catalog/types_that_are_not_listed", test_types_that_are_not_listed);
	g_test_add_func("/catalog/described_types", test_described_types);
	g_test_add_func("/catalog/what_may_be_asked", test_what_may_be_asked);
	g_test_add_func("/catalog/broken_data_is_refused", test_broken_data_is_refused);
	return g_test_run();
}
