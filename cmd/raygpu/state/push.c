#include "command.h"
#include "base/caps.h"
#include "transfer/document.h"
#include "state/write.h"
#include <errno.h>
#include <stdio.h>

/* raygpu state push: a document replaces the clusters that it contains in the state. Everything
 * that can be reported without writing is reported before the state is opened for writing. */

/* One byte over the limit shows that there is more. */
static GString *read_document(Context *context, const char *path)
{
	bool is_stdin = g_str_equal(path, "-");
	FILE *stream = is_stdin ? stdin : fopen(path, "rbe");
	g_autoptr(GString) text = g_string_new(NULL);
	char buffer[65536];
	size_t n;
	while (stream && text->len <= RG_CAP_STATE_BYTES &&
		(n = fread(buffer, 1, sizeof buffer, stream)) > 0)
		g_string_append_len(text, buffer, (gssize)n);
	bool ok = stream && !ferror(stream);
	int why = errno;
	if (stream && !is_stdin)
		fclose(stream);
	if (ok)
		return g_steal_pointer(&text);
	rg_diags_error(context->diags, "file.unreadable", "\"%s\" cannot be read: %s", path,
		g_strerror(why));
	return NULL;
}

static json_t *push_load(Context *context, const char *path, bool force)
{
	g_autoptr(GString) text = read_document(context, path);
	const char *shown = g_str_equal(path, "-") ? "<stdin>" : path;
	json_auto_t *document =
		text ? rg_state_document_parse(text->str, text->len, shown, force, context->diags)
		     : NULL;
	if (!document || (context->cluster && !rg_state_document_choose(
						      document, context->cluster, context->diags)))
		return NULL;
	return g_steal_pointer(&document);
}

static bool any_changed(const json_t *reports)
{
	rg_json_foreach (report, reports) {
		if (rg_json_bool(report, "changed", false))
			return true;
	}
	return false;
}

/* Reads only. Its warnings are kept only if nothing is written afterwards. */
static json_t *push_look(Context *context, const json_t *document, const PushOptions *options)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgStore) store = context_open_state(context, RG_STORE_READ, diags);
	json_t *reports = store ? rg_state_push_look(store, document, options->force, diags) : NULL;
	if (!reports || options->dry_run)
		rg_diags_take_all(context->diags, diags);
	return reports;
}

/* In the order of their names, so that two pushes cannot wait for each other. */
static bool lock_all(
	Context *context, const json_t *document, const PushOptions *options, GPtrArray *locks)
{
	g_auto(GStrv) names = rg_state_document_clusters(document);
	for (char **name = names; *name; name++) {
		RgLock *lock = rg_lock_take(context->store, *name, "state push",
			options->lock_timeout_ms, context->diags);
		if (!lock)
			return false;
		g_ptr_array_add(locks, lock);
	}
	return true;
}

static json_t *write_state(
	Context *context, const json_t *document, const PushOptions *options, char **backup)
{
	g_autoptr(GPtrArray) locks =
		g_ptr_array_new_with_free_func((GDestroyNotify)rg_lock_release);
	json_auto_t *meta = note_meta("state push --force");
	context->store = context_open_state(context, RG_STORE_WRITE, context->diags);
	if (!context->store || !lock_all(context, document, options, locks))
		return NULL;
	return rg_state_push(
		context->store, document, options->force, meta, backup, context->diags);
}

static void add_addresses(GString *text, const json_t *report, const char *key, const char *sign)
{
	rg_json_foreach (address, json_object_get(report, key))
		g_string_append_printf(text, "  %s %s\n", sign, json_string_value(address));
}

static void add_report(GString *text, const json_t *report, bool dry_run)
{
	const char *cluster = rg_json_str(report, "cluster", "");
	int64_t serial = rg_json_int(report, "serial", 0);
	size_t added = json_array_size(json_object_get(report, "added"));
	bool is_new = json_is_null(json_object_get(report, "serial_before"));
	if (!rg_json_bool(report, "changed", false)) {
		g_string_append_printf(text,
			"Cluster %s: the state already matches the document, serial "
			"%" G_GINT64_FORMAT ".\n",
			cluster, serial);
		return;
	}
	g_string_append_printf(text, "Cluster %s, ", cluster);
	if (!is_new)
		g_string_append_printf(text, "serial %" G_GINT64_FORMAT " -> ",
			rg_json_int(report, "serial_before", 0));
	g_string_append_printf(text,
		"%s%" G_GINT64_FORMAT ": %zu resource%s %sadded, %zu removed, %zu replaced.\n",
		is_new ? "serial " : "", serial, added, added == 1 ? "" : "s",
		dry_run ? "would be " : "", json_array_size(json_object_get(report, "removed")),
		json_array_size(json_object_get(report, "replaced")));
	if (is_new)
		return;
	add_addresses(text, report, "added", "+");
	add_addresses(text, report, "removed", "-");
	add_addresses(text, report, "replaced", "~");
	int64_t runs = rg_json_int(report, "runs_lost", 0);
	int64_t lifetimes = rg_json_int(report, "lifetimes_lost", 0);
	if (runs || lifetimes)
		g_string_append_printf(text,
			"  Not in the document: %" G_GINT64_FORMAT " run%s of the log, "
			"%" G_GINT64_FORMAT " lifetime%s of nodes (raygpu cost).\n",
			runs, runs == 1 ? "" : "s", lifetimes, lifetimes == 1 ? "" : "s");
}

static void print_reports(const Context *context, json_t *reports, const char *backup, bool dry_run)
{
	g_autoptr(GString) text = g_string_new(NULL);
	if (context->json) {
		json_auto_t *document = json_pack("{s:b, s:s?, s:O}", "dry_run", dry_run, "backup",
			backup, "clusters", reports);
		out_json(document);
		return;
	}
	rg_json_foreach (report, reports)
		add_report(text, report, dry_run);
	if (backup)
		g_string_append_printf(text, "The previous state is kept in %s.\n", backup);
	out_text(text->str);
}

int state_push(Context *context, const char *file, const PushOptions *options)
{
	g_autofree char *backup = NULL;
	json_auto_t *document = push_load(context, file, options->force);
	json_auto_t *reports = document ? push_look(context, document, options) : NULL;
	if (reports && !options->dry_run && any_changed(reports)) {
		json_decref(reports);
		reports = write_state(context, document, options, &backup);
	}
	if (!reports)
		return rg_diags_exit_code(context->diags);
	print_reports(context, reports, backup, options->dry_run);
	return EXIT_FINE;
}
