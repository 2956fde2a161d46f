/* How each use of libgit2 begins, and what is said when one fails. */
#include "git/repo.h"
#include <string.h>

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
	/* libgit2 fetches nothing by itself, as git does */
	rg_diag_hint(diag, "%s",
		strstr(repo_last_words(), "object not found")
			? "a partial clone (--filter) lacks objects: `git fetch --refetch "
			  "--no-filter origin` fetches all"
			: "check that `git status` works there");
	return false;
}

/* Sparse checkouts and partial clones, as CI systems make them, have extensions that change nothing
 * of what is read here; libgit2 refuses a repository with one that is not listed here. */
static bool start(void)
{
	const char *extensions[] = {"worktreeconfig", "partialclone"};
	return git_libgit2_init() >= 0 &&
	       git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, G_N_ELEMENTS(extensions)) == 0;
}

/* libgit2 reads the CA certificates of the system whenever it starts, a tenth of what a plan of 100
 * nodes takes: it runs until the process ends. */
bool repo_begin(const char *path, RgDiags *diags)
{
	static gsize started;
	if (g_once_init_enter(&started))
		g_once_init_leave(&started, start() ? 1 : 2);
	return started == 1 || repo_report_unreadable(path, diags);
}

char *repo_author(const git_commit *commit)
{
	const git_signature *author = git_commit_author(commit);
	g_autofree char *text = g_strdup_printf("%s <%s>", author->name, author->email);
	return g_utf8_make_valid(text, -1);
}
