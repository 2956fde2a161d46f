#include "print/stream.h"
#include "base/disarm.h"
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --format, --json-into and --report-gitlab of plan, drift and show PLANFILE: what is printed and
 * what is written to files in the same run. */

/* "junit=FILE": the format and its file; false if it is anything else, or text without a file. */
static bool split_report(const char *word, RgReportFormat *format, const char **path)
{
	const char *mark = strchr(word, '=');
	g_autofree char *name = mark ? g_strndup(word, (gsize)(mark - word)) : NULL;
	*path = mark ? mark + 1 : NULL;
	*format = RG_REPORT_TEXT;
	return mark && mark[1] && rg_report_format_parse(name, format) && *format != RG_REPORT_TEXT;
}

bool report_options_check(Context *context, ReportOptions *options)
{
	bool streams = context->streams;
	if (options->format && !rg_report_format_parse(options->format, &options->kind)) {
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"unknown format \"%s\"", options->format);
		rg_diag_hint(diag, "--format requires one of " RG_REPORT_FORMATS);
		return false;
	}
	for (guint i = 0; options->reports && options->reports[i]; i++) {
		RgReportFormat format;
		const char *path;
		if (split_report(options->reports[i], &format, &path))
			continue;
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"--report requires FORMAT=FILE, not \"%s\"", options->reports[i]);
		rg_diag_hint(diag, "FORMAT is one of %s", RG_REPORT_FILE_FORMATS);
		return false;
	}
	if (context->json && options->format &&
		(context->streams || options->kind != RG_REPORT_JSON)) {
		rg_diags_error(context->diags, "usage.conflict",
			"give --json or --format %s, not both", options->format);
		return false;
	}
	if (context->streams && !options->format)
		return stream_open(context, options->json_into);
	context->streams = false; /* but a document */
	if (context->json)
		options->kind = RG_REPORT_JSON;
	context->json = options->kind == RG_REPORT_JSON;
	return !streams || stream_open(context, options->json_into);
}

void report_options_clear(ReportOptions *options)
{
	g_free(options->format);
	g_free(options->json_into);
	g_free(options->gitlab);
	g_strfreev(options->reports);
}

/* Completely or not at all. */
static bool write_json(Context *context, const char *path, const json_t *document, int mode)
{
	char *text = json_dumps(document, JSON_INDENT(2));
	g_autoptr(GError) error = NULL;
	bool ok = g_file_set_contents_full(
		path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, mode, &error);
	free(text);
	if (!ok)
		report_unwritable(context, path, error);
	return ok;
}

/* A plan that must not be applied shows why. */
static json_t *plan_document(const RgReport *report)
{
	json_t *document = rg_plan_to_json(report->plan);
	if (report->plan->errored)
		json_object_set_new(document, "diagnostics", rg_render_diags_json(report->diags));
	return document;
}

static json_t *document_of(const RgReports *reports)
{
	const RgReport *report = reports->items;
	return reports->several			    ? rg_report_json(reports)
	       : report->drift			    ? rg_render_drift_json(report->drift)
	       : report->plan			    ? plan_document(report)
	       : rg_diags_has_errors(report->diags) ? rg_report_failure(reports->command, report)
						    : NULL;
}

/* GitHub shows the file in GITHUB_STEP_SUMMARY below the step, and rejects it above 1 MiB: output
 * of earlier commands of the step counts too. */
