#include "pipeline/pipeline.h"

/* Where a spec comes from: a file, standard input, or a commit. */

static RgCluster *load_at(
	const char *path, const char *ref, RgProvenance **provenance, RgDiags *diags)
{
	size_t len = 0;
	g_autofree char *text = rg_git_read(path, ref, &len, provenance, diags);
	return text ? rg_spec_load(path, text, len, diags) : NULL;
}

RgCluster *rg_pipeline_load_spec(
	const char *path, const char *ref, RgProvenance **provenance, RgDiags *diags)
{
	bool is_stdin = g_str_equal(path, "-");
	if (ref && is_stdin) {
		rg_diags_error(diags, "usage.conflict",
			"--ref reads the spec from a commit, not from standard input");
		return NULL;
	}
	if (ref)
		return load_at(path, ref, provenance, diags);
	g_autoptr(RgCluster) cluster = rg_spec_load_file(path, diags);
	if (!cluster)
		return NULL;
	*provenance = is_stdin ? g_new0(RgProvenance, 1) : rg_git_provenance(path, diags);
	return *provenance ? g_steal_pointer(&cluster) : NULL;
}
