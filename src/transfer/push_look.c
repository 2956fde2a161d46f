/* What a push would change, and the reasons to refuse it. */
#include "transfer/look.h"
#include "transfer/tables.h"

typedef struct {
	const json_t *now; /* the cluster as the file has it, or NULL */
	const json_t *new; /* as the document has it */
	json_t *report;
	bool force;
	RgDiags *diags;
} Look;

static const char *name_of(const Look *look)
{
	return rg_json_str(look->new, "name", "");
}

/* For a number that JSON allows to be written as 5.0. */
static int64_t serial_of(const json_t *cluster)
{
	return (int64_t)json_number_value(json_object_get(cluster, "serial"));
}

/* key text -> row, borrowed; of rows whose key is not null. */
static GHashTable *rows_by(const json_t *cluster, const char *list, const char *key)
{
	GHashTable *rows = g_hash_table_new(g_str_hash, g_str_equal);
	rg_json_foreach (row, json_object_get(cluster, list)) {
		const char *text = rg_json_str(row, key, NULL);
		if (text)
			g_hash_table_insert(rows, (gpointer)(uintptr_t)text, row);
	}
	return rows;
}

static void add_changed(const Look *look, GHashTable *now)
{
	json_t *added = json_array(), *replaced = json_array();
	rg_json_foreach (row, json_object_get(look->new, "resources")) {
		json_t *address = json_object_get(row, "address");
		const json_t *before = g_hash_table_lookup(now, json_string_value(address));
		if (!before)
			json_array_append(added, address);
		else if (!json_equal(before, row))
			json_array_append(replaced, address);
	}
	json_object_set_new(look->report, "added", added);
	json_object_set_new(look->report, "replaced", replaced);
}

/* A resource is lost if no record is left of it, whatever its address was. */
static void add_gone(const Look *look, GHashTable *new)
{
	json_t *removed = json_array(), *lost = json_array();
	g_autoptr(GHashTable) ids = rows_by(look->new, "resources", "id");
	rg_json_foreach (row, json_object_get(look->now, "resources")) {
		json_t *address = json_object_get(row, "address");
		const char *id = rg_json_str(row, "id", NULL);
		if (!g_hash_table_contains(new, json_string_value(address)))
			json_array_append(removed, address);
		if (id && !g_hash_table_contains(ids, id))
			json_array_append_new(
				lost, json_pack("{s:O, s:s}", "address", address, "id", id));
	}
	json_object_set_new(look->report, "removed", removed);
	json_object_set_new(look->report, "lost", lost);
}

static char *lifetime_key(const json_t *row)
{
	const char *id = rg_json_str(row, "id", NULL);
	return g_strdup_printf("%s %" G_GINT64_FORMAT, id ? id : rg_json_str(row, "address", ""),
		(int64_t)json_number_value(json_object_get(row, "began_s")));
}

static json_int_t count_lost_lifetimes(const Look *look)
{
	g_autoptr(GHashTable) kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_int_t lost = 0;
	rg_json_foreach (row, json_object_get(look->new, "lifetimes"))
		g_hash_table_add(kept, lifetime_key(row));
	rg_json_foreach (row, json_object_get(look->now, "lifetimes")) {
		g_autofree char *key = lifetime_key(row);
		lost += !g_hash_table_contains(kept, key);
	}
	return lost;
}

static json_int_t count_lost_runs(const Look *look)
{
	g_autoptr(GHashTable) kept = rows_by(look->new, "runs", "id");
	json_int_t lost = 0;
	rg_json_foreach (row, json_object_get(look->now, "runs"))
		lost += !g_hash_table_contains(kept, rg_json_str(row, "id", ""));
	return lost;
}

