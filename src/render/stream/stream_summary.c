#include "render/report/findings.h"
#include "render/text/paint.h"
#include "render/stream/stream.h"
#include "render/stream/stream_internal.h"

/* The change_summary messages: what a script needs when it reads only the last line. */

json_t *rg_message_summary(const char *operation, const char *text, const RgSummary *summary)
{
	json_t *message = message_new("change_summary", "info", text), *changes = json_object();
	json_object_set_new(changes, "add", json_integer(summary->add));
	json_object_set_new(changes, "change", json_integer(summary->change));
	json_object_set_new(changes, "import", json_integer(summary->import));
	json_object_set_new(changes, "remove", json_integer(summary->remove));
	rg_json_set_str(changes, "operation", operation);
	json_object_set_new(message, "changes", changes);
	return message;
}

json_t *rg_message_reports(const RgReports *reports)
{
	Tally all = {0};
	json_t *own = report_rows(reports);
	for (size_t i = 0; i < reports->n; i++)
		tally_add(&all, &reports->items[i]);
	bool drift = g_str_equal(reports->command, "drift");
	const RgSummary summary = {.add = all.add + all.replace,
		.change = all.change,
		.import = all.import,
		/* what an apply would do about drift: it leaves alone what it does not manage */
		.remove = drift ? 0 : all.destroy + all.replace};
	g_autofree char *text = reports->several ? reports_headline(reports)
						 : report_headline(reports, reports->items);
	json_t *message = rg_message_summary("plan", text, &summary);
	json_object_update(json_object_get(message, "raygpu"), own);
	json_decref(own);
	return message;
}

static char *applied_text(bool destroy, const RgSummary *sum, int exit_code)
{
	g_autofree char *counts = applied_counts(!exit_code && destroy, sum->import, sum->add,
		sum->change, sum->remove, sum->forget);
	return g_strdup_printf("%s Resources: %s.",
		!exit_code	   ? destroy ? "Destroy complete!" : "Apply complete!"
		: exit_code == 130 ? "Apply interrupted."
				   : "Apply incomplete.",
		counts);
}

json_t *rg_message_applied(const char *command, const RgApplied *items, size_t n, int exit_code)
{
	RgSummary sum = {0};
	json_t *rows = json_array();
	for (size_t i = 0; i < n; i++) {
		const RgApplyResult *result = items[i].result;
		sum.add += result ? result->added : 0;
		sum.change += result ? result->changed : 0;
		sum.remove += result ? result->destroyed : 0;
		sum.import += result ? result->imported : 0;
		sum.forget += result ? result->forgotten : 0;
		json_array_append_new(rows, applied_row(&items[i]));
	}
	g_autofree char *text = applied_text(g_str_equal(command, "destroy"), &sum, exit_code);
	json_t *message = rg_message_summary(command, text, &sum);
	rg_message_set(message, "clusters", rows);
	return message;
}
