/* Sealed secrets. Private to src/state. */
#pragma once
#include "seal/seal.h"
#include "state/internal.h"

#define SEALED_HINT                                                                                \
	"give that key in RAYGPU_STATE_KEY, or in RAYGPU_STATE_KEY_OLD if there is a newer one: "  \
	"raygpu-state(5), SEALED SECRETS"

/* Bound to every value of a cluster. */
typedef struct {
	char *lineage, *cluster;
} SealPlace;
void seal_place_clear(SealPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SealPlace, seal_place_clear)
bool seal_place_read(RgStore *store, int64_t cluster, SealPlace *place, RgDiags *diags);
char *sealed_bound_output(const SealPlace *place, const char *address, const char *key);
char *sealed_bound_input(const SealPlace *place, const char *token);

/* NULL: it is not sealed. */
const char *sealed_text(const json_t *value);
/* *value: a new reference, only if opened. state.corrupt if it is damaged. */
RgSealResult sealed_open(
	const RgStore *store, const char *text, const char *bound, json_t **value, RgDiags *diags);
/* With the first key, which must be there. */
json_t *sealed_value(const RgStore *store, const json_t *value, const char *bound);
void sealed_explain(RgDiag *diag, const RgStore *store, const char *id);

/* One load of a cluster. */
typedef struct {
	RgStore *store;
	SealPlace place;
	size_t shut, clear; /* values without a key, values that are not sealed */
	char *id;	    /* of the key of the first that is shut; NULL: none is */
	RgDiags *diags;
} Unsealer;
/* Opens what it can; other members stay as they are, another input is an empty object. false:
 * damaged. */
bool unseal_outputs(Unsealer *unsealer, const char *address, json_t *outputs);
bool unseal_input(Unsealer *unsealer, const char *token, json_t **input);
void unseal_end(Unsealer *unsealer); /* reports them, once a handle */
