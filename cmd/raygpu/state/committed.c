#include "command.h"
#include <stdlib.h>

/* The URL of a state in a project file: such a file is committed. */

static bool is_admitted(const RgProject *project, const char *profile)
{
	const json_t *list = rg_json_at(project->view, "/provider/allow_profiles");
	const char *more = getenv("RAYGPU_ALLOW_PROFILES");
	g_auto(GStrv) words = g_strsplit_set(more ? more : "", " ,\n", -1);
	return rg_json_has_text(list, profile) ||
	       g_strv_contains((const char *const *)words, profile);
}

/* What selects credentials among the URL's parameters: those that do as settings of the provider
 * (x-raygpu-trust in the module's schema). NULL: nothing does. */
static char *credentials_of(Context *context, const char *place, const char **setting)
{
	g_autoptr(RgDiags) unused = rg_diags_new(); /* the store says why */
	if (rg_store_is_file(place) || !context_open_providers(context))
		return NULL;
	g_autofree char *scheme = g_uri_parse_scheme(place);
	g_autofree char *provider =
		scheme ? rg_provider_of_scheme(context->providers, scheme) : NULL;
	const RgSchema *schema =
		provider ? rg_provider_schema(context->providers, provider, unused) : NULL;
	json_t *settings = schema ? json_object_get(rg_schema_config(schema), "properties") : NULL,
	       *rule;
	json_object_foreach (settings, *setting, rule) {
		bool selects = g_str_equal(rg_json_str(rule, "x-raygpu-trust", ""), "profile");
		char *value = selects ? rg_store_parameter(place, *setting) : NULL;
		if (value)
			return value;
	}
	return NULL;
}

static RgDiag *place_refuse(Context *context, const RgProject *project, const char *code,
	const char *what, const char *hint)
{
	const RgLimits limits = rg_limits_of_project(project);
	RgDiag *diag = rg_diags_error(context->diags, code, "%s", what);
	rg_diag_at(diag, rg_limits_source(&limits, "/state"));
	rg_diag_hint(diag, "%s", hint);
	context->state_unknown = true;
	return diag;
}

/* A committed file is read by everyone, and written by many: no password, nothing that weakens the
 * connection or selects credentials. */
bool committed_allows(Context *context, const RgProject *project, const char *place)
{
	const char *setting = NULL;
	g_autofree char *profile = credentials_of(context, place, &setting);
	g_autofree char *weak = rg_store_weakness(place);
	if (rg_store_has_password(place)) {
		place_refuse(context, project, "state.password",
			"the project file has the password of the state in its URL",
			"remove it, give it in PGPASSWORD or ~/.pgpass, and change it: anyone who "
			"can read the repository knows it");
	} else if (weak) {
		g_autofree char *what =
			g_strdup_printf("the project file sets %s in the URL of the state", weak);
		RgDiag *diag = place_refuse(context, project, "state.not-admitted", what,
			"remove it, or give the whole URL in RAYGPU_STATE or --state");
		rg_diag_detail(diag, "a committed file can neither weaken the connection to a "
				     "state nor select its credentials");
	} else if (profile && !is_admitted(project, profile)) {
		g_autofree char *what = g_strdup_printf(
			"%s \"%s\" in the URL of the state is not allowed", setting, profile);
		RgDiag *diag = place_refuse(context, project, "state.not-admitted", what,
			"add it to provider.allow_profiles in raygpu.yaml, or to "
			"RAYGPU_ALLOW_PROFILES in the environment");
		rg_diag_detail(
			diag, "it selects the credentials, and may run a program to get them");
	}
	return !context->state_unknown;
}
