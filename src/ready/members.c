/* drift: what the head's Ray sees of its members, compared with what was planned. */
#include "ready/internal.h"
#include "base/clock.h"
#include "resource/nodes.h"

/* Members that should have the same driver: of one pool, instance type and image. */
typedef struct {
	GHashTable *counts; /* "KIND DRIVER" -> how many */
	GHashTable *usual;  /* KIND -> the driver that most of them have; of several the first */
	GStringChunk *texts;
} Drivers;

/* g_free */
static char *kind_of(const RgResource *record)
{
	const RgPoolNodes nodes = rg_nodes_get(record, 0);
	return g_strdup_printf("%s %s %s", nodes.pool, rg_json_str(nodes.pin, "instance_type", ""),
		rg_json_str(nodes.pin, "image_id", ""));
}

static void count_driver(Drivers *drivers, const RgResource *record, const char *driver)
{
	g_autofree char *kind = kind_of(record);
	const char *key = g_string_chunk_insert_const(drivers->texts, kind);
	g_autofree char *both = g_strdup_printf("%s %s", kind, driver);
	const char *usual = g_hash_table_lookup(drivers->usual, key);
	g_autofree char *best = g_strdup_printf("%s %s", kind, usual ? usual : "");
	gsize n = GPOINTER_TO_SIZE(g_hash_table_lookup(drivers->counts, both)) + 1;
	g_hash_table_insert(drivers->counts, g_string_chunk_insert_const(drivers->texts, both),
		GSIZE_TO_POINTER(n));
	if (n > GPOINTER_TO_SIZE(g_hash_table_lookup(drivers->counts, best)) || !usual)
		g_hash_table_insert(drivers->usual, (gpointer)(uintptr_t)key,
			g_string_chunk_insert_const(drivers->texts, driver));
}

/* "": there are no GPUs, or an older start script reported none. */
static bool has_driver(const RgMember *member)
{
	return member && member->gpus > 0 && *member->driver;
}

/* NULL: it is as it should be. g_free */
static char *reason_of(const RgResource *record, const RgMember *member, const Drivers *drivers)
{
	int64_t gpus = rg_json_int(rg_nodes_get(record, 0).pin, "gpus", 0);
	if (!member)
		return g_strdup("runs, but is not a member of Ray");
	if (member->gpus >= 0 && member->gpus != gpus)
		return g_strdup_printf("has %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
				       " GPU%s in Ray",
			member->gpus, gpus, gpus == 1 ? "" : "s");
	if (!has_driver(member))
		return NULL;
	g_autofree char *kind = kind_of(record);
	const char *usual = g_hash_table_lookup(drivers->usual, kind);
	return g_str_equal(usual, member->driver)
		       ? NULL
		       : g_strdup_printf("has GPU driver %s, and the rest of its pool %s",
				 member->driver, usual);
}

/* Of all records, also those that are leaving: Ray forgets a machine later than the cloud. */
static GHashTable *known_ids(const RgReadyCheck *check)
{
	GHashTable *ids = g_hash_table_new(g_str_hash, g_str_equal);
	rg_resource_foreach (record, check->snapshot->recorded) {
		if (record->id)
			g_hash_table_add(ids, record->id);
	}
	rg_ptr_foreach (const RgResource, unmanaged, check->unmanaged) {
		if (unmanaged->id) /* it is reported as unmanaged */
			g_hash_table_add(ids, unmanaged->id);
	}
	rg_json_foreach (past, check->lifetimes) { /* given up, or gone; Ray may still have them */
		const char *id = rg_json_str(past, "id", NULL);
		if (id)
			g_hash_table_add(ids, (gpointer)(uintptr_t)id);
	}
	return ids;
}

/* Of a resource that stands for many nodes, nobody has recorded their ids. */
static bool are_all_recorded(const RgSnapshot *snapshot)
{
	rg_resource_foreach (record, snapshot->recorded) {
		if (!rg_nodes_are_plain(record))
			return false;
	}
	return !snapshot->journal->len; /* nor of creations that are open */
}

/* "has 3 nodes in its Ray that raygpu does not know: 10.0.3.9, 10.0.3.10 and 1 more" */
static char *strangers_text(size_t n, const RgRoster *roster)
{
	const size_t named = roster->others ? g_strv_length(roster->others) : 0;
	GString *text = g_string_new("has ");
	if (n == 1)
		g_string_append(text, "a node");
	else
		g_string_append_printf(text, "%zu nodes", n);
	g_string_append(text, " in its Ray that raygpu does not know");
	for (size_t i = 0; i < named; i++)
		g_string_append_printf(text, "%s%s", i ? ", " : ": ", roster->others[i]);
	if (named && n > named)
		g_string_append_printf(text, " and %zu more", n - named);
	return g_string_free(text, FALSE);
}

static void check_strangers(
	const RgReadyCheck *check, const RgResource *head, const RgRoster *roster, GPtrArray *found)
{
	g_autoptr(GHashTable) listed = known_ids(check);
	GHashTable *const known[] = {listed, check->snapshot->tombstones};
	size_t n = (size_t)roster->without_id +
		   rg_roster_count_others(roster, known, G_N_ELEMENTS(known));
	if (!n || !are_all_recorded(check->snapshot))
		return;
	check_add(found, head, strangers_text(n, roster));
	((RgUnjoined *)found->pdata[found->len - 1])->strangers = true;
}

void check_members(
	const RgReadyCheck *check, const RgResource *head, const RgRoster *roster, GPtrArray *found)
{
	const RgResourceSet *recorded = check->snapshot->recorded;
	const int64_t now_s = rg_clock_now_s();
	g_autoptr(GPtrArray) due = g_ptr_array_new();
	Drivers drivers = {g_hash_table_new(g_str_hash, g_str_equal),
		g_hash_table_new(g_str_hash, g_str_equal), g_string_chunk_new(4096)};
	rg_resource_foreach (record, recorded) {
		const RgMember *member = record->id ? rg_roster_find(roster, record->id) : NULL;
		if (!check_is_due(check, record, now_s))
			continue;
		g_ptr_array_add(due, record);
		if (has_driver(member))
			count_driver(&drivers, record, member->driver);
	}
	rg_ptr_foreach (const RgResource, record, due) {
		char *reason = reason_of(record, rg_roster_find(roster, record->id), &drivers);
		if (reason)
			check_add(found, record, reason);
	}
	check_strangers(check, head, roster, found);
	g_hash_table_unref(drivers.counts);
	g_hash_table_unref(drivers.usual);
	g_string_chunk_free(drivers.texts);
}
