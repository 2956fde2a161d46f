#include "aws/sim/sigv4.h"
#include <string.h>

#define DIGEST_BYTES 32

typedef struct {
	char *name; /* encoded again, as the standard requires */
	char *value;
} Argument;

static void argument_clear(void *data)
{
	Argument *argument = data;
	g_free(argument->name);
	g_free(argument->value);
}

static int compare_arguments(const void *a, const void *b)
{
	const Argument *left = a;
	const Argument *right = b;
	int order = strcmp(left->name, right->name);
	return order ? order : strcmp(left->value, right->value);
}

/* Decoded and encoded again, whatever the client's spelling. Bytes that are not encoded stay. */
static char *encode_again(const char *text)
{
	g_autofree char *decoded = g_uri_unescape_string(text, NULL);
	return g_uri_escape_string(decoded ? decoded : text, NULL, FALSE);
}

static void append_query(GString *out, const char *query)
{
	g_autoptr(GArray) arguments = g_array_new(FALSE, FALSE, sizeof(Argument));
	g_array_set_clear_func(arguments, argument_clear);
	g_auto(GStrv) parts = g_strsplit(query, "&", -1);
	for (char **part = parts; *part; part++) {
		if (!**part)
			continue;
		char *equals = strchr(*part, '=');
		if (equals)
			*equals = '\0';
		Argument argument = {encode_again(*part), encode_again(equals ? equals + 1 : "")};
		g_array_append_val(arguments, argument);
	}
	g_array_sort(arguments, compare_arguments);
	for (unsigned i = 0; i < arguments->len; i++) {
		const Argument *argument = &g_array_index(arguments, Argument, i);
		g_string_append_printf(
			out, "%s%s=%s", i ? "&" : "", argument->name, argument->value);
	}
	g_string_append_c(out, '\n');
}

/* Removes blanks around the value, and reduces each run of blanks within to one. */
static void append_trimmed(GString *out, const char *value)
{
	g_auto(GStrv) words = g_strsplit_set(value, " \t", -1);
	bool first = true;
	for (char **word = words; *word; word++) {
		if (!**word)
			continue;
		if (!first)
			g_string_append_c(out, ' ');
		g_string_append(out, *word);
		first = false;
	}
}

static bool append_headers(GString *out, GHashTable *headers, const char *signed_headers)
{
	g_auto(GStrv) names = g_strsplit(signed_headers, ";", -1);
	for (char **name = names; *name; name++) {
		const char *value = g_hash_table_lookup(headers, *name);
		if (!value)
			return false;
		g_string_append_printf(out, "%s:", *name);
		append_trimmed(out, value);
		g_string_append_c(out, '\n');
	}
	g_string_append_printf(out, "\n%s\n", signed_headers);
	return true;
}

char *ec2_sigv4_canonical(const RgSimRequest *request, const char *signed_headers)
{
	g_autoptr(GString) out = g_string_new(NULL);
	/* For every service except S3 the path is encoded a second time. */
	g_autofree char *path = g_uri_escape_string(request->path, "/", FALSE);
	g_string_append_printf(out, "%s\n%s\n", request->method, *path ? path : "/");
	append_query(out, request->query);
	if (!append_headers(out, request->headers, signed_headers))
		return NULL;
	g_autofree char *digest = g_compute_checksum_for_data(
		G_CHECKSUM_SHA256, (const guchar *)request->body, request->body_length);
	g_string_append(out, digest);
	return g_string_free(g_steal_pointer(&out), FALSE);
}

char *ec2_sigv4_string_to_sign(const char *amz_date, const char *scope, const char *canonical)
{
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, canonical, -1);
	return g_strdup_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s", amz_date, scope, digest);
}

/* key := HMAC(bytes, text); both may be the same buffer. */
static void key_derive(
	guint8 key[DIGEST_BYTES], gsize key_length, const guint8 *bytes, const char *text)
{
	GHmac *mac = g_hmac_new(G_CHECKSUM_SHA256, bytes, key_length);
	gsize length = DIGEST_BYTES;
	g_hmac_update(mac, (const guchar *)text, (gssize)strlen(text));
	g_hmac_get_digest(mac, key, &length);
	g_hmac_unref(mac);
}

char *ec2_sigv4_signature(const char *secret, const char *scope, const char *string_to_sign)
{
	g_autofree char *start = g_strconcat("AWS4", secret, NULL);
	g_auto(GStrv) parts = g_strsplit(scope, "/", -1);
	guint8 key[DIGEST_BYTES];
	const guint8 *from = (const guint8 *)start;
	gsize length = strlen(start);
	for (char **part = parts; *part; part++) {
		key_derive(key, length, from, *part);
		from = key;
		length = DIGEST_BYTES;
	}
	return g_compute_hmac_for_string(G_CHECKSUM_SHA256, from, length, string_to_sign, -1);
}
