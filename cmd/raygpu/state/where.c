#include "command.h"
#include "base/paths.h"
#include "state/write.h"
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

/* The place that a project file names; NULL: none. A relative path is the file's, which is in
 * `folder`, or below the working directory (NULL). */
static char *place_of(const RgProject *project, const char *folder)
{
	const char *place = rg_json_str(project->view, "state", NULL);
	if (!place || g_path_is_absolute(place) || !rg_store_is_file(place))
		return g_strdup(place);
	if (folder) {
		g_autofree char *full = g_canonicalize_filename(place, folder);
		return relative(full);
	}
	g_autofree char *own = g_path_get_dirname(project->file);
	return g_str_equal(own, ".") ? g_strdup(place) : g_build_filename(own, place, NULL);
}

/* The change's own project file; NULL: there is none, or it has faults, which are reported if
 * `unread` is not NULL. */
static RgProject *project_at_ref(Context *context, const char *spec, char **folder, RgDiags *unread)
{
	size_t len = 0;
	RgProject *project = NULL;
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autoptr(RgProvenance) provenance = NULL;
	g_autofree char *text = rg_git_read(spec, context->ref, &len, &provenance, unused);
	if (!text) /* the loader of the spec says why */
		return NULL;
	if (!rg_specs_project(spec, context->ref, provenance, &project, unread))
		context->state_unknown = true;
	g_autofree char *below = project ? g_path_get_dirname(project->file) : NULL;
	if (project)
		*folder = g_build_filename(provenance->root, below, NULL);
	return project;
}

static RgProject *project_here(Context *context, const char *spec, RgDiags *diags)
{
	g_autofree char *file = rg_project_find(spec);
	RgProject *project = file ? rg_project_load_file(file, diags) : NULL;
	if (file && !project)
		context->state_unknown = true;
	return project;
}

static bool is_same_place(const char *a, const char *b)
{
	bool files = rg_store_is_file(a) && rg_store_is_file(b);
	g_autofree char *x = files ? g_canonicalize_filename(a, NULL) : rg_store_shown(a);
	g_autofree char *y = files ? g_canonicalize_filename(b, NULL) : rg_store_shown(b);
	return g_str_equal(x, y);
}

static char *report_two_places(Context *context, const char *here, const char *there)
{
	g_autofree char *mine = here ? rg_store_shown(here) : NULL;
	g_autofree char *theirs = rg_store_shown(there);
	RgDiag *diag = rg_diags_error(context->diags, "state.two-places",
		"the project file names the state \"%s\" at %s, and %s%s%s in the work tree",
		theirs, context->ref_name ? context->ref_name : context->ref, mine ? "\"" : "",
		mine ? mine : "none", mine ? "\"" : "");
	rg_diag_hint(diag, "select the one that the cluster has now with --state or RAYGPU_STATE");
	context->state_unknown = true;
	return NULL;
}

/* With --ref there are two project files: that of the commit, like the spec, and that of the work
 * tree. An old commit does not know where the state is today, and another branch may name any: if
 * it names one, it must be that of the work tree. */
static char *state_of_work_tree(Context *context, const char *spec)
{
	g_autoptr(RgProject) project = project_here(context, spec, context->diags);
	g_autofree char *here = project ? place_of(project, NULL) : NULL;
	context->state_admits = true;
	if (here && !committed_allows(context, project, here))
		return NULL;
	bool at_ref = context->ref && spec && !context->state_unknown;
	g_autofree char *folder = NULL;
	g_autoptr(RgProject) other =
		at_ref ? project_at_ref(context, spec, &folder, context->diags) : NULL;
	g_autofree char *there = other ? place_of(other, folder) : NULL;
	if (there && (!here || !is_same_place(here, there)))
		return report_two_places(context, here, there);
	return g_steal_pointer(&here);
}

/* Whether the change names the same state, or none as well. */
static void tell_other_state(Context *context, const char *spec, const char *trusted)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autofree char *folder = NULL;
	g_autoptr(RgProject) project = context->ref ? project_at_ref(context, spec, &folder, unread)
						    : project_here(context, spec, unread);
	g_autofree char *mine = project ? place_of(project, folder) : NULL;
	context->state_unknown = false; /* by the change */
	if (!mine || context->told_state || (trusted && is_same_place(mine, trusted)))
		return;
	g_autofree char *shown = rg_store_shown(mine);
	const RgLimits limits = rg_limits_of_project(project);
	RgDiag *diag = rg_diags_warning(context->diags, "trust.loosened",
		"state is not as at %s, which has no effect", context->trusted->name);
	rg_diag_at(diag, rg_limits_source(&limits, "/state"));
	rg_diag_detail(diag, "it is \"%s\" here: a change cannot decide where the state is", shown);
	rg_diag_hint(diag, "to change it, merge that change first, on its own, or select a state "
			   "with --state or RAYGPU_STATE");
	context->told_state = true;
}

/* With --changed-since, what the change says does not count. */
static char *state_of_trusted(Context *context, const char *spec)
{
	g_autoptr(RgProject) project = NULL;
	g_clear_pointer(&context->trusted_home, g_free);
	if (!rg_trusted_project(
		    context->trusted, spec, &project, &context->trusted_home, context->diags)) {
		context->state_unknown = true;
		return NULL;
	}
	g_autofree char *place = project ? place_of(project, context->trusted_home) : NULL;
	context->state_admits = place != NULL;
	tell_other_state(context, spec, place);
	if (place && !committed_allows(context, project, place))
		return NULL;
	return g_steal_pointer(&place);
}

