/* Private to src/ready: a wait under way. */
#pragma once
#include "ready/console.h"
#include "ready/ready.h"

/* The head reports at least every 15 minutes (src/boot/watch-ray.sh). */
#define WAIT_QUIET_MAX_S (45 * 60)

typedef enum { NODE_BOOTS, NODE_PULLS, NODE_JOINED, NODE_FAILED } NodeFate;

typedef struct {
	const RgResource *resource; /* of the snapshot */
	const char *pool;
	bool is_head;
	bool awaited; /* false: the head, which joined in an earlier apply */
	NodeFate fate;
	bool final;	    /* it failed and does not try again */
	int64_t deadline_s; /* Unix seconds, as all here */
	int64_t look_s;	    /* when its own console is read next */
	RgConsole *console; /* its own, as last read, or NULL */
	bool stale;	    /* its console is not what it printed last */
	/* hardware.c: its own console is read before it counts as joined */
	bool suspect;
	bool examined, examine;	  /* it has been read for that; it is to be */
	unsigned missed;	  /* how often in a row the cloud did not know its machine */
	const json_t *given_back; /* the row of the state about a GPU that it got; NULL: none */
} Node;

typedef struct {
	RgProvider *provider;
	RgStore *store;
	const char *cluster;
	const RgReadyOptions *options;
	RgReadyResult *result;
	RgDiags *diags;
	RgSnapshot *snapshot;
	GPtrArray *nodes; /* Node*, in the order of their addresses */
	Node *head;
	int64_t now_s, begun_ms;
} Wait;

/* nodes.c: who is awaited. false: nobody, or diagnostics. */
bool wait_find_nodes(Wait *wait);
void wait_clear(Wait *wait);

/* look.c: one reading of the consoles. false when it makes no sense to look again. */
bool wait_look(Wait *wait);
/* Seconds until the next thing is due, at most `most`. */
int64_t wait_next_s(const Wait *wait, int64_t most);

/* hardware.c: of the nodes that are awaited, those whose GPUs may have failed before. */
void wait_find_suspects(Wait *wait);
/* The row of RgSnapshot.hardware, of another machine, about a GPU that the node reports. */
const json_t *wait_given_back(const Wait *wait, const Node *node);
/* [{"gpu", "serial"}] of those for which it failed; a new reference. */
json_t *wait_bad_gpus(const Node *node);
/* Records those of the nodes that failed. */
bool wait_keep_hardware(const Wait *wait);

/* For drift, from the state alone: completes the address of a node whose machine has a GPU that
 * failed. NULL: none has. g_free */
char *rg_ready_bad_hardware(const json_t *hardware, const RgResource *record);

bool wait_is_gone(const Node *node);

/* failures.c: diagnostics and result->failed of those that failed. */
void wait_report(Wait *wait);

/* found.c: its machine is there, and its time to join is over. */
bool check_is_due(const RgReadyCheck *check, const RgResource *record, int64_t now_s);
GPtrArray *check_found_new(void); /* RgUnjoined* */
/* Takes the reason. */
void check_add(GPtrArray *found, const RgResource *record, char *reason);

/* members.c: RgUnjoined* for what the head's list has of nodes that are due, and for members that
 * are nobody's. */
void check_members(const RgReadyCheck *check, const RgResource *head, const RgRoster *roster,
	GPtrArray *found);

/* seen.c: as rg_ready_check gives it; head NULL: nothing, or what counts no longer. */
json_t *check_seen(const RgReadyCheck *check, const RgConsole *head);
