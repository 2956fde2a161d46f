/* What a revision names. Whether a spec is trusted can depend on it, so unlike git's this search
 * makes no choice between references of one name: anyone who may push a tag could otherwise give
 * another commit the name of a branch. */
#include <string.h>
#include "git/repo.h"

#define SHORTEST_ID 4 /* GIT_OID_MINPREFIXLEN */

/* gitrevisions(7), "<refname>"; the remote's branches first. A full name means itself. */
static const struct {
	const char *before, *after;
} places[] = {{"", ""}, {"refs/remotes/", ""}, {"refs/tags/", ""}, {"refs/heads/", ""},
	{"refs/", ""}, {"refs/remotes/", "/HEAD"}};

typedef struct {
	git_repository *repo;
	git_oid commit; /* the first that was found */
	char *full;	/* its name, or id; NULL: none was found */
	char *other;	/* what names another commit; NULL: nothing does */
} Meaning;

static void meaning_add(Meaning *meaning, const git_object *object, const char *full)
{
	g_autoptr(git_object) commit = NULL;
	if (meaning->other || git_object_peel(&commit, object, GIT_OBJECT_COMMIT) != 0)
		return;
	if (!meaning->full) {
		git_oid_cpy(&meaning->commit, git_object_id(commit));
		meaning->full = g_strdup(full);
	} else if (!git_oid_equal(&meaning->commit, git_object_id(commit))) {
		meaning->other = g_strdup(full);
	}
}

/* Nobody can give it to another reference; but a tag "refs/heads/main" can be pushed. */
static bool is_full_name(const char *name)
{
	return g_str_equal(name, "HEAD") || g_str_has_prefix(name, "refs/");
}

static void meaning_find_references(Meaning *meaning, const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		g_autofree char *full = g_strconcat(places[i].before, name, places[i].after, NULL);
		g_autoptr(git_object) object = NULL;
		git_oid oid;
		if (git_reference_name_to_id(&oid, meaning->repo, full) == 0 &&
			git_object_lookup(&object, meaning->repo, &oid, GIT_OBJECT_ANY) == 0)
			meaning_add(meaning, object, full);
		if (is_full_name(name)) /* itself or nothing */
			return;
	}
}

static void meaning_find_id(Meaning *meaning, const char *name)
{
	size_t len = strlen(name);
	g_autoptr(git_object) object = NULL;
	git_oid oid;
	if (len < SHORTEST_ID || len > GIT_OID_HEXSZ || git_oid_fromstrn(&oid, name, len) != 0 ||
		git_object_lookup_prefix(&object, meaning->repo, &oid, len, GIT_OBJECT_ANY) != 0)
		return;
	meaning_add(meaning, object, git_oid_tostr_s(git_object_id(object)));
}

static void meaning_clear(Meaning *meaning)
{
	g_free(meaning->full);
	g_free(meaning->other);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Meaning, meaning_clear)

static bool report_ambiguous(const Meaning *meaning, const char *rev, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "git.ambiguous", "\"%s\" names several commits of this git repository", rev);
	rg_diag_detail(diag, "it is both %s and %s", meaning->full, meaning->other);
	rg_diag_hint(diag, "use the full name, such as %s", meaning->full);
	return false;
}

static bool report_none(git_repository *repo, const char *rev, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "git.no-revision", "this git repository has no commit \"%s\"", rev);
	if (git_repository_is_shallow(repo) == 1)
		rg_diag_hint(diag,
			"this clone is shallow: run `git fetch --unshallow` and `git fetch "
			"origin BRANCH`, or configure a full clone in the CI (depth 0)");
	else
		rg_diag_hint(diag, "run `git fetch origin`, and use the branch as origin/BRANCH");
	return false;
}

/* "main" of "main~2", "main^{tree}" and "main@{1}". */
static size_t name_length(const char *rev)
{
	const char *at = strstr(rev, "@{");
	size_t len = strcspn(rev, "^~:");
	return at && (size_t)(at - rev) < len ? (size_t)(at - rev) : len;
}

bool repo_find_commit(git_repository *repo, const char *rev, git_commit **commit, RgDiags *diags)
{
	size_t len = name_length(rev);
	g_autofree char *name = g_strndup(rev, len);
	g_auto(Meaning) meaning = {.repo = repo};
	git_oid unused;
	/* an id that does not exist is not the name of a branch, nor a full name that of a tag */
	bool is_id = len == GIT_OID_HEXSZ && git_oid_fromstr(&unused, name) == 0;
	if (!is_id)
		meaning_find_references(&meaning, name);
	meaning_find_id(&meaning, name);
	if (meaning.other)
		return report_ambiguous(&meaning, rev, diags);
	if (!meaning.full && (is_id || is_full_name(name)))
		return report_none(repo, rev, diags);
	g_autofree char *full = g_strconcat(meaning.full ? meaning.full : name, rev + len, NULL);
	g_autoptr(git_object) object = NULL;
	git_object *peeled = NULL;
	if (git_revparse_single(&object, repo, full) != 0 ||
		git_object_peel(&peeled, object, GIT_OBJECT_COMMIT) != 0)
		return report_none(repo, rev, diags);
	*commit = (git_commit *)peeled;
	return true;
}

char *repo_resolve_at(const char *path, const char *rev, char **root, RgDiags *diags)
{
	bool use = repo_begin(path, diags);
	g_autofree char *below = NULL, *top = NULL;
	g_autoptr(git_repository) repo = use ? repo_open_at(path, &below, &top, diags) : NULL;
	g_autoptr(git_commit) commit = NULL;
	if (!repo || !repo_find_commit(repo, rev, &commit, diags))
		return NULL;
	char hex[GIT_OID_HEXSZ + 1];
	*root = g_steal_pointer(&top);
	return g_strdup(git_oid_tostr(hex, sizeof hex, git_commit_id(commit)));
}
