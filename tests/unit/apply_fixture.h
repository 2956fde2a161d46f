/* Shared by the tests of src/apply: a folder with a real state file and a world, the test module
 * modules/cloud.c through the real loader, and one apply of a list of desired resources as in the
 * program: state, refresh, diff, plan, run. One thread. */
#pragma once
#include "apply/apply.h"

#define CLUSTER "research"
#define NODE "{'size':'big','net':{'$ref':'cloud.net.main','attr':'net_id'}}"

typedef struct {
	char *folder, *state, *world, *log;
	json_t *script;	      /* faults, cloud.c */
	gint level, canceled; /* atomic: the value for options.interrupted and the transport */
	RgDiffOptions diff;
	unsigned parallelism;
	int64_t later_s; /* how much later the plan is made than it really is */
	void (*event)(void *fixture, const RgEvent *event);
	void (*before)(void *fixture, RgStore *store); /* after the plan, before the apply */
	/* of the last apply */
	RgApplyResult result;
	RgDiags *diags;
	bool done;
	unsigned started, blocked, seconds; /* events of these types; seconds: TIME */
	char *told;			    /* texts of REPLAY and INTERRUPT */
	/* of the case */
	GPtrArray *wanted; /* RgResource* */
	const char *gang;  /* pool that is a gang, or NULL */
	int64_t marker;
} Apply;

void apply_up(Apply *f, gconstpointer unused);
void apply_down(Apply *f, gconstpointer unused);
#define APPLY_TEST(path, function)                                                                 \
	g_test_add("/apply/" path, Apply, NULL, apply_up, function, apply_down)

/* JSON with ' for " */
json_t *json_of(const char *text);
void script(Apply *f, const char *text);
/* The desired set: nodes NAME[0..n-1] or one resource (n = -1), with attributes. */
void want_nothing(Apply *f);
void want(Apply *f, const char *kind, const char *name, int n, const char *attributes);
/* One apply; returns `done`. A plan may have errors only if `may_err`. */
bool apply_once(Apply *f);
/* The same in a child that the script kills; fails the test if it is not killed. */
void apply_killed(Apply *f);
void show_diags(const Apply *f);
const RgDiag *the_error(const Apply *f, const char *code);

/* The current state and world. */
RgSnapshot *snapshot(Apply *f);
unsigned recorded(Apply *f);  /* records with an id, secrets left out */
unsigned open_rows(Apply *f); /* journal rows */
const char *id_of(const RgSnapshot *snapshot, const char *address);
unsigned living(Apply *f);		     /* resources that are not gone */
unsigned made(Apply *f);		     /* all resources ever created */
unsigned logged(Apply *f, const char *line); /* log lines with this prefix */
/* No orphan, no duplicate, no lost id: what exists is what is recorded, and nothing is open. */
void check_sound(Apply *f, unsigned things);
void run_sql(Apply *f, const char *sql);
