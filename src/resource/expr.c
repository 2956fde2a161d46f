#include "resource/expr.h"
#include <string.h>
#include <zlib.h>

typedef enum { KIND_NONE, KIND_REF, KIND_JOIN, KIND_GZIP } ExprKind;

static ExprKind kind_of(const json_t *value)
{
	if (!json_is_object(value))
		return KIND_NONE;
	size_t size = json_object_size(value);
	if (size == 2 && json_is_string(json_object_get(value, "$ref")) &&
		json_is_string(json_object_get(value, "attr")))
		return KIND_REF;
	if (size == 1 && json_is_array(json_object_get(value, "$join")))
		return KIND_JOIN;
	if (size == 1 && json_object_get(value, "$gzip_base64"))
		return KIND_GZIP;
	return KIND_NONE;
}

bool rg_expr_is(const json_t *value)
{
	return kind_of(value) != KIND_NONE;
}

static bool part_valid(const json_t *part)
{
	return json_is_string(part) || (rg_expr_is(part) && rg_expr_valid(part));
}

static bool plain_object_valid(const json_t *value)
{
	rg_json_foreach_member (key, member, value)
		if (key[0] == '$' || !rg_expr_valid(member))
			return false;
	return true;
}

bool rg_expr_valid(const json_t *value)
{
	switch (kind_of(value)) {
	case KIND_REF:
		return true;
	case KIND_JOIN:
		rg_json_foreach (member, json_object_get(value, "$join"))
			if (!part_valid(member))
				return false;
		return true;
	case KIND_GZIP:
		return part_valid(json_object_get(value, "$gzip_base64"));
	case KIND_NONE:
		break;
	}
	rg_json_foreach (member, value)
		if (!rg_expr_valid(member))
			return false;
	return !json_is_object(value) || plain_object_valid(value);
}

/* Calls `found` for each reference at any depth until it returns true, and then returns true. */
static bool walk_refs(
	const json_t *value, bool (*found)(const char *address, void *data), void *data)
{
	if (kind_of(value) == KIND_REF)
		return found(json_string_value(json_object_get(value, "$ref")), data);
	rg_json_foreach_member (key, member, value)
		if (walk_refs(member, found, data))
			return true;
	rg_json_foreach (member, value)
		if (walk_refs(member, found, data))
			return true;
	return false;
}

static bool add_address(const char *address, void *data)
{
	if (!g_hash_table_contains(data, address))
		g_hash_table_add(data, g_strdup(address));
	return false;
}

void rg_expr_refs(const json_t *value, GHashTable *addresses)
{
	walk_refs(value, add_address, addresses);
}

static bool is_renamed(const char *address, void *data)
{
	return g_hash_table_contains(data, address);
}

static void rename_refs(json_t *value, GHashTable *renamed)
{
	const char *to;
	if (kind_of(value) == KIND_REF) {
		to = g_hash_table_lookup(
			renamed, json_string_value(json_object_get(value, "$ref")));
		if (to)
			rg_json_set_str(value, "$ref", to);
		return;
	}
	rg_json_foreach_member (key, member, value)
		rename_refs(member, renamed);
	rg_json_foreach (member, value)
		rename_refs(member, renamed);
}

json_t *rg_expr_rename_refs(const json_t *value, GHashTable *renamed)
{
	if (!walk_refs(value, is_renamed, renamed))
		return json_incref(rg_json_unconst(value));
	json_t *copy = json_deep_copy(value);
	rename_refs(copy, renamed);
	return copy;
}

static bool any_address(const char *address, void *data)
{
	return true;
}

bool rg_expr_has_refs(const json_t *value)
{
	return walk_refs(value, any_address, NULL);
}

enum { FASTEST = 1, SMALLEST = 9 };

/* gzip with a header without time and machine, so that the same text gives the same bytes
 * everywhere (RFC 1952: mtime 0, OS 255 = unknown). Passes the bytes to `sink`, or counts them. */
static size_t gzip(const char *data, size_t len, int level, GByteArray *sink)
{
	z_stream stream = {0};
	gz_header header = {.os = 255};
	unsigned char chunk[16384];
	size_t total = 0;
	int status = deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	g_assert(status == Z_OK);
	deflateSetHeader(&stream, &header);
	stream.next_in = (Bytef *)(uintptr_t)data;
	stream.avail_in = (uInt)MIN(len, G_MAXUINT32 / 2);
	do {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		status = deflate(&stream, Z_FINISH);
		size_t got = sizeof(chunk) - stream.avail_out;
		if (sink)
			g_byte_array_append(sink, chunk, (guint)got);
		total += got;
	} while (status == Z_OK);
	g_assert(status == Z_STREAM_END);
	deflateEnd(&stream);
	return total;
}

