#include "git/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "git/repo.h"

const char *repo_last_words(void)
{
	const git_error *error = git_error_last();
	return error && error->message ? error->message : "unknown error";
}

bool repo_report_unreadable(const char *path, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "git.unreadable", "cannot read the git repository of \"%s\"", path);
	rg_diag_detail(diag, "libgit2: %s", repo_last_words());
	rg_diag_hint(diag, "check that `git status` works there");
	return false;
}

RepoUse repo_begin(const char *path, RgDiags *diags)
{
	return git_libgit2_init() >= 0 || repo_report_unreadable(path, diags);
}

/* The nearest folder upward that has a ".git"; `dir` itself if none has. */
static char *find_top(const char *dir)
{
	g_autofree char *at = g_strdup(dir);
	for (;;) {
		g_autofree char *mark = g_build_filename(at, ".git", NULL);
		if (g_file_test(mark, G_FILE_TEST_EXISTS))
			return g_steal_pointer(&at);
		char *parent = g_path_get_dirname(at);
		if (g_str_equal(parent, at)) {
			g_free(parent);
			return g_strdup(dir);
		}
		g_free(at);
		at = parent;
	}
}

static bool report_not_owner(const char *dir, RgDiags *diags)
{
	g_autofree char *top = find_top(dir);
	g_autofree char *quoted = g_shell_quote(top);
	RgDiag *diag = rg_diags_error(diags, "git.not-owner",
		"the git repository \"%s\" belongs to another user, so git won't read it", top);
	rg_diag_detail(diag, "this is common in CI containers, which check out as one user and run "
			     "as another; without it a plan cannot record its commit");
	rg_diag_hint(
		diag, "if you trust it, run: git config --global --add safe.directory %s", quoted);
	return false;
}

bool repo_open_around(const char *dir, git_repository **repo, RgDiags *diags)
{
	g_auto(git_buf) found = GIT_BUF_INIT;
	int code = git_repository_discover(&found, dir, 0, NULL);
	if (code == GIT_ENOTFOUND)
		return true;
	if (code == 0)
		code = git_repository_open_ext(
			repo, found.ptr, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
	if (code == 0)
		return true;
	/* libgit2 before 1.6 reports "not found" instead of GIT_EOWNER if no safe.directory is
	 * configured (libgit2 pull request 6408) */
	bool is_not_owner = code == GIT_EOWNER ||
			    (code == GIT_ENOTFOUND && strstr(repo_last_words(), "safe.directory"));
	return is_not_owner ? report_not_owner(dir, diags) : repo_report_unreadable(dir, diags);
}

/* The file's path below the work tree, both without symbolic links; NULL if it is outside (in a
 * bare repository, or core.worktree points elsewhere). */
static char *find_path(git_repository *repo, const char *file, char **root)
{
	const char *workdir = git_repository_workdir(repo);
	char *real = workdir ? realpath(workdir, NULL) : NULL;
	if (!real)
		return NULL;
	size_t len = strlen(real);
	bool is_below = strncmp(file, real, len) == 0 && file[len] == '/';
	*root = is_below ? g_strdup(real) : NULL;
	free(real);
	return is_below ? g_strdup(file + len + 1) : NULL;
}

char *repo_author(const git_commit *commit)
{
	const git_signature *author = git_commit_author(commit);
	g_autofree char *text = g_strdup_printf("%s <%s>", author->name, author->email);
	return g_utf8_make_valid(text, -1);
}

static bool read_head(git_repository *repo, RgProvenance *provenance, RgDiags *diags)
{
	git_oid oid;
	g_autoptr(git_commit) commit = NULL;
	int unborn = git_repository_head_unborn(repo);
	if (unborn == 1)
		return true;
	if (unborn < 0 || git_reference_name_to_id(&oid, repo, "HEAD") != 0 ||
		git_commit_lookup(&commit, repo, &oid) != 0)
		return repo_report_unreadable(provenance->root, diags);
	char hex[GIT_OID_HEXSZ + 1];
	provenance->commit = g_strdup(git_oid_tostr(hex, sizeof hex, &oid));
	provenance->author = repo_author(commit);
	return true;
}

/* For that one file only: untracked, ignored, staged and changed all mean "not as in HEAD". */
static bool read_status(git_repository *repo, RgProvenance *provenance, RgDiags *diags)
{
	unsigned flags = GIT_STATUS_CURRENT;
	int code = git_status_file(&flags, repo, provenance->path);
	if (code != 0 && code != GIT_ENOTFOUND)
		return repo_report_unreadable(provenance->root, diags);
	provenance->dirty = code == GIT_ENOTFOUND || flags != GIT_STATUS_CURRENT;
	return true;
}

/* `file` is absolute and contains no symbolic links. */
static RgProvenance *read_provenance(const char *file, RgDiags *diags)
{
	g_autoptr(RgProvenance) provenance = g_new0(RgProvenance, 1);
	g_autoptr(git_repository) repo = NULL;
	g_autofree char *dir = g_path_get_dirname(file);
	if (!repo_open_around(dir, &repo, diags))
		return NULL;
	if (repo)
		provenance->path = find_path(repo, file, &provenance->root);
	if (!provenance->path)
		return g_steal_pointer(&provenance);
	provenance->in_repository = true;
	if (!read_head(repo, provenance, diags) || !read_status(repo, provenance, diags))
		return NULL;
	return g_steal_pointer(&provenance);
}

/* A spec that is a symbolic link counts as the file that it leads to, because that file is read. */
static RgProvenance *provenance(const char *spec_path, RgDiags *diags)
{
	char *file = realpath(spec_path, NULL);
	if (!file) {
		rg_diags_error(diags, "git.unreadable", "cannot find \"%s\": %s", spec_path,
			g_strerror(errno));
		return NULL;
	}
	g_auto(RepoUse) use = repo_begin(spec_path, diags);
	RgProvenance *result = use ? read_provenance(file, diags) : NULL;
	free(file);
	return result;
}

static const RgGitModule module = {
	.size = sizeof(RgGitModule),
	.version = RG_VERSION,
	.provenance = provenance,
	.read = repo_read_at,
	.list = repo_list_at,
	.changes = repo_changes,
	.tracks = repo_tracks,
	.library = "libgit2/" LIBGIT2_VERSION,
};

__attribute__((visibility("default"))) const void *raygpu_git_module(void)
{
	return &module;
}
