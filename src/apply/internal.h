/* Private to src/apply: the parts of one running apply. All of it belongs to the caller's thread,
 * except a Job between jobs_submit and jobs_take, which belongs to its worker.
 * The files call each other downwards only:
 *   apply
 *   create, change, recover
 *   gang, local, failures, search
 *   settle
 *   candidates
 *   poll
 *   items
 *   steps
 *   batch, events, jobs
 *   live */
#pragma once
#include "apply/apply.h"
#include "state/write.h"

#define RECORDS_MAX 500 /* outcomes per transaction where the cloud is not called */

typedef enum {
	STEP_REPLAYED,
	STEP_REMOVE,
	STEP_CREATE,
	STEP_UPDATE,
	STEP_RECORD,
	STEP_FORGET,
	STEP_LOOK /* ready, again: what the cloud shows only now (settle.c) */
} StepKind;

typedef enum {
	STEP_WAITING, /* a step that must come first is not done */
	STEP_READY,   /* may start: in `local` or in a group of `ready` */
	STEP_RUNNING, /* its batch is with a worker */
	STEP_POLLED,  /* the cloud works on it: it starts, or its update or removal is pending */
	STEP_DONE,
	STEP_FAILED,
	STEP_BLOCKED,
	STEP_STATES
} StepState;

/* One change's part of one call: a replace is a remove step and a create step. */
typedef struct {
	const RgPlanChange *change;
	StepKind kind;
	StepState state;     /* only step_set changes it */
	unsigned waiting;    /* steps that must come first and are not done */
	unsigned tries;	     /* creates that definitely ended without a result, and were retried */
	GPtrArray *unblocks; /* Step* */
	int64_t started_ms, polled_ms, told_ms;
	bool last;	   /* of its change */
	struct Gang *gang; /* of a create in a gang pool, else NULL */
	char *former; /* of a create that comes before the removal of what it replaces: the address
		       * where that makes room */
	bool made_room;		  /* it is recorded there */
	struct Choice *choice;	  /* of a create in a pool that has candidates, else NULL */
	const char *refused;	  /* why the cloud has none of its candidate, until it moves on */
	bool parked;		  /* waits for the next round of its choice */
	bool held;		  /* ready, but not before all of its gang are */
	bool in_doubt;		  /* failed, but it may be there */
	bool late;		  /* failed, because the cloud did not finish in the kind's time */
	char *why;		  /* it is not done, by the last look; or NULL */
	bool queued;		  /* it ended while it waits in a queue of the cloud; why: where */
	bool fault;		  /* it has a code of the cloud */
	bool gives_back;	  /* removes what this run created and nothing uses */
	bool remakes;		  /* it is created again, where what needs it went */
	json_t *changed;	  /* of an update of what the cloud did not take over: names */
	const RgPlanChange *user; /* of a look, and of its update: the resource that uses it */
} Step;

/* What is known about a resource while the apply runs. */
typedef struct {
	char *id;
	json_t *attrs;	  /* attributes of its create or update in this run, references resolved, or
			     NULL */
	json_t *outputs;  /* computed attributes */
	bool unsaved;	  /* the state does not have these outputs yet */
	char *operation;  /* of the last answer, or NULL */
	json_t *observed; /* what the cloud last reported; NULL: nothing */
	json_t *replayed; /* attributes of the open row that created it, with expressions, or NULL
			   */
} Live;

typedef enum { JOB_CREATE, JOB_READY, JOB_UPDATE, JOB_REMOVE, JOB_FIND } JobKind;

typedef struct Choice Choice;	  /* candidates.c: what may be asked for, of one pool */
typedef struct Gang Gang;	  /* gang.c: creates that come all or none */
typedef struct Recovery Recovery; /* recover.c: an open row that is being cleared up */
typedef struct Poll Poll;	  /* poll.c: what the cloud works on, of one kind and call */
typedef struct Group Group;	  /* batch.c: ready steps that may share a call */

