/* Every data file, with every fault that a person or a script may introduce: the real table with
 * one fault is refused, at the file and line of the fault. */
#include <string.h>
#include "base/embedded.h"
#include "catalog/carbon.h"
#include "catalog/compat.h"
#include "catalog/mig.h"

extern const struct rg_embedded rg_catalog_data[];

/* A file and what it must not contain. Lists are words separated by blanks. */
typedef struct {
	const char *file;
	const char *needed;   /* columns that may not be missing */
	const char *figures;  /* columns of numbers or versions */
	const char *optional; /* of these, those that may be empty */
	const char *words;    /* columns with a fixed choice of words */
} Form;

static const Form forms[] = {
	{"instance_types.csv",
		"instance_type family arch vcpus memory_gib gpu_model gpus gpu_fraction "
		"offers_known",
		"vcpus memory_gib gpus gpu_fraction network_gbps network_peak_gbps "
		"rdma_adapters lowest_usd_per_hour",
		"network_gbps network_peak_gbps rdma_adapters lowest_usd_per_hour",
		"arch gpu_model offers_known markets"},
	{"prices.csv", "region instance_type kind usd_per_hour quality date", "usd_per_hour date",
		"", "instance_type kind"},
	{"regions.csv", "region offers_known", "", "", "offers_known"},
	{"refusals.csv", "instance_type wish", "", "", "instance_type wish"},
	{"retired.csv", "instance_type gpu_model since gone_by replaced_by", "", "", "gpu_model"},
	{"gpu_models.csv",
		"gpu_model vendor architecture form memory_gb memory_mib bandwidth_gb_s "
		"compute_capability "
		"precisions fp16_tflops fp8_tflops power_w nvlink_gb_s mig_instances "
		"mig_min_driver min_driver min_cuda last_cuda_major ray_type ray_memory_type names",
		"memory_gb memory_mib bandwidth_gb_s compute_capability fp16_tflops fp8_tflops "
		"power_w "
		"nvlink_gb_s mig_instances last_cuda_major",
		"bandwidth_gb_s compute_capability fp16_tflops fp8_tflops power_w nvlink_gb_s "
		"mig_instances last_cuda_major",
		""},
	{"grid_intensity.csv", "provider region year g_co2e_per_kwh source", "g_co2e_per_kwh", "",
		""},
	{"gpu_power.csv", "gpu_model idle_watts full_watts", "idle_watts full_watts", "", ""},
	{"host_power.csv", "provider vcpu_idle_watts vcpu_full_watts memory_watts_per_gb pue",
		"vcpu_idle_watts vcpu_full_watts memory_watts_per_gb pue", "", ""},
	{"mig_profiles.csv", "gpu_model profile compute_slices memory_gb memory_mib instances",
		"compute_slices memory_gb memory_mib instances", "", ""},
	{"mig_placements.csv", "gpu_model profile start size", "start size", "",
		"gpu_model profile"},
	{"ray_releases.csv", "release patches wheel_pythons checked", "release patches checked", "",
		"checked"},
	{"ray_images.csv", "repository from to pythons cuda_tags gpu_alias cpu bare arm64 tags",
		"from to", "", "gpu_alias cpu bare arm64 tags"},
	{"ray_options.csv", "api option from to", "from to", "to", ""},
	{"cuda_releases.csv", "tag cuda min_driver min_driver_minor",
		"cuda min_driver min_driver_minor", "", ""},
	{"cuda_archs.csv",
		"compute_capability architecture first_cuda last_cuda last_driver_branch",
		"compute_capability first_cuda last_cuda last_driver_branch",
		"last_cuda last_driver_branch", ""},
};

/* NaN, signs, exponents, units, separators, blanks. */
static const char *const no_figures[] = {
	"NaN", "inf", "-1", "+1", "1e3", "0x10", "40GB", "$1", "\"1,5\"", "\" 1\"", "\"1 \"", "?"};

/* ---- one text instead of the file's own */

typedef struct {
	const char *file, *text;
} Spoiled;

static char *read_data(const char *name)
{
	size_t len = 0;
	const char *embedded =
		rg_catalog_embedded_text((void *)(uintptr_t)rg_catalog_data, name, &len);
	if (embedded)
		return g_strndup(embedded, len);
	g_autofree char *path = g_build_filename(PROVIDERS_DIR, "aws", name, NULL);
	char *text = NULL;
	if (!g_file_get_contents(path, &text, NULL, NULL)) /* of one that aws does not have */
		g_assert_true(g_str_has_suffix(name, "_types.csv") ||
			      g_str_has_suffix(name, "_gpus.csv"));
	return text;
}

