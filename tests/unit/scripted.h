/* Opens modules/scripted.c through the real loader for a test: script in, provider out. The
 * Scripted owns everything; a fresh sink of diagnostics is available. Aborts if it cannot open. */
#pragma once
#include "provider/provider.h"

typedef struct {
	RgProviderHost *host;
	RgProvider *provider;
	RgDiags *diags;
	char *journal; /* path of the file with one line per call */
	gint canceled; /* atomic */
} Scripted;

/* `script`: the object config.script with ' for ". */
Scripted *scripted_open(const char *script, bool network);
void scripted_free(Scripted *scripted);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scripted, scripted_free)

/* The kind scripted.node of cluster c. */
extern const RgListing scripted_nodes;

/* JSON with ' for ". */
json_t *scripted_json(const char *text);
/* Fails the test unless the n-th diagnostic has this code and summary. */
void scripted_assert_diag(const RgDiags *diags, size_t n, const char *code, const char *summary);
/* The number of calls so far that begin with `line` ("list scripted.node"). */
unsigned scripted_count(const Scripted *scripted, const char *line);
