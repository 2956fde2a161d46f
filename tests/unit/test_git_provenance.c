/* Provenance of specs in real repositories, created with the git command in temporary folders. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include "git/git.h"

/* Runs a shell line in `dir`. */
static void run(const char *dir, const char *line)
{
	const char *const argv[] = {"/bin/sh", "-ec", line, NULL};
	g_autofree char *err = NULL;
	g_autoptr(GError) error = NULL;
	int status;
	bool ok = g_spawn_sync(dir, (char **)(uintptr_t)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
		NULL, &err, &status, &error);
	if (!ok || status != 0)
		g_error("%s: %s", line, ok ? err : error->message);
}

typedef struct {
	char *dir; /* without symbolic links */
	RgDiags *diags;
} Place;

static void set_up(Place *place, gconstpointer unused)
{
	g_autofree char *dir = g_dir_make_tmp("rg-git-XXXXXX", NULL);
	place->dir = realpath(dir, NULL);
	place->diags = rg_diags_new();
	run(place->dir, "git init -q -b main repo && cd repo && mkdir -p specs && "
			"echo 'cluster: a' > specs/a.yaml && echo x > other");
}

static void tear_down(Place *place, gconstpointer unused)
{
	run(place->dir, "rm -rf ./*");
	g_rmdir(place->dir);
	free(place->dir);
	rg_diags_free(place->diags);
}

static void commit_all(const Place *place)
{
	run(place->dir, "cd repo && git add -A && git commit -q -m one");
}

static RgProvenance *look(const Place *place, const char *path)
{
	g_autofree char *full = g_build_filename(place->dir, path, NULL);
	RgProvenance *provenance = rg_git_provenance(full, place->diags);
	g_assert_cmpint(!provenance, ==, rg_diags_has_errors(place->diags));
	return provenance;
}

static RgProvenance *find(const Place *place, const char *path)
{
	RgProvenance *provenance = look(place, path);
	if (!provenance)
		g_error("%s", rg_diags_get(place->diags, 0)->summary);
	return provenance;
}

static void a_committed_spec_is_clean(Place *place, gconstpointer unused)
{
	commit_all(place);
	run(place->dir, "echo change >> repo/other; echo y > repo/untracked");
	g_autoptr(RgProvenance) found = find(place, "repo/specs/a.yaml");
	g_autofree char *root = g_build_filename(place->dir, "repo", NULL);
	g_assert_true(found->in_repository);
	g_assert_cmpstr(found->root, ==, root);
	g_assert_cmpstr(found->path, ==, "specs/a.yaml");
	g_assert_cmpstr(found->author, ==, "Ada <ada@example.org>");
	g_assert_false(found->dirty);
	g_autofree char *file = g_build_filename(root, "head", NULL), *head = NULL;
	run(root, "git rev-parse HEAD > head");
	g_assert_true(g_file_get_contents(file, &head, NULL, NULL));
	g_assert_cmpstr(found->commit, ==, g_strchomp(head));
}

static void assert_dirty(Place *place, const char *line)
{
	run(place->dir, line);
	g_autoptr(RgProvenance) found = find(place, "repo/specs/a.yaml");
	g_assert_true(found->in_repository);
	g_assert_nonnull(found->commit);
	if (!found->dirty)
		g_error("not dirty after: %s", line);
}

static void whatever_differs_from_head_is_dirty(Place *place, gconstpointer unused)
{
	commit_all(place);
	assert_dirty(place, "echo 'b: 1' >> repo/specs/a.yaml");
	assert_dirty(place, "cd repo && git add specs");
	assert_dirty(place, "cd repo && git reset -q --hard && git rm -q --cached specs/a.yaml");
	assert_dirty(place, "cd repo && git commit -q -m gone");
	assert_dirty(place, "cd repo && echo 'specs/' > .gitignore");
}