/* One provider call. `results`, `found` and `diags` are filled by the worker. */
typedef struct {
	JobKind kind;
	json_t *input;
	GPtrArray *steps;   /* Step*, in the order of the input's items; NULL for a recovery */
	int64_t row_id;	    /* journal row of a create, else 0 */
	Recovery *recovery; /* of a replay or find, else NULL */
	Poll *poll;	    /* of a poll, else NULL */
	GPtrArray *results; /* RgItemResult*; for JOB_FIND: NULL */
	GPtrArray *found;   /* RgResource*, JOB_FIND */
	bool found_all;	    /* JOB_FIND: the read was complete */
	bool recorded;	    /* the state has what became of it */
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
	GHashTable *renamed; /* char* address in open rows -> char* the plan's; NULL: none */
	RgApplyResult *result;
	RgDiags *diags;
	GPtrArray *steps; /* Step* */
	unsigned counts[STEP_STATES];
	GHashTable *changes; /* address -> RgPlanChange* */
	GHashTable *live;    /* address -> Live* */
	GHashTable *digests; /* json_t* desired -> char* digest */
	GQueue local;	     /* ready steps that need no call */
	GHashTable *groups;  /* char* key -> Group* */
	GQueue ready;	     /* Group* that hold ready steps; the next one gets the next call */
	GPtrArray *polls;    /* Poll*, one per kind and call */
	GPtrArray *gangs;    /* Gang*, one per gang pool that lacks nodes */
	GPtrArray *choices;  /* Choice*, one per pool that has candidates */
	GPtrArray *moved; /* RgPlanChange* of steps whose candidate or address is not the plan's */
	json_t *fitted;	  /* the plan's, with these moves; NULL before the first */
	unsigned parked;  /* steps that wait for another round */
	int64_t begun_ms, more; /* micro-USD an hour over what was planned */
	/* open rows: what became of their addresses */
	GHashTable *unsettled; /* char* -> RgDiag*: its fate is open, nothing may be done to it */
	GPtrArray *open;       /* char*: left to the journal by this run */
	Jobs *jobs;
	unsigned running; /* running jobs */
	unsigned looking; /* those of them that poll */
	int64_t still_ms; /* when emit_still last ran */
	unsigned ended;	  /* changes that ended, successfully or not */
	bool store_failed;
	const RgDiag *unwritten; /* why the state does not have the last answers */
	bool stopping;		 /* a signal arrived */
} Apply;

/* steps.c: the graph */
void steps_build(Apply *apply);
void step_wait_for(Step *later, Step *earlier); /* either may be NULL */
/* Those without dependencies become ready. */
void steps_begin(Apply *apply);
void step_set(Apply *apply, Step *step, StepState state);
void step_done(Apply *apply, Step *step);
/* One that it waited for no longer keeps it. */
void step_release(Apply *apply, Step *later);
/* What `was` made is removed and made as `as` says, before `dependent` begins. */
void step_make_again(
	Apply *apply, Step *dependent, const RgPlanChange *was, const RgPlanChange *as);
void step_fail(Apply *apply, Step *step, const RgDiag *why);
/* Neither it nor its dependents are tried, because `culprit` failed. */
void step_block(Apply *apply, Step *step, const char *culprit);
void step_block_dependents(Apply *apply, const Step *failed, const char *culprit);
/* A step that the plan does not have; it waits. */
Step *step_extra(Apply *apply, const RgPlanChange *change, StepKind kind);
/* A new step that removes what `made` created. */
Step *step_give_back(Apply *apply, const Step *made);
void step_free(Step *step);
/* Steps that are left although nothing stopped the run: they wait for each other. */
void steps_report_stuck(Apply *apply);

/* gang.c: pools whose new nodes are all or none */
void gangs_build(Apply *apply);
/* Starts those of which all members are ready; ends those of which one failed. */
void gangs_look(Apply *apply);
bool gang_is_failed(const Step *step);
/* When it can't be completed, what it has goes. */
bool gang_is_given_back(const Step *step);
/* Its call accepts no fewer than all. */
bool gang_takes_all(const Apply *apply, const Step *step);
/* Steps* of which the candidate was refused, or ended: what was got leaves first, then all of them
 * go to the next one together. false: they are of no gang. */
