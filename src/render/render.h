/* What people and CI read: texts and JSON of diagnostics, plans, drift, state; live progress. Pure:
 * returns strings (g_free) or json_t (new reference); cmd prints them. Terraform's phrases are kept
 * byte for byte where tools parse them (research: tfcmt, Atlantis): "Plan: N to add, ...", "No
 * changes. Your infrastructure matches the configuration.", "# ADDR will be created", "Apply
 * complete! Resources: ...", "Error: ". Texts fit `width` columns as far as words allow. */
#pragma once
#include "diff/drift.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "ready/view.h"

typedef enum {
	RG_DETAIL_NORMAL,  /* what resources have in common is shown once; constants are omitted */
	RG_DETAIL_SUMMARY, /* pools, cost and important notes, without resources */
	RG_DETAIL_VERBOSE, /* every attribute, and less important details */
} RgDetail;

typedef struct {
	bool color;
	unsigned width;	   /* columns; 0 = 80 */
	RgDetail detail;   /* of plans */
	const char *today; /* "2026-11-22": marks prices older than a year; NULL: none */
} RgStyle;

/* Makes a text safe for a terminal or the log of a CI job: valid UTF-8, no control characters
 * except line feeds, tabs and our colours, no line that a CI system executes (base/disarm.h). All
 * texts of this folder are like that. */
char *rg_render_printable(const char *text);
/* The same for a name inside a line: without line feeds, tabs and colours. NULL gives NULL. */
char *rg_render_name(const char *text);
/* The report of `raygpu doctor`, a document of schemas/doctor.schema.json. */
char *rg_render_doctor(const json_t *document, const RgStyle *style);
/* A paragraph wrapped to the width, every line after `indent`. */
char *rg_render_wrapped(const char *text, const char *indent, const RgStyle *style);

/* "Error: summary" blocks with file:line:column, the line, a caret, detail, hint, code. */
char *rg_render_diags(const RgDiags *diags, const RgStyle *style);
/* Array in the form of `terraform validate -json` diagnostics, plus "code" and "hint". */
json_t *rg_render_diags_json(const RgDiags *diags);

/* The plan as people read it: the table of pools (nodes, GPUs, cost before and after) and important
 * notes, then drift and the changes (nodes of a pool with the same change share one block; every
 * address is on a line of its own that tools can parse), the summary last. Without changes only the
 * summary, unless verbose. */
char *rg_render_plan(const RgPlan *plan, const RgStyle *style);
/* "No changes. ..." or "Plan: N to add, N to change, N to destroy." */
char *rg_render_plan_summary(const RgPlan *plan);

/* DOT: the changes and their order. */
char *rg_render_graph(const RgPlan *plan);

char *rg_render_drift(const RgDrift *drift, const RgStyle *style);
json_t *rg_render_drift_json(const RgDrift *drift);
json_t *rg_render_drift_item(const RgDriftItem *item); /* one row of it */

/* What `raygpu status` knows of one cluster. Borrowed. */
typedef struct {
	const RgPlan *plan;
	const RgDrift *drift;
	bool reports;		/* rg_ready_reports */
	const json_t *last_run; /* as rg_store_runs has it; NULL: none */
} RgStatus;
/* An item of `clusters` in schemas/status.schema.json, and that as people read it. */
json_t *rg_render_status_json(const RgStatus *status);
char *rg_render_status(const json_t *document, const RgStyle *style);

/* State: `show` without a plan, `state list`, `state show`. Sensitive values are never shown. */
char *rg_render_state(const char *cluster, const RgResourceSet *recorded, const RgSchema *schema,
	const RgStyle *style);
/* The leases that are recorded (intent/lease.h), a comment line each; "" without any. */
char *rg_render_recorded_leases(const char *cluster, const json_t *leases, const RgStyle *style);
/* With the keys of `terraform show -json`, format 1.0. */
json_t *rg_render_state_json(const RgResourceSet *recorded, const RgSchema *schema);
char *rg_render_resource(const RgResource *resource, const RgSchema *schema, const RgStyle *style);
/* One row of rg_render_state_json. */
json_t *rg_render_resource_json(const RgResource *resource, const RgSchema *schema);

/* One run as rg_store_runs returns it; `changes` (rg_store_run_changes) may be NULL.
 * `cluster_width`: columns of the clusters' names, 0: omit them. */
char *rg_render_run(
	const json_t *run, const json_t *changes, unsigned cluster_width, const RgStyle *style);

/* "Apply complete! Resources: 1 added, 0 changed, 0 destroyed." and what is open or failed. */
char *rg_render_apply_result(const RgApplyResult *result, const RgReadyResult *ready, bool destroy,
	const RgStyle *style);

/* Progress of an apply. On a terminal: one live line per pool, redrawn in place, and a line for
 * each failure; otherwise plain lines: "cloud.node.train[0-3]: Creating...", "cloud.node.train[0]:
 * Creation complete after 3s [id=...]". `write` gets whole pieces. */
typedef struct RgProgress RgProgress;
typedef void (*RgWrite)(void *data, const char *text);
/* Its line, as it is printed elsewhere than on a terminal. */
char *rg_render_event(const RgEvent *event);
/* "train 3 of 4 joined (1 booting), ..." */
char *rg_render_ready(const RgReadyEvent *event);
RgProgress *rg_progress_new(
	const RgPlan *plan, bool live, const RgStyle *style, RgWrite write, void *data);
void rg_progress_event(RgProgress *progress, const RgEvent *event);
/* While it waits for nodes to join Ray: the pools of each look, in the live line, or as a line
 * where something changed. */
void rg_progress_ready(RgProgress *progress, const RgReadyEvent *event);
/* Redraws, erases nothing that is final; called once at the end. */
void rg_progress_finish(RgProgress *progress);
void rg_progress_free(RgProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgProgress, rg_progress_free)
