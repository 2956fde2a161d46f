/* Golden table of broken and good specs: tests/golden/spec/NAME.test has `@spec`, the file's text,
 * and `@expect`, the findings. argv: the folder [--update]. In `@spec`, `\xHH` (two hex digits)
 * stands for one byte, for what a text file cannot contain, and a line
 * `@times N TEXT` for N repetitions of TEXT. */
#include <stdio.h>
#include <string.h>
#include "spec/spec.h"
#include "spec_text.h"

#define CASES_MIN 60
#define CODES_MIN 30

typedef struct {
	char *path, *spec, *expect;
	bool update;
	GHashTable *codes; /* set of all codes seen, shared */
} Case;

static void free_case(gpointer data)
{
	Case *test = data;
	g_free(test->path);
	g_free(test->spec);
	g_free(test->expect);
	g_hash_table_unref(test->codes);
	g_free(test);
}

static GString *decode_bytes(const char *text)
{
	GString *bytes = g_string_new(NULL);
	while (*text != '\0') {
		bool is_byte = text[0] == '\\' && text[1] == 'x' && g_ascii_isxdigit(text[2]) &&
			       g_ascii_isxdigit(text[3]);
		if (!is_byte) {
			g_string_append_c(bytes, *text++);
			continue;
		}
		int high = g_ascii_xdigit_value(text[2]), low = g_ascii_xdigit_value(text[3]);
		g_string_append_c(bytes, (char)(high * 16 + low));
		text += 4;
	}
	return bytes;
}

static char *expand_times(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line != NULL; line++) {
		if (!g_str_has_prefix(*line, "@times "))
			continue;
		char *unit;
		guint64 times = g_ascii_strtoull(*line + strlen("@times "), &unit, 10);
		g_assert_cmpint(*unit, ==, ' ');
		g_autoptr(GString) many = g_string_new(NULL);
		for (guint64 i = 0; i < times; i++)
			g_string_append(many, unit + 1);
		g_free(*line);
		*line = g_strdup(many->str);
	}
	return g_strjoinv("\n", lines);
}

static void run_case(gconstpointer data)
{
	const Case *test = data;
	g_autofree char *expanded = expand_times(test->spec);
	g_autoptr(GString) spec = decode_bytes(expanded);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load("spec.yaml", spec->str, spec->len, diags);
	g_assert_true((!cluster) == rg_diags_has_errors(diags));
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_hash_table_add(test->codes, (gpointer)(uintptr_t)rg_diags_get(diags, i)->code);
	g_autofree char *said = spec_text(diags);
	if (!test->update) {
		g_assert_cmpstr(said, ==, test->expect);
		return;
	}
	g_autofree char *text = g_strdup_printf("@spec\n%s@expect\n%s", test->spec, said);
	g_assert_true(g_file_set_contents(test->path, text, -1, NULL));
}

static Case *read_case(const char *folder, const char *name, GHashTable *codes, bool update)
{
	Case *test = g_new0(Case, 1);
	test->path = g_build_filename(folder, name, NULL);
	test->codes = g_hash_table_ref(codes);
	test->update = update;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	if (!g_file_get_contents(test->path, &text, NULL, &error))
		g_error("%s", error->message);
	const char *expect = strstr(text, "@expect\n");
	if (!g_str_has_prefix(text, "@spec\n") || !expect)
		g_error("%s: no @spec and @expect", test->path);
	const char *spec = text + strlen("@spec\n");
	test->spec = g_strndup(spec, (gsize)(expect - spec));
	test->expect = g_strdup(expect + strlen("@expect\n"));
	return test;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *list_cases(const char *folder)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	if (!dir)
		g_error("%s: no folder of cases", folder);
	const char *name;
	while ((name = g_dir_read_name(dir))) {
		if (g_str_has_suffix(name, ".test"))
			g_ptr_array_add(names, g_strdup(name));
	}
	g_ptr_array_sort(names, compare_names);
	return names;
}

/* Runs after the cases: the corpus still covers the agreed codes. */
static void check_width(gconstpointer data)
{
	GHashTable *codes = ((const Case *)data)->codes;
	g_test_message("%u codes", g_hash_table_size(codes));
	g_assert_cmpuint(g_hash_table_size(codes), >=, CODES_MIN);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc < 2)
		g_error("usage: %s FOLDER [--update]", argv[0]);
	bool update = argc > 2 && g_str_equal(argv[2], "--update");
	g_autoptr(GHashTable) codes = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) names = list_cases(argv[1]);
	g_autoptr(GPtrArray) cases = g_ptr_array_new_with_free_func(free_case);
	for (guint i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		g_ptr_array_add(cases, read_case(argv[1], name, codes, update));
		g_autofree char *path = g_strdup_printf("/spec/golden/%s", name);
		g_test_add_data_func(path, g_ptr_array_index(cases, i), run_case);
	}
	g_assert_cmpuint(cases->len, >=, CASES_MIN);
	g_test_add_data_func(
		"/spec/golden/all-of-them-cover-the-codes", cases->pdata[0], check_width);
	return g_test_run();
}
