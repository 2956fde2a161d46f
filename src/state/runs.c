#include "base/clock.h"
#include "state/sealed.h"
#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* n random bytes as hex digits; NULL if the kernel provides none. */
static char *random_hex(size_t n, RgDiags *diags)
{
	unsigned char bytes[16];
	g_assert(n <= sizeof(bytes));
	if (getrandom(bytes, n, 0) != (ssize_t)n) {
		rg_diags_error(diags, "state.unwritable", "the kernel returned no random bytes: %s",
			g_strerror(errno));
		return NULL;
	}
	GString *text = g_string_sized_new(2 * n);
	for (size_t i = 0; i < n; i++)
		g_string_append_printf(text, "%02x", bytes[i]);
	return g_string_free(text, FALSE);
}

/* What begin_run writes. */
static bool insert_cluster(
	RgStore *store, const RgRunBegin *begin, int64_t *id, char **lineage, RgDiags *diags)
{
	json_auto_t *no_config = json_object();
	*lineage = random_hex(16, diags);
	if (!*lineage)
		return false;
	Sql q = sql_with(store,
		"INSERT INTO clusters (name, lineage, serial, provider, region, config, facts,"
		" account, id) VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
		diags, TEXT(begin->cluster), TEXT(*lineage), TEXT(begin->provider),
		TEXT(begin->region), JSON(begin->config ? begin->config : no_config),
		JSON(begin->facts), TEXT(begin->account), new_row_id(store));
	return sql_first_int(q, id);
}

static bool update_cluster(RgStore *store, const RgRunBegin *begin, int64_t id, RgDiags *diags)
{
	return sql_do(store,
		"UPDATE clusters SET serial = serial + 1, provider = ?2, region = ?3,"
		" config = coalesce(?4, config), facts = coalesce(?5, facts),"
		" account = coalesce(?6, account) WHERE id = ?1",
		diags, INT(id), TEXT(begin->provider), TEXT(begin->region), JSON(begin->config),
		JSON(begin->facts), TEXT(begin->account));
}

/* Recorded resources are in one place; looking for them in another would find nothing, create them
 * again there and leave the first ones running. */
static bool check_place(RgStore *store, const RgRunBegin *begin, int64_t id, RgDiags *diags)
{
	Sql q = sql_with(store,
		"SELECT provider, region FROM clusters WHERE id = ?1"
		" AND (provider <> ?2 OR region <> ?3)"
		" AND (EXISTS (SELECT 1 FROM resources WHERE cluster = ?1 AND cloud_id IS NOT NULL)"
		" OR EXISTS (SELECT 1 FROM journal WHERE cluster = ?1))",
		diags, INT(id), TEXT(begin->provider), TEXT(begin->region));
	if (!sql_next(&q))
		return sql_ok(&q);
	RgDiag *diag = rg_diags_error(diags, "state.moved",
		"cluster \"%s\" has resources in %s %s, not in %s %s", begin->cluster,
		sql_column_text(&q, 0), sql_column_text(&q, 1), begin->provider, begin->region);
	rg_diag_hint(diag, "destroy it there first, or rename the new cluster");
	sql_end(&q);
	return false;
}

static bool find_cluster(
	RgStore *store, const char *name, int64_t *id, char **lineage, RgDiags *diags)
{
	Sql q = sql_with(
		store, "SELECT id, lineage FROM clusters WHERE name = ?1", diags, TEXT(name));
	*id = 0;
	*lineage = NULL;
	if (sql_next(&q)) {
		*id = sql_column_int(&q, 0);
		*lineage = g_strdup(sql_column_text(&q, 1));
	}
	return sql_ok(&q);
}

static bool ensure_cluster(
	RgStore *store, const RgRunBegin *begin, int64_t *id, char **lineage, RgDiags *diags)
{
	if (!find_cluster(store, begin->cluster, id, lineage, diags))
		return false;
	if (*id == 0)
		return insert_cluster(store, begin, id, lineage, diags);
	return moved_check(store, begin->cluster, diags) && check_place(store, begin, *id, diags) &&
	       update_cluster(store, begin, *id, diags);
}

bool purge_tombstones(RgStore *store, int64_t cluster, RgDiags *diags)
{
	return sql_do(store,
		"DELETE FROM tombstones WHERE cluster = ?1 AND abs(?2 - removed_s) >= ?3", diags,
		INT(cluster), INT(rg_clock_now_s()), INT(TOMBSTONE_S));
}

static bool insert_run(RgStore *store, int64_t cluster, const char *run_id, const json_t *meta,
	int64_t *seq, RgDiags *diags)
{
	json_auto_t *no_meta = json_object();
	Sql q = sql_with(store,
		"INSERT INTO runs (id, cluster, started_s, meta, seq) VALUES (?1, ?2, ?3, ?4, ?5)"
		" RETURNING seq",
		diags, TEXT(run_id), INT(cluster), INT(rg_clock_now_s()),
		JSON(meta ? meta : no_meta), new_row_id(store));
	return sql_first_int(q, seq);
}