static bool push_refuse(const Look *look, const char *hint, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static bool push_refuse(const Look *look, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *why = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(
		look->diags, "state.push-refused", "cluster %s: %s", name_of(look), why);
	rg_diag_hint(diag, "%s", hint);
	return false;
}

/* An unanswered request would be forgotten, and its resource may be running. */
static bool check_settled(const Look *look)
{
	size_t open = json_array_size(json_object_get(look->now, "journal"));
	return open == 0 || push_refuse(look, "run `raygpu apply` first to resolve them",
				    "the state has %zu creation%s of unknown outcome", open,
				    open == 1 ? " that is" : "s that are");
}

static bool check_lineage(const Look *look)
{
	const char *now = rg_json_str(look->now, "lineage", "");
	const char *new = rg_json_str(look->new, "lineage", "");
	if (look->force || g_str_equal(now, new))
		return true;
	return push_refuse(look,
		"it is another cluster of the same name: check --state. --force overwrites it "
		"anyway, --force --dry-run shows what would be lost",
		"the lineage is %.8s in the state and %.8s in the document", now, new);
}

static bool check_serial(const Look *look)
{
	int64_t now = serial_of(look->now), new = serial_of(look->new);
	if (look->force || new > now ||
		g_strcmp0(rg_json_str(look->now, "lineage", ""),
			rg_json_str(look->new, "lineage", "")) != 0)
		return true;
	if (new < now)
		return push_refuse(look,
			"the state has changed since it was pulled: pull again. --force goes back "
			"to the document, --force --dry-run shows what would be lost",
			"the document is older: its serial is %" G_GINT64_FORMAT
			", the state's %" G_GINT64_FORMAT,
			new, now);
	return push_refuse(look,
		"if the document was edited on purpose, raise its serial by one; if the state has "
		"changed in the meantime, pull again",
		"the document has the state's serial, %" G_GINT64_FORMAT ", and other content",
		now);
}

static bool allow(const Look *look)
{
	if (!look->now || json_equal(look->now, look->new))
		return true;
	bool ok = check_settled(look);
	return check_lineage(look) && check_serial(look) && ok;
}

/* Forced over a newer or another one: nothing derived from either serial may remain valid. */
static void add_serials(const Look *look)
{
	int64_t now = serial_of(look->now), new = serial_of(look->new);
	bool changed = !look->now || !json_equal(look->now, look->new);
	bool forced = changed && look->now &&
		      (new <= now || g_strcmp0(rg_json_str(look->now, "lineage", ""),
					     rg_json_str(look->new, "lineage", "")) != 0);
	json_object_set_new(
		look->report, "serial_before", look->now ? json_integer(now) : json_null());
	json_object_set_new(look->report, "serial", json_integer(forced ? MAX(now, new) + 1 : new));
	json_object_set_new(look->report, "changed", json_boolean(changed));
	json_object_set_new(look->report, "forced", json_boolean(forced));
}

static void add_differences(const Look *look)
{
	g_autoptr(GHashTable) now = rows_by(look->now, "resources", "address");
	g_autoptr(GHashTable) new = rows_by(look->new, "resources", "address");
	rg_json_set_str(look->report, "cluster", name_of(look));
	json_object_set(look->report, "lineage", json_object_get(look->new, "lineage"));
	add_serials(look);
	add_changed(look, now);
	add_gone(look, new);
	json_object_set_new(look->report, "runs_lost", json_integer(count_lost_runs(look)));
	json_object_set_new(
		look->report, "lifetimes_lost", json_integer(count_lost_lifetimes(look)));
}

/* One line per resource: each may be running and costing money. */
static void push_warn(const Look *look)
{
	const json_t *lost = json_object_get(look->report, "lost");
	size_t n = json_array_size(lost);
	if (n == 0)
		return;
	g_autoptr(GString) lines = g_string_new(NULL);
	rg_json_foreach_at (i, row, lost)
		g_string_append_printf(lines, "%s%s (%s)", i > 0 ? "\n" : "",
			rg_json_str(row, "address", ""), rg_json_str(row, "id", ""));
	RgDiag *diag = rg_diags_warning(look->diags, "state.lost",
		"cluster %s: the document has no record of %zu resource%s that may be running and "
		"costing money",
		name_of(look), n, n == 1 ? "" : "s");
	rg_diag_detail(diag, "%s", lines->str);
	rg_diag_hint(diag, "`raygpu state orphans` lists those that the cloud still has, "
			   "`raygpu import` records them again");
}

static json_t *look_at(RgStore *store, const json_t *new, bool force, RgDiags *diags)
{
	size_t before = rg_diags_count(diags);
	json_auto_t *now = pull_cluster(store, rg_json_str(new, "name", ""), diags);
	if (!now && rg_diags_count(diags) > before)
		return NULL;
	json_auto_t *report = json_object();
	const Look look = {
		.now = now, .new = new, .report = report, .force = force, .diags = diags};
	if (!allow(&look))
		return NULL;
	add_differences(&look);
	push_warn(&look);
	return g_steal_pointer(&report);
}

/* What other clusters of the file have: their lineages, and the ids that only they have. */
static bool collect_others(
	RgStore *store, GHashTable *pushed, GHashTable *lineages, GHashTable *ids, RgDiags *diags)
{
	Sql q = sql_new(store, "SELECT name, lineage FROM clusters", diags);
	while (sql_next(&q)) {
		if (!g_hash_table_contains(pushed, sql_column_text(&q, 0)))
			g_hash_table_insert(lineages, g_strdup(sql_column_text(&q, 1)),
				g_strdup(sql_column_text(&q, 0)));
	}
	if (!sql_ok(&q))
		return false;
	Sql r = sql_new(store,
		"SELECT c.name, c.provider, c.region, r.kind, r.cloud_id, r.address FROM resources "
		"r"
		" JOIN clusters c ON c.id = r.cluster"
		" WHERE r.cloud_id IS NOT NULL AND r.ownership <> 'shared'",
		diags);
	while (sql_next(&r)) {
		if (!g_hash_table_contains(pushed, sql_column_text(&r, 0)))
			g_hash_table_insert(ids,
				g_strjoin("\n", sql_column_text(&r, 1), sql_column_text(&r, 2),
					sql_column_text(&r, 3), sql_column_text(&r, 4), NULL),
				g_strdup_printf("%s of cluster %s", sql_column_text(&r, 5),
					sql_column_text(&r, 0)));
	}
	return sql_ok(&r);
}

static bool check_ids(const Look *look, GHashTable *ids)
{
	bool ok = true;
	rg_json_foreach (row, json_object_get(look->new, "resources")) {
		g_autofree char *kind = NULL, *name = NULL;
		int64_t index;
		const char *id = rg_json_str(row, "id", NULL);
		const char *address = rg_json_str(row, "address", "");
		if (!id || g_str_equal(rg_json_str(row, "ownership", ""), "shared") ||
			!rg_address_parse(address, &kind, &name, &index))
			continue;
		g_autofree char *key = g_strjoin("\n", rg_json_str(look->new, "provider", ""),
			rg_json_str(look->new, "region", ""), kind, id, NULL);
		const char *holder = g_hash_table_lookup(ids, key);
		if (holder)
			ok = push_refuse(look,
				"a resource has one record: remove it from one of them",
				"%s is %s, which the state records as %s", address, id, holder);
	}
	return ok;
}

static GHashTable *texts_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* Compared with the clusters that do not change. */
static bool check_others(RgStore *store, const json_t *document, RgDiags *diags)
{
	g_autoptr(GHashTable) lineages = texts_new(), ids = texts_new();
	const json_t *clusters = json_object_get(document, "clusters");
	g_autoptr(GHashTable) pushed = rows_by(document, "clusters", "name");
	bool ok = true;
	if (!collect_others(store, pushed, lineages, ids, diags))
		return false;
	rg_json_foreach (cluster, clusters) {
		const Look look = {.new = cluster, .diags = diags};
		const char *same =
			g_hash_table_lookup(lineages, rg_json_str(cluster, "lineage", ""));
		if (same)
			ok = push_refuse(&look,
				"a lineage belongs to one cluster: its ownership tags would name "
				"both",
				"its lineage is that of cluster %s of the state", same);
		ok = check_ids(&look, ids) && ok;
	}
	return ok;
}

json_t *look(RgStore *store, const json_t *document, bool force, RgDiags *diags)
{
	json_auto_t *reports = json_array();
	bool ok = check_others(store, document, diags);
	rg_json_foreach (cluster, json_object_get(document, "clusters")) {
		json_t *report = look_at(store, cluster, force, diags);
		ok = report && ok;
		if (report)
			json_array_append_new(reports, report);
	}
	return ok ? g_steal_pointer(&reports) : NULL;
}

json_t *rg_state_push_look(RgStore *store, const json_t *document, bool force, RgDiags *diags)
{
	if (!copy_need(store, NULL, COPY_ALL, diags) || !tx_begin_read(store, diags))
		return NULL;
	json_t *reports = sums_check_all(store, diags) ? look(store, document, force, diags) : NULL;
	tx_end_read(store);
	return reports;
}