size_t rg_expr_gzip_size(const char *data, size_t len, size_t enough)
{
	size_t most = gzip(data, len, FASTEST, NULL);
	return most <= enough ? most : gzip(data, len, SMALLEST, NULL);
}

typedef struct {
	RgExprLookup lookup;
	void *data;
	bool lenient;	/* what cannot be resolved stays */
	RgDiags *diags; /* NULL if lenient */
} Resolver;

static json_t *resolve(const json_t *value, const Resolver *resolver);

static json_t *resolve_ref(const json_t *expr, const Resolver *resolver)
{
	const char *address = json_string_value(json_object_get(expr, "$ref"));
	const char *attr = json_string_value(json_object_get(expr, "attr"));
	json_t *value = resolver->lookup(resolver->data, address, attr);
	if (!value && resolver->diags)
		rg_diag_address(rg_diags_error(resolver->diags, "apply.blocked",
					"`%s` has no `%s` that could be used here", address, attr),
			address, attr);
	return value;
}

/* The text of a text or an expression; NULL if there is none (yet). */
static json_t *resolve_text(const json_t *part, const Resolver *resolver)
{
	json_t *text = resolve(part, resolver);
	if (!text || json_is_string(text))
		return text;
	/* when lenient, an unresolved expression is not an error */
	if (resolver->diags)
		rg_diags_error(resolver->diags, "apply.blocked",
			"a part of a text is not a string once it is known");
	json_decref(text);
	return NULL;
}

/* When lenient it continues after an unknown part: code that looks for what is unknown, or secret,
 * must see everything. */
static json_t *resolve_join(const json_t *expr, const Resolver *resolver)
{
	g_autoptr(GString) joined = g_string_new(NULL);
	bool known = true;
	rg_json_foreach (part, json_object_get(expr, "$join")) {
		json_auto_t *text = resolve_text(part, resolver);
		if (text)
			g_string_append_len(
				joined, json_string_value(text), (gssize)json_string_length(text));
		else if (resolver->lenient)
			known = false;
		else
			return NULL;
	}
	return known ? json_stringn_nocheck(joined->str, joined->len) : NULL;
}

static json_t *resolve_gzip(const json_t *expr, const Resolver *resolver)
{
	json_auto_t *text = resolve_text(json_object_get(expr, "$gzip_base64"), resolver);
	if (!text)
		return NULL;
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	gzip(json_string_value(text), json_string_length(text), SMALLEST, bytes);
	g_autofree char *base64 = g_base64_encode(bytes->data, bytes->len);
	return json_string(base64);
}

static json_t *resolve_object(const json_t *value, const Resolver *resolver)
{
	json_auto_t *copy = json_object();
	rg_json_foreach_member (key, member, value) {
		json_t *resolved = resolve(member, resolver);
		if (!resolved)
			return NULL;
		json_object_set_new_nocheck(copy, key, resolved);
	}
	return json_incref(copy);
}

static json_t *resolve_array(const json_t *value, const Resolver *resolver)
{
	json_auto_t *copy = json_array();
	rg_json_foreach (member, value) {
		json_t *resolved = resolve(member, resolver);
		if (!resolved)
			return NULL;
		json_array_append_new(copy, resolved);
	}
	return json_incref(copy);
}

static json_t *resolve(const json_t *value, const Resolver *resolver)
{
	json_t *resolved = NULL;
	switch (kind_of(value)) {
	case KIND_REF:
		resolved = resolve_ref(value, resolver);
		break;
	case KIND_JOIN:
		resolved = resolve_join(value, resolver);
		break;
	case KIND_GZIP:
		resolved = resolve_gzip(value, resolver);
		break;
	case KIND_NONE:
		if (json_is_object(value))
			return resolve_object(value, resolver);
		if (json_is_array(value))
			return resolve_array(value, resolver);
		break;
	}
	if (!resolved && (resolver->lenient || !rg_expr_is(value)))
		return json_incref(rg_json_unconst(value));
	return resolved;
}

json_t *rg_expr_resolve(const json_t *value, RgExprLookup lookup, void *data, RgDiags *diags)
{
	Resolver resolver = {.lookup = lookup, .data = data, .diags = diags};
	return resolve(value, &resolver);
}

json_t *rg_expr_resolve_known(const json_t *value, RgExprLookup lookup, void *data)
{
	Resolver resolver = {.lookup = lookup, .data = data, .lenient = true};
	return resolve(value, &resolver);
}