static void a_repository_without_commits_has_none(Place *place, gconstpointer unused)
{
	g_autoptr(RgProvenance) found = find(place, "repo/specs/a.yaml");
	g_assert_true(found->in_repository);
	g_assert_null(found->commit);
	g_assert_null(found->author);
	g_assert_true(found->dirty);
	run(place->dir, "cd repo && git add -A");
	g_autoptr(RgProvenance) staged = find(place, "repo/specs/a.yaml");
	g_assert_null(staged->commit);
	g_assert_true(staged->dirty);
}

static void outside_and_bare_are_no_repository(Place *place, gconstpointer unused)
{
	run(place->dir, "echo x > a.yaml; git init -q --bare bare.git; echo x > bare.git/a.yaml");
	g_autoptr(RgProvenance) outside = find(place, "a.yaml");
	g_assert_false(outside->in_repository);
	g_assert_null(outside->root);
	g_autoptr(RgProvenance) bare = find(place, "bare.git/a.yaml");
	g_assert_false(bare->in_repository);
	/* what looks like a bare repository can be committed; and an empty ".git" is nothing */
	run(place->dir, "git init -q --bare repo/specs/bare && echo x > repo/specs/bare/a.yaml && "
			"mkdir repo/specs/.git");
	g_autoptr(RgProvenance) inside = find(place, "repo/specs/bare/a.yaml");
	g_assert_cmpstr(inside->path, ==, "specs/bare/a.yaml");
	g_assert_null(look(place, "none.yaml"));
	g_assert_cmpstr(rg_diags_get(place->diags, 0)->code, ==, "git.unreadable");
}

static void worktrees_have_their_own_root_and_commit(Place *place, gconstpointer unused)
{
	commit_all(place);
	run(place->dir, "cd repo && git worktree add -q ../tree -b side && cd ../tree && "
			"echo 'c: 1' >> specs/a.yaml && git commit -q -a -m two");
	g_autoptr(RgProvenance) main_tree = find(place, "repo/specs/a.yaml");
	g_autoptr(RgProvenance) side = find(place, "tree/specs/a.yaml");
	g_assert_true(g_str_has_suffix(side->root, "/tree"));
	g_assert_cmpstr(side->path, ==, "specs/a.yaml");
	g_assert_false(side->dirty);
	g_assert_cmpstr(side->commit, !=, main_tree->commit);
}

static void links_count_as_what_they_lead_to(Place *place, gconstpointer unused)
{
	commit_all(place);
	run(place->dir, "ln -s repo/specs/a.yaml link.yaml; ln -s repo/specs linked; "
			"ln -s ../../out.yaml repo/specs/out.yaml; echo x > out.yaml");
	g_autoptr(RgProvenance) link = find(place, "link.yaml");
	g_assert_cmpstr(link->path, ==, "specs/a.yaml");
	g_assert_false(link->dirty);
	g_autoptr(RgProvenance) linked = find(place, "linked/a.yaml");
	g_assert_cmpstr(linked->path, ==, "specs/a.yaml");
	g_autoptr(RgProvenance) out = find(place, "repo/specs/out.yaml");
	g_assert_false(out->in_repository);
}

static bool is_tracked(const Place *place, const char *path)
{
	bool tracked;
	g_autofree char *full = g_build_filename(place->dir, path, NULL);
	g_assert_true(rg_git_tracks(full, &tracked, place->diags));
	return tracked;
}

static void the_index_is_asked_through_links_and_without_the_file(
	Place *place, gconstpointer unused)
{
	commit_all(place);
	run(place->dir,
		"ln -s repo/specs linked; ln -s repo top; rm repo/other; echo x > repo/new");
	g_assert_true(is_tracked(place, "repo/other"));
	g_assert_true(is_tracked(place, "top/other"));
	g_assert_true(is_tracked(place, "linked/a.yaml"));
	g_assert_false(is_tracked(place, "repo/new"));
	g_assert_false(is_tracked(place, "none/state.db"));
}

static void strange_names_and_authors_are_kept(Place *place, gconstpointer unused)
{
	commit_all(place);
	run(place->dir, "cd repo && cp specs/a.yaml 'specs/[a] *?.yaml' && git add -A && "
			"git -c user.name='Zo\xc3\xab' commit -q -m two");
	g_autoptr(RgProvenance) found = find(place, "repo/specs/[a] *?.yaml");
	g_assert_cmpstr(found->path, ==, "specs/[a] *?.yaml");
	g_assert_cmpstr(found->author, ==, "Zo\xc3\xab <ada@example.org>");
	g_assert_false(found->dirty);
}

