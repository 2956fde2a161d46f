/* Private to src/apply: the parts of one running apply. All of it belongs to the caller's thread,
 * except a Job between jobs_submit and jobs_take, which belongs to its worker. */
#pragma once
#include "apply/apply.h"

typedef enum {
	STEP_REPLAYED,
	STEP_REMOVE,
	STEP_CREATE,
	STEP_UPDATE,
	STEP_RECORD,
	STEP_FORGET
} StepKind;

typedef enum {
	STEP_WAITING,  /* something that must come first is not done */
	STEP_READY,    /* may start */
	STEP_RUNNING,  /* its batch is with a worker */
	STEP_STARTING, /* the cloud has it; not ready yet (running, available) */
	STEP_DONE,
	STEP_FAILED,
	STEP_BLOCKED,
} StepState;

/* One call's worth of one change: a replace is a remove step and a create step. */
typedef struct {
	const RgPlanChange *change;
	StepKind kind;
	StepState state;
	unsigned waiting;    /* undone steps that must come first */
	unsigned tries;	     /* creates that ended definitely with nothing, and were begun again */
	GPtrArray *unblocks; /* Step* */
	int64_t started_ms, told_ms;
	bool first, last; /* of its change */
} Step;

/* What is known of a resource while the apply runs: id and computed attributes. */
typedef struct {
	char *id;
	json_t *outputs;
} Live;

typedef enum { JOB_CREATE, JOB_READY, JOB_UPDATE, JOB_REMOVE, JOB_FIND } JobKind;

/* One provider call. `results` and `diags` are filled by the worker. */
typedef struct {
	JobKind kind;
	json_t *input;
	GPtrArray *steps;	 /* Step*, in the order of the input's items; NULL for a replay */
	int64_t row_id;		 /* journal row of a create, else 0 */
	const RgJournalRow *row; /* of a replay or find, else NULL */
	GPtrArray *results;	 /* RgItemResult*; for JOB_FIND: NULL */
	GPtrArray *found;	 /* RgResource*, JOB_FIND */
	bool found_all;		 /* JOB_FIND: the reading was complete */
	RgDiags *diags;
	int64_t started_ms;
} Job;

typedef struct Jobs Jobs;

typedef struct {
	RgProvider *provider;
	RgStore *store;
	const RgSnapshot *snapshot;
	const RgPlan *plan;
	const RgApplyOptions *options;
	RgApplyResult *result;
	RgDiags *diags;
	GPtrArray *steps; /* Step* */
	GHashTable *live; /* address -> Live* */
	GHashTable
		*digests; /* json_t* desired -> char* digest: equal attributes go into one batch */
	GHashTable *recovered; /* addresses that a replay brought back */
	GHashTable *unsettled; /* addresses whose open row could not be cleared up */
	Jobs *jobs;
	unsigned running;	       /* jobs out */
	int64_t poll_ms, poll_wait_ms; /* next look at what is starting, and the wait after it */
	bool polling;
	unsigned ended; /* changes that ended, well or not */
	bool store_failed;
	bool stopping; /* a signal came */
} Apply;

/* steps.c: the graph */
void steps_build(Apply *apply);
void step_done(Apply *apply, Step *step);
void step_fail(Apply *apply, Step *step, const RgDiag *why);
void step_free(Step *step);
bool apply_has_work(const Apply *apply);

/* batch.c: ready steps -> jobs */
void batches_start(Apply *apply);

/* create.c, change.c: what a job needs before, and what its answer means */
Job *create_prepare(Apply *apply, GPtrArray *steps);
void create_finish(Apply *apply, Job *job);
Job *update_prepare(Apply *apply, GPtrArray *steps);
void update_finish(Apply *apply, Job *job);
Job *remove_prepare(Apply *apply, GPtrArray *steps);
void remove_finish(Apply *apply, Job *job);
void local_step(Apply *apply, Step *step);
bool step_is_local(const Step *step);

/* ready.c: polling of what is starting */
void ready_poll(Apply *apply);
void ready_finish(Apply *apply, Job *job);

/* recover.c: open journal rows, before anything else */
void recover_open_rows(Apply *apply);

/* jobs.c: worker threads */
Jobs *jobs_new(RgProvider *provider, unsigned threads);
void jobs_free(Jobs *jobs);
Job *job_new(JobKind kind, json_t *input, GPtrArray *steps);
void job_free(Job *job);
void jobs_submit(Jobs *jobs, Job *job);
/* A finished job, or NULL after wait_ms. The caller owns it again. */
Job *jobs_take(Jobs *jobs, unsigned wait_ms);

/* live.c */
Live *live_get(Apply *apply, const char *address);
void live_set(Apply *apply, const char *address, const char *id, const json_t *outputs);
void live_forget(Apply *apply, const char *address);
void live_load(Apply *apply);
json_t *live_resolve(Apply *apply, const json_t *attrs, RgDiags *diags);

/* events.c */
void emit(Apply *apply, RgEventType type, const Step *step, const RgDiag *diag, const char *text);
void emit_still(Apply *apply);
/* One diagnostic for all steps of a batch that failed alike; returns it. */
RgDiag *batch_diag(Apply *apply, const char *verb, GPtrArray *failed, const RgItemResult *result);
int apply_interrupted(Apply *apply);
