/* One cluster in an apply or destroy: from its lock to its result. Private to apply.c, reap.c and
 * turn.c, main thread. It has its own diagnostics. */
#pragma once
#include "intent/lease.h"
#include "print/stream.h"
#include "state/write.h"

typedef struct {
	ChangeOptions change;
	gboolean auto_approve, no_wait, force_conflicts;
	gint max_replacements; /* of nodes that do not join Ray */
	int parallelism;
	int lock_timeout_s;
	char *hunt;	     /* --capacity-timeout as given, or NULL */
	char *json_into;     /* --json-into, or NULL */
	int64_t capacity_ms; /* the same */
	bool destroy;
	bool several; /* one of several, or in a folder */
} ApplyOptions;

typedef struct {
	char *cluster; /* NULL: unknown yet */
	char *file;    /* the spec or the saved plan; NULL: --cluster */
	RgPlan *saved; /* until it is opened */
	RgDiags *diags;
	RgEnded *ended; /* reap: only this, from the state alone; NULL: the spec or --cluster */
	RgLock *lock;
	RgPass *pass; /* set from the lock on if the spec had to be read for its name */
	int code;
	bool tried;
	bool queued;  /* by the plan, something waits in a queue of the cloud */
	RgRun run;    /* its outcome is that of RgApplied */
	json_t *open; /* array: addresses that the next apply must complete or clean up */
} Turn;

Turn *turn_new(const char *cluster, const char *file, RgPlan *saved);
void turn_free(Turn *turn);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Turn, turn_free)
/* Each reports into the turn; after a failure it does nothing. */
void turn_lock(Context *context, const ApplyOptions *options, Turn *turn);
/* Makes the plan, or opens the saved one; the text of a new one is printed. */
void turn_plan(Context *context, const ApplyOptions *options, Turn *turn);
/* false: planning failed, or a signal came before it. */
bool turn_is_planned(const Turn *turn);
/* There is something to do and nothing forbids it. */
bool turn_is_ready(const Turn *turn);
void turn_execute(Context *context, const ApplyOptions *options, Turn *turn);
/* For turns with nothing to do. */
void turn_keep(Context *context, const ApplyOptions *options, Turn *turn);
/* apply.c: the steps over all turns. The locks, in the order of the clusters' names; the plans; the
 * runs; the results, and the worst exit code. */
void turns_lock(Context *context, const ApplyOptions *options, GPtrArray *turns);
void turns_plan(Context *context, const ApplyOptions *options, GPtrArray *turns);
void turns_execute(Context *context, const ApplyOptions *options, GPtrArray *turns);
int turns_finish(Context *context, const ApplyOptions *options, GPtrArray *turns);
/* hunt.c: "90s", "8h" or a time of day, "06:00"; false for anything else. */
bool hunt_parse(const char *text, int64_t *capacity_ms);
/* What people read: with --json there is the stream instead. */
void say(Context *context, const char *text);
