#include "common/jwt.h"
#include <glib.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include "common/talk.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BIO, BIO_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EVP_PKEY, EVP_PKEY_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EVP_MD_CTX, EVP_MD_CTX_free)

/* Without it OpenSSL prompts on the terminal for the password of an encrypted key. */
static int jwt_no_password(char *buffer, int size, int writing, void *data)
{
	return -1;
}

static EVP_PKEY *jwt_read_key(struct rgp_bytes pem, char **problem)
{
	g_autoptr(BIO) bio = BIO_new_mem_buf(pem.data, (int)MIN(pem.len, INT_MAX));
	g_autoptr(EVP_PKEY) key =
		bio ? PEM_read_bio_PrivateKey(bio, NULL, jwt_no_password, NULL) : NULL;
	ERR_clear_error(); /* its message may quote the key */
	if (!key)
		*problem = g_strdup("the private key is not PEM, or is encrypted");
	else if (!EVP_PKEY_is_a(key, "RSA"))
		*problem = g_strdup("the private key is not an RSA key");
	return *problem ? NULL : g_steal_pointer(&key);
}

/* RFC 7515, section 2: the URL-safe alphabet, no padding. */
static char *jwt_base64url(const void *bytes, size_t len)
{
	g_autofree char *text = g_base64_encode(bytes, len);
	g_strdelimit(g_strdelimit(text, "+", '-'), "/", '_');
	return g_strdup(g_strdelimit(text, "=", '\0'));
}

static void jwt_append(GString *token, const json_t *part)
{
	char *text = json_dumps(part, JSON_COMPACT);
	g_autofree char *encoded = text ? jwt_base64url(text, strlen(text)) : g_strdup("");
	g_string_append_printf(token, "%s%s", token->len ? "." : "", encoded);
	free(text);
}

static bool jwt_append_signature(GString *token, EVP_PKEY *key)
{
	unsigned char signature[1024]; /* RSA of up to 8,192 bits */
	size_t len = sizeof signature;
	g_autoptr(EVP_MD_CTX) context = EVP_MD_CTX_new();
	bool good = context && EVP_PKEY_get_size(key) <= (int)sizeof signature &&
		    EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
		    EVP_DigestSign(context, signature, &len, (const unsigned char *)token->str,
			    token->len) == 1;
	ERR_clear_error();
	if (!good)
		return false;
	g_autofree char *encoded = jwt_base64url(signature, len);
	g_string_append_printf(token, ".%s", encoded);
	return true;
}

char *mod_jwt_sign(
	const json_t *header, const json_t *claims, struct rgp_bytes key_pem, char **problem)
{
	*problem = NULL;
	g_assert(g_str_equal(mod_str(header, "alg"), "RS256"));
	g_autoptr(EVP_PKEY) key = jwt_read_key(key_pem, problem);
	if (!key)
		return NULL;
	g_autoptr(GString) token = g_string_new(NULL);
	jwt_append(token, header);
	jwt_append(token, claims);
	if (jwt_append_signature(token, key))
		return g_strdup(token->str);
	*problem = g_strdup("the private key cannot sign");
	return NULL;
}
