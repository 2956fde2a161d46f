#include "command.h"
#include <stdlib.h>
#include <string.h>

/* Which state a command uses: --state, RAYGPU_STATE, `state` in the project file, or
 * .raygpu/state.db in the folder that the spec belongs to (rg_project_home), whatever the working
 * directory. */

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

/* A committed file is read by everyone: no password in it. A relative path is the project file's,
 * which is below `root`, NULL: the working directory. */
static char *place_of(Context *context, const RgProject *project, const char *root)
{
	const char *place = rg_json_str(project->view, "state", NULL);
	if (!place || g_path_is_absolute(place))
		return g_strdup(place);
	if (rg_store_is_file(place)) {
		g_autofree char *folder = g_path_get_dirname(project->file);
		g_autofree char *below = g_str_equal(folder, ".")
						 ? g_strdup(place)
						 : g_build_filename(folder, place, NULL);
		g_autofree char *full = root ? g_build_filename(root, below, NULL) : NULL;
		return full ? relative(full) : g_steal_pointer(&below);
	}
	if (!rg_store_has_password(place))
		return g_strdup(place);
	const RgLimits limits = rg_limits_of_project(project);
	RgDiag *diag = rg_diags_error(context->diags, "state.password",
		"the project file has the password of the state in its URL");
	rg_diag_at(diag, rg_limits_source(&limits, "/state"));
	rg_diag_hint(diag,
		"remove it, give it in PGPASSWORD or ~/.pgpass, and change it: anyone who "
		"can read the repository knows it");
	context->state_unknown = true;
	return NULL;
}

/* Of the project file of the commit that the spec is read from. */
static char *state_at_ref(Context *context, const char *spec)
{
	size_t len = 0;
	RgProject *project = NULL;
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autoptr(RgProvenance) provenance = NULL;
	g_autofree char *text = rg_git_read(spec, context->ref, &len, &provenance, unused);
	if (!text) /* the loader of the spec says why */
		return NULL;
	if (!rg_specs_project(spec, context->ref, provenance, &project, context->diags))
		context->state_unknown = true;
	char *place = project ? place_of(context, project, provenance->root) : NULL;
	rg_project_free(project);
	return place;
}

static char *state_here(Context *context, const char *spec)
{
	g_autofree char *file = rg_project_find(spec);
	if (!file)
		return NULL;
	g_autoptr(RgProject) project = rg_project_load_file(file, context->diags);
	if (project)
		return place_of(context, project, NULL);
	context->state_unknown = true;
	return NULL;
}

static bool is_same_place(const char *a, const char *b)
{
	bool files = rg_store_is_file(a) && rg_store_is_file(b);
	g_autofree char *x = files ? g_canonicalize_filename(a, NULL) : rg_store_shown(a);
	g_autofree char *y = files ? g_canonicalize_filename(b, NULL) : rg_store_shown(b);
	return g_str_equal(x, y);
}

/* With --ref there are two project files: that of the commit, like the spec, and that of the work
 * tree. An old commit does not know where the state is today, and the files of another branch may
 * name another one: if both name one, they must agree. If only one does, that is it, and not a new
 * state in the default place. NULL: none of them has `state`. With a project file that cannot be
 * read it is unknown, and no other state is used instead. */
static char *project_state(Context *context, const char *spec)
{
	g_autofree char *here = state_here(context, spec);
	bool at_ref = context->ref && spec && !context->state_unknown;
	g_autofree char *there = at_ref ? state_at_ref(context, spec) : NULL;
	if (!here || !there)
		return here ? g_steal_pointer(&here) : g_steal_pointer(&there);
	if (is_same_place(here, there))
		return g_steal_pointer(&here);
	g_autofree char *mine = rg_store_shown(here), *theirs = rg_store_shown(there);
	RgDiag *diag = rg_diags_error(context->diags, "state.two-places",
		"the project file names the state \"%s\" at %s, and \"%s\" in the work tree",
		theirs, context->ref, mine);
	rg_diag_hint(diag, "select the one that the cluster has now with --state or RAYGPU_STATE");
	context->state_unknown = true;
	return NULL;
}

/* Earlier versions had it in the working directory; such a state stays in use. */
static char *where_find(Context *context, const char *spec)
{
	char *named = project_state(context, spec);
	if (named || context->state_unknown)
		return named;
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
	if (!context->state_shown && context->state_path)
		context->state_shown = rg_store_shown(context->state_path);
	return context->state_shown;
}

RgStore *context_open_state(Context *context, RgStoreMode mode, RgDiags *diags)
{
	if (!context_state_path(context) || context->state_unknown)
		return NULL;
	g_autoptr(RgStore) store =
		rg_store_open_in(context_stores(context), context->state_path, mode, diags);
	if (!store || !keys_give(context, mode, store))
		return NULL;
	rg_store_set_waiting(store, status_lock, context);
	return g_steal_pointer(&store);
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
		if (!other)
			return false;
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
	char *here = where_find(context, NULL);
	g_autofree char *shown = here ? rg_store_shown(here) : NULL;
	const char *planned = plan->state ? plan->state : shown;
	bool same = g_strcmp0(shown, planned) == 0;
	context->state_path = here;
	if (same || context->state_unknown)
		return !context->state_unknown;
	bool elsewhere = !rg_store_is_file(shown) || !rg_store_is_file(planned);
	if (elsewhere || exists(here) == exists(planned)) {
		RgDiag *diag = rg_diags_error(context->diags, "plan.wrong-state",
			"the plan was created for the state \"%s\", but the default state here is "
			"\"%s\"",
			planned, shown);
		rg_diag_hint(diag, "select the right one with --state, or apply the plan in the "
				   "working directory where it was created");
		return false;
	}
	if (!exists(here)) {
		context->state_path = g_strdup(planned);
		g_free(here);
	}
	return true;
}