bool gang_moves(Apply *apply, const GPtrArray *refused);
/* Its node is there, but its gang is giving back: begins the removal. false: it may stay. */
bool gang_gives_back(Apply *apply, Step *step);

/* candidates.c: where the cloud has no capacity or quota for a pool's nodes */
void candidates_build(Apply *apply);
void moved_free(void *change);
/* All created nodes of its pool are of one candidate. */
bool candidates_are_whole(const Step *step);
/* Notes what the cloud refused. True when there is something else to ask for, now or in a later
 * round: the step, which runs, then goes to candidates_move. */
bool candidates_refused(Apply *apply, Step *step, const RgItemResult *result);
/* Steps* of one pool that were refused, which become ready for the next candidate or wait for
 * another round. Those that would ask in vain are added. */
void candidates_move(Apply *apply, GPtrArray *steps);
/* Begins the rounds that are due. */
void candidates_look(Apply *apply);
/* The cloud has accepted the create. */
void candidates_accepted(Apply *apply, const Step *step);
/* Its candidate is the last one, and nothing is waited for. */
bool candidates_end(const Apply *apply, const Step *step);
/* "p4d.24xlarge in east-1a (InsufficientInstanceCapacity), ...": g_free; NULL: nothing. */
char *candidates_tried(const Apply *apply, const char *pool);
/* "reservation cr-1 starts at TIME", where that is why the step's nodes can't be had yet; NULL;
 * g_free it. */
char *candidates_closed(const Step *step);

/* batch.c: ready steps, those of one call together */
void batches_add(Apply *apply, Step *step);
/* Takes a ready step out again. */
void batches_drop(Apply *apply, Step *step);
/* "0-3,7": the index mark that the resources of one create have in common; g_free. */
char *indexes_text(const GPtrArray *steps);
/* Steps* of the next call, perhaps none; free. */
GPtrArray *batch_take(Apply *apply);
void group_free(Group *group);

/* create.c, change.c: preparing a job, which may be submitted when the intents are durable; writing
 * its answer to the state (false: it could not be written); and handling the answer, when that is
 * durable (Job.recorded). */
Job *create_prepare(Apply *apply, GPtrArray *steps);
/* The batch moves records, which is durable before its intents are written. */
bool create_makes_room(const GPtrArray *steps);
bool create_record(Apply *apply, const Job *job);
void create_finish(Apply *apply, Job *job);
/* `verb`: JOB_UPDATE or JOB_REMOVE. NULL: none of the steps can be made, they have failed. */
Job *change_prepare(Apply *apply, JobKind verb, const GPtrArray *steps);
bool update_record(Apply *apply, const Job *job);
void update_finish(Apply *apply, Job *job);
bool remove_record(Apply *apply, const Job *job);
void remove_finish(Apply *apply, Job *job);
bool ready_record(Apply *apply, const Job *job);
void ready_finish(Apply *apply, Job *job);

/* items.c: a call about existing resources (provider.h). Steps for which no item can be built have
 * failed and are left out. */
Job *items_job(Apply *apply, JobKind verb, const GPtrArray *steps);

/* local.c: steps that change only the state */
void local_steps(Apply *apply);

/* settle.c: what the cloud did not take over from a create or update */
/* The resource of the step was created or updated; it starts. */
void settle_begin(Apply *apply, Step *step);
/* It is ready, and `result` says so: the step is done. */
void settle_ready(Apply *apply, Step *step, const RgItemResult *result);

/* poll.c: the cloud works on it, and `verb` checks its progress */
void poll_add(Apply *apply, Step *step, JobKind verb);
/* The answer of `job` was "pending". */
void poll_again(Apply *apply, const Job *job, Step *step, const RgItemResult *result);
/* Starts the polls that are due; returns how long the loop may sleep until the next one. */
unsigned polls_start(Apply *apply);
/* Before a poll's results are used: those without information become pending, or failed if their
 * time is over. And afterwards. */
