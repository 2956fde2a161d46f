/* Settings of a spec that decide where requests with credentials go, or which credentials they
 * carry (x-raygpu-trust in the module's schema.json: "endpoint" or "profile"). Otherwise anyone who
 * can change a spec could send them anywhere. Such a value is used only if it is one of the cloud's
 * own (x-raygpu-official), or if the project file or the environment allows it. */
#include <string.h>
#include "pipeline/internal.h"

static const struct {
	const char *trust, *list, *variable, *why;
} kinds[] = {
	{"endpoint", "allow_endpoints", "RAYGPU_ALLOW_ENDPOINTS",
		"raygpu would send signed requests, and a session token with them, to it"},
	{"profile", "allow_profiles", "RAYGPU_ALLOW_PROFILES",
		"it selects the credentials, and may run a program to get them"},
};

/* "https://a/" and "https://a" are one endpoint. */
static bool is_equal(const char *a, const char *b)
{
	size_t len_a = strlen(a), len_b = strlen(b);
	len_a -= len_a && a[len_a - 1] == '/';
	len_b -= len_b && b[len_b - 1] == '/';
	return len_a == len_b && strncmp(a, b, len_a) == 0;
}

static bool environment_admits(const RgSession *session, size_t kind, const char *value)
{
	const char *list = kind == 0 ? session->allow_endpoints : session->allow_profiles;
	g_auto(GStrv) words = g_strsplit_set(list ? list : "", " ,\n", -1);
	bool found = false;
	for (guint i = 0; words[i]; i++)
		found = found || (*words[i] && is_equal(words[i], value));
	return found;
}

static bool project_admits(const RgProject *project, size_t kind, const char *value)
{
	const json_t *list = project ? json_object_get(json_object_get(project->view, "provider"),
					       kinds[kind].list)
				     : NULL;
	bool found = false;
	for (size_t i = 0; i < json_array_size(list); i++)
		found = found || is_equal(json_string_value(json_array_get(list, i)), value);
	return found;
}

/* The trusted side must admit a value too, so that a change cannot allow its own. */
static bool all_admit(const RgProject *project, size_t kind, const char *value)
{
	const RgTrustedSide *side = project ? project->trusted : NULL;
	return project_admits(project, kind, value) &&
	       (!side || project_admits(side->project, kind, value));
}

static void trust_report(const RgProject *project, size_t kind, const char *provider,
	const char *name, const char *value, RgDiags *diags)
{
	const RgTrustedSide *side = project ? project->trusted : NULL;
	bool theirs = side && !project_admits(side->project, kind, value);
	g_autofree char *shown = g_strdelimit(g_strdup(name), "/", '.');
	RgDiag *diag = rg_diags_error(
		diags, "provider.not-admitted", "provider.%s \"%s\" is not allowed", shown, value);
	rg_diag_detail(diag, "a spec cannot set this on its own: %s", kinds[kind].why);
	rg_diag_hint(diag, "add it to provider.%s in %s%s%s, or to %s in the environment",
		kinds[kind].list, RG_PROJECT_FILE, theirs ? " " : "", theirs ? side->where : "",
		kinds[kind].variable);
	g_autofree char *origin = g_strconcat("/provider/", name, NULL);
	rg_diag_origin(diag, origin);
	rg_diag_cloud(diag, provider, NULL, NULL);
}

/* The kind of trust that a setting requires for its value; the number of kinds if none. */
static size_t kind_needed(const RgSession *session, const json_t *rule, const char *value)
{
	const char *trust = rg_json_str(rule, "x-raygpu-trust", "");
	const char *official = rg_json_str(rule, "x-raygpu-official", NULL);
	size_t kind = 0;
	while (kind < G_N_ELEMENTS(kinds) && !g_str_equal(kinds[kind].trust, trust))
		kind++;
	bool admitted =
		kind == G_N_ELEMENTS(kinds) || !value ||
		(official && g_regex_match_simple(official, value, G_REGEX_DOLLAR_ENDONLY, 0)) ||
		environment_admits(session, kind, value);
	return admitted ? G_N_ELEMENTS(kinds) : kind;
}

typedef struct {
	const RgSession *session;
	const RgPass *pass;
	const char *provider;
	RgDiags *diags;
} TrustCheck;

/* What the state records was allowed when it was applied. `within`: "" or "inventory/", for the
 * settings of a mapping. */
static bool trust_settings(const TrustCheck *check, json_t *settings, const char *within,
	const json_t *config, const json_t *recorded)
{
	bool ok = true;
	rg_json_foreach_member (name, rule, settings) {
		const json_t *set = json_object_get(config, name);
		const json_t *known = json_object_get(recorded, name);
		const char *value = json_string_value(set);
		size_t kind = kind_needed(check->session, rule, value);
		g_autofree char *path = g_strconcat(within, name, NULL);
		g_autofree char *below = g_strconcat(path, "/", NULL);
		if (json_is_object(set) &&
			!trust_settings(
				check, json_object_get(rule, "properties"), below, set, known))
			ok = false;
		if (kind == G_N_ELEMENTS(kinds) || (known && json_equal(known, set)) ||
			all_admit(check->pass->project, kind, value))
			continue;
		trust_report(
			check->pass->project, kind, check->provider, path, value, check->diags);
		ok = false;
	}
	return ok;
}

bool pass_check_trust(const RgSession *session, const RgPass *pass, const char *provider,
	const json_t *config, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(session->providers, provider, diags);
	json_t *settings = schema ? json_object_get(rg_schema_config(schema), "properties") : NULL;
	const json_t *recorded =
		pass->snapshot && session->state_admits ? pass->snapshot->config : NULL;
	const TrustCheck check = {session, pass, provider, diags};
	bool ok = schema && trust_settings(&check, settings, "", config, recorded);
	pass_locate(pass->cluster, diags);
	return ok;
}
