#include "command.h"
#include <stdlib.h>
#include <string.h>

/* Which state a command uses: --state, RAYGPU_STATE, or .raygpu/state.db in the folder that the
 * spec belongs to (rg_project_home), whatever the working directory. */

#define DEFAULT_STATE ".raygpu/state.db"

static const char *given(const Context *context)
{
	const char *set = getenv("RAYGPU_STATE");
	return context->state_path ? context->state_path : set && *set ? set : NULL;
}

/* Relative to the working directory, as people name files. */
static char *relative(const char *path)
{
	g_autofree char *here = g_get_current_dir();
	g_auto(GStrv) from = g_strsplit(here, "/", -1), to = g_strsplit(path, "/", -1);
	g_autoptr(GString) text = g_string_new(NULL);
	guint same = 0;
	while (from[same] && to[same] && g_str_equal(from[same], to[same]))
		same++;
	if (same < 2) /* only the root in common */
		return g_strdup(path);
	for (guint i = same; from[i]; i++)
		g_string_append(text, "../");
	for (guint i = same; to[i]; i++)
		g_string_append_printf(text, "%s%s", to[i], to[i + 1] ? "/" : "");
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool exists(const char *path)
{
	return g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(path, G_FILE_TEST_IS_SYMLINK);
}

/* Whether the state in the working directory has the spec's cluster; one that cannot be read counts
 * as having it, and its error is shown when it is opened. */
static bool has_cluster(const Context *context, const char *spec)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autoptr(RgProvenance) provenance = NULL;
	g_autoptr(RgCluster) cluster = rg_specs_load(spec, context->ref, &provenance, unused);
	if (!cluster)
		return false;
	g_autoptr(RgStore) store = rg_store_open(DEFAULT_STATE, RG_STORE_READ, unused);
	g_auto(GStrv) names = store ? rg_store_clusters(store, unused) : NULL;
	return !names || g_strv_contains((const char *const *)names, cluster->name);
}

/* Earlier versions had it in the working directory; such a state stays in use. */
static char *where_find(Context *context, const char *spec)
{
	g_autofree char *home = rg_project_home(spec);
	g_autofree char *full = g_build_filename(home, DEFAULT_STATE, NULL);
	g_autofree char *path = relative(full);
	if (g_str_equal(path, DEFAULT_STATE) || exists(path) || !exists(DEFAULT_STATE) ||
		(spec && !has_cluster(context, spec)))
		return g_steal_pointer(&path);
	if (!context->told_old_place) {
		g_autofree char *folder = g_path_get_dirname(path);
		RgDiag *diag = rg_diags_note(context->diags, "state.old-place",
			"using the state \"%s\" in the working directory", DEFAULT_STATE);
		rg_diag_detail(diag, "the default state is now \"%s\"", path);
		rg_diag_hint(diag, "to move it: mkdir -p %s && mv %s* %s/", folder, DEFAULT_STATE,
			folder);
	}
	context->told_old_place = true;
	return g_strdup(DEFAULT_STATE);
}

void context_use_spec(Context *context, const char *spec)
{
	if (!given(context))
		context->state_path = where_find(context, spec);
}

const char *context_state_path(Context *context)
{
	if (!context->state_path)
		context->state_path =
			given(context) ? g_strdup(given(context)) : where_find(context, NULL);
	return context->state_path;
}

/* `a` and `b` are specs or clusters. */
static bool differ(
	Context *context, const char *a, const char *a_state, const char *b, const char *b_state)
{
	RgDiag *diag = rg_diags_error(context->diags, "usage.conflict",
		"the clusters belong to different states: %s to \"%s\", %s to \"%s\"", a, a_state,
		b, b_state);
	rg_diag_hint(diag, "run the command for one of them at a time, or select one state for all "
			   "with --state");
	return false;
}

static bool use_files(Context *context, const GPtrArray *files, char **state, const char **first)
{
	for (guint i = 0; i < files->len; i++) {
		const char *spec = ((const RgSpecFile *)files->pdata[i])->path;
		g_autofree char *other = where_find(context, spec);
		if (!*state) {
			*state = g_steal_pointer(&other);
			*first = spec;
		} else if (!g_str_equal(*state, other)) {
			return differ(context, *first, *state, spec, other);
		}
	}
	return true;
}

bool context_use_specs(Context *context, const RgSpecs *specs)
{
	g_autofree char *state = NULL;
	const char *first = NULL;
	if (given(context))
		return true;
	if (!use_files(context, specs->files, &state, &first) ||
		!use_files(context, specs->removed, &state, &first))
		return false;
	context->state_path = g_steal_pointer(&state);
	return true;
}

/* The plan names the state relative to its own working directory. If the two differ and neither
 * file exists, the wrong one would get a second cluster. */
bool context_use_plan(Context *context, const RgPlan *plan, const RgPlan *first)
{
	if (plan != first && g_strcmp0(plan->state, first->state) != 0)
		return differ(context, first->cluster, first->state, plan->cluster, plan->state);
	if (given(context))
		return true;
	g_autofree char *here = where_find(context, NULL);
	const char *planned = plan->state ? plan->state : here;
	bool same = g_str_equal(here, planned);
	if (!same && exists(here) == exists(planned)) {
		RgDiag *diag = rg_diags_error(context->diags, "plan.wrong-state",
			"the plan was created for the state \"%s\", but the default state here is "
			"\"%s\"",
			planned, here);
		rg_diag_hint(diag, "select the right one with --state, or apply the plan in the "
				   "working directory where it was created");
		return false;
	}
	context->state_path = g_strdup(same || exists(here) ? here : planned);
	return true;
}
