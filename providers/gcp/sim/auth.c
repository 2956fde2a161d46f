#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>
#include "gcp/sim/auth.h"

/* Access tokens, and the JSON Web Tokens that are exchanged for them. A token contains its
 * principal and its end, with a mark that only this world makes; so it needs no memory. */

#define TOKEN_PREFIX "ya29.sim."
#define SKEW_S 300

/* ---- access tokens */

static char *mark_of(const RgSim *sim, const char *body)
{
	g_autofree char *key = g_strdup_printf("raygpu-sim token %" G_GUINT64_FORMAT, sim->seed);
	g_autofree char *hex = g_compute_hmac_for_string(
		G_CHECKSUM_SHA256, (const guchar *)key, strlen(key), body, -1);
	return g_strndup(hex, 24);
}

gint64 gce_clock_s(const RgSim *sim)
{
	return rg_sim_client_s(sim) + doc_int(sim->knobs, "clock_offset_s");
}

char *gce_token_mint(const RgSim *sim, const char *principal, gint64 life_s)
{
	g_autofree char *text =
		g_strdup_printf("%" G_GINT64_FORMAT " %s", gce_clock_s(sim) + life_s, principal);
	g_autofree char *body = g_base64_encode((const guchar *)text, strlen(text));
	g_strdelimit(g_strdelimit(body, "+", '-'), "/", '_');
	g_autofree char *mark = mark_of(sim, body);
	return g_strconcat(TOKEN_PREFIX, body, ".", mark, NULL);
}

/* Its principal; NULL for a wrong or expired one. g_free it. */
static char *token_read(const RgSim *sim, const char *token)
{
	const char *known = rg_json_str(json_object_get(sim->knobs, "google_tokens"), token, NULL);
	if (known)
		return g_strdup(known);
	if (!g_str_has_prefix(token, TOKEN_PREFIX))
		return NULL;
	g_auto(GStrv) parts = g_strsplit(token + strlen(TOKEN_PREFIX), ".", 2);
	if (g_strv_length(parts) != 2)
		return NULL;
	g_autofree char *mark = mark_of(sim, parts[0]);
	if (!g_str_equal(mark, parts[1]))
		return NULL;
	gsize len = 0;
	g_strdelimit(g_strdelimit(parts[0], "-", '+'), "_", '/');
	g_autofree char *text = (char *)g_base64_decode(parts[0], &len);
	g_autofree char *whole = g_strndup(text, len);
	const char *blank = strchr(whole, ' ');
	bool good = blank && g_ascii_strtoll(whole, NULL, 10) > gce_clock_s(sim);
	return good ? g_strdup(blank + 1) : NULL;
}

bool gce_auth_check(RgSimCall *call)
{
	const char *header = g_hash_table_lookup(call->request->headers, "authorization");
	const char *token =
		header && g_ascii_strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 : NULL;
	if (!token)
		return rg_sim_fail(call, 401, "required",
			"Login Required. Request is missing required authentication credential.");
	call->caller = doc_int(call->sim->knobs, "verify") ? token_read(call->sim, token)
							   : g_strdup("anyone@example.com");
	return call->caller || rg_sim_fail(call, 401, "authError",
				       "Request had invalid authentication credentials. Expected "
				       "OAuth 2 access token, "
				       "login cookie or other valid authentication credential.");
}

/* ---- JSON Web Tokens */

static guchar *decode(const char *text, gsize *len)
{
	static const char *const padding[] = {"", "===", "==", "="};
	g_autofree char *padded = g_strconcat(text, padding[strlen(text) % 4], NULL);
	g_strdelimit(g_strdelimit(padded, "-", '+'), "_", '/');
	return g_base64_decode(padded, len);
}

static json_t *decode_json(const char *text)
{
	gsize len = 0;
	g_autofree guchar *bytes = decode(text, &len);
	return json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
}

static bool verify(const char *pem, const char *signed_part, const guchar *signature, gsize len)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = key && context &&
		    EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
		    EVP_DigestVerify(context, signature, len, (const guchar *)signed_part,
			    strlen(signed_part)) == 1;
	ERR_clear_error();
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	BIO_free(bio);
	return good;
}

json_t *gce_jwt_read(const RgSim *sim, const char *text, const json_t *keys, const char **problem)
{
	g_auto(GStrv) parts = g_strsplit(text, ".", -1);
	*problem = "Invalid JWT: it has not three parts of base64url.";
	if (g_strv_length(parts) != 3)
		return NULL;
	json_auto_t *header = decode_json(parts[0]), *claims = decode_json(parts[1]);
	if (!json_is_object(header) || !json_is_object(claims))
		return NULL;
	gint64 now_s = gce_clock_s(sim), end_s = doc_int(claims, "exp");
	const char *pem = rg_json_str(keys, doc_str(claims, "iss"), NULL);
	gsize len = 0;
	g_autofree guchar *signature = decode(parts[2], &len);
	g_autofree char *signed_part = g_strjoin(".", parts[0], parts[1], NULL);
	if (!g_str_equal(doc_str(header, "alg"), "RS256"))
		*problem = "Invalid JWT: the algorithm must be RS256.";
	else if (!pem)
		*problem = "Invalid grant: account not found";
	else if (doc_int(sim->knobs, "verify") && !verify(pem, signed_part, signature, len))
		*problem = "Invalid JWT Signature.";
	else if (end_s <= now_s || doc_int(claims, "iat") > now_s + SKEW_S)
		*problem = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a "
			   "reasonable timeframe. Check your iat and exp values in the JWT claim.";
	else
		return g_steal_pointer(&claims);
	return NULL;
}
