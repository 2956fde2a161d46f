/* Reads a file of a commit from the object store, without the work tree. */
#include <string.h>
#include "git/repo.h"

#define MAX_LINKS 40 /* as in path_resolution(7) */
#define ROOT "\001"  /* no name of a folder */

static char *report_other(const char *path, const char *rev, const char *what, RgDiags *diags)
{
	rg_diags_error(diags, "git.not-a-file", "\"%s\" at \"%s\" is %s", path, rev, what);
	return NULL;
}

static char *read_file(git_repository *repo, const git_commit *commit, const char *path,
	const char *rev, size_t *len, RgDiags *diags);

/* The folder above `path` that is a submodule, and its commit; NULL: there is none. */
static char *find_submodule(const git_tree *tree, const char *path, git_oid *id)
{
	g_autofree char *at = g_strdup(path);
	for (char *slash; (slash = strrchr(at, '/'));) {
		g_autoptr(git_tree_entry) entry = NULL;
		*slash = '\0';
		if (git_tree_entry_bypath(&entry, tree, at) != 0)
			continue;
		if (git_tree_entry_type(entry) != GIT_OBJECT_COMMIT)
			return NULL;
		git_oid_cpy(id, git_tree_entry_id(entry));
		return g_steal_pointer(&at);
	}
	return NULL;
}

/* From the submodule's commit that the outer commit names, so nothing in the submodule decides what
 * that is. */
static char *read_below(git_repository *outer, const char *folder, const git_oid *id,
	const char *path, size_t *len, RgDiags *diags)
{
	const char *workdir = git_repository_workdir(outer);
	g_autofree char *top = g_build_filename(workdir ? workdir : "", folder, NULL);
	g_autoptr(git_repository) inner = NULL;
	g_autoptr(git_commit) commit = NULL;
	const char *rev = git_oid_tostr_s(id);
	if (repo_open_top(top, &inner) == 0 && git_commit_lookup(&commit, inner, id) == 0)
		return read_file(inner, commit, path, rev, len, diags);
	RgDiag *diag = rg_diags_error(diags, "git.unreadable",
		"the submodule \"%s\" is not checked out, or lacks commit %.12s", folder, rev);
	rg_diag_hint(diag, "run `git submodule update --init`");
	return NULL;
}

static char *read_blob(git_repository *repo, const git_commit *commit, const char *path,
	const char *rev, size_t *len, RgDiags *diags)
{
	g_autoptr(git_tree) tree = NULL;
	g_autoptr(git_tree_entry) entry = NULL;
	g_autoptr(git_blob) blob = NULL;
	if (git_commit_tree(&tree, commit) != 0 || git_tree_entry_bypath(&entry, tree, path) != 0) {
		git_oid id;
		g_autofree char *folder = tree ? find_submodule(tree, path, &id) : NULL;
		if (folder)
			return read_below(repo, folder, &id, path + strlen(folder) + 1, len, diags);
		rg_diags_error(diags, "git.no-file", "\"%s\" at \"%s\" does not exist", path, rev);
		return NULL;
	}
	if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB)
		return report_other(path, rev, "no file", diags);
	if (git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
		return report_other(path, rev, "a symbolic link", diags);
	if (git_blob_lookup(&blob, repo, git_tree_entry_id(entry)) != 0) {
		repo_report_unreadable(path, diags);
		return NULL;
	}
	*len = (size_t)git_blob_rawsize(blob);
	char *text = g_malloc(*len + 1);
	memcpy(text, git_blob_rawcontent(blob), *len);
	text[*len] = '\0';
	return text;
}

/* The first folder of `path`, or `path` itself, that is a symbolic link there: its length and
 * target. NULL: there is none. */
