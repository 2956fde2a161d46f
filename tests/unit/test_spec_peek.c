/* What a YAML file of a folder is: rg_spec_peek. */
#include <string.h>
#include "spec/spec.h"

static RgSpecPeek peek(const char *text)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgSpecPeek found = rg_spec_peek("f.yaml", text, strlen(text), NULL, diags);
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
	return found;
}

static void check(const char *text, bool is_spec, const char *cluster, unsigned line)
{
	RgSpecPeek found = peek(text);
	g_test_message("%s", text);
	g_assert_cmpint(found.is_spec, ==, is_spec);
	g_assert_cmpstr(found.cluster, ==, cluster);
	g_assert_cmpuint(found.source.line, ==, line);
	rg_spec_peek_clear(&found);
}

static void test_specs(void)
{
	check("cluster: a\n", true, "a", 1);
	check("# x\n---\nray: {}\ncluster: \"b\"\n", true, "b", 4);
	check("\xef\xbb\xbf"
	      "cluster: a\n",
		true, "a", 1);
	check("x: &n c\ncluster: *n\n", true, "c", 2);
	check("base: &b\n  cluster: d\n<<: *b\nhead: {}\npools: {}\n", true, "d", 2);
	check("provider: {}\npools: {}\n", true, NULL, 0);
	check("cluster: [a]\n", true, NULL, 0);
	check("cluster: 3\n", true, NULL, 0);
}

static void test_others(void)
{
	check("", false, NULL, 0);
	check("# nothing\n", false, NULL, 0);
	check("- cluster: a\n", false, NULL, 0);
	check("cluster\n", false, NULL, 0);
	check("x: {cluster: a, head: b, pools: c}\n", false, NULL, 0);
	check("head: {}\nworker: {}\n", false, NULL, 0);
	check("apiVersion: v1\nkind: Pod\ncluster: a\n", false, NULL, 0);
	check("apiVersion: v1\nkind: Pod\nx: [\n", false, NULL, 0);
	check("a: b\n---\ncluster: a\n", false, NULL, 0);
}

/* The loader reports faults, so these count, under the name that they begin with. */
static void test_faulty(void)
{
	check("cluster: a\nx: [\n", true, "a", 0);
	check("cluster: [a\nx: [\n", true, NULL, 0);
	check("x: [\n", true, NULL, 0);
	check("cluster: a\n---\ncluster: b\n", true, "a", 0);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *blanks = g_strnfill(3 << 20, ' ');
	g_autofree char *large = g_strconcat("cluster: a\nx: '", blanks, NULL);
	RgSpecPeek found = rg_spec_peek("f.yaml", large, strlen(large), NULL, diags);
	g_assert_true(found.is_spec);
	g_assert_cmpstr(found.cluster, ==, "a");
	rg_spec_peek_clear(&found);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/spec/peek/specs", test_specs);
	g_test_add_func("/spec/peek/others", test_others);
	g_test_add_func("/spec/peek/faulty", test_faulty);
	return g_test_run();
}
