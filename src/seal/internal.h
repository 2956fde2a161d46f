/* Private to src/seal; the only header that includes sodium.h. */
#pragma once
#include "seal/seal.h"
#include <sodium.h>

#define SEAL_KEY_BYTES crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define SEAL_ID_LEN 16 /* hex digits */

typedef struct {
	unsigned char bytes[SEAL_KEY_BYTES];
	char id[SEAL_ID_LEN + 1];
} Key;

struct RgKeys {
	GPtrArray *all; /* Key*, in locked memory */
	bool seals;	/* the first one does */
};

void seal_start(void); /* before any other function of libsodium */
/* NULL: it is not among them. */
const Key *keys_find(const RgKeys *keys, const char *id);
