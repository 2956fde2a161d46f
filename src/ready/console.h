/* Parses what a node reports on its console, in lines from src/boot/report.sh (src/boot/README.md,
 * "Reports"). Pure. The text comes from the node, where users' programs run, so it may contain
 * anything. */
#pragma once
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* In the order in which a node goes through them. "doing" changes only the step. */
#define RG_NODE_STATES(X)                                                                          \
	X(SILENT, "silent")                                                                        \
	X(BOOTED, "booted")                                                                        \
	X(DRIVER, "driver")                                                                        \
	X(GPUS, "gpus")                                                                            \
	X(PULLING, "pulling")                                                                      \
	X(PULLED, "pulled")                                                                        \
	X(JOINED, "joined")                                                                        \
	X(FAILED, "failed")

typedef enum {
#define X(name, text) RG_NODE_##name,
	RG_NODE_STATES(X)
#undef X
} RgNodeState;
const char *rg_node_state_name(RgNodeState state);

/* One node that the head reports as a member. */
typedef struct {
	int64_t gpus;
	const char *driver; /* "": none; interned in the roster */
} RgMember;

/* What the head's Ray sees of the whole cluster. */
typedef struct {
	int64_t at;	     /* Unix seconds */
	guint width;	     /* of the keys */
	GHashTable *members; /* key -> RgMember* */
	int64_t without_id;  /* members without an instance id */
	char **others;	     /* addresses of the first few of them; NULL: none */
	char *ray_version;   /* NULL: not reported */
	GStringChunk *texts;
} RgRoster;
/* NULL if it is not a member. `id`: the cloud's id of the machine. */
const RgMember *rg_roster_find(const RgRoster *roster, const char *id);
/* Its members that are none of these machines: ids are the keys of the tables. */
size_t rg_roster_count_others(const RgRoster *roster, GHashTable *const *ids, size_t n);

/* What the head's Ray waits for. */
typedef struct {
	int64_t at;		  /* Unix seconds; -1: not reported */
	int64_t requests, groups; /* tasks and actors; placement groups */
	char *shapes;		  /* of requests, the most frequent: "3xCPU:1+GPU:8,1xCPU:2" */
} RgDemand;

typedef struct {
	RgNodeState state;
	char *step; /* the current or last step; "": nothing was reported */
	/* of its last failure since it booted, unless it joined afterwards; NULL: none. The code is
	 * the script's exit status. */
	char *failed_step, *reason;
	int64_t code;
	int64_t gpus; /* once it joined; else -1 */
	char **uuids; /* of all its GPUs; NULL: not reported */
	/* of the GPUs that its last failure is about, in one order ("": no serial number); NULL */
	char **bad_uuids, **bad_serials;
	char *driver;	  /* NULL: not reported */
	RgRoster *roster; /* the head's last complete one; else NULL */
	RgDemand demand;  /* the head's last one */
	GPtrArray *tail;  /* char*: the last lines that are not reports, cleaned, oldest first */
} RgConsole;

/* The exit status after which a node's script is not started again. */
#define RG_NODE_GAVE_UP 78

/* `text` may be NULL: nothing yet. Never fails; skips what it cannot read. */
RgConsole *rg_console_parse(const char *text);
void rg_console_free(RgConsole *console);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgConsole, rg_console_free)
