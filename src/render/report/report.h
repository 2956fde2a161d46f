/* What CI systems read of a plan or a drift report: one file per format, all from one list of
 * findings. Pure: strings (g_free) and json_t (new reference), no environment, no clock; secrets
 * redacted. Limits are those of the systems (research: GitHub's documentation and its discussions):
 * 10 annotations of a kind per step, 65,536 characters per comment, of which pipelines need some
 * for what they add, 1 MiB per step summary, 5,000 SARIF results; what does not fit is counted,
 * never silently dropped. */
#pragma once
#include "base/price.h"
#include "render/render.h"

#define RG_REPORT_COMMENT_BYTES 60000
#define RG_REPORT_SUMMARY_BYTES (1024 * 1024)

/* The list of formats: constant and word. Text goes to a terminal, every other format also to a
 * file. */
#define RG_REPORT_LIST(X)                                                                          \
	X(JSON, "json")                                                                            \
	X(MARKDOWN, "markdown")                                                                    \
	X(JUNIT, "junit")                                                                          \
	X(SARIF, "sarif")                                                                          \
	X(GITHUB, "github")

typedef enum {
	RG_REPORT_TEXT,
#define RG_REPORT_CONSTANT(name, word) RG_REPORT_##name,
	RG_REPORT_LIST(RG_REPORT_CONSTANT)
#undef RG_REPORT_CONSTANT
} RgReportFormat;

/* "json|markdown|..." for files, and "text|json|..." for all. */
#define RG_REPORT_WORD(name, word) "|" word
#define RG_REPORT_FORMATS "text" RG_REPORT_LIST(RG_REPORT_WORD)
#define RG_REPORT_FILE_FORMATS (&RG_REPORT_FORMATS[sizeof "text|" - 1])
bool rg_report_format_parse(const char *word, RgReportFormat *format);

/* One cluster of a report. At most one of plan and drift; neither if it failed before, and then
 * `cluster` names it. Borrowed. */
typedef struct {
	const char *cluster, *spec; /* NULL: unknown; spec as the user named it */
	const RgPlan *plan;
	const RgDrift *drift;
	const RgDiags *diags;
	int exit_code;	   /* as if the command had only this cluster */
	bool not_run;	   /* the command ended before it reached this one */
	const char *saved; /* the file of its plan; NULL: none */
} RgReport;

/* A cluster whose spec a branch removed. */
typedef struct {
	const char *cluster, *spec;
	unsigned recorded;     /* resources in the state: what keeps running */
	int64_t microusd_hour; /* of the nodes whose price is known */
	unsigned unpriced;     /* the others */
	RgPriceBasis basis;
} RgRemoved;

/* What one command reports. */
typedef struct {
	const char *command; /* "plan", "drift" */
	const char *version; /* of raygpu */
	const char *today;   /* of RgStyle */
	const RgReport *items;
	size_t n;
	bool several; /* one report on all clusters, even if there is one or none; else n is 1 */
	/* only with `several` */
	const RgDiags *diags;	  /* not about a particular cluster; may be NULL */
	const GPtrArray *skipped; /* char*; may be NULL */
	const GPtrArray *removed; /* RgRemoved*; may be NULL */
	unsigned untouched;
	int exit_code;
} RgReports;

/* A comment for a pull request: a hidden marker "<!-- raygpu:COMMAND:CLUSTER -->" to find it again
 * (CLUSTER is "*" for several), the summary, the pools or clusters, and the folded texts. At most
 * `bytes` long. */
char *rg_report_markdown(const RgReports *reports, size_t bytes);
/* The text, in which no line acts as a command, then annotations as workflow commands. */
char *rg_report_github(const RgReports *reports);
/* One test suite per cluster, one test case per resource: a pending change is skipped, drift and
 * errors fail. */
char *rg_report_junit(const RgReports *reports);
json_t *rg_report_sarif(const RgReports *reports);
/* {"create": N, "update": N, "delete": N} for GitLab's merge request widget. Drift counts as what
 * an apply would do about it. */
json_t *rg_report_gitlab(const RgReports *reports);
/* schemas/plans.schema.json and drifts.schema.json: one document on several clusters. */
json_t *rg_report_json(const RgReports *reports);
/* schemas/failure.schema.json: replaces a document that could not be created. */
json_t *rg_report_failure(const char *command, const RgReport *report);
/* "Cluster NAME (SPEC)", before its text. */
char *rg_report_heading(const RgReport *report, const RgStyle *style);
/* After the texts of several clusters: a row each, the sums, what failed and why. */
char *rg_report_overview(const RgReports *reports, const RgStyle *style);

/* The result of apply or destroy for one cluster. Borrowed. */
typedef struct {
	const char *cluster, *file; /* spec or saved plan; may be NULL */
	/* "done", "nothing-to-do", "partial", "failed", "interrupted", "not-run" */
	const char *outcome;
	const char *run;	     /* NULL: none was started */
	const RgReadyResult *ready;  /* NULL as `result` */
	const RgApplyResult *result; /* NULL: nothing was tried */
	const json_t *changes;	     /* rg_store_run_changes, or NULL */
	const json_t *open;	     /* addresses that the next apply completes or cleans up */
	int exit_code;
} RgApplied;
/* The end of a run on several clusters: a row each. */
char *rg_render_applied(const RgApplied *items, size_t n, const RgStyle *style);
