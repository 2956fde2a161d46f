/* Hostile files, and good ones with random damage: rg_spec_load must return in time with an error
 * or a cluster, and (under ASan) without an invalid access or a leak. argv: spec files. */
#include <time.h>
#include <stdlib.h>
#include <string.h>
#include "base/caps.h"
#include "slower.h"
#include "spec/spec.h"

#define MUTATIONS 4000
#define SEED 20261121

static GPtrArray *seeds; /* GBytes*: good specs, set once in main */

/* The code of the first error, NULL if the text was accepted. Static, from diag_codes.h. */
static const char *load_code(const char *text, size_t len)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load("hostile.yaml", text, len, diags);
	g_assert_true((!cluster) == rg_diags_has_errors(diags));
	g_assert_cmpuint(rg_diags_count(diags), <=, RG_CAP_SPEC_FINDINGS + 1);
	return cluster ? NULL : rg_diags_get(diags, 0)->code;
}

static char *repeat(const char *unit, size_t times)
{
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < times; i++)
		g_string_append(text, unit);
	return g_string_free(text, FALSE);
}

static void assert_code(const char *text, const char *code)
{
	clock_t start = clock();
	g_assert_cmpstr(load_code(text, strlen(text)), ==, code);
	/* CPU time, generous for sanitizers; quadratic code takes minutes */
	g_assert_cmpint((clock() - start) / CLOCKS_PER_SEC, <, 20 * times_slower());
}

static void deep_nesting_is_refused(void)
{
	static const char *const units[] = {"[", "{a: ", "- ", "? "};
	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		g_autofree char *text = repeat(units[i], 100000);
		assert_code(text, "yaml.too-deep");
	}
	GString *stairs = g_string_new(NULL);
	for (int i = 0; i < 1000; i++)
		g_string_append_printf(stairs, "%*sa:\n", i, "");
	assert_code(stairs->str, "yaml.too-deep");
	g_string_free(stairs, TRUE);
}

static void large_files_are_refused(void)
{
	g_autofree char *text = repeat("a: b # two megabytes\n", 100000);
	assert_code(text, "file.too-large");
}

static void many_values_are_refused(void)
{
	g_autofree char *items = repeat("- a\n", 210000);
	assert_code(items, "yaml.too-many-nodes");
}

static void many_findings_are_cut(void)
{
	GString *text = g_string_new(NULL);
	for (int i = 0; i < 60000; i++)
		g_string_append_printf(text, "k%d: yes\n", i);
	assert_code(text->str, "spec.missing-key");
	g_string_free(text, TRUE);
}

static void many_duplicates_are_fast(void)
{
	g_autofree char *text = repeat("a: 1\n", 60000);
	assert_code(text, "yaml.duplicate-key");
}

static void long_keys_over_many_values_are_refused(void)
{
	g_autofree char *key = g_strnfill(1000, 'k');
	GString *text = g_string_new(NULL);
	for (int i = 0; i < 40; i++)
		g_string_append_printf(text, "%*s? %s\n%*s:\n", i, "", key, i, "");
	g_string_append_printf(text, "%*s[", 40, "");
	for (int i = 0; i < 100000; i++)
		g_string_append(text, "1,");
	g_string_append(text, "]\n");
	assert_code(text->str, "yaml.too-many-nodes");
	g_string_free(text, TRUE);
}

static void long_lists_are_checked_fast(void)
{
	GString *text = g_string_new("head: {zones: [");
	for (int i = 0; i < 90000; i++)
		g_string_append_printf(text, "a%d,", i);
	g_string_append(text, "]}\n");
	assert_code(text->str, "spec.missing-key");
	g_string_free(text, TRUE);
}

/* Nested quantifiers of a schema pattern must not explode on a long text. */
static void long_texts_are_matched_fast(void)
{
	g_autofree char *run = repeat("a-", 200000);
	g_autofree char *text = g_strdup_printf(
		"cluster: %s!\nhead: {labels: {%s: b}, image: %s}\n", run, "a", run);
	assert_code(text, "spec.missing-key");
}

static void aliases_do_not_multiply(void)
{
	GString *text = g_string_new("a0: &a0 [x]\n");
	for (int i = 1; i < 60; i++)
		g_string_append_printf(text, "a%d: &a%d [*a%d,*a%d]\n", i, i, i - 1, i - 1);
	assert_code(text->str, "yaml.alias-bomb");
	g_string_truncate(text, 0);
	g_string_append(text, "m0: &m0 {a: 1}\n");
	for (int i = 1; i < 60; i++)
		g_string_append_printf(text, "m%d: &m%d {<<: [*m%d,*m%d]}\n", i, i, i - 1, i - 1);
	assert_code(text->str, "yaml.alias-bomb");
	g_string_free(text, TRUE);
}