static bool begin_run(
	RgStore *store, const RgRunBegin *begin, char **run_id, char **lineage, RgDiags *diags)
{
	int64_t cluster, seq = 0;
	*run_id = random_hex(8, diags);
	*lineage = NULL;
	if (!*run_id || !copy_need(store, begin->cluster, COPY_LIVE, diags) ||
		!tx_begin(store, diags))
		return false;
	bool ok =
		ensure_cluster(store, begin, &cluster, lineage, diags) &&
		/* we hold the lock, so a run without an end is one whose process died */
		sql_do(store,
			"UPDATE runs SET outcome = 'interrupted' WHERE cluster = ?1"
			" AND outcome IS NULL",
			diags, INT(cluster)) &&
		purge_tombstones(store, cluster, diags) &&
		lifetimes_relabel(store, cluster, json_object_get(begin->meta, "labels"), diags) &&
		insert_run(store, cluster, *run_id, begin->meta, &seq, diags);
	if (!tx_end(store, ok, diags))
		return false;
	store->run = seq;
	store->run_cluster = cluster;
	return true;
}

bool rg_store_begin_run(
	RgStore *store, const RgRunBegin *given, char **run_id, char **lineage, RgDiags *diags)
{
	store_check_writer(store, given->cluster);
	RgRunBegin begin = *given;
	begin.config = json_is_null(given->config) ? NULL : given->config;
	begin.facts = json_is_null(given->facts) ? NULL : given->facts;
	if (begin_run(store, &begin, run_id, lineage, diags))
		return true;
	g_clear_pointer(run_id, g_free);
	g_clear_pointer(lineage, g_free);
	return false;
}

static bool finish_run(
	RgStore *store, const char *run_id, const char *outcome, int64_t *cluster, RgDiags *diags)
{
	Sql q = sql_with(store,
		"UPDATE runs SET ended_s = ?2, outcome = ?3 WHERE id = ?1 RETURNING cluster", diags,
		TEXT(run_id), INT(rg_clock_now_s()), TEXT(outcome));
	*cluster = 0;
	if (!sql_first_int(q, cluster))
		return false;
	if (*cluster == 0)
		rg_diag_hint(rg_diags_error(diags, "state.moved",
				     "the state no longer has run \"%s\"", run_id),
			"the file was replaced during the run: keep both, and plan again");
	return *cluster != 0;
}

bool rg_store_end_run(RgStore *store, const char *run_id, const char *outcome, RgDiags *diags)
{
	int64_t cluster;
	if (!tx_begin(store, diags))
		return false;
	bool ok = finish_run(store, run_id, outcome, &cluster, diags) &&
		  sql_do(store, "UPDATE clusters SET serial = serial + 1 WHERE id = ?1", diags,
			  INT(cluster));
	store->run = 0;
	return tx_end(store, ok, diags);
}

bool run_insert_done(RgStore *store, int64_t cluster, const json_t *meta, RgDiags *diags)
{
	g_autofree char *run_id = random_hex(8, diags);
	int64_t seq = 0;
	if (!run_id || !insert_run(store, cluster, run_id, meta, &seq, diags))
		return false;
	Sql q = sql_with(store,
		"UPDATE runs SET ended_s = started_s, outcome = 'done' WHERE seq = ?1", diags,
		INT(seq));
	store->run = seq;
	store->run_cluster = cluster;
	return sql_run(&q);
}

void run_leave(RgStore *store)
{
	store->run = 0;
}

bool run_note(RgStore *store, int64_t cluster, const char *address, const char *action,
	const char *outcome, RgDiags *diags)
{
	return run_note_node(store, cluster, address, action, outcome, NULL, diags);
}

/* What the node is, of all that its pin has. */
static json_t *node_of(const json_t *pin)
{
	static const char *const members[] = {"instance_type", "zone", "market"};
	if (!json_object_get(pin, "instance_type"))
		return NULL;
	json_t *node = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		json_t *value = json_object_get(pin, members[i]);
		if (value)
			json_object_set(node, members[i], value);
	}
	return node;
}

bool run_note_node(RgStore *store, int64_t cluster, const char *address, const char *action,
	const char *outcome, const json_t *pin, RgDiags *diags)
{
	json_auto_t *node = node_of(pin);
	if (store->run == 0 || store->run_cluster != cluster)
		return true;
	return sql_do(store,
		"INSERT INTO run_changes (run, address, action, outcome, at_s, node, seq)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		diags, INT(store->run), TEXT(address), TEXT(action), TEXT(outcome),
		INT(rg_clock_now_s()), JSON(node), new_row_id(store));
}
