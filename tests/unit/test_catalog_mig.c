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

/* On one GPU together, in this order. */
typedef struct {
	const char *model, *names;
	unsigned times;
	bool lies;
} List;

static void check_lists(const List *lists, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const List *one = &lists[i];
		g_test_message("%s %u x %s", one->model, one->times, one->names);
		g_assert_cmpint(lies(one->model, one->names, one->times), ==, one->lies);
	}
}

static void test_seven_small_slices_not_eight(void)
{
	static const List lists[] = {{"A100-40GB", "1g.5gb", 7, true},
		{"A100-40GB", "1g.5gb", 8, false}, {"A30", "1g.6gb", 4, true},
		{"A30", "1g.6gb", 5, false}};
	check_lists(lists, G_N_ELEMENTS(lists));
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
	static const List lists[] = {{"A100-40GB", "4g.20gb,3g.20gb", 1, true},
		{"A100-40GB", "4g.20gb,2g.10gb,1g.5gb", 1, true},
		{"A100-40GB", "3g.20gb,3g.20gb", 1, true},
		{"A100-40GB", "1g.5gb,3g.20gb,2g.10gb", 1, true},
		{"A100-40GB", "2g.10gb,2g.10gb,2g.10gb,1g.5gb", 1, true},
		{"A100-40GB", "4g.20gb,4g.20gb", 1, false},
		{"A100-40GB", "3g.20gb,3g.20gb,1g.5gb", 1, false},
		{"A100-40GB", "7g.40gb,1g.5gb", 1, false},
		{"A100-40GB", "1g.5gb+me,1g.5gb+me", 1, false},
		{"A100-40GB", "1g.5gb+me,1g.5gb", 1, true}};
	check_lists(lists, G_N_ELEMENTS(lists));
}

/* A listing that greedy placement in the order of the list would miss. */
static void test_the_search_goes_back(void)
{
	static const List lists[] = {{"A100-40GB", "1g.5gb,4g.20gb", 1, true},
		{"A100-40GB", "1g.5gb,1g.5gb,1g.5gb,4g.20gb", 1, true},
		{"A100-40GB", "1g.5gb,1g.5gb,1g.5gb,1g.5gb,4g.20gb", 1, false}};
	check_lists(lists, G_N_ELEMENTS(lists));
}

static void test_without_placements_one_profile_alone(void)
{
	static const List lists[] = {{"RTX-PRO-4500-BSE", "1g.16gb", 2, true},
		{"RTX-PRO-4500-BSE", "1g.16gb", 3, false},
		{"RTX-PRO-4500-BSE", "1g.16gb,1g.16gb-me", 1, false}};
	check_lists(lists, G_N_ELEMENTS(lists));
	g_assert_cmpuint(rg_mig_places(mig, "RTX-PRO-4500-BSE"), ==, 0);
}

/* Twelve places; which starts nvidia-smi showed for this list. */
static void test_mixed_rtx_pro(void)
{
	static const char model[] = "RTX-PRO-6000-BSE";
	const RgMigProfile *wish[] = {
		profile(model, "2g.48gb"), profile(model, "1g.24gb"), profile(model, "1g.24gb")};
	unsigned starts[3] = {0};
	g_assert_true(rg_mig_place(wish, 3, starts));
	g_assert_cmpuint(starts[0], ==, 0);
	g_assert_cmpuint(starts[1], ==, 6);
	g_assert_cmpuint(starts[2], ==, 9);
	static const List lists[] = {{model, "1g.24gb,2g.48gb,1g.24gb", 1, true},
		{model, "2g.48gb+gfx,1g.24gb,1g.24gb-me", 1, true},
		{model, "2g.48gb,2g.48gb,1g.24gb", 1, false},
		{model, "4g.96gb,1g.24gb-me", 1, false}};
	check_lists(lists, G_N_ELEMENTS(lists));
	g_assert_cmpuint(rg_mig_places(mig, model), ==, 12);
	g_assert_cmpuint(rg_mig_places(mig, "A30"), ==, 4);
}

