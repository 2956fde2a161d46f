/* AWS Signature 4 by libcurl, checked by an independent signer on what the server received. The
 * signer itself is checked against tests/data/aws/sigv4_vectors.json (computed by
 * botocore.auth). */
#include <string.h>
#include "http/http.h"
#include "http_server.h"

#define ACCESS_KEY "AKIDEXAMPLE"
#define SECRET_KEY "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

static GBytes *hmac(const guint8 *key, size_t key_len, const char *text)
{
	GHmac *mac = g_hmac_new(G_CHECKSUM_SHA256, key, key_len);
	g_hmac_update(mac, (const guchar *)text, (gssize)strlen(text));
	guint8 digest[32];
	gsize len = sizeof digest;
	g_hmac_get_digest(mac, digest, &len);
	g_hmac_unref(mac);
	return g_bytes_new(digest, len);
}

static GBytes *derive(GBytes *key, const char *text)
{
	size_t len;
	const guint8 *bytes = g_bytes_get_data(key, &len);
	return hmac(bytes, len, text);
}

/* The Authorization value for a request's lower-case headers, of which `signed_names` count. */
static char *sign(const char *method, const char *path, json_t *headers, const char *signed_names,
	const char *scope, const char *body)
{
	g_autoptr(GString) canonical = g_string_new(NULL);
	g_string_printf(canonical, "%s\n%s\n\n", method, path);
	g_auto(GStrv) names = g_strsplit(signed_names, ";", -1);
	for (char **name = names; *name != NULL; name++)
		g_string_append_printf(
			canonical, "%s:%s\n", *name, rg_json_str(headers, *name, "?"));
	g_autofree char *body_hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, body, -1);
	g_string_append_printf(canonical, "\n%s\n%s", signed_names, body_hash);
	g_autofree char *hash =
		g_compute_checksum_for_string(G_CHECKSUM_SHA256, canonical->str, -1);
	g_autofree char *to_sign = g_strdup_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s",
		rg_json_str(headers, "x-amz-date", "?"), scope, hash);
	g_autoptr(GBytes) key = g_bytes_new_static("AWS4" SECRET_KEY, strlen("AWS4" SECRET_KEY));
	g_auto(GStrv) parts = g_strsplit(scope, "/", -1);
	for (char **part = parts; *part != NULL; part++) {
		GBytes *next = derive(key, *part);
		g_bytes_unref(key);
		key = next;
	}
	g_autoptr(GBytes) signature = derive(key, to_sign);
	g_autoptr(GString) hex = g_string_new(NULL);
	const guint8 *bytes = g_bytes_get_data(signature, NULL);
	for (int i = 0; i < 32; i++)
		g_string_append_printf(hex, "%02x", bytes[i]);
	return g_strdup_printf("AWS4-HMAC-SHA256 Credential=" ACCESS_KEY
			       "/%s, SignedHeaders=%s, Signature=%s",
		scope, signed_names, hex->str);
}

/* The text between two marks of an Authorization value. */
static char *cut(const char *text, const char *before, const char *after)
{
	const char *from = strstr(text, before);
	g_assert_nonnull(from);
	from += strlen(before);
	const char *to = strstr(from, after);
	g_assert_nonnull(to);
	return g_strndup(from, (gsize)(to - from));
}

static void assert_signed(const char *method, const char *path, json_t *headers, const char *body)
{
	const char *authorization = rg_json_str(headers, "authorization", "");
	g_autofree char *scope = cut(authorization, "Credential=" ACCESS_KEY "/", ",");
	g_autofree char *names = cut(authorization, "SignedHeaders=", ",");
	g_autofree char *expected = sign(method, path, headers, names, scope, body);
	g_assert_cmpstr(authorization, ==, expected);
}

static json_t *load_vectors(void)
{
	json_error_t error;
	g_autofree char *path =
		g_test_build_filename(G_TEST_DIST, "tests/data/aws/sigv4_vectors.json", NULL);
	json_t *file = json_load_file(path, 0, &error);
	if (!file)
		g_error("%s: %s", path, error.text);
	return file;
}

