#include "seal/seal.h"
#include <string.h>

/* 32 bytes each */
#define ONE "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define ONE_HEX "3031323334353637383930313233343536373839303132333435363738393031"
#define TWO "/////////////////////////////////////////38="
#define WHERE "[\"research\",\"ray_token\"]"

static RgKeys *keys_of(const char *current, const char *old)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgKeys *keys = rg_keys_new();
	g_assert_true(!current || rg_keys_add(keys, current, "CURRENT", false, diags));
	g_assert_true(!old || rg_keys_add(keys, old, "OLD", true, diags));
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
	return keys;
}

static void test_round_trip(void)
{
	g_autoptr(RgKeys) keys = keys_of(ONE, NULL);
	static const char *const texts[] = {"", "\"token\"", "{\"a\":[1,2,\"\xc3\xa4\"]}"};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *sealed = rg_seal(keys, texts[i], WHERE), *opened = NULL;
		g_autofree char *again = rg_seal(keys, texts[i], WHERE);
		g_autofree char *id = rg_seal_id(sealed);
		g_assert_cmpstr(id, ==, rg_keys_id(keys));
		g_assert_cmpstr(sealed, !=, again);
		g_assert_cmpint(rg_seal_open(keys, sealed, WHERE, &opened), ==, RG_SEAL_OPENED);
		g_assert_cmpstr(opened, ==, texts[i]);
	}
}

static void test_each_character_is_checked(void)
{
	g_autoptr(RgKeys) keys = keys_of(ONE, NULL);
	g_autofree char *sealed = rg_seal(keys, "\"token\"", WHERE), *opened = NULL;
	for (size_t i = 0; sealed[i]; i++) {
		g_autofree char *other = g_strdup(sealed);
		other[i] = other[i] == 'a' ? 'b' : 'a';
		RgSealResult wanted = i < 16 ? RG_SEAL_NO_KEY : RG_SEAL_DAMAGED;
		g_assert_cmpint(rg_seal_open(keys, other, WHERE, &opened), ==, wanted);
		other[i] = '\0';
		g_assert_cmpint(rg_seal_open(keys, other, WHERE, &opened), ==, RG_SEAL_DAMAGED);
	}
	g_autofree char *longer = g_strconcat(sealed, "AAAA", NULL);
	g_assert_cmpint(rg_seal_open(keys, longer, WHERE, &opened), ==, RG_SEAL_DAMAGED);
	g_assert_cmpint(rg_seal_open(keys, sealed, "elsewhere", &opened), ==, RG_SEAL_DAMAGED);
	g_assert_null(opened);
	g_assert_cmpint(rg_seal_open(keys, sealed, WHERE, &opened), ==, RG_SEAL_OPENED);
}

/* The fingerprint of another key that is given. */
static void test_the_fingerprint_is_checked(void)
{
	g_autoptr(RgKeys) keys = keys_of(ONE, TWO), other = keys_of(TWO, NULL);
	g_autofree char *sealed = rg_seal(keys, "\"token\"", WHERE), *opened = NULL;
	memcpy(sealed, rg_keys_id(other), strlen(rg_keys_id(other)));
	g_assert_cmpint(rg_seal_open(keys, sealed, WHERE, &opened), ==, RG_SEAL_DAMAGED);
}

static void test_other_keys(void)
{
	g_autoptr(RgKeys) old = keys_of(ONE, NULL), rotated = keys_of(TWO, ONE_HEX);
	g_autoptr(RgKeys) both = keys_of(TWO "\n# the one before\n" ONE, NULL);
	g_autoptr(RgKeys) only = keys_of(TWO, NULL), reads = keys_of(NULL, ONE);
	g_autofree char *sealed = rg_seal(old, "\"token\"", WHERE);
	RgKeys *const openers[] = {old, rotated, both, reads};
	for (size_t i = 0; i < G_N_ELEMENTS(openers); i++) {
		g_autofree char *opened = NULL;
		g_assert_cmpint(
			rg_seal_open(openers[i], sealed, WHERE, &opened), ==, RG_SEAL_OPENED);
		g_assert_cmpstr(opened, ==, "\"token\"");
	}
	char *none = NULL;
	g_assert_cmpint(rg_seal_open(only, sealed, WHERE, &none), ==, RG_SEAL_NO_KEY);
	g_assert_cmpint(rg_seal_open(NULL, sealed, WHERE, &none), ==, RG_SEAL_NO_KEY);
	g_assert_cmpstr(rg_keys_id(rotated), ==, rg_keys_id(only));
	g_assert_null(rg_keys_id(reads));
	g_autofree char *ids = rg_keys_ids(rotated);
	g_autofree char *wanted = g_strdup_printf("%s, %s", rg_keys_id(only), rg_keys_id(old));
	g_assert_cmpstr(ids, ==, wanted);
}

static void test_texts_without_a_key(void)
{
	static const char *const texts[] = {"", " \n", "# only a comment", "correct horse battery",
		"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MD==", ONE "A", ONE_HEX "0", ONE " secret",
		"3031323334353637383930313233343536373839303132333435363738393z31"};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(RgKeys) keys = rg_keys_new();
		g_assert_false(rg_keys_add(keys, texts[i], "THE_VARIABLE", false, diags));
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_assert_cmpstr(diag->code, ==, "state.bad-key");
		g_assert_nonnull(strstr(diag->summary, "THE_VARIABLE"));
		g_assert_null(strstr(diag->summary, "MDEy")); /* it is never quoted */
		g_assert_null(strstr(diag->summary, "horse"));
	}
}

static void test_taken_text_is_overwritten(void)
{
	char text[] = "secret";
	char *taken = rg_secret_take(text);
	g_assert_cmpstr(taken, ==, "secret");
	for (size_t i = 0; i < sizeof(text); i++)
		g_assert_cmpint(text[i], ==, 0);
	rg_secret_free(taken);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/seal/round_trip", test_round_trip);
	g_test_add_func("/seal/each_character_is_checked", test_each_character_is_checked);
	g_test_add_func("/seal/the_fingerprint_is_checked", test_the_fingerprint_is_checked);
	g_test_add_func("/seal/other_keys", test_other_keys);
	g_test_add_func("/seal/texts_without_a_key", test_texts_without_a_key);
	g_test_add_func("/seal/taken_text_is_overwritten", test_taken_text_is_overwritten);
	return g_test_run();
}
