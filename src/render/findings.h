/* Private to src/render: a plan or a drift report with its diagnostics as one list, worst first.
 * Equal changes of the nodes of a pool are one finding. Texts are clean: one line, valid UTF-8. */
#pragma once
#include "render/report.h"

typedef struct {
	RgSeverity severity;
	char *rule;    /* "plan.delete", "drift.missing", or the code of a diagnostic */
	char *subject; /* address, kind and id, or NULL */
	char *message;
	RgSource source; /* line 0: none */
	unsigned count;	 /* resources that it stands for */
} Finding;

GPtrArray *findings_of(const RgReport *report);	    /* Finding*, owned */
const char *report_cluster(const RgReport *report); /* "?" when it is not known */
/* "Plan: 1 to add, ...", "Drift: ...", or that it failed. */
char *report_headline(const RgReport *report);