void poll_judge(const Job *job);
void poll_finish(const Apply *apply, const Job *job);
/* Stops polling a step; false if a poll is running: its answer will come. */
bool poll_drop(Apply *apply, Step *step);
void poll_free(Poll *poll);

/* recover.c, search.c: open journal rows, before anything else */
void recover_open_rows(Apply *apply);
struct Recovery {
	const RgProvider *provider;
	const RgJournalRow *row;
	const RgKind *kind; /* NULL: the module does not have it */
	GPtrArray *open;    /* json_t*: members of the row without an outcome, in its order */
	int64_t asked_ms;   /* when this run first asked; 0: not yet. We hold the lock: nobody else
			       sends the request from then on */
	int64_t look_ms;    /* when the next search is due; 0: none */
	unsigned wait_ms;
	bool busy;    /* a job is running */
	char *reason; /* of what it is open for, may be NULL */
};

typedef enum {
	FATE_MADE,     /* outcome is filled */
	FATE_NOT_MADE, /* outcome is filled */
	FATE_SEARCH,   /* the answer says nothing about the first request */
	FATE_OPEN,     /* nothing more can be learnt now */
} Fate;
/* The result of a finished search for one open member. */
Fate search_fate(const Job *job, const json_t *member, RgMemberOutcome *outcome);
/* The row's token is too old for the cloud: only a search can find the result. */
bool search_only(const Recovery *recovery);
void search_plan(Recovery *recovery);

/* jobs.c: worker threads */
Jobs *jobs_new(RgProvider *provider, unsigned threads);
void jobs_free(Jobs *jobs);
Job *job_new(JobKind kind, json_t *input, GPtrArray *steps);
void job_free(Job *job);
void jobs_submit(Apply *apply, Job *job);
/* A finished job, or NULL after wait_ms. The caller owns it again. */
Job *jobs_take(Apply *apply, unsigned wait_ms);
unsigned jobs_free_slots(const Apply *apply);

/* live.c */
Live *live_get(Apply *apply, const char *address);
Live *live_set(Apply *apply, const char *address, const char *id, const json_t *outputs);
/* Its record moves to another address. */
void live_move(Apply *apply, const char *from, const char *to);
void live_forget(Apply *apply, const char *address);
void live_load(Apply *apply);
json_t *live_resolve(Apply *apply, const json_t *attrs, RgDiags *diags);
/* It was created, or updated, with `attrs` (references resolved). */
void live_made(Live *live, const json_t *attrs);
/* Stores what an answer reports about it. */
void live_learn(Apply *apply, const RgPlanChange *change, const RgItemResult *result);
/* Its outputs, if the state does not have them yet: the caller records them. Else NULL. */
const json_t *live_unsaved(Live *live);
/* The attributes that the cloud sets; a new reference, NULL for NULL. */
json_t *computed_of(const RgKind *kind, const json_t *attributes);
const RgKind *kind_of(const Apply *apply, const char *kind);

/* local.c. Forgets records whose resources stay in the cloud; in a group of the store. */
bool release_all(Apply *apply, const char *const *addresses, size_t n);

/* failures.c: borrows steps and results until it is freed */
typedef struct Failures Failures;
Failures *failures_new(void);
void failures_free(Failures *failures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Failures, failures_free)
void failures_add(Failures *failures, Step *step, const RgItemResult *result);
/* Fails all steps, with one diagnostic for those that failed for the same reason: "VERB ADDRESS and
 * N more: why". `doubt`, may be NULL: the detail if the failure is not definite. */
void failures_tell(Failures *failures, Apply *apply, const char *verb, const char *doubt);

/* events.c */
void emit(Apply *apply, RgEventType type, const Step *step, const RgDiag *diag, const char *text);
void emit_still(Apply *apply);
const RgDiag *last_diag(const Apply *apply);
int apply_interrupted(Apply *apply);
/* The run ends with this address in the journal. */
void leave_open(Apply *apply, const char *address);
void emit_open(Apply *apply);
