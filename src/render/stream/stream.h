/* The messages of plan, apply, destroy and drift with --json: one JSON object per line, as things
 * happen. Form of Terraform's "Machine-Readable UI" (raygpu-events(5), schemas/events.schema.json);
 * what Terraform does not have is under the key "raygpu", or in a type whose name begins with
 * "raygpu_". Pure: each function returns a new message with "@timestamp": null, which the caller
 * sets. Secrets are redacted. */
#pragma once
#include "render/report/report.h"

#define RG_STREAM_UI "1.2" /* Terraform's version of the form */

json_t *rg_message_version(const char *command, const char *version);
json_t *rg_message_log(const char *text);
/* One of rg_render_diags_json: a "diagnostic", or for a note, which Terraform does not know, a
 * "log". */
json_t *rg_message_diag(json_t *row);
/* NULL: nothing is done. */
json_t *rg_message_planned(const RgPlanChange *change);
/* What a plan saw changed outside; NULL: nothing. */
json_t *rg_message_drifted(const RgPlanChange *change);
json_t *rg_message_drift(const RgDriftItem *item);
/* NULL: it is about no change (RG_EVENT_TIME). */
json_t *rg_message_event(const RgEvent *event);
json_t *rg_message_ready(const RgReadyEvent *event);
/* `outputs` of rg_reach_outputs; `secret`: one whose value is not shown, or NULL. */
json_t *rg_message_outputs(const json_t *outputs, const char *secret);

/* change_summary. `operation`: "plan", "apply", "destroy". */
typedef struct {
	unsigned add, change, remove, import, forget;
} RgSummary;
json_t *rg_message_summary(const char *operation, const char *text, const RgSummary *summary);
/* Of plans or drift, and of what was done: a row for each cluster. */
json_t *rg_message_reports(const RgReports *reports);
json_t *rg_message_applied(const char *command, const RgApplied *items, size_t n, int exit_code);
/* Sets a member of the message's "raygpu"; steals `value`. */
void rg_message_set(json_t *message, const char *key, json_t *value);
