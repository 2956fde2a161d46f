/* What is reported while a plan is carried out, and the result: shared by apply and the code that
 * shows it. */
#pragma once
#include "base/diag.h"
#include "diff/diff.h"

typedef enum {
	RG_EVENT_REPLAY,  /* an interrupted create is sent again */
	RG_EVENT_START,	  /* a change starts (one event per change) */
	RG_EVENT_STILL,	  /* it continues; seconds since START; text: what it waits for, or NULL */
	RG_EVENT_TIME,	  /* another second has passed: not about a change */
	RG_EVENT_DONE,	  /* it succeeded: id, seconds */
	RG_EVENT_QUEUED,  /* it exists and waits in a queue of the cloud: `text` says where */
	RG_EVENT_FAILED,  /* diag has the reason */
	RG_EVENT_BLOCKED, /* not tried: a dependency failed; `text` names it */
	RG_EVENT_MOVE,	  /* a pool moves to another candidate: `text` says why and where */
	RG_EVENT_GANG,	  /* a gang pool cannot be completed: `text` says what happens to it */
	RG_EVENT_INTERRUPT, /* a signal arrived: nothing new starts; `text` lists what is open */
} RgEventType;

typedef struct {
	RgEventType type;
	const char *address, *pool, *id, *text; /* may be NULL; pool: rg_plan_change_pool */
	RgAction action;
	double seconds;
	const RgDiag *diag;
	const json_t *removal; /* words of a DELETE, as in RgPlanChange */
	unsigned done, total;  /* ended changes, of all */
} RgEvent;

/* Counted in changes. */
typedef struct {
	unsigned added, changed, destroyed, failed, blocked, open; /* open: left to the journal */
	unsigned imported, forgotten; /* forgotten: they stay in the cloud */
	unsigned queued;     /* of the added and changed: they wait in a queue of the cloud */
	unsigned lacking;    /* of the failed: for lack of capacity or quota */
	unsigned given_back; /* created and removed again, because their gang was incomplete, */
	unsigned remade;     /* and these of them because what needs them went elsewhere */
	bool interrupted;
	/* what the cloud refused for lack of capacity or quota, in order: [{"pool",
	 * "instance_type", "market", "zone", "class", "code", "refused": nodes}]; NULL: nothing;
	 * the caller's */
	json_t *tried;
} RgApplyResult;