static void the_signer_of_this_test_agrees_with_botocore(void)
{
	json_auto_t *file = load_vectors();
	json_t *vectors = json_object_get(file, "vectors"), *vector;
	size_t i;
	g_assert_cmpuint(json_array_size(vectors), ==, 38);
	json_array_foreach (vectors, i, vector) {
		json_auto_t *headers = json_object();
		json_object_set(headers, "host", json_object_get(vector, "host"));
		const char *name;
		json_t *value;
		json_object_foreach (json_object_get(vector, "headers"), name, value) {
			g_autofree char *folded = g_ascii_strdown(name, -1);
			json_object_set(headers, folded, value);
		}
		assert_signed("POST", "/", headers, rg_json_str(vector, "body", ""));
	}
}

static bool say_fine(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, "200 OK", "", "<ok/>");
	return true;
}

/* Lower-case names to values; a duplicate name is an error, as for AWS. */
static json_t *parse_headers(const char *request)
{
	json_t *headers = json_object();
	g_autofree char *head = g_strndup(request, (gsize)(strstr(request, "\r\n\r\n") - request));
	g_auto(GStrv) lines = g_strsplit(head, "\r\n", -1);
	for (char **line = lines + 1; *line != NULL; line++) {
		g_auto(GStrv) parts = g_strsplit(*line, ":", 2);
		g_autofree char *name = g_ascii_strdown(parts[0], -1);
		g_assert_null(json_object_get(headers, name));
		json_object_set_new(headers, name, json_string(g_strstrip(parts[1])));
	}
	return headers;
}

/* Sends what a vector says to the local server and checks what arrived. */
static void send_vector(RgHttp *http, TestServer *server, const json_t *vector, const char *path)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *auth = json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "aws_sigv4", "region",
		rg_json_str(vector, "region", ""), "service", rg_json_str(vector, "service", ""),
		"access_key", ACCESS_KEY, "secret_key", SECRET_KEY);
	const char *token = rg_json_str(vector, "session_token", NULL);
	if (token)
		rg_json_set_str(auth, "session_token", token);
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	const char *name;
	json_t *value;
	json_object_foreach (json_object_get(vector, "headers"), name, value) {
		if (!g_str_equal(name, "Authorization") && !g_str_has_prefix(name, "X-Amz-Date") &&
			!g_str_equal(name, "X-Amz-Security-Token"))
			g_ptr_array_add(
				lines, g_strdup_printf("%s: %s", name, json_string_value(value)));
	}
	g_ptr_array_add(lines, NULL);
	const char *body = rg_json_str(vector, "body", "");
	g_autofree char *url = g_strconcat(test_server_url(server), path, NULL);
	RgHttpRequest request = {.method = "POST",
		.url = url,
		.headers = (const char *const *)lines->pdata,
		.body = body,
		.body_len = strlen(body),
		.auth = auth};
	RgHttpReply reply;
	if (!rg_http_send(http, &request, &reply, diags))
		g_error("%s", rg_diags_get(diags, 0)->summary);
	g_assert_cmpint(reply.status, ==, 200);
	rg_http_reply_clear(&reply);
	g_autofree char *raw = test_server_request(server, test_server_count(server) - 1);
	json_auto_t *headers = parse_headers(raw);
	assert_signed("POST", *path != '\0' ? path : "/", headers, body);
	g_assert_true(g_str_has_suffix(raw, body));
	g_autofree char *names =
		cut(rg_json_str(headers, "authorization", ""), "SignedHeaders=", ",");
	g_assert_nonnull(strstr(names, "host"));
	g_assert_nonnull(strstr(names, "content-type"));
	g_assert_cmpint(strstr(names, "x-amz-security-token") != NULL, ==, token != NULL);
	g_assert_cmpstr(rg_json_str(headers, "x-amz-security-token", NULL), ==, token);
}

static void requests_arrive_signed_whatever_they_carry(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(TestServer) server = test_server_new(say_fine, NULL);
	g_autoptr(RgHttp) http = rg_http_open(&(RgHttpOptions){0}, diags);
	g_assert_nonnull(http);
	json_auto_t *file = load_vectors();
	size_t i;
	json_t *vector;
	json_array_foreach (json_object_get(file, "vectors"), i, vector) {
		send_vector(http, server, vector, "");
		send_vector(http, server, vector, "/a/path");
	}
	uint64_t all, mutating;
	rg_http_counts(http, &all, &mutating);
	g_assert_cmpuint(all, ==, 76);
	g_assert_cmpuint(mutating, ==, 76);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sigv4/the signer of this test agrees with botocore",
		the_signer_of_this_test_agrees_with_botocore);
	g_test_add_func("/sigv4/requests arrive signed whatever they carry",
		requests_arrive_signed_whatever_they_carry);
	return g_test_run();
}
