/* One kind of resource in one region: documents (JSON, in wire spelling) by id and in the order of
 * their creation. A document is never changed in place: a change adds a new version, so that a
 * delayed reader (consistency delay) still finds the old one. The world owns its tables; all access
 * happens under the simulator's lock. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct {
	guint64 seq; /* grows with every creation; paging tokens contain it */
	char *id;
	gint64 born_ms;
	GArray *versions; /* of RgSimVersion, oldest first; a NULL doc means deleted */
	char *text;	  /* the newest version as JSON text, or NULL until requested */
} RgSimItem;

typedef struct {
	gint64 at_ms;
	json_t *doc;
} RgSimVersion;

typedef struct {
	GHashTable *by_id; /* id -> RgSimItem, which `order` owns */
	GPtrArray *order;
	guint64 next_seq;
	GQueue graves; /* of RgSimItem: deleted, but delayed readers may still see them */
} RgSimTable;

RgSimTable *rg_sim_table_new(void);
void rg_sim_table_free(RgSimTable *table);

/* The current document, or NULL. Borrowed until the next change of it. */
json_t *rg_sim_table_find(const RgSimTable *table, const char *id);
/* What a reader at `as_of_ms` sees: NULL before the creation and after the deletion. */
json_t *rg_sim_item_view(const RgSimItem *item, gint64 as_of_ms);
RgSimItem *rg_sim_table_item(const RgSimTable *table, const char *id);

/* Creates or changes; takes the document. Drops versions older than `keep_since_ms`. */
void rg_sim_table_put(
	RgSimTable *table, const char *id, json_t *doc, gint64 now_ms, gint64 keep_since_ms);
/* Deletes; delayed readers see it until rg_sim_table_purge passes its time. */
void rg_sim_table_remove(RgSimTable *table, const char *id, gint64 now_ms);
void rg_sim_table_purge(RgSimTable *table, gint64 keep_since_ms);
/* JSON text of the current document, generated once per change; NULL if deleted. Borrowed. */
const char *rg_sim_item_text(RgSimItem *item);