static bool add_step_summary(Context *context, const RgReports *reports)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");
	if (!path || !*path)
		return true;
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	struct stat now;
	if (fd < 0 || fstat(fd, &now)) {
		rg_diags_error(context->diags, "file.unreadable",
			"cannot write the step summary \"%s\": %s", path, g_strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	size_t taken = (size_t)now.st_size;
	bool ok = true;
	if (taken + 4096 < RG_REPORT_SUMMARY_BYTES) {
		g_autofree char *text =
			rg_report_markdown(reports, RG_REPORT_SUMMARY_BYTES - taken);
		ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	}
	close(fd);
	if (!ok)
		rg_diags_error(context->diags, "file.unreadable",
			"cannot write the step summary \"%s\"", path);
	return ok;
}

/* With several clusters, each was printed when it was ready (several.c). */
static void print_text(Context *context, const RgReports *reports)
{
	const RgReport *report = reports->items;
	g_autofree char *text = reports->several ? rg_report_overview(reports, &context->out)
				: report->drift	 ? rg_render_drift(report->drift, &context->out)
				: report->plan	 ? rg_render_plan(report->plan, &context->out)
						 : g_strdup("");
	out_text(text);
}

/* In the form for a file or standard output; NULL: the format has nothing. */
static char *format_report(const RgReports *reports, RgReportFormat format)
{
	json_auto_t *document = NULL;
	switch (format) {
	case RG_REPORT_TEXT:
		break;
	case RG_REPORT_JSON:
		document = document_of(reports);
		break;
	case RG_REPORT_SARIF:
		document = rg_report_sarif(reports);
		break;
	case RG_REPORT_MARKDOWN:
		return rg_report_markdown(reports, RG_REPORT_COMMENT_BYTES);
	case RG_REPORT_JUNIT:
		return rg_report_junit(reports);
	case RG_REPORT_GITHUB:
		return rg_report_github(reports);
	}
	if (!document)
		return NULL;
	char *dumped = json_dumps(document, JSON_INDENT(2));
	g_autofree char *safe = rg_disarm_json(dumped);
	free(dumped);
	return g_strconcat(safe, "\n", NULL);
}

static bool print_report(Context *context, const RgReports *reports, RgReportFormat format)
{
	if (format == RG_REPORT_TEXT) {
		print_text(context, reports);
		return true;
	}
	g_autofree char *text = format_report(reports, format);
	if (text && format == RG_REPORT_JSON) {
		out_document(g_strchomp(text));
		return true;
	}
	bool prose = format == RG_REPORT_MARKDOWN || format == RG_REPORT_JUNIT;
	if (text && prose)
		out_text(text);
	else if (text)
		out_script(text);
	return format != RG_REPORT_GITHUB || add_step_summary(context, reports);
}

static bool write_reports(Context *context, const ReportOptions *options, const RgReports *reports)
{
	bool ok = true;
	for (guint i = 0; options->reports && options->reports[i]; i++) {
		RgReportFormat format;
		const char *path;
		g_autoptr(GError) error = NULL;
		split_report(options->reports[i], &format, &path); /* checked with the options */
		g_autofree char *text = format_report(reports, format);
		if (!text || g_file_set_contents_full(
				     path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error))
			continue;
		report_unwritable(context, path, error);
		ok = false;
	}
	return ok;
}

/* GitHub's format contains the diagnostics, in a form in which no line is a command: they are not
 * printed again. */
bool reports_write(Context *context, const ReportOptions *options, const RgReports *reports)
{
	RgDiags *told = context->diags;
	context->diags = rg_diags_new();
	if (!reports->several)
		stream_report(context, reports->items);
	if (context->stream)
		stream_last(context, rg_message_reports(reports));
	bool ok = stream_shown(context) || print_report(context, reports, options->kind);
	ok = write_reports(context, options, reports) && ok;
	if (options->json_into && !context->stream) {
		json_auto_t *document = document_of(reports);
		ok = (!document || write_json(context, options->json_into, document, 0600)) && ok;
	}
	const RgReport *report = reports->items;
	if (options->gitlab && (reports->several || report->plan || report->drift)) {
		json_auto_t *counts = rg_report_gitlab(reports);
		ok = write_json(context, options->gitlab, counts, 0644) && ok;
	}
	g_autoptr(RgDiags) failures = context->diags;
	context->diags = told;
	if (options->kind == RG_REPORT_GITHUB) {
		stream_diags(context, context->diags);
		rg_diags_clear(context->diags);
	}
	rg_diags_take_all(context->diags, failures);
	return ok;
}

bool report_write(Context *context, const ReportOptions *options, const RgReport *one)
{
	RgReport report = *one;
	/* a failed cluster is named by its spec, so that the comment of an earlier run is found
	 * again */
	g_autofree char *cluster = one->spec && !one->plan && !one->drift
					   ? rg_specs_name(one->spec, context->ref)
					   : NULL;
	report.cluster = cluster      ? cluster
			 : one->plan  ? one->plan->cluster
			 : one->drift ? one->drift->cluster
				      : context->cluster;
	report.diags = context->diags;
	const RgReports reports = {.command = one->plan ? "plan" : context->command->name,
		.version = RG_VERSION,
		.today = context->out.today,
		.items = &report,
		.n = 1};
	return reports_write(context, options, &reports);
}
