#include "transfer/migrate.h"
#include "state/rows.h"

/* What a store has of a cluster. */
typedef struct {
	int64_t id, serial; /* 0: nothing */
	char *lineage;
	json_t *mark;
} Side;

static void side_clear(Side *side)
{
	g_free(side->lineage);
	json_decref(side->mark);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Side, side_clear)

/* In the caller's transaction. */
static bool read_side(RgStore *store, const char *cluster, Side *side, RgDiags *diags)
{
	Sql q = sql_with(store, "SELECT id, serial, lineage FROM clusters WHERE name = ?1", diags,
		TEXT(cluster));
	if (sql_next(&q)) {
		side->id = sql_column_int(&q, 0);
		side->serial = sql_column_int(&q, 1);
		side->lineage = g_strdup(sql_column_text(&q, 2));
	}
	return sql_ok(&q) && moved_read(store, cluster, &side->mark, diags);
}

static const char *mark_of(const Side *side, const char *key)
{
	return rg_json_str(side->mark, key, NULL);
}

/* ---- what is to be done */

typedef struct {
	RgStore *from, *to;
	const char *cluster;
	Side old, new;
	RgDiags *diags;
} Case;

static void case_clear(Case *it)
{
	side_clear(&it->old);
	side_clear(&it->new);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

static const char *refuse(const Case *it, const char *hint, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static const char *refuse(const Case *it, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *why = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(it->diags, "state.migrate-refused",
		"cluster %s is not moved to \"%s\": %s", it->cluster, store_shown(it->to), why);
	rg_diag_hint(diag, "%s", hint);
	return NULL;
}

static bool is_same(const Case *it)
{
	return it->new.id != 0 && g_str_equal(it->old.lineage, it->new.lineage);
}

static const char *refuse_other(const Case *it)
{
	return refuse(it,
		"it is another cluster of the same name: choose another target, or destroy one of "
		"them first",
		"the target has a cluster of that name with the lineage %.8s, not %.8s",
		it->new.lineage, it->old.lineage);
}

/* The old one was marked as moved. */
static const char *step_of_moved(const Case *it)
{
	if (g_strcmp0(mark_of(&it->old, "to"), store_place(it->to)) != 0) {
		moved_tell(it->from, it->cluster, it->old.mark, it->diags);
		return NULL;
	}
	if (!is_same(it))
		return refuse(it,
			"the target was changed or replaced: restore its backup; raygpu-state(5) "
			"says how to use the old state again",
			"it was moved there, but it is not there any more");
	return mark_of(&it->new, "from") ? "complete" : "done";
}

/* NULL: refused. */
static const char *step_of(const Case *it)
{
	const char *from = mark_of(&it->new, "from");
	if (it->old.mark)
		return step_of_moved(it);
	if (it->new.id == 0)
		return "copy";
	if (!is_same(it))
		return refuse_other(it);
	if (!it->new.mark)
		return refuse(it,
			"two copies of one state are in use: find out which one is right, and "
			"choose an empty target",
			"the target already has it, with serial %" G_GINT64_FORMAT
			" (the other: %" G_GINT64_FORMAT ")",
			it->new.serial, it->old.serial);
	if (from && g_strcmp0(from, store_place(it->from)) != 0)
		return refuse(it, "run that move again, to complete it",
			"another move of it there, from \"%s\", has not ended", from);
	if (!from && it->new.serial > it->old.serial + 1)
		return refuse(it, "move the newest copy",
			"the target had it with a newer serial, %" G_GINT64_FORMAT
			", not %" G_GINT64_FORMAT,
			it->new.serial, it->old.serial);
	return "copy";
}

/* A lineage belongs to one cluster. */
static bool check_lineage(const Case *it)
{
	Sql q = sql_with(it->to, "SELECT name FROM clusters WHERE lineage = ?1 AND name <> ?2",
		it->diags, TEXT(it->old.lineage), TEXT(it->cluster));
	g_autofree char *other = sql_next(&q) ? g_strdup(sql_column_text(&q, 0)) : NULL;
	if (!sql_ok(&q))
		return false;
	return !other || refuse(it, "choose another target",
				 "the target has its lineage in cluster %s", other) != NULL;
}

static bool count(RgStore *store, json_t *report, const char *key, Sql q)
{
	int64_t n = 0;
	bool ok = sql_first_int(q, &n);
	json_object_set_new(report, key, json_integer(n));
	return ok;
}

static bool count_all(const Case *it, json_t *report)
{
	int64_t id = it->old.id;
	return count(it->from, report, "records",
		       sql_with(it->from, "SELECT count(*) FROM resources WHERE cluster = ?1",
			       it->diags, INT(id))) &&
	       count(it->from, report, "open",
		       sql_with(it->from, "SELECT count(*) FROM journal WHERE cluster = ?1",
			       it->diags, INT(id))) &&
	       count(it->from, report, "runs",
		       sql_with(it->from, "SELECT count(*) FROM runs WHERE cluster = ?1", it->diags,
			       INT(id)));
}

static json_t *look_at(Case *it)
{
	if (!read_side(it->from, it->cluster, &it->old, it->diags) ||
		!read_side(it->to, it->cluster, &it->new, it->diags))
		return NULL;
	const char *step = step_of(it);
	if (!step || !check_lineage(it))
		return NULL;
	json_auto_t *report = json_pack("{s:s, s:s, s:I, s:s}", "cluster", it->cluster, "lineage",
		it->old.lineage, "serial", (json_int_t)it->old.serial, "step", step);
	return count_all(it, report) ? g_steal_pointer(&report) : NULL;
}

static json_t *look_at_all(RgStore *from, RgStore *to, RgDiags *diags)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	json_auto_t *reports = json_array();
	Sql q = sql_new(from, "SELECT name FROM clusters ORDER BY name", diags);
	while (sql_next(&q))
		g_ptr_array_add(names, g_strdup(sql_column_text(&q, 0)));
	if (!sql_ok(&q))
		return NULL;
	for (guint i = 0; i < names->len; i++) {
		g_auto(Case)
			it = {.from = from, .to = to, .cluster = names->pdata[i], .diags = diags};
		json_t *report = look_at(&it);
		if (report)
			json_array_append_new(reports, report);
	}
	if (json_array_size(reports) < names->len)
		return NULL;
	if (names->len > 0)
		return g_steal_pointer(&reports);
	RgDiag *diag = rg_diags_error(diags, "state.no-such-cluster",
		"the state \"%s\" has no cluster", store_shown(from));
	rg_diag_hint(diag, "check that it is the right one");
	return NULL;
}

static bool begin_both(RgStore *from, RgStore *to, RgDiags *diags)
{
	if (!copy_need(from, NULL, COPY_ALL, diags) || !copy_need(to, NULL, COPY_LIVE, diags) ||
		!tx_begin_read(from, diags))
		return false;
	if (tx_begin_read(to, diags))
		return true;
	tx_end_read(from);
	return false;
}

static bool check_places(const RgStore *from, const RgStore *to, RgDiags *diags)
{
	if (!g_str_equal(store_place(from), store_place(to)))
		return true;
	RgDiag *diag = rg_diags_error(
		diags, "state.migrate-refused", "\"%s\" is moved to itself", store_shown(from));
	rg_diag_hint(diag, "name another target");
	return false;
}

json_t *rg_transfer_look(RgStore *from, RgStore *to, RgDiags *diags)
{
	if (!check_places(from, to, diags) || !begin_both(from, to, diags))
		return NULL;
	bool whole = sums_check_all(from, diags) && blobs_check(from, diags);
	json_t *reports = whole ? look_at_all(from, to, diags) : NULL;
	tx_end_read(from);
	tx_end_read(to);
	return reports;
}

/* ---- the copy */

static bool has_same(const Case *it, bool *same)
{
	*same = false;
	if (g_strcmp0(mark_of(&it->new, "from"), store_place(it->from)) != 0)
		return true;
	g_autofree char *old = rows_digest(it->from, it->old.id, it->diags);
	g_autofree char *new = old ? rows_digest(it->to, it->new.id, it->diags) : NULL;
	*same = g_strcmp0(old, new) == 0;
	return new != NULL;
}

/* Its serial rises: the store notices from it whether a commit was done. */
static bool put(const Case *it)
{
	json_auto_t *mark = json_pack("{s:s}", "from", store_place(it->from));
	const RowsTarget target = {it->new.id, MAX(it->old.serial, it->new.serial) + 1, mark};
	return (it->new.id == 0 || rows_clear(it->to, it->new.id, it->diags)) &&
	       rows_copy(it->from, it->old.id, it->to, &target, it->diags);
}

static bool copy_case(Case *it)
{
	bool same = false;
	if (!read_side(it->from, it->cluster, &it->old, it->diags) ||
		!read_side(it->to, it->cluster, &it->new, it->diags))
		return false;
	return has_same(it, &same) && (same || put(it));
}

bool rg_transfer_copy(RgStore *from, RgStore *to, const char *cluster, RgDiags *diags)
{
	g_auto(Case) it = {.from = from, .to = to, .cluster = cluster, .diags = diags};
	store_check_writer(from, cluster);
	store_check_writer(to, cluster);
	if (!copy_need(from, cluster, COPY_ALL, diags) ||
		!copy_need(to, cluster, COPY_ALL, diags) || !tx_begin_read(from, diags))
		return false;
	bool ok = tx_begin(to, diags);
	if (!ok) {
		tx_end_read(from);
		return false;
	}
	ok = copy_case(&it);
	tx_end_read(from); /* other clusters of a file need not wait for the commit */
	return tx_end(to, ok, diags);
}

static char *digest_of(RgStore *store, const char *cluster, RgDiags *diags)
{
	char *digest = NULL;
	g_auto(Side) side = {0};
	if (!copy_need(store, cluster, COPY_ALL, diags) || !tx_begin_read(store, diags))
		return NULL;
	if (sums_check_all(store, diags) && blobs_check(store, diags) &&
		read_side(store, cluster, &side, diags))
		digest = rows_digest(store, side.id, diags);
	tx_end_read(store);
	return digest;
}

bool rg_transfer_compare(
	RgStore *from, RgStore *seen, const char *cluster, char **digest, RgDiags *diags)
{
	*digest = digest_of(from, cluster, diags);
	g_autofree char *copied = *digest ? digest_of(seen, cluster, diags) : NULL;
	if (copied && g_str_equal(copied, *digest))
		return true;
	if (copied) {
		RgDiag *diag = rg_diags_error(diags, "state.corrupt",
			"cluster %s in the state \"%s\" is not what was copied from \"%s\"",
			cluster, store_shown(seen), store_shown(from));
		rg_diag_hint(diag, "nothing was moved: the old state is used as before");
	}
	g_clear_pointer(digest, g_free);
	return false;
}

/* ---- the end */

static bool set_mark(RgStore *store, const char *cluster, const json_t *mark, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = sql_do(
		store, "UPDATE clusters SET moved = ?2 WHERE id = ?1", diags, INT(id), JSON(mark));
	return tx_end(store, ok, diags);
}

/* Without its mark, the target refuses nothing: its clusters have marks of their own. */
static bool unmark_store(RgStore *store, RgDiags *diags)
{
	return !copy_moved_to(store) || copy_mark_moved(store, NULL, diags);
}

bool rg_transfer_finish(RgStore *from, RgStore *to, const char *cluster, RgDiags *diags)
{
	json_auto_t *was = NULL, *now = json_pack("{s:s}", "to", store_place(to));
	if (!unmark_store(to, diags) || !tx_begin_read(from, diags))
		return false;
	bool ok = moved_read(from, cluster, &was, diags);
	tx_end_read(from);
	return ok && (was || set_mark(from, cluster, now, diags)) &&
	       set_mark(to, cluster, NULL, diags);
}

bool rg_transfer_end(RgStore *from, RgStore *to, RgDiags *diags)
{
	int64_t left = 0;
	if (store_is_elsewhere(from))
		return g_strcmp0(copy_moved_to(from), store_place(to)) == 0 ||
		       copy_mark_moved(from, store_place(to), diags);
	if (!sql_first_int(
		    sql_new(from, "SELECT count(*) FROM clusters WHERE moved IS NULL", diags),
		    &left))
		return false;
	if (left == 0)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.locked",
		"another run has created a cluster in the state \"%s\" in the meantime",
		store_shown(from));
	rg_diag_hint(diag, "run the command again: it moves that one too");
	return false;
}