static const char *text_of(void *data, const char *name, size_t *len)
{
	static GHashTable *kept;
	const Spoiled *spoiled = data;
	const char *text = spoiled->text;
	if (!g_str_equal(name, spoiled->file)) {
		if (!kept)
			kept = g_hash_table_new(g_str_hash, g_str_equal);
		text = g_hash_table_lookup(kept, name);
		if (!text) {
			text = read_data(name);
			g_hash_table_insert(kept, (char *)(uintptr_t)g_intern_string(name),
				(gpointer)(uintptr_t)text);
		}
	}
	*len = text ? strlen(text) : 0;
	return text;
}

/* Whether the reader accepts the file. */
static bool is_taken(const Spoiled *spoiled, RgDiags *diags)
{
	void *data = (void *)(uintptr_t)spoiled;
	if (strstr("instance_types.csv prices.csv regions.csv refusals.csv retired.csv",
		    spoiled->file)) {
		g_autoptr(RgCatalog) catalog = rg_catalog_open("aws", text_of, data, diags);
		return catalog != NULL;
	}
	if (g_str_equal(spoiled->file, "gpu_models.csv")) {
		g_autoptr(RgGpus) gpus = rg_gpus_open_text(text_of, data, NULL, diags);
		return gpus != NULL;
	}
	if (g_str_has_prefix(spoiled->file, "mig_")) {
		g_autoptr(RgMig) mig = rg_mig_open_text(text_of, data, diags);
		return mig != NULL;
	}
	if (strstr("grid_intensity.csv gpu_power.csv host_power.csv", spoiled->file)) {
		g_autoptr(RgCarbon) carbon = rg_carbon_open_with(text_of, data, diags);
		return carbon != NULL;
	}
	g_autoptr(RgCompat) compat = rg_compat_open_with(text_of, data, diags);
	return compat != NULL;
}

/* ---- a table as lines of cells; no cell except the last contains a comma */

static GPtrArray *split_line(const char *line)
{
	GPtrArray *cells = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) cell = g_string_new(NULL);
	bool quoted = false;
	for (const char *at = line; *at != '\0'; at++) {
		quoted ^= *at == '"';
		if (*at != ',' || quoted) {
			g_string_append_c(cell, *at);
			continue;
		}
		g_ptr_array_add(cells, g_strdup(cell->str));
		g_string_truncate(cell, 0);
	}
	g_ptr_array_add(cells, g_strdup(cell->str));
	return cells;
}

static GPtrArray *split(const char *file)
{
	g_autofree char *text = read_data(file);
	g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
	GPtrArray *table = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	for (size_t i = 0; lines[i] != NULL; i++)
		g_ptr_array_add(table, split_line(lines[i]));
	return table;
}

static char *join(const GPtrArray *table)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < table->len; i++) {
		const GPtrArray *cells = table->pdata[i];
		for (guint c = 0; c < cells->len; c++)
			g_string_append_printf(
				text, "%s%s", c > 0 ? "," : "", (const char *)cells->pdata[c]);
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

static guint column_of(const GPtrArray *table, const char *name)
{
	const GPtrArray *header = table->pdata[0];
	guint at = 0;
	g_assert_true(g_ptr_array_find_with_equal_func(
		(GPtrArray *)(uintptr_t)header, name, g_str_equal, &at));
	return at;
}

/* A row in the middle, where most columns are filled: a GPU type among the instance types. */
static guint row_of(const GPtrArray *table, guint column)
{
	for (guint i = table->len / 2; i < table->len; i++) {
		const GPtrArray *cells = table->pdata[i];
		if (*(const char *)cells->pdata[column] != '\0')
			return i;
	}
	for (guint i = 1; i < table->len; i++) {
		const GPtrArray *cells = table->pdata[i];
		if (*(const char *)cells->pdata[column] != '\0')
			return i;
	}
	g_assert_not_reached();
}

static void expect_refused(const Form *form, const GPtrArray *table, unsigned line, const char *how)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *text = join(table);
	Spoiled spoiled = {form->file, text};
	g_test_message("%s: %s", form->file, how);
	g_assert_false(is_taken(&spoiled, diags));
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_test_message("  %s:%u: %s", diag->source.file, diag->source.line, diag->summary);
	g_assert_cmpstr(diag->code, ==, "catalog.bad-data");
	g_assert_cmpstr(diag->source.file, ==, form->file);
	g_assert_cmpuint(diag->source.line, ==, line);
}

/* The table with another text in one cell; the cell is restored. */
static void spoil_cell(const Form *form, GPtrArray *table, const char *column, const char *cell)
{
	guint c = column_of(table, column), row = row_of(table, c);
	GPtrArray *cells = table->pdata[row];
	char *was = cells->pdata[c];
	g_autofree char *how = g_strdup_printf("%s is %s", column, cell);
	cells->pdata[c] = (char *)(uintptr_t)cell;
	expect_refused(form, table, row + 1, how);
	cells->pdata[c] = was;
}

