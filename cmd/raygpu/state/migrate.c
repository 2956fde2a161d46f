#include "command.h"
#include "transfer/migrate.h"
#include "state/write.h"
#include "state/move.h"

/* raygpu state migrate: all clusters of one state move to another (transfer/migrate.h). */

typedef struct {
	Context *context;
	const char *from_place, *to_place;
	RgStore *from, *to;
	GPtrArray *locks;
	unsigned timeout_ms;
} Move;

static void close_both(Move *move)
{
	if (move->locks)
		g_ptr_array_set_size(move->locks, 0);
	g_clear_pointer(&move->to, rg_store_close);
	g_clear_pointer(&move->from, rg_store_close);
}

static bool open_both(Move *move, RgStoreMode mode)
{
	RgDiags *diags = move->context->diags;
	close_both(move);
	const RgObjectStores *stores = context_stores(move->context);
	move->from = rg_store_open_moved(stores, move->from_place, mode, diags);
	if (move->from)
		move->to = rg_store_open_moved(stores, move->to_place, mode, diags);
	return move->to != NULL;
}

static bool lock_one(Move *move, RgStore *store, const char *cluster)
{
	RgLock *lock = rg_lock_take(
		store, cluster, "state migrate", move->timeout_ms, move->context->diags);
	if (lock)
		g_ptr_array_add(move->locks, lock);
	return lock != NULL;
}

static const char *cluster_of(const json_t *report)
{
	return rg_json_str(report, "cluster", "");
}

static bool has_step(const json_t *report, const char *step)
{
	return g_str_equal(rg_json_str(report, "step", ""), step);
}

static bool lock_both(Move *move, const json_t *reports)
{
	rg_json_foreach (report, reports) {
		if (!lock_one(move, move->from, cluster_of(report)) ||
			!lock_one(move, move->to, cluster_of(report)))
			return false;
	}
	return true;
}

static bool copy_all(const Move *move, const json_t *reports)
{
	rg_json_foreach (report, reports) {
		if (has_step(report, "copy") && !rg_transfer_copy(move->from, move->to,
							cluster_of(report), move->context->diags))
			return false;
	}
	return true;
}

/* With a handle that has not seen what was written. */
static bool compare_all(const Move *move, json_t *reports)
{
	RgDiags *diags = move->context->diags;
	g_autoptr(RgStore) seen = rg_store_open_moved(
		context_stores(move->context), move->to_place, RG_STORE_READ, diags);
	rg_json_foreach (report, reports) {
		g_autofree char *digest = NULL;
		if (has_step(report, "done"))
			continue;
		if (!seen ||
			!rg_transfer_compare(move->from, seen, cluster_of(report), &digest, diags))
			return false;
		rg_json_set_str(report, "digest", digest);
	}
	return true;
}

static bool finish_all(const Move *move, const json_t *reports)
{
	rg_json_foreach (report, reports) {
		if (!has_step(report, "done") && !rg_transfer_finish(move->from, move->to,
							 cluster_of(report), move->context->diags))
			return false;
	}
	return rg_transfer_end(move->from, move->to, move->context->diags);
}

/* `seen`: what a look without locks found. */
static json_t *migrate(Move *move, const json_t *seen)
{
	if (!open_both(move, RG_STORE_WRITE) || !lock_both(move, seen))
		return NULL;
	json_auto_t *reports = rg_transfer_look(move->from, move->to, move->context->diags);
	if (!reports)
		return NULL;
	if (json_array_size(reports) != json_array_size(seen)) {
		RgDiag *diag = rg_diags_error(move->context->diags, "state.locked",
			"another run has created a cluster in the state in the meantime");
		rg_diag_hint(diag, "run the command again");
		return NULL;
	}
	if (!copy_all(move, reports) || !compare_all(move, reports) || !finish_all(move, reports))
		return NULL;
	return g_steal_pointer(&reports);
}

static void add_count(
	GString *text, const json_t *report, const char *key, const char *noun, const char *after)
{
	int64_t n = rg_json_int(report, key, 0);
	g_string_append_printf(
		text, "%" G_GINT64_FORMAT " %s%s%s", n, noun, n == 1 ? "" : "s", after);
}

static void add_report(GString *text, const json_t *report, bool dry_run)
{
	const char *digest = rg_json_str(report, "digest", NULL);
	g_string_append_printf(text, "Cluster %s, serial %" G_GINT64_FORMAT ": ",
		cluster_of(report), rg_json_int(report, "serial", 0));
	if (has_step(report, "done")) {
		g_string_append(text, "it was moved before.\n");
		return;
	}
	add_count(text, report, "records", "record", ", ");
	add_count(text, report, "open", "open creation", " and ");
	add_count(text, report, "runs", "run", dry_run ? " would be moved" : " moved");
	if (has_step(report, "complete"))
		g_string_append(text, " (an interrupted move)");
	if (digest)
		g_string_append_printf(text, ", SHA-256 %.16s in both", digest);
	g_string_append(text, ".\n");
}

static void print_reports(const Move *move, json_t *reports, bool dry_run)
{
	g_autofree char *from = rg_store_shown(move->from_place);
	g_autofree char *to = rg_store_shown(move->to_place);
	g_autoptr(GString) text = g_string_new(NULL);
	if (move->context->json) {
		json_auto_t *document = json_pack("{s:b, s:s, s:s, s:O}", "dry_run", dry_run,
			"from", from, "to", to, "clusters", reports);
		out_json(document);
		return;
	}
	rg_json_foreach (report, reports)
		add_report(text, report, dry_run);
	if (!dry_run)
		g_string_append_printf(text,
			"The state \"%s\" is marked as moved. Use \"%s\" from now on: --state, "
			"RAYGPU_STATE, or `state` in raygpu.yaml.\n",
			from, to);
	out_text(text->str);
}

int state_migrate(
	Context *context, const char *from, const char *to, bool dry_run, unsigned timeout_ms)
{
	g_autoptr(GPtrArray) locks =
		g_ptr_array_new_with_free_func((GDestroyNotify)rg_lock_release);
	Move move = {.context = context,
		.from_place = from,
		.to_place = to,
		.locks = locks,
		.timeout_ms = timeout_ms};
	json_auto_t *reports = open_both(&move, RG_STORE_READ)
				       ? rg_transfer_look(move.from, move.to, context->diags)
				       : NULL;
	if (reports && !dry_run) {
		json_t *moved = migrate(&move, reports);
		json_decref(reports);
		reports = moved;
	}
	close_both(&move);
	if (!reports)
		return rg_diags_exit_code(context->diags);
	print_reports(&move, reports, dry_run);
	return EXIT_FINE;
}
