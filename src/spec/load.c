#include "spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/caps.h"
#include "base/log.h"
#include "spec/build.h"
#include "spec/check.h"
#include "spec/extend.h"
#include "spec/inside.h"
#include "spec/node.h"

/* A finding with the place by which it is ordered: a note stays with the error before it. */
typedef struct {
	const RgDiag *diag;
	RgSource order;
	bool beyond_yaml;  /* a fault of the YAML comes first: others may follow from it */
	size_t file, rank; /* of its file among those of the spec, and in its stage */
} Placed;

static int compare_placed(const void *a, const void *b)
{
	const Placed *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->beyond_yaml != y->beyond_yaml)
		return x->beyond_yaml ? 1 : -1;
	if (x->order.line != y->order.line)
		return x->order.line < y->order.line ? -1 : 1;
	if (x->order.column != y->order.column)
		return x->order.column < y->order.column ? -1 : 1;
	return x->rank < y->rank ? -1 : 1;
}

static void copy_diag(RgDiags *to, const RgDiag *from, const RgDocument *document)
{
	RgDiag *diag;
	if (from->severity == RG_SEVERITY_ERROR)
		diag = rg_diags_error(to, from->code, "%s", from->summary);
	else if (from->severity == RG_SEVERITY_WARNING)
		diag = rg_diags_warning(to, from->code, "%s", from->summary);
	else
		diag = rg_diags_note(to, from->code, "%s", from->summary);
	rg_diag_at(diag, from->source);
	if (from->detail)
		rg_diag_detail(diag, "%s", from->detail);
	if (from->hint)
		rg_diag_hint(diag, "%s", from->hint);
	if (from->related.line > 0)
		rg_diag_related(diag, from->related, from->related_text);
	const RgSource *replaced = document ? spec_replaced(document, from->source) : NULL;
	if (replaced && !from->related.line)
		rg_diag_related(diag, *replaced, "the value that it replaces");
}

/* An anchor's content is seen again at each of its aliases; its faults are reported once. */
static bool is_repeated(const Placed *items, size_t i)
{
	for (size_t k = i; k > 0 && items[k - 1].file == items[i].file &&
			   items[k - 1].order.line == items[i].order.line &&
			   items[k - 1].order.column == items[i].order.column;
		k--) {
		const RgDiag *a = items[k - 1].diag, *b = items[i].diag;
		if (a->code == b->code && a->severity == b->severity &&
			g_str_equal(a->summary, b->summary))
			return true;
	}
	return false;
}

static size_t rank_of_file(const RgDocument *document, const char *file)
{
	guint rank = 0;
	if (!file || !document || !document->files ||
		!g_ptr_array_find_with_equal_func(document->files, file, g_str_equal, &rank))
		return 0;
	return rank;
}

/* Findings in the order of files and lines, at most RG_CAP_SPEC_FINDINGS of them. `document` NULL:
 * the text is not YAML. */
static void deliver(RgDiags *to, RgDiags *from, const RgDocument *document)
{
	size_t n = rg_diags_count(from);
	g_autofree Placed *items = g_new0(Placed, n + 1);
	for (size_t i = 0; i < n; i++) {
		const RgDiag *diag = rg_diags_get(from, i);
		bool follows = diag->severity == RG_SEVERITY_NOTE && i > 0;
		RgSource order = follows ? items[i - 1].order : diag->source;
		bool beyond_yaml =
			follows ? items[i - 1].beyond_yaml : !g_str_has_prefix(diag->code, "yaml.");
		items[i] =
			(Placed){diag, order, beyond_yaml, rank_of_file(document, order.file), i};
	}
	qsort(items, n, sizeof items[0], compare_placed);
	size_t shown = 0, left = 0;
	for (size_t i = 0; i < n; i++) {
		if (is_repeated(items, i))
			continue;
		if (shown < RG_CAP_SPEC_FINDINGS)
			copy_diag(to, items[i].diag, document);
		else
			left++;
		shown++;
	}
	if (left > 0)
		rg_diags_note(to, items[0].diag->code, "%zu more findings of %s are not shown",
			left, items[0].diag->source.file);
	rg_diags_clear(from);
	rg_diags_take_all(to, from); /* the texts */
}

static void *build_cluster(RgDocument *document, const RgSpecReader *reader, RgDiags *diags)
{
	if (!spec_extend(document, reader, diags))
		return NULL;
	rg_spec_check_shape(document, "cluster.schema.json", diags);
	rg_spec_check_rules(document, diags);
	return rg_diags_has_errors(diags) ? NULL : rg_cluster_build(document);
}

/* `build` gets the document, and takes what it needs from it. */
void *spec_load_text(const char *file, const char *text, size_t len, SpecBuild build,
	const RgSpecReader *reader, RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgDocument) document = spec_read_text(file, text, len, found);
	void *built = document ? build(document, reader, found) : NULL;
	deliver(diags, found, document);
	return built;
}

RgCluster *rg_spec_load(const char *file, const char *text, size_t len, RgDiags *diags)
{
	return rg_spec_load_from(file, text, len, NULL, diags);
}

RgCluster *rg_spec_load_from(
	const char *file, const char *text, size_t len, const RgSpecReader *reader, RgDiags *diags)
{
	return spec_load_text(file, text, len, build_cluster, reader, diags);
}

/* "rtx 6000": names have no spaces, but people write them with some. */
static char *without_spaces(const char *query)
{
	char *text = g_strstrip(g_strdup(query));
	if (strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS " :-_") == strlen(text) &&
		!strstr(text, ": "))
		g_strdelimit(text, " ", '-');
	return text;
}