static void a_broken_repository_is_an_error(Place *place, gconstpointer unused)
{
	commit_all(place);
	run(place->dir, "rm -rf repo/.git/objects/*");
	g_assert_null(look(place, "repo/specs/a.yaml"));
	g_assert_cmpstr(rg_diags_get(place->diags, 0)->code, ==, "git.unreadable");
}

static void a_strangers_repository_is_an_error_with_the_remedy(Place *place, gconstpointer unused)
{
	if (geteuid() != 0) {
		g_test_skip("only root can give a repository away");
		return;
	}
	commit_all(place);
	run(place->dir, "chown -R 12345 repo");
	g_assert_null(look(place, "repo/specs/a.yaml"));
	const RgDiag *diag = rg_diags_get(place->diags, 0);
	g_assert_cmpstr(diag->code, ==, "git.not-owner");
	g_autofree char *line =
		g_strdup_printf("git config --global --add safe.directory '%s/repo'", place->dir);
	g_assert_nonnull(strstr(diag->hint, line));
	/* the printed remedy works */
	g_autofree char *typed = g_strdup(strstr(diag->hint, "git config"));
	run(place->dir, typed);
	rg_diags_free(place->diags);
	place->diags = rg_diags_new();
	g_autoptr(RgProvenance) found = find(place, "repo/specs/a.yaml");
	g_assert_nonnull(found->commit);
	g_assert_false(found->dirty);
}

static void another_entry_of_safe_directory_is_not_enough(Place *place, gconstpointer unused)
{
	if (geteuid() != 0) {
		g_test_skip("only root can give a repository away");
		return;
	}
	commit_all(place);
	run(place->dir, "git config --global --add safe.directory /elsewhere; chown -R 12345 repo");
	g_assert_null(look(place, "repo/specs/a.yaml"));
	g_assert_cmpstr(rg_diags_get(place->diags, 0)->code, ==, "git.not-owner");
}

/* Git must not see the developer's own configuration, nor a repository around the temp folder. */
static void isolate(void)
{
	g_autofree char *home = g_dir_make_tmp("rg-home-XXXXXX", NULL);
	g_setenv("HOME", home, TRUE);
	g_setenv("XDG_CONFIG_HOME", home, TRUE);
	g_setenv("GIT_CONFIG_NOSYSTEM", "1", TRUE);
	g_setenv("GIT_AUTHOR_EMAIL", "ada@example.org", TRUE);
	g_setenv("GIT_COMMITTER_NAME", "Ci", TRUE);
	g_setenv("GIT_COMMITTER_EMAIL", "ci@example.org", TRUE);
	run(home, "git config --global user.name Ada");
}

#define ADD(sentence, function)                                                                    \
	g_test_add("/git/" sentence, Place, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	isolate();
	ADD("a committed spec is clean", a_committed_spec_is_clean);
	ADD("whatever differs from HEAD is dirty", whatever_differs_from_head_is_dirty);
	ADD("a repository without commits has none", a_repository_without_commits_has_none);
	ADD("outside and bare are no repository", outside_and_bare_are_no_repository);
	ADD("worktrees have their own root and commit", worktrees_have_their_own_root_and_commit);
	ADD("links count as what they lead to", links_count_as_what_they_lead_to);
	ADD("the index is asked through links and without the file",
		the_index_is_asked_through_links_and_without_the_file);
	ADD("strange names and authors are kept", strange_names_and_authors_are_kept);
	ADD("a broken repository is an error", a_broken_repository_is_an_error);
	ADD("a stranger's repository is an error with the remedy",
		a_strangers_repository_is_an_error_with_the_remedy);
	ADD("another entry of safe.directory is not enough",
		another_entry_of_safe_directory_is_not_enough);
	int failed = g_test_run();
	run("/", "rm -rf \"$HOME\"");
	return failed;
}
