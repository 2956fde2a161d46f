#include "catalog/table.h"
#include <string.h>

static const char *const columns[] = {"name", "count", "amount", NULL};

static RgTable *read_text(const char *text, RgDiags *diags)
{
	return rg_table_read("x.csv", text, strlen(text), columns, diags);
}

static void test_reads_by_header(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgTable) table = read_text("amount,other,count,name\n"
					     "1.5,z,7,\"a, \"\"b\"\"\"\r\n"
					     "\n2.25,\"two\nlines\",8,c",
		diags);
	g_assert_nonnull(table);
	g_assert_cmpuint(rg_table_rows(table), ==, 2);
	g_assert_cmpstr(rg_table_cell(table, 0, 0), ==, "a, \"b\"");
	g_assert_cmpstr(rg_table_cell(table, 1, 0), ==, "c");
	g_assert_cmpuint(rg_table_source(table, 0).line, ==, 2);
	g_assert_cmpuint(rg_table_source(table, 1).line, ==, 4);
	unsigned count = 0;
	double amount = 0;
	g_assert_true(rg_table_count(table, 1, 1, &count, diags));
	g_assert_true(rg_table_amount(table, 1, 2, false, &amount, diags));
	g_assert_cmpuint(count, ==, 8);
	g_assert_cmpfloat(amount, ==, 2.25);
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
}

/* What libcsv need not read is read as libcsv would. */
static void test_plain_and_other_lines(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgTable) table = read_text("name,count,amount\n"
					     "a,1,2\n"
					     " b,3 ,4\n"
					     "c d,5,\t\n"
					     "\"e\nf,7,8\n\",9,10\n"
					     "g,11,12\r\"h\ni,13,14\n\",15,16\n"
					     "j,17,18\n",
		diags);
	static const char *const cells[][3] = {{"a", "1", "2"}, {"b", "3", "4"}, {"c d", "5", ""},
		{"e\nf,7,8\n", "9", "10"}, {"g", "11", "12"}, {"h\ni,13,14\n", "15", "16"},
		{"j", "17", "18"}};
	g_assert_nonnull(table);
	g_assert_cmpuint(rg_table_rows(table), ==, G_N_ELEMENTS(cells));
	for (size_t i = 0; i < 3 * G_N_ELEMENTS(cells); i++)
		g_assert_cmpstr(rg_table_cell(table, i / 3, i % 3), ==, cells[i / 3][i % 3]);
	g_assert_cmpuint(rg_table_source(table, 6).line, ==, 11);
}

/* Compares the tables of a provider with what libcsv alone makes of them: it reads every line with
 * a blank at its end, and ignores that. */
static void test_libcsv_agrees(gconstpointer path)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *text = NULL;
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_autoptr(GString) blank = g_string_new(text);
	g_string_replace(blank, "\n", " \n", 0);
	g_autofree char *header = g_strndup(text, strcspn(text, "\n"));
	g_auto(GStrv) names = g_strsplit(header, ",", 0);
	const char *const *all = (const char *const *)names;
	g_autoptr(RgTable) table = rg_table_read("x.csv", text, strlen(text), all, diags);
	g_autoptr(RgTable) other = rg_table_read("x.csv", blank->str, blank->len, all, diags);
	g_assert_true(table && other);
	g_assert_cmpuint(rg_table_rows(table), ==, rg_table_rows(other));
	for (size_t row = 0; row < rg_table_rows(table); row++) {
		for (size_t c = 0; names[c]; c++)
			g_assert_cmpstr(
				rg_table_cell(table, row, c), ==, rg_table_cell(other, row, c));
		g_assert_cmpuint(
			rg_table_source(table, row).line, ==, rg_table_source(other, row).line);
	}
}

static void test_refuses_broken_files(void)
{
	static const struct {
		const char *text, *said;
		unsigned line;
	} cases[] = {
		{"", "empty", 0},
		{"name,count\na,1\n", "no column \"amount\"", 1},
		{"name,count,amount,name\n", "twice", 1},
		{"name,count,amount\na,1,2\nb,1\n", "2 fields where the header has 3", 3},
		{"name,count,amount\na,1,2,3\n", "4 fields where the header has 3", 2},
		{"name,count,amount\na,\"1,2\n", "quot", 2},
		{"name,count,amount\na,\"1\"x,2\n", "error", 2},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_null(read_text(cases[i].text, diags));
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_test_message("%zu: %u: %s", i, diag->source.line, diag->summary);
		g_assert_cmpstr(diag->code, ==, "catalog.bad-data");
		g_assert_cmpstr(diag->source.file, ==, "x.csv");
		g_assert_cmpuint(diag->source.line, ==, cases[i].line);
		if (i < 5)
			g_assert_nonnull(strstr(diag->summary, cases[i].said));
	}
}

static void test_refuses_what_is_no_number(void)
{
	static const char *const words[] = {"nan", "NaN", "inf", "-1", "+1", " 1", "1 ", "0x10",
		"1e3", "1,5", "", ".", "1.2.3"};
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autofree char *text =
			g_strdup_printf("name,count,amount\na,\"%s\",\"%s\"\n", words[i], words[i]);
		g_autoptr(RgTable) table = read_text(text, diags);
		unsigned count = 0;
		double amount = 0;
		g_assert_nonnull(table);
		g_assert_false(rg_table_count(table, 0, 1, &count, diags));
		g_assert_false(rg_table_amount(table, 0, 2, false, &amount, diags));
		g_assert_cmpuint(rg_diags_count(diags), ==, 2);
		g_assert_cmpuint(rg_diags_get(diags, 1)->source.line, ==, 2);
	}
}

static void test_a_nul_byte_is_refused(void)
{
	static const char text[] = "name,count,amount\na\0b,1,2\n";
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_table_read("x.csv", text, sizeof text - 1, columns, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "catalog.bad-data");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/catalog/table/reads_by_header", test_reads_by_header);
	g_test_add_func("/catalog/table/plain_and_other_lines", test_plain_and_other_lines);
	g_test_add_data_func("/catalog/table/libcsv_agrees/types",
		PROVIDERS_DIR "/aws/instance_types.csv", test_libcsv_agrees);
	g_test_add_data_func("/catalog/table/libcsv_agrees/prices", PROVIDERS_DIR "/gcp/prices.csv",
		test_libcsv_agrees);
	g_test_add_func("/catalog/table/refuses_broken_files", test_refuses_broken_files);
	g_test_add_func("/catalog/table/refuses_what_is_no_number", test_refuses_what_is_no_number);
	g_test_add_func("/catalog/table/a_nul_byte_is_refused", test_a_nul_byte_is_refused);
	return g_test_run();
}