RgCluster *rg_spec_load_query(const char *query, RgDiags *diags)
{
	if (!*query || strpbrk(query, "\r\n")) {
		rg_diags_error(diags, "usage.bad-argument",
			*query ? "a query is one line" : "the query is empty");
		return NULL;
	}
	g_autofree char *named = without_spaces(query);
	/* on a line of its own, so that messages show nothing else */
	g_autofree char *text = g_strdup_printf("cluster: query\n"
						"provider: {name: none, region: none}\n"
						"ray: {version: 2.56.1, python: \"3.11\"}\n"
						"head:\n  accelerators:\n    %s\n",
		named);
	g_autoptr(RgDiags) found = rg_diags_new();
	RgCluster *cluster = rg_spec_load(RG_SOURCE_QUERY, text, strlen(text), found);
	rg_diags_reword(found, "head.accelerators.", "");
	rg_diags_reword(found, "head.accelerators", RG_SOURCE_QUERY);
	rg_diags_take_all(diags, found);
	return cluster;
}

static void report_outside(const char *path, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "file.outside-tree",
		"%s is a symbolic link that leads out of the git work tree", path);
	rg_diag_at(diag, (RgSource){.file = g_intern_string(path)});
	rg_diag_detail(diag, "raygpu does not read it: its messages could show a file that is not "
			     "part of the repository");
	rg_diag_hint(diag, "copy the file into the work tree, or name the file itself");
}

static void report_gits(const char *path, RgDiags *diags)
{
	RgDiag *diag =
		rg_diags_error(diags, "file.outside-tree", "%s is a file of git itself", path);
	rg_diag_at(diag, (RgSource){.file = g_intern_string(path)});
	rg_diag_detail(diag, "raygpu does not read it: its messages could show credentials");
}

/* "-" is standard input. */
static GString *read_stream_of(const char *path, int *error)
{
	bool is_stdin = g_str_equal(path, "-");
	FILE *stream = is_stdin ? stdin : fopen(path, "rbe");
	*error = errno;
	if (!stream)
		return NULL;
	GString *text = g_string_new(NULL);
	char buffer[16384];
	size_t n;
	/* one byte over the limit shows that there is more */
	while (text->len <= RG_CAP_SPEC_BYTES && (n = fread(buffer, 1, sizeof buffer, stream)) > 0)
		g_string_append_len(text, buffer, (gssize)n);
	bool read = ferror(stream) == 0;
	*error = errno;
	if (!is_stdin)
		fclose(stream);
	if (!read)
		g_string_free(g_steal_pointer(&text), TRUE);
	return text;
}

/* NULL and diagnostics if the file cannot or may not be read. */
static GString *read_path(const char *path, RgDiags *diags)
{
	int error = 0;
	if (!g_str_equal(path, "-") && !spec_is_inside(path)) {
		report_outside(path, diags);
		return NULL;
	}
	if (!g_str_equal(path, "-") && spec_is_gits(path)) {
		report_gits(path, diags);
		return NULL;
	}
	GString *text = read_stream_of(path, &error);
	if (text)
		return text;
	RgDiag *diag = rg_diags_error(
		diags, "file.unreadable", "%s cannot be read: %s", path, g_strerror(error));
	rg_diag_at(diag, (RgSource){.file = g_intern_string(path)});
	if (error == ENOENT)
		rg_diag_hint(diag, "name a spec file, or - for standard input");
	return NULL;
}

/* A file that the spec `data` extends: of the same work tree, if the spec is in one, because a
 * commit names what was planned. */
static char *read_beside(const void *data, const char *path, size_t *len, RgDiags *diags)
{
	if (!spec_is_beside(data, path)) {
		RgDiag *diag = rg_diags_error(
			diags, "file.outside-tree", "%s is outside of the git work tree", path);
		rg_diag_detail(diag, "a commit would not determine what the spec says");
		return NULL;
	}
	GString *text = read_path(path, diags);
	*len = text ? text->len : 0;
	return text ? g_string_free(text, FALSE) : NULL;
}

void *spec_load_file(const char *path, SpecBuild build, RgDiags *diags)
{
	g_autoptr(GString) text = read_path(path, diags);
	if (!text)
		return NULL;
	bool is_stdin = g_str_equal(path, "-");
	const RgSpecReader reader = {read_beside, is_stdin ? "." : path};
	return spec_load_text(
		is_stdin ? "<stdin>" : path, text->str, text->len, build, &reader, diags);
}

RgCluster *rg_spec_load_file(const char *path, RgDiags *diags)
{
	return spec_load_file(path, build_cluster, diags);
}

bool rg_spec_peek_file(const char *path, RgSpecPeek *peek, RgDiags *diags)
{
	g_autoptr(GString) text = read_path(path, diags);
	if (!text)
		return false;
	const RgSpecReader reader = {read_beside, path};
	*peek = rg_spec_peek(path, text->str, text->len, &reader, diags);
	return true;
}

GPtrArray *rg_document_load_file(const char *path, const char *what, RgDiags *diags)
{
	g_autoptr(GString) text = read_path(path, diags);
	if (!text)
		return NULL;
	const char *file = g_str_equal(path, "-") ? "<stdin>" : path;
	GPtrArray *documents = spec_read_each(file, text->str, text->len, diags);
	for (guint i = 0; documents && i < documents->len; i++)
		((RgDocument *)documents->pdata[i])->what = what;
	return documents;
}

void rg_document_deliver(RgDocument *document, RgDiags *diags)
{
	deliver(diags, document->findings, document);
}
