/* Diagnostics: everything that people read about a problem goes through one RgDiags sink, passed
 * explicitly as the last parameter. A sink collects errors and warnings of a whole stage;
 * src/render renders them (caret, colour, JSON). Not thread-safe: use one sink per thread and join
 * them with rg_diags_take_all. Codes come from diag_codes.h. */
#pragma once
#include <glib.h>
#include <stdbool.h>

/* A place in a text file. line and column count from 1 (column in characters); line 0 = unknown.
 * `file` is interned (g_intern_string) and relative as the user named it. end_column is the
 * first column after the marked text on the same line, 0 = one character. */
typedef struct {
	const char *file;
	unsigned line, column, end_column;
} RgSource;

/* The "file" of a text that is an argument of the command line: shown without numbers. */
#define RG_SOURCE_QUERY "QUERY"

typedef enum { RG_SEVERITY_ERROR, RG_SEVERITY_WARNING, RG_SEVERITY_NOTE } RgSeverity;

/* One finding. The diagnostic owns its strings; NULL if there is no such text. summary: one line,
 * lower case, no full stop; user's words in quotes; never a secret. */
typedef struct {
	RgSeverity severity;
	const char *code; /* "spec.unknown-key", static */
	char *summary;
	char *detail; /* may have several lines */
	char *hint;   /* what to do, "did you mean `zones`?" */
	RgSource source;
	char *address;	  /* "cloud.node.train[3]" */
	char *attribute;  /* "instance_type" */
	char *provider;	  /* its name */
	char *cloud_code; /* "InsufficientInstanceCapacity" */
	char *request_id;
	char *origin; /* JSON pointer into the spec, for callers that do not know the line */
	/* a second place that this one conflicts with, such as "the policy"; line 0 = none */
	RgSource related;
	char *related_text;
} RgDiag;

typedef struct RgDiags RgDiags;

RgDiags *rg_diags_new(void);
void rg_diags_free(RgDiags *diags);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDiags, rg_diags_free)

/* Adds a finding and returns it (borrowed, valid while the sink exists) so that the caller can add
 * details. `code` must be in diag_codes.h. */
RgDiag *rg_diags_error(RgDiags *diags, const char *code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
RgDiag *rg_diags_warning(RgDiags *diags, const char *code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
RgDiag *rg_diags_note(RgDiags *diags, const char *code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Setters that return their argument, for chaining. A later call replaces the earlier text. */
RgDiag *rg_diag_at(RgDiag *diag, RgSource source);
RgDiag *rg_diag_detail(RgDiag *diag, const char *format, ...) G_GNUC_PRINTF(2, 3);
RgDiag *rg_diag_hint(RgDiag *diag, const char *format, ...) G_GNUC_PRINTF(2, 3);
RgDiag *rg_diag_address(RgDiag *diag, const char *address, const char *attribute);
RgDiag *rg_diag_cloud(
	RgDiag *diag, const char *provider, const char *cloud_code, const char *request_id);

RgDiag *rg_diag_origin(RgDiag *diag, const char *origin);

/* The place that the finding's own place conflicts with; `what` is a word for it. */
RgDiag *rg_diag_related(RgDiag *diag, RgSource source, const char *what);

/* Sets the place of findings that have an origin but no place, by asking `source`. */
void rg_diags_locate(
	RgDiags *diags, RgSource (*source)(const void *data, const char *origin), const void *data);
/* Makes warnings of the errors that `soft` accepts; it may say more about them. */
void rg_diags_soften(
	RgDiags *diags, bool (*soft)(const void *data, RgDiag *diag), const void *data);

size_t rg_diags_count(const RgDiags *diags);
const RgDiag *rg_diags_get(const RgDiags *diags, size_t i);
/* rg_diags_foreach (diag, diags) */
#define rg_diags_foreach(diag, diags)                                                              \
	for (size_t diag##_at = 0, diag##_on = 1; diag##_on; diag##_on = 0)                        \
		for (const RgDiag *diag; diag##_at < rg_diags_count(diags) &&                      \
					 (diag = rg_diags_get(diags, diag##_at), true);            \
			diag##_at++)
bool rg_diags_has_errors(const RgDiags *diags);
size_t rg_diags_count_of(const RgDiags *diags, RgSeverity severity);
/* Whether one of them, of any severity, has this code. */
bool rg_diags_has_code(const RgDiags *diags, const char *code);
/* Moves all of `from` to the end of `to`. */
void rg_diags_take_all(RgDiags *to, RgDiags *from);
/* The same, without findings that `to` already has (equal code, summary and place): concurrent
 * reads that fail for the same reason are reported once. */
void rg_diags_take_new(RgDiags *to, RgDiags *from);
/* Removes the findings of one code, when another finding describes the problem better. */
void rg_diags_drop(RgDiags *diags, const char *code);
/* Removes all findings, which invalidates pointers to them; texts of files stay. */
void rg_diags_clear(RgDiags *diags);
/* The exit code of the first error (diag_codes.h); 0 without errors. */
int rg_diags_exit_code(const RgDiags *diags);

/* Texts of files, kept so that a renderer can show the line. The sink copies. */
/* In the summaries and hints of all. */
void rg_diags_reword(RgDiags *diags, const char *from, const char *to);
void rg_diags_add_text(RgDiags *diags, const char *file, const char *text, size_t len);
/* The line without its newline, or NULL if the text is not known; free with g_free. */
char *rg_diags_dup_line(const RgDiags *diags, const char *file, unsigned line);
/* Where it begins in the file, in bytes. */
size_t rg_diags_line_offset(const RgDiags *diags, const char *file, unsigned line);

/* The entry of `words` (NULL-ended) nearest to `word` by edit distance, or NULL if none is near. */
const char *rg_nearest_word(const char *word, const char *const *words);
