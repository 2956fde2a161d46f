#include "base/diag.h"

#include <string.h>

static void first_error_decides_exit_code(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_cmpint(rg_diags_exit_code(diags), ==, 0);
	rg_diags_warning(diags, "provider.denied", "only a warning");
	g_assert_false(rg_diags_has_errors(diags));
	g_assert_cmpint(rg_diags_exit_code(diags), ==, 0);
	rg_diags_error(diags, "state.locked", "locked by %s", "bob");
	rg_diags_error(diags, "spec.bad-value", "later");
	g_assert_cmpint(rg_diags_exit_code(diags), ==, 5);
	g_assert_cmpuint(rg_diags_count_of(diags, RG_SEVERITY_ERROR), ==, 2);
	g_assert_cmpstr(rg_diags_get(diags, 1)->summary, ==, "locked by bob");
}

static void setters_replace_and_may_quote_themselves(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgDiag *diag = rg_diags_error(diags, "spec.bad-value", "x");
	rg_diag_hint(rg_diag_detail(diag, "one"), "try %d", 2);
	rg_diag_detail(diag, "%s and two", diag->detail);
	rg_diag_address(diag, "aws.instance.a[0]", NULL);
	rg_diag_cloud(diag, "aws", "Throttling", "req-1");
	g_assert_cmpstr(diag->detail, ==, "one and two");
	g_assert_cmpstr(diag->hint, ==, "try 2");
	g_assert_cmpstr(diag->address, ==, "aws.instance.a[0]");
	g_assert_null(diag->attribute);
	g_assert_cmpstr(diag->request_id, ==, "req-1");
}

static void taking_all_moves_findings_and_texts(void)
{
	g_autoptr(RgDiags) to = rg_diags_new();
	g_autoptr(RgDiags) from = rg_diags_new();
	rg_diags_error(to, "spec.bad-value", "a");
	RgDiag *moved = rg_diags_error(from, "spec.bad-value", "b");
	rg_diags_add_text(from, "f.yaml", "x: 1\n", 5);
	rg_diags_take_all(to, from);
	rg_diags_take_all(to, to);
	g_assert_cmpuint(rg_diags_count(from), ==, 0);
	g_assert_cmpuint(rg_diags_count(to), ==, 2);
	g_assert_true(rg_diags_get(to, 1) == moved);
	g_autofree char *line = rg_diags_dup_line(to, "f.yaml", 1);
	g_assert_cmpstr(line, ==, "x: 1");
	rg_diags_error(from, "spec.bad-value", "the emptied sink still works");
	g_assert_cmpuint(rg_diags_count(from), ==, 1);
}

static void assert_line(RgDiags *diags, unsigned n, const char *expected)
{
	g_autofree char *line = rg_diags_dup_line(diags, "f", n);
	g_assert_cmpstr(line, ==, expected);
}

static void lines_are_found_by_number(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	const char text[] = "one\r\n\nthree";
	rg_diags_add_text(diags, "f", text, strlen(text));
	assert_line(diags, 0, NULL);
	assert_line(diags, 1, "one");
	assert_line(diags, 2, "");
	assert_line(diags, 3, "three");
	assert_line(diags, 4, NULL);
	g_assert_null(rg_diags_dup_line(diags, NULL, 1));
	g_assert_null(rg_diags_dup_line(diags, "other", 1));
}

static void nearest_word_knows_slips_only(void)
{
	const char *words[] = {"zones", "nodes", "network", "accelerators", "A100-80GB", NULL};
	g_assert_cmpstr(rg_nearest_word("zoens", words), ==, "zones");
	g_assert_cmpstr(rg_nearest_word("node", words), ==, "nodes");
	g_assert_cmpstr(rg_nearest_word("acelerator", words), ==, "accelerators");
	g_assert_cmpstr(rg_nearest_word("a100-80gb", words), ==, "A100-80GB");
	g_assert_null(rg_nearest_word("budget", words));
	g_assert_null(rg_nearest_word("", words));
	g_assert_null(rg_nearest_word("x", words));
	g_autofree char *endless = g_strnfill(100000, 'z');
	g_assert_null(rg_nearest_word(endless, words));
}

static RgSource line_of(const void *data, const char *origin)
{
	return (RgSource){.file = data, .line = (unsigned)strlen(origin)};
}

static void test_locate(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgDiag *told = rg_diags_error(diags, "provider.invalid", "no such subnet");
	RgDiag *placed = rg_diags_error(diags, "provider.invalid", "placed already");
	RgDiag *bare = rg_diags_error(diags, "provider.invalid", "of no origin");
	rg_diag_origin(told, "/abc");
	rg_diag_at(rg_diag_origin(placed, "/abc"), (RgSource){.file = "b.yaml", .line = 9});
	rg_diags_locate(diags, line_of, "a.yaml");
	g_assert_cmpstr(told->source.file, ==, "a.yaml");
	g_assert_cmpuint(told->source.line, ==, 4);
	g_assert_cmpuint(placed->source.line, ==, 9);
	g_assert_null(bare->source.file);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func(
		"/diag/the first error decides the exit code", first_error_decides_exit_code);
	g_test_add_func("/diag/setters replace and may quote themselves",
		setters_replace_and_may_quote_themselves);
	g_test_add_func(
		"/diag/taking all moves findings and texts", taking_all_moves_findings_and_texts);
	g_test_add_func("/diag/lines are found by number", lines_are_found_by_number);
	g_test_add_func("/diag/the nearest word knows slips only", nearest_word_knows_slips_only);
	g_test_add_func("/base/diag/an-origin-becomes-a-place", test_locate);
	return g_test_run();
}
