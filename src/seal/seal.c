#include "seal/internal.h"
#include <string.h>

#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES crypto_aead_xchacha20poly1305_ietf_ABYTES
#define BASE64 sodium_base64_VARIANT_ORIGINAL

/* Nonces are random: 24 bytes never repeat. The fingerprint is bound too. */
char *rg_seal(const RgKeys *keys, const char *text, const char *bound)
{
	const char *id = rg_keys_id(keys);
	g_assert(id);
	const Key *key = keys_find(keys, id);
	g_autofree char *more = g_strconcat(id, ":", bound, NULL);
	size_t len = strlen(text), size = NONCE_BYTES + len + TAG_BYTES;
	g_autofree unsigned char *box = g_malloc(size);
	randombytes_buf(box, NONCE_BYTES);
	crypto_aead_xchacha20poly1305_ietf_encrypt(box + NONCE_BYTES, NULL,
		(const unsigned char *)text, len, (const unsigned char *)more, strlen(more), NULL,
		box, key->bytes);
	size_t room = sodium_base64_encoded_len(size, BASE64);
	g_autofree char *shown = g_malloc(room);
	sodium_bin2base64(shown, room, box, size, BASE64);
	return g_strconcat(id, ":", shown, NULL);
}

char *rg_seal_id(const char *sealed)
{
	if (strlen(sealed) <= SEAL_ID_LEN || sealed[SEAL_ID_LEN] != ':' ||
		strspn(sealed, "0123456789abcdef") != SEAL_ID_LEN)
		return NULL;
	return g_strndup(sealed, SEAL_ID_LEN);
}

static unsigned char *decode(const char *text, size_t *size)
{
	size_t len = strlen(text);
	const char *end = NULL;
	g_autofree unsigned char *box = g_malloc(len + 1);
	if (sodium_base642bin(box, len + 1, text, len, NULL, size, &end, BASE64) != 0 ||
		end != text + len || *size < NONCE_BYTES + TAG_BYTES)
		return NULL;
	return g_steal_pointer(&box);
}

RgSealResult rg_seal_open(const RgKeys *keys, const char *sealed, const char *bound, char **text)
{
	g_autofree char *id = rg_seal_id(sealed);
	const Key *key = id ? keys_find(keys, id) : NULL;
	size_t size = 0;
	seal_start();
	g_autofree unsigned char *box = id ? decode(sealed + SEAL_ID_LEN + 1, &size) : NULL;
	if (!box)
		return RG_SEAL_DAMAGED;
	if (!key)
		return RG_SEAL_NO_KEY;
	g_autofree char *more = g_strconcat(id, ":", bound, NULL);
	size_t len = size - NONCE_BYTES - TAG_BYTES;
	char *opened = g_malloc0(len + 1);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)opened, NULL, NULL,
		    box + NONCE_BYTES, len + TAG_BYTES, (const unsigned char *)more, strlen(more),
		    box, key->bytes) != 0) {
		g_free(opened);
		return RG_SEAL_DAMAGED;
	}
	*text = opened;
	return RG_SEAL_OPENED;
}
