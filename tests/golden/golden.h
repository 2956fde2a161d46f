/* Golden tests of the pure core: one text file a case, sections begin with "@" at the start of a
 * line. Sections @desired, @recorded, @observed have one resource a line:
 *
 *   ADDRESS name=VALUE ... :word ...
 *
 * VALUE is JSON, a bare word, or ->ADDRESS/attr for a reference. Words: :id=X :group=X :origin=X
 * :gen=N :updated=N :run=X :token=X :status=X :after=ADDRESS (depends_on), :out.name=VALUE (an
 * output), :pin={...}; :leaving, :pending, :absent, :unknown (presence), :extra (unmanaged; ADDRESS
 * may be KIND.?). `@imports` (render): the plan's, as JSON. `@options`: --destroy, --target X,
 * --exclude X, --replace X,
 * --removed POOL, --removed-with-tags POOL, one a line. With
 * --update the @expect section is rewritten from what came out. */
#pragma once
#include "diff/diff.h"

typedef struct {
	char *path;
	GHashTable *sections; /* char* -> char* */
	GPtrArray *order;     /* char* names */
	RgSchema *schema;
	RgResourceSet *desired, *recorded, *observed;
	RgDiffOptions options;
	RgRelease releases[4];
} GoldenCase;

GoldenCase *golden_load(const char *path, const char *schema_path);
void golden_free(GoldenCase *test);
const char *golden_section(const GoldenCase *test, const char *name); /* "" when absent */
/* The sets anew, with the lines of each section in another order. */
void golden_shuffle(GoldenCase *test, GRand *random);
/* Compares with @expect, or rewrites it. */
void golden_expect(GoldenCase *test, const char *got, bool update);
/* Adds one GTest a file of `folder`; `run` gets the path. */
void golden_add_all(const char *folder, const char *prefix, GTestDataFunc run);
/* Appends "! severity code ADDRESS: summary" lines. */
void golden_diags(GString *text, const RgDiags *diags);
