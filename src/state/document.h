/* The whole state as one JSON document (schemas/state.schema.json): `state pull` writes it, `state
 * push` reads it. Beside store.h, which the arrows of the path of data use; only commands need
 * this. Documents hold secrets: no diagnostic quotes a value of one. One thread. */
#pragma once
#include "resource/schema.h"
#include "state/store.h"

#define RG_STATE_FORMAT 1

/* Says what of a provider's kinds is sensitive; NULL when it is not known, and why. */
typedef struct {
	const RgSchema *(*schema)(void *data, const char *provider, RgDiags *diags);
	void *data;
} RgStateRedactor;

/* One cluster, or NULL: all. The same state gives the same document, to the order of its keys.
 * `redactor` NULL: with its secrets; else they are replaced, and registered with rg_redact_add for
 * whoever prints the text. NULL and diagnostics. */
json_t *rg_state_pull(
	RgStore *store, const char *cluster, const RgStateRedactor *redactor, RgDiags *diags);

/* Checks a text against everything that can be known without a state: format, shape, what refers to
 * what. Diagnostics stand at file:line:column. `force`: dangling references are warnings. NULL and
 * state.bad-document, state.newer or state.redacted. The document isn't in the form it was read:
 * it goes into rg_state_push alone (rows are sorted, long values where they are used). */
json_t *rg_state_document_parse(
	const char *text, size_t len, const char *file, bool force, RgDiags *diags);
/* Leaves only this cluster in it; state.no-such-cluster. */
bool rg_state_document_choose(json_t *document, const char *cluster, RgDiags *diags);
/* Names of its clusters, sorted. g_strfreev. */
GStrv rg_state_document_clusters(const json_t *document);

/* What a push changes, a list of one object a cluster: {"cluster", "lineage", "serial_before"
 * (null: the state doesn't have it), "serial", "changed", "forced" (over a newer or another one),
 * "added", "removed", "replaced" (lists of addresses), "lost": [{"address", "id"}] of what no
 * record would be left of, "runs_lost", "lifetimes_lost" (numbers)}. Reads only. NULL and
 * state.push-refused when it must not be; `force` lets an older serial and another lineage pass,
 * nothing else. */
json_t *rg_state_push_look(RgStore *store, const json_t *document, bool force, RgDiags *diags);
/* Does it, in one transaction, after a copy of the whole file was made (*backup, g_free it; NULL
 * when there was nothing to keep). The locks of all its clusters are held. Clusters that the
 * document doesn't have stay as they are. A cluster that is forced gets a serial above both, and a
 * run (meta: {"command", "user", ...}). Identities never go back, so that no token is used twice.
 */
json_t *rg_state_push(RgStore *store, const json_t *document, bool force, const json_t *meta,
	char **backup, RgDiags *diags);
