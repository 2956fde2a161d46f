/* What a change loosens: settings that limit what a plan may do, or say what is trusted, compared
 * with those of the side that the change cannot decide about. */
#include <string.h>
#include "spec/project.h"

#define SHOWN 60 /* characters of a value */

typedef struct {
	const RgLimits *now, *trusted;
	const RgTrustedSide *side;
	RgDiags *diags;
} Comparison;

static char *value_shown(const json_t *value)
{
	if (!value)
		return g_strdup("missing");
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	bool is_long = g_utf8_strlen(text, -1) > SHOWN;
	g_autofree char *start = g_utf8_substring(text, 0, is_long ? SHOWN : -1);
	free(text);
	return g_strconcat(start, is_long ? "..." : "", NULL);
}

static void tell(const Comparison *comparison, const char *pointer, const char *what)
{
	const json_t *now = rg_json_at(comparison->now->view, pointer);
	const json_t *trusted = rg_json_at(comparison->trusted->view, pointer);
	g_auto(GStrv) names = g_strsplit(pointer + 1, "/", -1);
	g_autofree char *name = g_strjoinv(".", names), *mine = value_shown(now);
	g_autofree char *theirs = value_shown(trusted);
	RgDiag *diag = rg_diags_warning(comparison->diags, "trust.loosened",
		"%s %s %s, which has no effect", name, what, comparison->side->where);
	RgSource source = rg_limits_source(comparison->now, pointer);
	rg_diag_at(diag, source);
	rg_diag_detail(diag, "it is %s here, and %s %s: what a change is compared with counts too",
		mine, theirs, comparison->side->where);
	rg_diag_hint(diag, "to change it, merge that change first, on its own");
}

/* Whether all entries of `few` are in `many`. */
static bool is_subset(const json_t *few, const json_t *many)
{
	bool all = true;
	for (size_t i = 0; i < json_array_size(few); i++) {
		bool found = false;
		for (size_t k = 0; k < json_array_size(many); k++)
			found = found ||
				json_equal(json_array_get(few, i), json_array_get(many, k));
		all = all && found;
	}
	return all;
}

/* A limit: a number is a maximum, true limits nothing, a text is a pattern. */
static bool is_looser(const char *pointer, const json_t *now, const json_t *trusted)
{
	if (json_is_true(trusted))
		return false;
	if (json_is_number(trusted))
		return !json_is_number(now) || json_number_value(now) > json_number_value(trusted);
	if (!json_is_array(trusted))
		return !now || !json_equal(now, trusted);
	if (strstr(pointer, "/deny_"))
		return !is_subset(trusted, now);
	return !now || !is_subset(now, trusted);
}

static void compare_limits(const Comparison *comparison, const char *pointer)
{
	json_t *trusted = rg_json_at(comparison->trusted->view, pointer);
	const json_t *now = rg_json_at(comparison->now->view, pointer);
	if (trusted && !json_is_object(trusted)) {
		if (is_looser(pointer, now, trusted))
			tell(comparison, pointer, "is looser than");
		return;
	}
	rg_json_foreach_member (name, member, trusted) {
		g_autofree char *below = rg_json_pointer_add(pointer, name);
		compare_limits(comparison, below);
	}
}

static void compare_list(const Comparison *comparison, const char *pointer)
{
	if (!is_subset(rg_json_at(comparison->now->view, pointer),
		    rg_json_at(comparison->trusted->view, pointer)))
		tell(comparison, pointer, "has more entries than");
}

static void compare_catalogs(const Comparison *comparison)
{
	const json_t *now = json_object_get(comparison->now->view, "catalog");
	const json_t *trusted = json_object_get(comparison->trusted->view, "catalog");
	if (now != trusted && (!now || !trusted || !json_equal(now, trusted)))
		tell(comparison, "/catalog", "is not as");
}

static bool has_limits(const RgLimits *limits)
{
	return json_object_size(json_object_get(limits->view, "budget")) ||
	       json_object_size(json_object_get(limits->view, "policy"));
}

const RgProject *rg_project_catalog(const RgProject *project)
{
	const RgTrustedSide *side = project ? project->trusted : NULL;
	if (!side)
		return project;
	RgLimits limits[RG_LIMITS_MAX];
	size_t n = rg_limits_all(side->spec, side->project, limits);
	bool limited = false;
	for (size_t i = 0; i < n; i++)
		limited = limited || has_limits(&limits[i]);
	return limited ? side->project : project;
}

static void compare_specs(const RgCluster *cluster, const RgTrustedSide *side, RgDiags *diags)
{
	const RgLimits now = rg_limits_of_cluster(cluster);
	const RgLimits trusted = rg_limits_of_cluster(side->spec);
	const Comparison comparison = {&now, &trusted, side, diags};
	compare_limits(&comparison, "/budget");
	compare_limits(&comparison, "/policy");
	compare_list(&comparison, "/ignore_tags");
}

static void compare_projects(const RgProject *project, RgDiags *diags)
{
	const RgTrustedSide *side = project->trusted;
	g_autoptr(RgProject) none = rg_project_new();
	const RgLimits now = rg_limits_of_project(project);
	const RgLimits trusted = rg_limits_of_project(side->project ? side->project : none);
	const Comparison comparison = {&now, &trusted, side, diags};
	compare_limits(&comparison, "/budget");
	compare_limits(&comparison, "/policy");
	compare_list(&comparison, "/ignore_tags");
	compare_list(&comparison, "/provider/allow_endpoints");
	compare_list(&comparison, "/provider/allow_profiles");
	if (rg_project_catalog(project) != project)
		compare_catalogs(&comparison);
}

void rg_project_tell_loosened(const RgCluster *cluster, const RgProject *project, RgDiags *diags)
{
	compare_projects(project, diags);
	if (project->trusted->spec)
		compare_specs(cluster, project->trusted, diags);
}
