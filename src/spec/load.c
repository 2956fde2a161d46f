#include "spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/caps.h"
#include "base/log.h"
#include "spec/build.h"
#include "spec/check.h"
#include "spec/inside.h"
#include "spec/node.h"

/* A finding with the place by which it is ordered: a note stays with the error before it. */
typedef struct {
	const RgDiag *diag;
	RgSource order;
	size_t rank;
} Placed;

static int compare_placed(const void *a, const void *b)
{
	const Placed *x = a, *y = b;
	if (x->order.line != y->order.line)
		return x->order.line < y->order.line ? -1 : 1;
	if (x->order.column != y->order.column)
		return x->order.column < y->order.column ? -1 : 1;
	return x->rank < y->rank ? -1 : 1;
}

static void copy_diag(RgDiags *to, const RgDiag *from)
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
}

/* An anchor's content is seen again at each of its aliases; its faults are reported once. */
static bool is_repeated(const Placed *items, size_t i)
{
	for (size_t k = i; k > 0 && items[k - 1].order.line == items[i].order.line &&
			   items[k - 1].order.column == items[i].order.column;
		k--) {
		const RgDiag *a = items[k - 1].diag, *b = items[i].diag;
		if (a->code == b->code && a->severity == b->severity &&
			g_str_equal(a->summary, b->summary))
			return true;
	}
	return false;
}

/* Findings of a file in the order of its lines, at most RG_CAP_SPEC_FINDINGS of them. */
static void deliver(RgDiags *to, const RgDiags *from)
{
	size_t n = rg_diags_count(from);
	g_autofree Placed *items = g_new0(Placed, n + 1);
	for (size_t i = 0; i < n; i++) {
		const RgDiag *diag = rg_diags_get(from, i);
		bool follows = diag->severity == RG_SEVERITY_NOTE && i > 0;
		items[i] = (Placed){diag, follows ? items[i - 1].order : diag->source, i};
	}
	qsort(items, n, sizeof items[0], compare_placed);
	size_t shown = 0, left = 0;
	for (size_t i = 0; i < n; i++) {
		if (is_repeated(items, i))
			continue;
		if (shown < RG_CAP_SPEC_FINDINGS)
			copy_diag(to, items[i].diag);
		else
			left++;
		shown++;
	}
	if (left > 0)
		rg_diags_note(to, items[0].diag->code, "%zu more findings of %s are not shown",
			left, items[0].diag->source.file);
}

static RgSource first_place(const char *file)
{
	return (RgSource){.file = g_intern_string(file), .line = 1, .column = 1};
}

/* libyaml would treat these as line ends, no editor does: line numbers would be wrong. */
static bool refuse_line_ends(const char *file, const char *text, size_t len, RgDiags *diags)
{
	static const struct {
		const char *bytes, *name;
	} strange[] = {
		{"\xc2\x85", "U+0085"}, {"\xe2\x80\xa8", "U+2028"}, {"\xe2\x80\xa9", "U+2029"}};
	RgSource source = first_place(file);
	for (const char *at = text, *end = text + len; at < end; at++) {
		const char *name = NULL;
		for (size_t i = 0; i < G_N_ELEMENTS(strange); i++) {
			if (strncmp(at, strange[i].bytes, strlen(strange[i].bytes)) == 0)
				name = strange[i].name;
		}
		if (*at == '\r' && at[1] != '\n')
			name = "a carriage return alone";
		if (name) {
			RgDiag *diag =
				rg_diags_error(diags, "yaml.syntax", "%s is not accepted", name);
			rg_diag_at(diag, source);
			rg_diag_hint(diag, "YAML readers disagree whether it ends a "
					   "line; end lines with a line feed");
			return true;
		}
		rg_source_pass(&source, *at);
	}
	return false;
}

static bool is_readable(const char *file, const char *text, size_t len, RgDiags *diags)
{
	const char *bad;
	if (len > RG_CAP_SPEC_BYTES) {
		RgDiag *diag = rg_diags_error(diags, "file.too-large", "%s is larger than %d KiB",
			file, RG_CAP_SPEC_BYTES / 1024);
		rg_diag_at(diag, (RgSource){.file = g_intern_string(file)});
		return false;
	}
	if (g_utf8_validate(text, (gssize)len, &bad))
		return !refuse_line_ends(file, text, len, diags);
	RgSource source = first_place(file);
	for (const char *at = text; at < bad; at++)
		rg_source_pass(&source, *at);
	bool is_utf16 =
		len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
	RgDiag *diag = rg_diags_error(diags, "yaml.not-utf8", "byte %zu of %s is %s",
		(size_t)(bad - text) + 1, file, *bad == '\0' ? "NUL" : "not UTF-8 text");
	rg_diag_at(diag, source);
	rg_diag_hint(diag, is_utf16 ? "it looks like UTF-16: save the file as UTF-8"
				    : "save the file as UTF-8");
	return false;
}

static void *build_cluster(RgDocument *document, RgDiags *diags)
{
	rg_spec_check_shape(document, "cluster.schema.json", diags);
	rg_spec_check_rules(document, diags);
	return rg_diags_has_errors(diags) ? NULL : rg_cluster_build(document);
}

/* `build` gets the document, and takes what it needs from it. */
void *spec_load_text(
	const char *file, const char *text, size_t len, SpecBuild build, RgDiags *diags)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	if (len >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
		text += 3;
		len -= 3;
	}
	/* NUL-ended, as the look-ahead of the checks requires. */
	g_autofree char *copy = g_malloc(MIN(len, RG_CAP_SPEC_BYTES) + 1);
	memcpy(copy, text, MIN(len, RG_CAP_SPEC_BYTES));
	copy[MIN(len, RG_CAP_SPEC_BYTES)] = '\0';
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgDocument) document = NULL;
	void *built = NULL;
	rg_log(RG_LOG_DEBUG, "reads %s", file);
	if (is_readable(file, copy, len, found)) {
		rg_diags_add_text(diags, file, copy, len);
		document = rg_document_load(file, copy, len, found);
		built = document ? build(document, found) : NULL;
	}
	deliver(diags, found);
	return built;
}

RgCluster *rg_spec_load(const char *file, const char *text, size_t len, RgDiags *diags)
{
	return spec_load_text(file, text, len, build_cluster, diags);
}

RgCluster *rg_spec_load_query(const char *query, RgDiags *diags)
{
	g_autofree char *text = g_strdup_printf("head: {accelerators: %s}\n"
						"cluster: query\n"
						"provider: {name: none, region: none}\n"
						"ray: {version: 2.52.0, python: \"3.11\"}\n",
		query);
	return rg_spec_load("query", text, strlen(text), diags);
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

void *spec_load_file(const char *path, SpecBuild build, RgDiags *diags)
{
	g_autoptr(GString) text = read_path(path, diags);
	if (!text)
		return NULL;
	bool is_stdin = g_str_equal(path, "-");
	return spec_load_text(is_stdin ? "<stdin>" : path, text->str, text->len, build, diags);
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
	*peek = rg_spec_peek(path, text->str, text->len, diags);
	return true;
}