static void test_media_engines_are_held_once(void)
{
	static const List lists[] = {{"RTX-PRO-6000-BSE", "2g.48gb,1g.24gb+me,1g.24gb", 1, true},
		{"RTX-PRO-6000-BSE", "2g.48gb+me.all,1g.24gb+me", 1, false},
		{"RTX-PRO-6000-BSE", "2g.48gb+me.all,1g.24gb", 1, false},
		{"RTX-PRO-6000-BSE", "1g.24gb+me.all,2g.48gb+gfx", 1, false},
		{"RTX-PRO-6000-BSE", "2g.48gb+me.all,1g.24gb-me,1g.24gb-me", 1, true},
		{"A30", "2g.12gb+me,1g.6gb+me", 1, false}, {"A30", "2g.12gb+me,1g.6gb", 1, true}};
	check_lists(lists, G_N_ELEMENTS(lists));
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

/* What nvidia-smi lists, which the names overstate; estimates are never above the names. */
static void test_memory(void)
{
	static const struct {
		const char *model, *profile;
		unsigned mib;
	} rows[] = {{"A100-40GB", "1g.5gb", 4864}, {"A100-40GB", "7g.40gb", 40192},
		{"A30", "4g.24gb", 23344}, {"H100-80GB", "1g.10gb", 9856},
		{"H100-80GB-PCIe", "3g.40gb", 40448}, {"H200-141GB", "1g.18gb", 16384},
		{"H200-141GB", "2g.35gb", 33024}, {"H200-141GB", "4g.71gb", 71168},
		{"B200-180GB", "1g.23gb", 20992}, {"B200-180GB", "1g.45gb", 45312},
		{"B200-180GB", "3g.90gb", 91136}, {"B200-180GB", "7g.180gb", 182784},
		{"GB200-186GB", "1g.23gb", 20480}, {"GB200-186GB", "2g.47gb", 46592},
		{"RTX-PRO-6000-BSE", "1g.24gb", 23680}, {"RTX-PRO-6000-BSE", "2g.48gb-me", 47616}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpuint(
			profile(rows[i].model, rows[i].profile)->memory_mib, ==, rows[i].mib);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgGpus) gpus = rg_gpus_open(diags);
	const GPtrArray *models = rg_gpus_get_all(gpus);
	for (guint m = 0; m < models->len; m++) {
		const RgGpuModel *model = models->pdata[m];
		const GPtrArray *profiles = rg_mig_profiles(mig, model->name);
		for (guint i = 0; profiles && i < profiles->len; i++) {
			const RgMigProfile *one = profiles->pdata[i];
			g_test_message("%s %s", model->name, one->name);
			g_assert_cmpuint(one->memory_mib, >=, one->memory_gb * 1024 * 85 / 100);
			g_assert_cmpuint(one->memory_mib, <=, one->memory_gb * 1024);
			g_assert_cmpuint(one->memory_mib * one->instances, <=, model->memory_mib);
		}
	}
}

/* NVIDIA's MIG user guide, RTX PRO Blackwell Server Edition: instances of each profile on one GPU.
 */
static void test_rtx_pro(void)
{
	static const struct {
		const char *model, *profile;
		unsigned instances;
	} rows[] = {{"RTX-PRO-6000-BSE", "1g.24gb", 4}, {"RTX-PRO-6000-BSE", "1g.24gb+gfx", 4},
		{"RTX-PRO-6000-BSE", "1g.24gb-me", 4}, {"RTX-PRO-6000-BSE", "1g.24gb+me", 1},
		{"RTX-PRO-6000-BSE", "1g.24gb+me.all", 1}, {"RTX-PRO-6000-BSE", "2g.48gb", 2},
		{"RTX-PRO-6000-BSE", "2g.48gb+gfx", 2}, {"RTX-PRO-6000-BSE", "2g.48gb-me", 2},
		{"RTX-PRO-6000-BSE", "2g.48gb+me.all", 1}, {"RTX-PRO-6000-BSE", "4g.96gb", 1},
		{"RTX-PRO-6000-BSE", "4g.96gb+gfx", 1}, {"RTX-PRO-4500-BSE", "1g.16gb", 2},
		{"RTX-PRO-4500-BSE", "1g.16gb+gfx", 2}, {"RTX-PRO-4500-BSE", "1g.16gb-me", 2},
		{"RTX-PRO-4500-BSE", "1g.16gb+me.all", 1}, {"RTX-PRO-4500-BSE", "2g.32gb", 1},
		{"RTX-PRO-4500-BSE", "2g.32gb+gfx", 1}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpuint(
			profile(rows[i].model, rows[i].profile)->instances, ==, rows[i].instances);
	g_assert_cmpuint(rg_mig_profiles(mig, "RTX-PRO-6000-BSE")->len, ==, 11);
	g_assert_cmpuint(rg_mig_profiles(mig, "RTX-PRO-4500-BSE")->len, ==, 6);
}

#define PROFILES "gpu_model,profile,compute_slices,memory_gb,memory_mib,instances\n"
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
	refuse(PROFILES "A,1g,1,5,4864,7\nA,1g,1,5,4864,7\n", PLACEMENTS, 3);
	refuse(PROFILES "A,,1,5,4864,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,0,5,4864,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,nan,4864,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,5,4864,13\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,5,0,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,5,5121,7\n", PLACEMENTS, 2);
	refuse(PROFILES "A,1g,1,5,4864,7\n", PLACEMENTS "A,2g,0,1\n", 2);
	refuse(PROFILES "A,1g,1,5,4864,7\n", PLACEMENTS "A,1g,12,1\n", 2);
	refuse(PROFILES "A,1g,1,5,4864,7\n", PLACEMENTS "A,1g,1,1\nA,1g,1,1\n", 3);
	refuse(PROFILES "A,1g,1,5,4864,7\n", PLACEMENTS "A,1g,0,1\nA,1g,1,2\n", 3);
	refuse(PROFILES "A,1g,1,5,4864,7\n", PLACEMENTS "A,1g,0,0\n", 2);
	refuse(PROFILES "A,1g,1,5,4864,7\n", "gpu_model,profile,start\nA,1g,0\n", 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	mig = rg_mig_open(NULL, diags);
	g_assert_nonnull(mig);
	g_test_add_func("/catalog/mig/memory", test_memory);
	g_test_add_func("/catalog/mig/rtx-pro", test_rtx_pro);
	g_test_add_func("/catalog/mig/seven_not_eight", test_seven_small_slices_not_eight);
	g_test_add_func("/catalog/mig/counts", test_counts_agree_with_placements);
	g_test_add_func("/catalog/mig/mixed", test_mixed_lists_by_their_places);
	g_test_add_func("/catalog/mig/search", test_the_search_goes_back);
	g_test_add_func("/catalog/mig/unplaced", test_without_placements_one_profile_alone);
	g_test_add_func("/catalog/mig/mixed-rtx-pro", test_mixed_rtx_pro);
	g_test_add_func("/catalog/mig/media", test_media_engines_are_held_once);
	g_test_add_func("/catalog/mig/models", test_models_differ);
	g_test_add_func("/catalog/mig/bad_tables", test_bad_tables_are_refused);
	int result = g_test_run();
	rg_mig_free(mig);
	return result;
}