/* ---- the faults */

static void test_as_they_are(gconstpointer data)
{
	const Form *form = data;
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GPtrArray) table = split(form->file);
	g_autofree char *text = join(table);
	g_assert_true(is_taken(&(Spoiled){form->file, text}, diags));
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
}

static void test_missing_columns(gconstpointer data)
{
	const Form *form = data;
	g_auto(GStrv) needed = g_strsplit(form->needed, " ", -1);
	g_autoptr(GPtrArray) table = split(form->file);
	GPtrArray *header = table->pdata[0];
	for (size_t i = 0; needed[i] != NULL; i++) {
		guint c = column_of(table, needed[i]);
		char *was = header->pdata[c];
		header->pdata[c] = (char *)(uintptr_t) "renamed";
		expect_refused(form, table, 1, needed[i]);
		header->pdata[c] = was;
	}
	g_ptr_array_add(header, g_strdup(header->pdata[0]));
	expect_refused(form, table, 1, "the first column twice");
}

static void test_no_figures(gconstpointer data)
{
	const Form *form = data;
	g_auto(GStrv) figures = g_strsplit(form->figures, " ", -1);
	g_auto(GStrv) optional = g_strsplit(form->optional, " ", -1);
	g_autoptr(GPtrArray) table = split(form->file);
	for (size_t i = 0; figures[i] != NULL; i++) {
		for (size_t k = 0; k < G_N_ELEMENTS(no_figures); k++)
			spoil_cell(form, table, figures[i], no_figures[k]);
		if (!g_strv_contains((const char *const *)optional, figures[i]))
			spoil_cell(form, table, figures[i], "");
	}
}

static void test_words_that_are_none(gconstpointer data)
{
	const Form *form = data;
	g_auto(GStrv) words = g_strsplit(form->words, " ", -1);
	g_autoptr(GPtrArray) table = split(form->file);
	for (size_t i = 0; words[i] != NULL; i++)
		spoil_cell(form, table, words[i], "nobody");
}

static void test_rows_of_another_width_and_twice(gconstpointer data)
{
	const Form *form = data;
	g_autoptr(GPtrArray) table = split(form->file);
	GPtrArray *row = table->pdata[table->len / 2];
	g_ptr_array_add(row, g_strdup("1"));
	expect_refused(form, table, table->len / 2 + 1, "a cell too many");
	g_ptr_array_set_size(row, (gint)row->len - 2);
	expect_refused(form, table, table->len / 2 + 1, "a cell too few");
	g_autoptr(GPtrArray) again = split(form->file);
	g_ptr_array_add(again, g_ptr_array_ref(again->pdata[1]));
	expect_refused(form, again, again->len, "a row twice");
}

/* MiB for GiB, Mbps for Gbps, bytes: all of them numbers. */
static void test_wrong_units(void)
{
	static const struct {
		const char *file, *column, *cell;
	} cases[] = {
		{"instance_types.csv", "memory_gib", "999999"},
		{"instance_types.csv", "memory_gib", "1237940039680"},
		{"gpu_models.csv", "memory_mib", "80"},
		{"gpu_models.csv", "memory_mib", "83886080"},
		{"instance_types.csv", "network_gbps", "25000"},
		{"instance_types.csv", "network_peak_gbps", "400000000000"},
		{"gpu_models.csv", "memory_gb", "85899345920"},
		{"gpu_models.csv", "bandwidth_gb_s", "2039000000"},
		{"grid_intensity.csv", "g_co2e_per_kwh", "3790000000"},
		{"mig_profiles.csv", "memory_gb", "5368709120"},
		{"mig_profiles.csv", "memory_mib", "4980736"},
		{"mig_profiles.csv", "instances", "13"},
		{"host_power.csv", "pue", "0.13"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		Form form = {.file = cases[i].file};
		g_autoptr(GPtrArray) table = split(cases[i].file);
		spoil_cell(&form, table, cases[i].column, cases[i].cell);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(gconstpointer data);
	} faults[] = {{"as-they-are", test_as_they_are}, {"missing-columns", test_missing_columns},
		{"no-figures", test_no_figures}, {"no-words", test_words_that_are_none},
		{"rows", test_rows_of_another_width_and_twice}};
	g_test_init(&argc, &argv, NULL);
	for (size_t f = 0; f < G_N_ELEMENTS(forms); f++) {
		for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
			g_autofree char *path = g_strdup_printf(
				"/catalog-hostile/%s/%s", forms[f].file, faults[i].name);
			g_test_add_data_func(path, &forms[f], faults[i].run);
		}
	}
	g_test_add_func("/catalog-hostile/wrong-units", test_wrong_units);
	return g_test_run();
}
