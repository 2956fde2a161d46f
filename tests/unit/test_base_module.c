#include "base/module.h"

#include <string.h>

static void a_missing_module_names_all_places_tried(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_module_load("none", "raygpu-none.so", "entry", "http.module", diags));
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_assert_cmpstr(diag->code, ==, "http.module");
	g_assert_nonnull(strstr(diag->summary, "raygpu-none.so"));
	g_assert_nonnull(strstr(diag->detail, "/raygpu/internal/raygpu-none.so"));
	g_assert_nonnull(strstr(diag->detail, "/../../src/none/raygpu-none.so"));
	g_assert_cmpuint(rg_diags_count(diags), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/module/a missing module names all places tried",
		a_missing_module_names_all_places_tried);
	return g_test_run();
}