static char *find_link(
	git_repository *repo, const git_tree *tree, const char *path, size_t *link_len)
{
	for (const char *end = path; *end;) {
		g_autoptr(git_tree_entry) entry = NULL;
		g_autoptr(git_blob) blob = NULL;
		end += *end == '/';
		end += strcspn(end, "/");
		*link_len = (size_t)(end - path);
		g_autofree char *at = g_strndup(path, *link_len);
		if (git_tree_entry_bypath(&entry, tree, at) != 0)
			return NULL;
		if (git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
			return git_blob_lookup(&blob, repo, git_tree_entry_id(entry)) != 0
				       ? NULL
				       : g_strndup(git_blob_rawcontent(blob),
						 (gsize)git_blob_rawsize(blob));
	}
	return NULL;
}

static bool leads_somewhere(git_repository *repo, const git_tree *tree, const char *path)
{
	g_autoptr(git_tree_entry) entry = NULL;
	git_oid unused;
	size_t unused_len;
	if (git_tree_entry_bypath(&entry, tree, path) == 0)
		return true;
	g_autofree char *link = find_link(repo, tree, path, &unused_len);
	g_autofree char *submodule = find_submodule(tree, path, &unused);
	return link || submodule;
}

/* What the link (the first `len` bytes of `path`) makes of it; NULL: it leads out of the commit, or
 * is the file itself and leads nowhere. */
static char *step(git_repository *repo, const git_tree *tree, const char *path, size_t len,
	const char *target)
{
	g_autofree char *link = g_strndup(path, len), *folder = g_path_get_dirname(link);
	/* a root that ".." does not leave unseen */
	g_autofree char *beside = g_strconcat("/" ROOT "/", folder, "/", target, path + len, NULL);
	g_autofree char *full = g_canonicalize_filename(beside, "/");
	if (g_path_is_absolute(target) || !g_str_has_prefix(full, "/" ROOT "/"))
		return NULL;
	g_autofree char *to = g_strdup(full + strlen("/" ROOT "/"));
	bool is_file = !path[len];
	return is_file && !leads_somewhere(repo, tree, to) ? NULL : g_steal_pointer(&to);
}

/* `path`, and what each symbolic link on the way makes of it. */
static GPtrArray *way(git_repository *repo, const git_commit *commit, const char *path)
{
	g_autoptr(git_tree) tree = NULL;
	GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
	size_t len;
	g_ptr_array_add(paths, g_strdup(path));
	if (git_commit_tree(&tree, commit) != 0)
		return paths;
	while (paths->len <= MAX_LINKS) {
		const char *at = paths->pdata[paths->len - 1];
		g_autofree char *target = find_link(repo, tree, at, &len);
		char *next = target ? step(repo, tree, at, len, target) : NULL;
		if (!next)
			break;
		g_ptr_array_add(paths, next);
	}
	return paths;
}

char *repo_follow_links(git_repository *repo, const git_commit *commit, const char *path)
{
	g_autoptr(GPtrArray) paths = way(repo, commit, path);
	return g_strdup(paths->pdata[paths->len - 1]);
}

static char *read_file(git_repository *repo, const git_commit *commit, const char *path,
	const char *rev, size_t *len, RgDiags *diags)
{
	g_autofree char *real = repo_follow_links(repo, commit, path);
	return read_blob(repo, commit, real, rev, len, diags);
}

/* The commit of the repository with the work tree `root`. */
static bool open_commit(const char *root, const char *rev, git_repository **repo,
	git_commit **commit, RgDiags *diags)
{
	if (!repo_begin(root, diags) || !repo_open_root(root, repo, diags))
		return false;
	return *repo ? repo_find_commit(*repo, rev, commit, diags)
		     : repo_report_unreadable(root, diags);
}

GPtrArray *repo_way(const char *root, const char *below, const char *rev, RgDiags *diags)
{
	g_autoptr(git_repository) repo = NULL;
	g_autoptr(git_commit) commit = NULL;
	return open_commit(root, rev, &repo, &commit, diags) ? way(repo, commit, below) : NULL;
}

char *repo_read_below(
	const char *root, const char *below, const char *rev, size_t *len, RgDiags *diags)
{
	g_autoptr(git_repository) repo = NULL;
	g_autoptr(git_commit) commit = NULL;
	return open_commit(root, rev, &repo, &commit, diags)
		       ? read_file(repo, commit, below, rev, len, diags)
		       : NULL;
}

static char *read_in(git_repository *repo, RgProvenance *provenance, const char *rev, size_t *len,
	RgDiags *diags)
{
	g_autoptr(git_commit) commit = NULL;
	if (!repo_find_commit(repo, rev, &commit, diags))
		return NULL;
	char hex[GIT_OID_HEXSZ + 1];
	provenance->in_repository = true;
	provenance->commit = g_strdup(git_oid_tostr(hex, sizeof hex, git_commit_id(commit)));
	provenance->author = repo_author(commit);
	return read_file(repo, commit, provenance->path, rev, len, diags);
}

char *repo_read_at(
	const char *path, const char *rev, size_t *len, RgProvenance **provenance, RgDiags *diags)
{
	bool use = repo_begin(path, diags);
	g_autoptr(RgProvenance) found = g_new0(RgProvenance, 1);
	g_autoptr(git_repository) repo =
		use ? repo_open_at(path, &found->path, &found->root, diags) : NULL;
	if (!repo)
		return NULL;
	char *text = read_in(repo, found, rev, len, diags);
	if (text)
		*provenance = g_steal_pointer(&found);
	return text;
}
