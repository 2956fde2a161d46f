/* The whole state as one JSON document (schemas/state.schema.json): `state pull` writes it, `state
 * push` reads it. Separate from src/state, which the pipeline uses; only commands need this.
 * Documents contain secrets: no diagnostic quotes their values. One thread. */
#pragma once
#include "resource/schema.h"
#include "state/read.h"

#define RG_STATE_FORMAT 1

/* Returns which attributes of a provider's kinds are sensitive; NULL, with the reason, if that is
 * unknown. */
typedef struct {
	const RgSchema *(*schema)(void *data, const char *provider, RgDiags *diags);
	void *data;
} RgStateRedactor;

/* One cluster, or NULL: all. The same state produces the same document, including the order of its
 * keys. `redactor` NULL: with its secrets; else they are replaced, and registered with
 * rg_redact_add for the code that prints the text. NULL and diagnostics. */
json_t *rg_state_pull(
	RgStore *store, const char *cluster, const RgStateRedactor *redactor, RgDiags *diags);

/* Checks a text for everything that can be checked without a state: format, structure, references.
 * Diagnostics have file:line:column. `force`: dangling references are warnings. NULL and
 * state.bad-document, state.newer or state.redacted. The result does not have the form in which it
 * was read: use it only for rg_state_push (rows are sorted, long values where they are used). */
json_t *rg_state_document_parse(
	const char *text, size_t len, const char *file, bool force, RgDiags *diags);
/* Removes all other clusters from it; state.no-such-cluster. */
bool rg_state_document_choose(json_t *document, const char *cluster, RgDiags *diags);
/* Names of its clusters, sorted. g_strfreev. */
GStrv rg_state_document_clusters(const json_t *document);

/* What a push changes, a list of one object per cluster: {"cluster", "lineage", "serial_before"
 * (null: the state does not have it), "serial", "changed", "forced" (over a newer or another one),
 * "added", "removed", "replaced" (lists of addresses), "lost": [{"address", "id"}] of resources
 * that would no longer be recorded, "runs_lost", "lifetimes_lost" (numbers)}. Reads only. NULL and
 * state.push-refused if it is not allowed; `force` allows only an older serial and another
 * lineage. */
json_t *rg_state_push_look(RgStore *store, const json_t *document, bool force, RgDiags *diags);
/* Writes it, in one transaction, after copying the whole file (*backup, g_free it; NULL if there
 * was nothing to keep). The locks of all its clusters are held. Other clusters stay as they are. A
 * forced cluster gets a serial above both, and a run (meta: {"command", "user", ...}). Identities
 * never decrease, so that no token is used twice. */
json_t *rg_state_push(RgStore *store, const json_t *document, bool force, const json_t *meta,
	char **backup, RgDiags *diags);
