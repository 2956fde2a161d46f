#include "plan/internal.h"
#include <string.h>

/* User data alone is 16 KiB and the same for all nodes of a pool: a plan file contains each long
 * value once, under the SHA-256 of its canonical text. */

#define KEY "$blob"

void blobs_init(Blobs *blobs)
{
	blobs->table = json_object();
	blobs->packed =
		g_hash_table_new_full(g_direct_hash, g_direct_equal, rg_json_unref, rg_json_unref);
	blobs->refs =
		g_hash_table_new_full(g_direct_hash, g_direct_equal, rg_json_unref, rg_json_unref);
}

void blobs_clear(Blobs *blobs)
{
	g_clear_pointer(&blobs->packed, g_hash_table_destroy);
	g_clear_pointer(&blobs->refs, g_hash_table_destroy);
	g_clear_pointer(&blobs->table, json_decref);
}

static json_t *make_ref(Blobs *blobs, json_t *value, size_t limit)
{
	g_autofree char *text = rg_json_canonical(value);
	if (strlen(text) <= limit)
		return NULL;
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	json_object_set(blobs->table, digest, value);
	json_t *ref = json_object();
	json_object_set_new(ref, KEY, json_string(digest));
	return ref;
}

json_t *blobs_put(Blobs *blobs, const json_t *value, size_t limit)
{
	json_t *own = rg_json_unconst(value);
	gpointer ref;
	bool small = json_is_string(value) ? json_string_length(value) <= limit
					   : !json_is_object(value) && !json_is_array(value);
	if (small)
		return json_incref(own);
	if (!g_hash_table_lookup_extended(blobs->refs, value, NULL, &ref)) {
		ref = make_ref(blobs, own, limit);
		g_hash_table_insert(blobs->refs, json_incref(own), ref);
	}
	return json_incref(ref ? ref : own);
}

json_t *blobs_put_object(Blobs *blobs, const json_t *object, size_t limit)
{
	json_t *own = rg_json_unconst(object);
	json_t *packed = g_hash_table_lookup(blobs->packed, object);
	if (!packed) {
		packed = json_object();
		rg_json_foreach_member (name, member, own)
			json_object_set_new(packed, name, blobs_put(blobs, member, LONG_TEXT));
		g_hash_table_insert(blobs->packed, json_incref(own), packed);
	}
	return blobs_put(blobs, packed, limit);
}

json_t *blobs_unpack(const json_t *table, const json_t *object)
{
	json_t *copy = json_object(), *own = rg_json_unconst(object);
	rg_json_foreach_member (name, member, own) {
		const json_t *value = blobs_get(table, member);
		if (!value) {
			json_decref(copy);
			return NULL;
		}
		json_object_set(copy, name, rg_json_unconst(value));
	}
	return copy;
}

const json_t *blobs_get(const json_t *table, const json_t *value)
{
	const char *digest = rg_json_str(value, KEY, NULL);
	return digest ? json_object_get(table, digest) : value;
}
