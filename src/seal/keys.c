#include "seal/internal.h"
#include <string.h>

/* The two uses of a key get keys of their own, so that the fingerprint says nothing of the other.
 */
#define KDF_CONTEXT "raygpust"
#define KDF_ID 1
#define KDF_SEAL 2

void seal_start(void)
{
	int failed = sodium_init(); /* may be called again */
	g_assert(failed >= 0);
}

char *rg_secret_new(size_t size)
{
	seal_start();
	char *text = sodium_malloc(size);
	if (!text)
		g_error("no memory for a key");
	memset(text, 0, size);
	return text;
}

void rg_secret_free(char *text)
{
	sodium_free(text);
}

char *rg_secret_take(char *text)
{
	size_t len = strlen(text);
	char *copy = rg_secret_new(len + 1);
	memcpy(copy, text, len + 1);
	sodium_memzero(text, len);
	return copy;
}

void rg_secret_wipe(char *text)
{
	if (text)
		sodium_memzero(text, strlen(text));
	g_free(text);
}

static void key_free(gpointer key)
{
	sodium_free(key);
}

RgKeys *rg_keys_new(void)
{
	RgKeys *keys = g_new0(RgKeys, 1);
	keys->all = g_ptr_array_new_with_free_func(key_free);
	return keys;
}

void rg_keys_free(RgKeys *keys)
{
	if (!keys)
		return;
	g_ptr_array_unref(keys->all);
	g_free(keys);
}

/* The forms in which `openssl rand` and the clouds' tools print 32 bytes. */
static bool decode(const char *word, size_t len, unsigned char *bytes)
{
	const char *end = NULL;
	size_t n = 0;
	if (len == 2 * SEAL_KEY_BYTES)
		return sodium_hex2bin(bytes, SEAL_KEY_BYTES, word, len, NULL, &n, &end) == 0 &&
		       n == SEAL_KEY_BYTES && end == word + len;
	return sodium_base642bin(bytes, SEAL_KEY_BYTES, word, len, NULL, &n, &end,
		       sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       n == SEAL_KEY_BYTES && end == word + len;
}

static Key *key_new(const char *word, size_t len)
{
	Key *key = sodium_malloc(sizeof(Key));
	unsigned char *given = sodium_malloc(SEAL_KEY_BYTES);
	unsigned char id[crypto_kdf_BYTES_MIN];
	if (!key || !given)
		g_error("no memory for a key");
	bool right = decode(word, len, given);
	if (right) {
		crypto_kdf_derive_from_key(id, sizeof(id), KDF_ID, KDF_CONTEXT, given);
		crypto_kdf_derive_from_key(
			key->bytes, SEAL_KEY_BYTES, KDF_SEAL, KDF_CONTEXT, given);
		sodium_bin2hex(key->id, sizeof(key->id), id, SEAL_ID_LEN / 2);
	}
	sodium_free(given);
	if (right)
		return key;
	sodium_free(key);
	return NULL;
}

static bool refuse(const char *from, const char *why, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.bad-key", "%s %s", from, why);
	rg_diag_hint(diag,
		"a key is 32 random bytes as base64 or hex digits: `openssl rand -base64 "
		"32` makes one");
	return false;
}

bool rg_keys_add(RgKeys *keys, const char *text, const char *from, bool old, RgDiags *diags)
{
	static const char between[] = " \t\r\n,";
	guint before = keys->all->len;
	seal_start();
	for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
		if (*at == '#') {
			at += strcspn(at, "\n");
			continue;
		}
		size_t len = strcspn(at, " \t\r\n,#");
		Key *key = key_new(at, len);
		if (!key)
			return refuse(from, "contains a word that is not a key", diags);
		g_ptr_array_add(keys->all, key);
		at += len;
	}
	if (keys->all->len == before)
		return refuse(from, "contains no key", diags);
	keys->seals = keys->seals || !old;
	return true;
}

const char *rg_keys_id(const RgKeys *keys)
{
	return keys && keys->seals ? ((const Key *)keys->all->pdata[0])->id : NULL;
}

char *rg_keys_ids(const RgKeys *keys)
{
	g_autoptr(GStrvBuilder) ids = g_strv_builder_new();
	for (guint i = 0; keys && i < keys->all->len; i++)
		g_strv_builder_add(ids, ((const Key *)keys->all->pdata[i])->id);
	g_auto(GStrv) words = g_strv_builder_end(ids);
	return g_strjoinv(", ", words);
}

const Key *keys_find(const RgKeys *keys, const char *id)
{
	for (guint i = 0; keys && i < keys->all->len; i++) {
		const Key *key = keys->all->pdata[i];
		if (g_str_equal(key->id, id))
			return key;
	}
	return NULL;
}
