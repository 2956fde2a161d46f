/* Shared by the tests of the state's document: typical states, and a push as in the command. One
 * thread. */
#pragma once
#include "transfer/document.h"
#include "state_fixture.h"

/* The file that is pushed to, in addition to the fixture's own. */
typedef struct {
	Fixture own, other;
} Pair;

/* All of it, as the command writes it. g_free. */
char *pull_text(RgStore *store, RgDiags *diags);
void pair_up(Pair *pair, gconstpointer unused);
void pair_down(Pair *pair, gconstpointer unused);
/* As a file called state.json. */
json_t *parse(const char *text, bool force, RgDiags *diags);
/* As in the command, under the lock of each cluster; NULL and diagnostics. */
json_t *push(Fixture *to, const char *text, bool force, char **backup);
/* Some runs with some changes each; every creation is settled. Open for reading afterwards. */
void fill(Fixture *f, guint32 seed);
/* Complete, and without unused blobs. */
void check_file(const Fixture *f);
/* Adds a node to the state: the next serials. */
void add_node(Fixture *f, int64_t index, const char *id);
/* A document to push: the file has changed since. */
char *old_document(Fixture *f);
/* The text with a member set, or an item appended. */
char *edited(const char *text, const char *pointer, const char *key, json_t *value);
/* Refused with this code, and the file is unchanged byte for byte; a reader reports the same. */
void check_refused(Fixture *f, const char *text, bool force, const char *code);
