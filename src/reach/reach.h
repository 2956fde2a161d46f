/* How people get to a cluster, after apply: what the state knows of its head and nodes, and the
 * commands that forward the head's ports to this machine. Which commands, the module says
 * ("connect" of its schema.json). Pure, from the records; any thread. */
#pragma once
#include "resource/schema.h"
#include "state/read.h"

/* Outputs by name, of a cluster that is recorded: a new reference. Without the token. Those of a
 * head that is not recorded are null. */
json_t *rg_reach_outputs(const RgSchema *schema, const RgSnapshot *snapshot);
/* The Ray token; NULL: none is recorded (`ray: {auth: none}`). Borrowed. */
const char *rg_reach_token(const RgSnapshot *snapshot);
#define RG_REACH_TOKEN "ray_token" /* its name among the outputs */

/* Ports on the head's loopback interface, and on this machine's. */
typedef struct {
	unsigned remote, local;
} RgReachPort;
#define RG_REACH_DASHBOARD 8265 /* and the job server */
#define RG_REACH_CLIENT 10001

typedef struct {
	const char *way;      /* one of the module's; NULL: the first whose settings are there */
	const char *identity; /* file with the private key; NULL: none */
	RgReachPort ports[2];
} RgReachAsk;

/* What has to run for as long as the ports are needed. */
typedef struct {
	char *way;
	bool prompts;	     /* the commands may ask the user something */
	GPtrArray *commands; /* GStrv */
} RgReachWay;
void rg_reach_way_free(RgReachWay *way);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgReachWay, rg_reach_way_free)

/* Which settings of the spec's provider mapping would make it possible: "provider.a and
 * provider.b (WAY)", for each way or only for `name`; g_free. NULL: the settings of one are
 * there, or the provider has no ways. */
char *rg_reach_missing(const RgSchema *schema, const json_t *config, const char *name);
/* The first program that is not installed here and that the way needs: `name`, or NULL, the first
 * whose settings are there; borrowed. NULL: none. */
const char *rg_reach_missing_program(
	const RgSchema *schema, const json_t *config, const char *name);
/* NULL and connect.* diagnostics. */
RgReachWay *rg_reach_way(
	const RgSchema *schema, const RgSnapshot *snapshot, const RgReachAsk *ask, RgDiags *diags);
