#include "pipeline/own.h"

static RgSource source_of(const void *data, const char *pointer)
{
	const RgLimits project = rg_limits_of_project(data);
	g_autofree char *at = g_strconcat("/catalog", pointer, NULL);
	return rg_limits_source(&project, at);
}

/* Rows of a provider that nobody opens would be overlooked in silence. */
static bool check_providers(
	RgProviderHost *providers, const RgOwnRows *rows, const char *section, RgDiags *diags)
{
	json_t *named = json_object_get(rows->rows, section), *value;
	const char *name;
	bool good = true;
	json_object_foreach (named, name, value) {
		size_t len;
		if (rg_provider_data(providers, name, "instance_types.csv", &len))
			continue;
		g_autofree char *folder = g_strconcat("/", section, NULL);
		g_autofree char *pointer = rg_json_pointer_add(folder, name);
		RgDiag *diag = rg_diags_error(diags, "provider.not-found",
			"there is no catalog of a provider \"%s\"", name);
		rg_diag_at(diag, rows->source(rows->data, pointer));
		g_auto(GStrv) names = rg_provider_host_names(providers);
		g_autofree char *known = g_strjoinv(", ", names);
		rg_diag_hint(diag, "known: %s", known);
		good = false;
	}
	return good;
}

bool pass_own_rows(
	RgProviderHost *providers, const RgProject *project, RgOwnRows *rows, RgDiags *diags)
{
	*rows = (RgOwnRows){.source = source_of, .data = project};
	if (project)
		rows->rows = json_object_get(project->view, "catalog");
	bool types = check_providers(providers, rows, "instance_types", diags);
	return check_providers(providers, rows, "prices", diags) && types;
}
