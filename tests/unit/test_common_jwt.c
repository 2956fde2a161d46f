/* Signed tokens, byte for byte as in the vectors (tests/data/auth), and names within limits. */
#include <glib.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>
#include "common/form.h"
#include "common/jwt.h"
#include "common/names.h"
#include "common/oauth.h"

static json_t *load_vectors(void)
{
	g_autofree char *path = g_test_build_filename(
		G_TEST_DIST, "tests", "data", "auth", "jwt_rs256_vectors.json", NULL);
	json_t *all = json_load_file(path, 0, NULL);
	g_assert_nonnull(all);
	return all;
}

static void check_vectors(const json_t *all, const char *pem)
{
	size_t i;
	json_t *vector;
	g_assert_cmpuint(json_array_size(json_object_get(all, "vectors")), ==, 3);
	json_array_foreach (json_object_get(all, "vectors"), i, vector) {
		g_autofree char *problem = NULL;
		g_autofree char *jwt = mod_jwt_sign(json_object_get(vector, "header"),
			json_object_get(vector, "claims"), mod_bytes(pem), &problem);
		g_assert_cmpstr(problem, ==, NULL);
		g_assert_cmpstr(jwt, ==, mod_str(vector, "jwt"));
	}
}

static void test_signs_as_the_vectors_do(void)
{
	json_auto_t *all = load_vectors();
	check_vectors(all, mod_str(json_object_get(all, "service_account_file"), "private_key"));
	check_vectors(all, mod_str(all, "private_key_pkcs1"));
}

static void test_the_form_of_an_assertion(void)
{
	json_auto_t *all = load_vectors();
	const json_t *vector = json_array_get(json_object_get(all, "vectors"), 0);
	json_auto_t *fields = mod_oauth_jwt_bearer(mod_str(vector, "jwt"));
	g_autoptr(GString) form = g_string_new(NULL);
	mod_form_add_members(form, fields);
	g_assert_cmpstr(form->str, ==, mod_str(vector, "post_body"));
}

static char *write_key(EVP_PKEY *key, const EVP_CIPHER *cipher)
{
	char *text;
	BIO *bio = BIO_new(BIO_s_mem());
	g_assert_cmpint(PEM_write_bio_PrivateKey(
				bio, key, cipher, (const unsigned char *)"pw", 2, NULL, NULL),
		==, 1);
	long len = BIO_get_mem_data(bio, &text);
	char *pem = g_strndup(text, (gsize)len);
	BIO_free(bio);
	return pem;
}

static void expect_problem(const char *pem, const char *expected)
{
	json_auto_t *header = json_pack("{s:s}", "alg", "RS256"), *claims = json_object();
	g_autofree char *problem = NULL;
	g_assert_null(mod_jwt_sign(header, claims, mod_bytes(pem), &problem));
	g_assert_cmpstr(problem, ==, expected);
}

/* An encrypted key must not make OpenSSL prompt on the terminal. */
static void test_keys_that_cannot_sign(void)
{
	EVP_PKEY *curve = EVP_EC_gen("P-256"), *rsa = EVP_RSA_gen(2048);
	g_autofree char *wrong = write_key(curve, NULL);
	g_autofree char *locked = write_key(rsa, EVP_aes_128_cbc());
	expect_problem("", "the private key is not PEM, or is encrypted");
	expect_problem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"the private key is not PEM, or is encrypted");
	expect_problem(locked, "the private key is not PEM, or is encrypted");
	expect_problem(wrong, "the private key is not an RSA key");
	EVP_PKEY_free(curve);
	EVP_PKEY_free(rsa);
}

static void test_names_fit_and_stay_apart(void)
{
	const char *longer = "a-cluster-with-a-very-long-name-indeed-0";
	g_autofree char *same = mod_name_fit("train-0", 63, "-");
	g_autofree char *cut = mod_name_fit(longer, 24, "-");
	g_autofree char *other = mod_name_fit("a-cluster-with-a-very-long-name-indeed-1", 24, "-");
	g_autofree char *folded = mod_name_fit("Train_0,3", 63, "-");
	g_autofree char *allowed = mod_name_fit("train_0", 63, "-_");
	g_autofree char *open = mod_name_fit("train-", 63, "-");
	g_assert_cmpstr(same, ==, "train-0");
	g_assert_cmpuint(strlen(cut), <=, 24);
	g_assert_true(g_str_has_prefix(cut, "a-cluster-with"));
	g_assert_cmpstr(cut, !=, other);
	g_assert_true(g_str_has_prefix(folded, "train-0-3-"));
	g_assert_cmpuint(strlen(folded), ==, strlen("train-0-3-") + 8);
	g_assert_cmpstr(allowed, ==, "train_0");
	g_assert_true(g_str_has_prefix(open, "train-"));
	g_assert_cmpuint(strlen(open), ==, strlen("train-") + 8);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/common/jwt/signs-as-the-vectors-do", test_signs_as_the_vectors_do);
	g_test_add_func("/common/jwt/the-form-of-an-assertion", test_the_form_of_an_assertion);
	g_test_add_func("/common/jwt/keys-that-cannot-sign", test_keys_that_cannot_sign);
	g_test_add_func("/common/names/fit-and-stay-apart", test_names_fit_and_stay_apart);
	return g_test_run();
}
