#include "catalog/mig.h"
#include <string.h>

static RgMig *mig; /* of the whole run, read only */

static const RgMigProfile *profile(const char *model, const char *name)
{
	const RgMigProfile *found = rg_mig_find(mig, model, name);
	g_assert_nonnull(found);
	return found;
}

/* "2g.10gb,1g.5gb" on a model, as often as `times`. */
static bool lies(const char *model, const char *names, unsigned times)
{
	const RgMigProfile *wish[64];
	size_t n = 0;
	g_auto(GStrv) each = g_strsplit(names, ",", -1);
	for (unsigned t = 0; t < times; t++) {
		for (size_t i = 0; each[i] != NULL; i++)
			wish[n++] = profile(model, each[i]);
	}
	unsigned starts[64];
	bool good = rg_mig_place(wish, n, starts);
	for (size_t i = 0; good && i < n; i++) {
		for (size_t k = 0; k < i && wish[i]->size > 0; k++)
			g_assert_true(starts[k] + wish[k]->size <= starts[i] ||
				      starts[i] + wish[i]->size <= starts[k]);
	}
	return good;
}

static void test_seven_small_slices_not_eight(void)
{
	g_assert_true(lies("A100-40GB", "1g.5gb", 7));
	g_assert_false(lies("A100-40GB", "1g.5gb", 8));
	g_assert_true(lies("A30", "1g.6gb", 4));
	g_assert_false(lies("A30", "1g.6gb", 5));
}

/* The counts of the profile table are what the placements allow. */
static void test_counts_agree_with_placements(void)
{
	static const char *const models[] = {"A100-40GB", "A100-80GB", "A100-80GB-PCIe", "A30",
		"H100-80GB", "H100-80GB-PCIe", "H200-141GB", "B200-180GB", "GB300-288GB"};
	for (size_t m = 0; m < G_N_ELEMENTS(models); m++) {
		const GPtrArray *all = rg_mig_profiles(mig, models[m]);
		g_assert_cmpuint(all->len, >=, 5);
		for (guint i = 0; i < all->len; i++) {
			const RgMigProfile *one = all->pdata[i];
			g_assert_true(lies(models[m], one->name, one->instances));
			g_assert_false(lies(models[m], one->name, one->instances + 1));
		}
	}
}

/* NVIDIA's MIG user guide, table of A100 combinations. */
static void test_mixed_lists_by_their_places(void)
{
	g_assert_true(lies("A100-40GB", "4g.20gb,3g.20gb", 1));
	g_assert_true(lies("A100-40GB", "4g.20gb,2g.10gb,1g.5gb", 1));
	g_assert_true(lies("A100-40GB", "3g.20gb,3g.20gb", 1));
	g_assert_true(lies("A100-40GB", "1g.5gb,3g.20gb,2g.10gb", 1));
	g_assert_true(lies("A100-40GB", "2g.10gb,2g.10gb,2g.10gb,1g.5gb", 1));
	g_assert_false(lies("A100-40GB", "4g.20gb,4g.20gb", 1));
	g_assert_false(lies("A100-40GB", "3g.20gb,3g.20gb,1g.5gb", 1));
	g_assert_false(lies("A100-40GB", "7g.40gb,1g.5gb", 1));
	g_assert_false(lies("A100-40GB", "1g.5gb+me,1g.5gb+me", 1));
	g_assert_true(lies("A100-40GB", "1g.5gb+me,1g.5gb", 1));
}

/* A listing that greedy placement in the order of the list would miss. */
static void test_the_search_goes_back(void)
{
	g_assert_true(lies("A100-40GB", "1g.5gb,4g.20gb", 1));
	g_assert_true(lies("A100-40GB", "1g.5gb,1g.5gb,1g.5gb,4g.20gb", 1));
	g_assert_false(lies("A100-40GB", "1g.5gb,1g.5gb,1g.5gb,1g.5gb,4g.20gb", 1));
}

static void test_without_placements_one_profile_alone(void)
{
	g_assert_true(lies("RTX-PRO-6000-BSE", "2g.48gb", 2));
	g_assert_false(lies("RTX-PRO-6000-BSE", "2g.48gb", 3));
	g_assert_false(lies("RTX-PRO-6000-BSE", "2g.48gb,1g.24gb+me", 1));
}

static void test_models_differ(void)
{
	g_assert_null(rg_mig_profiles(mig, "V100-16GB"));
	g_assert_null(rg_mig_profiles(mig, "T4"));
	g_assert_null(rg_mig_find(mig, "A100-80GB", "1g.5gb"));
	g_assert_cmpuint(profile("A100-80GB", "1g.10gb")->instances, ==, 7);
	g_assert_cmpuint(profile("A100-40GB", "1g.10gb")->instances, ==, 4);
	g_assert_cmpuint(profile("A100-40GB", "3g.20gb")->memory_gb, ==, 20);
}

#define PROFILES "gpu_model,profile,compute_slices,memory_gb,instances\n"
#define PLACEMENTS "gpu_model,profile,start,size\n"

typedef struct {
	const char *profiles, *placements;
} Texts;

static const char *text_of(void *data, const char *name, size_t *len)
{
	const Texts *texts = data;
	const char *text =
		g_str_equal(name, "mig_profiles.csv") ? texts->profiles : texts->placements;
	*len = text ? strlen(text) : 0;
	return text;
}

static void refuse(const char *profiles, const char *placements, unsigned line)
{
	Texts texts = {profiles, placements};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_mig_open_text(text_of, &texts, diags));
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_assert_cmpstr(diag->code, ==, "catalog.bad-data");
	g_assert_cmpuint(diag->source.line, ==, line);
}

static void test_bad_tables_are_refused(void)
{
	refuse(NULL, PLACEMENTS, 0);
	refuse(PROFILES "A,1g,1,5,7\nA,1g,1,5,7\n", PLACEMENTS, 3);
	refuse(PROFILES "A,,1,5,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,0,5,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,nan,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,5,9\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,5,7\n", PLACEMENTS "A,2g,0,1\n", 2);
	refuse(PROFILES "A,1g,1,5,7\n", PLACEMENTS "A,1g,8,1\n", 2);
	refuse(PROFILES "A,1g,1,5,7\n", PLACEMENTS "A,1g,1,1\nA,1g,1,1\n", 3);
	refuse(PROFILES "A,1g,1,5,7\n", PLACEMENTS "A,1g,0,1\nA,1g,1,2\n", 3);
	refuse(PROFILES "A,1g,1,5,7\n", PLACEMENTS "A,1g,0,0\n", 2);
	refuse(PROFILES "A,1g,1,5,7\n", "gpu_model,profile,start\nA,1g,0\n", 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	mig = rg_mig_open(NULL, diags);
	g_assert_nonnull(mig);
	g_test_add_func("/catalog/mig/seven_not_eight", test_seven_small_slices_not_eight);
	g_test_add_func("/catalog/mig/counts", test_counts_agree_with_placements);
	g_test_add_func("/catalog/mig/mixed", test_mixed_lists_by_their_places);
	g_test_add_func("/catalog/mig/search", test_the_search_goes_back);
	g_test_add_func("/catalog/mig/unplaced", test_without_placements_one_profile_alone);
	g_test_add_func("/catalog/mig/models", test_models_differ);
	g_test_add_func("/catalog/mig/bad_tables", test_bad_tables_are_refused);
	int result = g_test_run();
	rg_mig_free(mig);
	return result;
}