/* A chain of aliases, each one level deeper, is deep without any nesting in the text. */
static void aliases_do_not_nest_without_end(void)
{
	GString *text = g_string_new("a0: &a0 [x]\n");
	for (int i = 1; i < 200; i++)
		g_string_append_printf(text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	assert_code(text->str, "yaml.too-deep");
	g_string_truncate(text, 0);
	g_string_append(text, "m0: &m0 {a: 1}\n");
	for (int i = 1; i < 200; i++)
		g_string_append_printf(text, "m%d: &m%d {<<: *m%d}\n", i, i, i - 1);
	assert_code(text->str, "yaml.too-deep");
	g_string_free(text, TRUE);
}

/* Bytes with a meaning to YAML or to us, more likely to find something than random ones. */
static const char *const tokens[] = {"\n", "  ", ": ", "- ", "&a ", "*a", "<<: ", "{", "}", "[",
	"]", "\"", "'", "#", "!!str ", "|", ">", "? ", "~", "yes", "1e9", "-1", "\t", "\r", "\xff",
	"\xe2\x80\xa8", "\xef\xbb\xbf", "---\n", "...\n", "%YAML 1.2\n", "/", "~1", "ray.io/", "0",
	"aws:", ",", "\\0"};

static void mutate(GString *text, GRand *rand)
{
	gint at = g_rand_int_range(rand, 0, (gint)text->len + 1);
	gint wish = g_rand_int_range(rand, 1, 40);
	gint span = MIN(wish, (gint)text->len - at);
	switch (g_rand_int_range(rand, 0, 5)) {
	case 0:
		g_string_erase(text, at, span);
		break;
	case 1:
		g_string_insert(text, at, tokens[g_rand_int_range(rand, 0, G_N_ELEMENTS(tokens))]);
		break;
	case 2:
		if (text->len > 0)
			text->str[MIN(at, (gint)text->len - 1)] =
				(char)g_rand_int_range(rand, 0, 256);
		break;
	case 3: {
		g_autofree char *piece = g_strndup(text->str + at, (gsize)span);
		g_string_insert(text, g_rand_int_range(rand, 0, (gint)text->len + 1), piece);
		break;
	}
	default:
		g_string_truncate(text, (gsize)at);
	}
}

static void mutations_never_crash(void)
{
	GRand *rand = g_rand_new_with_seed(SEED);
	g_autoptr(GHashTable) codes = g_hash_table_new(g_str_hash, g_str_equal);
	unsigned accepted = 0;
	for (int i = 0; i < MAX(1000, MUTATIONS / times_slower()); i++) {
		GBytes *seed = g_ptr_array_index(seeds, (guint)i % seeds->len);
		gsize len;
		const char *good = g_bytes_get_data(seed, &len);
		g_autoptr(GString) text = g_string_new_len(good, (gssize)len);
		for (gint n = g_rand_int_range(rand, 1, 5); n > 0; n--)
			mutate(text, rand);
		const char *code = load_code(text->str, text->len);
		accepted += !code;
		if (code)
			g_hash_table_add(codes, (gpointer)(uintptr_t)code);
	}
	g_test_message("%u accepted, %u codes", accepted, g_hash_table_size(codes));
	/* the mutations reach past the YAML reader, and not only past it */
	g_assert_cmpuint(accepted, >, 0);
	g_assert_cmpuint(g_hash_table_size(codes), >=, 12);
	g_rand_free(rand);
}

static void unref_bytes(gpointer data)
{
	g_bytes_unref(data);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	seeds = g_ptr_array_new_with_free_func(unref_bytes);
	for (int i = 1; i < argc; i++) {
		char *text;
		gsize len;
		if (!g_file_get_contents(argv[i], &text, &len, NULL))
			g_error("%s: unreadable", argv[i]);
		g_ptr_array_add(seeds, g_bytes_new_take(text, len));
	}
	g_assert_cmpuint(seeds->len, >, 0);
	g_test_add_func("/spec/hostile/deep-nesting-is-refused", deep_nesting_is_refused);
	g_test_add_func("/spec/hostile/large-files-are-refused", large_files_are_refused);
	g_test_add_func("/spec/hostile/many-values-are-refused", many_values_are_refused);
	g_test_add_func("/spec/hostile/many-findings-are-cut", many_findings_are_cut);
	g_test_add_func("/spec/hostile/many-duplicates-are-fast", many_duplicates_are_fast);
	g_test_add_func("/spec/hostile/long-keys-over-many-values-are-refused",
		long_keys_over_many_values_are_refused);
	g_test_add_func("/spec/hostile/long-lists-are-checked-fast", long_lists_are_checked_fast);
	g_test_add_func("/spec/hostile/long-texts-are-matched-fast", long_texts_are_matched_fast);
	g_test_add_func("/spec/hostile/aliases-do-not-multiply", aliases_do_not_multiply);
	g_test_add_func(
		"/spec/hostile/aliases-do-not-nest-without-end", aliases_do_not_nest_without_end);
	g_test_add_func("/spec/hostile/mutations-never-crash", mutations_never_crash);
	int failed = g_test_run();
	g_ptr_array_unref(seeds);
	return failed;
}
