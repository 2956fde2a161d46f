/* Secrets, encrypted with keys that are given from outside (libsodium: XChaCha20-Poly1305). Knows
 * nothing of the state. Keys are in locked memory, which is wiped when it is freed. */
#pragma once
#include "base/diag.h"

/* Memory for a text that is secret: locked, not in core files, between guard pages; zeroed. */
char *rg_secret_new(size_t size);
void rg_secret_free(char *text);
/* A copy in such memory; the original is overwritten. */
char *rg_secret_take(char *text);
/* Overwrites a text in other memory, and g_free's it; NULL is fine. */
void rg_secret_wipe(char *text);

/* Keys: the first one seals, all of them open. */
typedef struct RgKeys RgKeys;
#define RG_KEYS_TEXT_MAX 8192 /* of a text with keys */
RgKeys *rg_keys_new(void);
void rg_keys_free(RgKeys *keys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgKeys, rg_keys_free)
/* Adds the keys of a text: 32 bytes each, as base64 or hex digits, separated by blanks, commas or
 * lines; # begins a comment. `from` names it in messages, which never quote it. `old`: they only
 * open. false and state.bad-key. */
bool rg_keys_add(RgKeys *keys, const char *text, const char *from, bool old, RgDiags *diags);
/* The fingerprint of the one that seals, 16 hex digits; NULL: there is none. NULL has no keys. */
const char *rg_keys_id(const RgKeys *keys);
/* Fingerprints of all, separated by ", "; g_free it. */
char *rg_keys_ids(const RgKeys *keys);

/* "FINGERPRINT:BASE64", g_free it. It opens only under the same `bound` text: where it belongs. */
char *rg_seal(const RgKeys *keys, const char *text, const char *bound);
typedef enum { RG_SEAL_OPENED, RG_SEAL_NO_KEY, RG_SEAL_DAMAGED } RgSealResult;
/* `keys` may be NULL. Sets *text (g_free it) only if opened. */
RgSealResult rg_seal_open(const RgKeys *keys, const char *sealed, const char *bound, char **text);
/* The fingerprint of the key that opens it, g_free it; NULL: it is damaged. */
char *rg_seal_id(const char *sealed);
