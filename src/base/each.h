/* Loops over lists, whose variable lives in the loop. Like jansson's own, they ask for the length
 * on each turn: what the body appends is visited too. The position is a number in a pointer,
 * because one declaration cannot have two types. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* rg_json_foreach (item, list): item is a json_t *; of anything but an array, nothing. */
#define rg_json_foreach(item, list)                                                                \
	for (json_t *item = json_array_get(list, 0), *item##_at = NULL; item;                      \
		item##_at = GSIZE_TO_POINTER(GPOINTER_TO_SIZE(item##_at) + 1),                     \
		    item = json_array_get(list, GPOINTER_TO_SIZE(item##_at)))

/* rg_json_foreach_at (i, item, list): the same, with the position. The outer loop turns once: it
 * declares, and `break` and `continue` are of the inner one. */
#define rg_json_foreach_at(i, item, list)                                                          \
	for (size_t i = 0, i##_on = 1; i##_on; i##_on = 0)                                         \
		for (json_t * item; (item = json_array_get(list, i)) != NULL; i++)

/* rg_json_foreach_member (name, value, object), for users of json.h: of anything but an object,
 * nothing. The body may set a member that it is given, and neither adds nor removes one. */
#define rg_json_foreach_member(name, value, object)                                                \
	for (const char *name = json_object_iter_key(json_object_iter(rg_json_unconst(object))),   \
			*name##_on = "";                                                           \
		name##_on; name##_on = NULL)                                                       \
		for (json_t * value; name && (value = json_object_iter_value(                      \
						      json_object_key_to_iter(name))) != NULL;     \
			name = json_object_iter_key(json_object_iter_next(                         \
				rg_json_unconst(object), json_object_key_to_iter(name))))

/* rg_ptr_foreach (const RgPool, pool, pools): pool is a const RgPool *, pools a GPtrArray *. */
#define rg_ptr_foreach(type, item, array)                                                          \
	for (type *item##_at = NULL, *item;                                                        \
		GPOINTER_TO_SIZE(item##_at) < (array)->len &&                                      \
		(item = (array)->pdata[GPOINTER_TO_SIZE(item##_at)], true);                        \
		item##_at = GSIZE_TO_POINTER(GPOINTER_TO_SIZE(item##_at) + 1))

/* rg_hash_foreach (name, const Live, live, table): both of a GHashTable whose keys are texts; in no
 * certain order. The table must not change. */
#define rg_hash_foreach(name, type, item, table)                                                   \
	for (const char *name = NULL, *name##_on = ""; name##_on; name##_on = NULL)                \
		for (RgHashTurn item##_in = rg_hash_start(table); item##_in.on;                    \
			item##_in.on = false)                                                      \
			for (type * item; rg_hash_next(&item##_in) &&                              \
					  (name = item##_in.key, item = item##_in.value, true);)

/* rg_hash_keys (const char, address, set) */
#define rg_hash_keys(type, item, table)                                                            \
	for (RgHashTurn item##_in = rg_hash_start(table); item##_in.on; item##_in.on = false)      \
		for (type * item; rg_hash_next(&item##_in) && (item = item##_in.key, true);)

/* rg_hash_values (const RgAttribute, attribute, kind->attributes) */
#define rg_hash_values(type, item, table)                                                          \
	for (RgHashTurn item##_in = rg_hash_start(table); item##_in.on; item##_in.on = false)      \
		for (type * item; rg_hash_next(&item##_in) && (item = item##_in.value, true);)

typedef struct {
	GHashTableIter iter;
	gpointer key, value;
	bool on;
} RgHashTurn;

static inline RgHashTurn rg_hash_start(GHashTable *table)
{
	RgHashTurn turn = {.on = true};
	g_hash_table_iter_init(&turn.iter, table);
	return turn;
}

static inline bool rg_hash_next(RgHashTurn *turn)
{
	return g_hash_table_iter_next(&turn->iter, &turn->key, &turn->value);
}