/* *has: one of the folders of the path, or the file, is a symbolic link that git tracks. */
static bool has_tracked_link(const char *path, bool *has, RgDiags *diags)
{
	g_autofree char *full = g_canonicalize_filename(path, NULL);
	bool ok = true;
	*has = false;
	for (char *end = full; ok && !*has && *end;) {
		end += strcspn(end + 1, "/") + 1;
		g_autofree char *at = g_strndup(full, (gsize)(end - full));
		if (g_file_test(at, G_FILE_TEST_IS_SYMLINK))
			ok = rg_git_tracks(at, has, diags);
	}
	return ok;
}

/* A change could lead the name of the trusted state elsewhere. */
static bool check_way(Context *context, const char *path)
{
	const RgTrusted *trusted = context->trusted;
	bool has = false;
	g_autofree char *below = trusted && trusted->commit && rg_store_is_file(path)
					 ? rg_path_named_below(trusted->root, path)
					 : NULL;
	if (!below)
		return true;
	g_autoptr(GPtrArray) way =
		rg_git_way(trusted->root, below, trusted->commit, context->diags);
	if (!way || !has_tracked_link(path, &has, context->diags))
		return false;
	g_autofree char *real = rg_path_real(path);
	g_autofree char *there = g_build_filename(trusted->root, way->pdata[way->len - 1], NULL);
	if (!has || g_str_equal(real, there))
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "state.two-places",
		"\"%s\" leads to the state \"%s\" through a symbolic link that %s does not have",
		path, real, trusted->name);
	rg_diag_hint(diag, "select the state with --state or RAYGPU_STATE");
	return false;
}

/* NULL: none is named. With a project file that cannot be read it is unknown, and no other state is
 * used instead. */
static char *project_state(Context *context, const char *spec)
{
	bool compared = context->trusted && context->trusted->commit;
	return compared ? state_of_trusted(context, spec ? spec : DEFAULT_SPEC)
			: state_of_work_tree(context, spec);
}

/* Earlier versions had it in the working directory; such a state stays in use. */
static char *find_state(Context *context, const char *spec)
{
	char *named = project_state(context, spec);
	if (named || context->state_unknown)
		return named;
	g_autofree char *home =
		context->trusted_home ? g_strdup(context->trusted_home) : rg_project_home(spec);
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

static char *where_find(Context *context, const char *spec)
{
	g_autofree char *path = find_state(context, spec);
	if (path && !check_way(context, path))
		context->state_unknown = true;
	return context->state_unknown ? NULL : g_steal_pointer(&path);
}

void context_settle_ref(Context *context, const char *path)
{
	g_autoptr(RgDiags) unused = rg_diags_new(); /* the loader of the spec says why */
	g_autofree char *root = NULL;
	if (!context->ref || context->ref_name)
		return;
	char *id = rg_git_resolve(path, context->ref, &root, unused);
	if (!id)
		return;
	context->ref_name = context->ref;
	context->ref = id;
}

void context_name_ref(const Context *context, RgDiags *diags)
{
	if (context->ref_name)
		rg_diags_reword(diags, context->ref, context->ref_name);
}

void context_use_spec(Context *context, const char *spec)
{
	if (spec)
		context_settle_ref(context, spec);
	context->state_admits = true;
	if (!given(context))
		context->state_path = where_find(context, spec);
}

const char *context_state_path(Context *context)
{
	if (!context->state_path) {
		context->state_admits = true;
		context->state_path =
			given(context) ? g_strdup(given(context)) : where_find(context, NULL);
	}
	if (!context->state_shown && context->state_path)
		context->state_shown = rg_store_shown(context->state_path);
	return context->state_shown;
}

/* Who can change the repository could write anything into it, such as where requests with
 * credentials go; who can read the repository could join the Ray cluster; and a clone has a copy
 * that becomes stale. */
static bool check_tracked(Context *context, RgDiags *diags)
{
	bool tracked = false;
	if (!rg_store_is_file(context->state_path))
		return true;
	if (!rg_git_tracks(context->state_path, &tracked, diags))
		return false;
	if (!tracked)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.in-git",
		"the state \"%s\" is tracked by git, so raygpu does not use it",
		context->state_path);
	rg_diag_detail(diag, "a change of the repository could put anything into it, and it "
			     "contains the Ray token");
	rg_diag_hint(diag,
		"remove it with `git rm --cached -f %s`, and treat the token as public if it was "
		"pushed",
		context->state_path);
	return false;
}

RgStore *context_open_state(Context *context, RgStoreMode mode, RgDiags *diags)
{
	if (!context_state_path(context) || context->state_unknown ||
		!check_tracked(context, diags))
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

/* `root`: the files' paths are below it; NULL: below the working directory. */
static bool use_files(Context *context, const GPtrArray *files, const char *root, char **state,
	const char **first)
{
	for (guint i = 0; i < files->len; i++) {
		const char *spec = ((const RgSpecFile *)files->pdata[i])->path;
		g_autofree char *path = root ? g_build_filename(root, spec, NULL) : g_strdup(spec);
		g_autofree char *other = where_find(context, path);
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
	context->state_admits = true;
	if (given(context))
		return true;
	if (!use_files(context, specs->files, NULL, &state, &first) ||
		!use_files(context, specs->removed,
			context->trusted ? context->trusted->root : NULL, &state, &first))
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
	if (given(context)) {
		/* of a later plan it may be what was found for the first */
		context->state_admits = context->state_admits || plan == first;
		return true;
	}
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
