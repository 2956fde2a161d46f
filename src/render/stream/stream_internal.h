/* Private to src/render: what the files of the stream share with those of the reports. */
#pragma once
#include "render/report/report.h"

/* stream.c */
json_t *message_new(const char *type, const char *level, const char *text);
/* The name of a file, which need not be UTF-8; NULL becomes null. */
void message_set_name(json_t *object, const char *key, const char *name);
/* several.c: the document on several clusters without their plans and diagnostics; `clusters` has
 * the rows. */
json_t *report_rows(const RgReports *reports);
/* applied.c */
json_t *applied_row(const RgApplied *item);
