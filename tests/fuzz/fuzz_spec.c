/* A cluster spec: either a cluster and no error, or errors; never both, never neither. */
#include "fuzz.h"
#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load("fuzz.yaml", (const char *)data, size, diags);
	g_assert_true((cluster != NULL) != rg_diags_has_errors(diags));
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		g_assert_true(g_utf8_validate(diag->summary, -1, NULL));
		g_autofree char *line =
			rg_diags_dup_line(diags, diag->source.file, diag->source.line);
		g_assert_true(!line || g_utf8_validate(line, -1, NULL));
	}
	if (cluster) {
		g_assert_cmpstr(cluster->name, !=, NULL);
		g_assert_cmpuint(rg_cluster_nodes(cluster), >=, 1);
		g_autofree char *digest = rg_json_digest(cluster->view);
		g_assert_cmpstr(digest, ==, cluster->digest);
	}
	return 0;
}
