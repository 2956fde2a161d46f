/* What is told of a plan while it is carried out, and what became of it: the words between apply
 * and those who show it. */
#pragma once
#include "base/diag.h"
#include "diff/diff.h"

typedef enum {
	RG_EVENT_REPLAY,    /* an interrupted create is sent again */
	RG_EVENT_START,	    /* a change begins (one event per change) */
	RG_EVENT_STILL,	    /* it goes on; seconds since START */
	RG_EVENT_TIME,	    /* another second has passed: of no change */
	RG_EVENT_DONE,	    /* it ended well: id, seconds */
	RG_EVENT_FAILED,    /* diag has the reason */
	RG_EVENT_BLOCKED,   /* not tried: a dependency failed; `text` names it */
	RG_EVENT_GANG,	    /* a gang pool can't be completed: `text` says what becomes of it */
	RG_EVENT_INTERRUPT, /* a signal came: nothing new starts; `text` says what is open */
} RgEventType;

typedef struct {
	RgEventType type;
	const char *address, *group, *id, *text; /* may be NULL */
	RgAction action;
	double seconds;
	const RgDiag *diag;
	unsigned done, total; /* changes ended, of all */
} RgEvent;

/* Counted in changes. */
typedef struct {
	unsigned added, changed, destroyed, failed, blocked, open; /* open: left to the journal */
	unsigned given_back; /* made and removed again, because their gang was not complete */
	bool interrupted;
} RgApplyResult;
