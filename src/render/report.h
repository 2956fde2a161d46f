/* What CI systems read of a plan or a drift report: one file a format, all from one list of
 * findings. Pure: strings (g_free) and json_t (new reference), no environment, no clock; secrets
 * redacted. Limits are the readers' own (research: GitHub's documentation and its discussions):
 * 10 annotations of a kind a step, 65,535 characters a comment, 1 MiB a step summary, 5,000 SARIF
 * results; what does not fit is counted, never dropped without a word. */
#pragma once
#include "render/render.h"

#define RG_REPORT_COMMENT_BYTES 65535
#define RG_REPORT_SUMMARY_BYTES (1024 * 1024)

typedef enum {
	RG_REPORT_TEXT,
	RG_REPORT_JSON,
	RG_REPORT_MARKDOWN,
	RG_REPORT_JUNIT,
	RG_REPORT_SARIF,
	RG_REPORT_GITHUB
} RgReportFormat;

/* "text|json|markdown|junit|sarif|github" */
#define RG_REPORT_FORMATS "text|json|markdown|junit|sarif|github"
bool rg_report_format_parse(const char *word, RgReportFormat *format);

/* At most one of plan and drift; neither when it failed before there was one. Borrowed. */
typedef struct {
	const char *command; /* "plan", "drift" */
	const char *version; /* of raygpu */
	const RgPlan *plan;
	const RgDrift *drift;
	const RgDiags *diags;
} RgReport;

/* A comment for a pull request: a hidden marker "<!-- raygpu:COMMAND:CLUSTER -->" to find it again,
 * the summary, the pools, and the text folded away. At most `bytes` long. */
char *rg_report_markdown(const RgReport *report, size_t bytes);
/* The text, in which no line is taken for a command, then annotations as workflow commands. */
char *rg_report_github(const RgReport *report);
/* One test case a resource: a pending change is skipped, drift and errors fail. */
char *rg_report_junit(const RgReport *report);
json_t *rg_report_sarif(const RgReport *report);
/* {"create": N, "update": N, "delete": N} of GitLab's merge request widget. Drift counts as what an
 * apply would do about it. */
json_t *rg_report_gitlab(const RgReport *report);
