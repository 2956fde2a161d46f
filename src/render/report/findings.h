/* Private to src/render: a plan or a drift report with its diagnostics as one list, worst first.
 * Equal changes of the nodes of a pool are one finding. Texts are clean: one line, valid UTF-8. */
#pragma once
#include "render/report/report.h"

typedef struct {
	RgSeverity severity;
	char *rule;    /* "plan.delete", "drift.missing", or the code of a diagnostic */
	char *subject; /* address, kind and id, or NULL */
	char *message;
	RgSource source; /* line 0: none */
	RgSource related;
	char *related_text;  /* of the place that it conflicts with; NULL: none */
	unsigned count;	     /* resources that it stands for */
	const char *cluster; /* "?" if unknown; borrowed */
	const char *file;    /* file of a finding without a place; may be NULL; borrowed */
} Finding;

/* " (policy: raygpu.yaml:3)", or "", for formats with only one place; g_free it. */
char *related_phrase(const RgDiag *diag);
GPtrArray *findings_of(const RgReports *reports);   /* Finding*, owned */
const char *report_cluster(const RgReport *report); /* "?" if unknown */
/* "Plan: 1 to add, ...", "Drift: ...", or that it failed. */
char *report_headline(const RgReports *reports, const RgReport *report);

/* tally.c: what the overviews of several clusters show for one, or for all */
typedef struct {
	unsigned add, change, replace, destroy; /* drift: missing, changed, 0, unmanaged */
	unsigned import, forget;
	unsigned gpus_before, gpus_after, unpriced;
	int64_t microusd_hour_before, microusd_hour_after;
	RgPriceBasis before, after;
	GHashTable *accelerators; /* char* -> GpuCount*; NULL: not needed */
} Tally;
typedef struct {
	unsigned before, after;
} GpuCount;
void tally_add(Tally *tally, const RgReport *report);
/* What the sum afterwards rests on; without nodes afterwards, the sum before. */
const RgPriceBasis *tally_basis(const Tally *tally);
/* "$1.00 -> $3.00~ + 2 unpriced"; the marks are those of the sum afterwards. g_free it. */
char *tally_cost(const Tally *tally, const char *arrow, RgPriceMarks *seen, const char *today);
/* "changes", "no changes", "drift", "no drift", "failed", "not run" */
const char *report_status(const RgReport *report);
bool report_failed(const RgReport *report);
/* The first error, or NULL. */
const RgDiag *report_error(const RgReport *report);
/* "All 3 clusters: 1 to add, ...", with how many failed. */
char *reports_headline(const RgReports *reports);
