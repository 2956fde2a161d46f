/* Shared by the files of the conformance script. On the stack of rg_provider_conform. */
#pragma once
#include "provider/conform.h"
#include "provider/internal.h"

#define RG_CONFORM_LOOK_MS 200 /* between two reads of a cloud that needs time */
#define RG_CONFORM_LEAST 2     /* workers, or the minimum of an elastic pool */

/* One resource that the script created and must remove. */
typedef struct {
	const RgResource *wanted; /* of `desired` */
	char *id, *token;
	json_t *outputs;
} RgConformMade;

typedef struct {
	RgProviderHost *host;
	const RgConformOptions *options;
	const RgSchema *schema;
	RgProvider *provider;
	char lineage[33], type[65];
	json_t *facts;
	RgResourceSet *desired;
	GPtrArray *made; /* RgConformMade*, in order of creation */
	bool queued;	 /* one of them waits in a queue of the cloud */
	unsigned failed;
} RgConform;

/* conform_steps.c */
/* Reports the step; `why`, or the first error of `diags` (may be NULL), is the reason of a
 * failure. */
bool rg_conform_tell(RgConform *c, const char *step, bool passed, const char *why, RgDiags *diags);
void rg_conform_skip(RgConform *c, const char *step, const char *why);
const RgConformMade *rg_conform_find(const RgConform *c, const char *address);

void rg_conform_make_token(char token[33]); /* of random hex digits */
/* For rg_expr_resolve: what was reported about the resources created so far; a new reference. */
json_t *rg_conform_look_up(void *data, const char *address, const char *attr);
/* RgResource by id, owned; and the callback of rg_provider_list that adds one. */
GHashTable *rg_conform_seen_new(void);
void rg_conform_take_seen(void *data, RgResource *resource);
/* Lists the script's resources of a kind, and the known id. */
bool rg_conform_list(
	RgConform *c, const char *kind, const char *known, GHashTable *seen, RgDiags *diags);
/* conform_lower.c: resolve and lower. False if the script cannot continue. */
bool rg_conform_lower(RgConform *c);
/* conform_life.c: create, ready, list, find, update, remove. */
void rg_conform_life(RgConform *c);
/* conform_item.c: what list reports about the resource, a new reference, or NULL; `read`: whether
 * the listing was complete. */
json_t *rg_conform_see(RgConform *c, const RgConformMade *made, bool *read);
/* Its item for ready, update and remove (provider.h). */
json_t *rg_conform_item(RgConform *c, const RgConformMade *made);
/* One of these three calls, repeated while the module returns "pending", up to the time limit: the
 * results in the order of the items. Computed attributes are kept with the resource. */
typedef GPtrArray *(*RgConformCall)(RgProvider *provider, const json_t *input, RgDiags *diags);
GPtrArray *rg_conform_call(
	RgConform *c, RgConformCall call, const char *kind, json_t *items, RgDiags *diags);
/* conform_adopt.c: what import and `state rebuild` ask about the resource. */
void rg_conform_adopt(RgConform *c, const RgConformMade *made);
/* conform_update.c: of the resource, in place. */
void rg_conform_update(RgConform *c, const RgConformMade *made);
/* What shows only once `user` is ready, of a resource that it attaches. */
void rg_conform_in_use(RgConform *c, const RgConformMade *user);
/* conform_members.c: whether the script's workers are an elastic pool, because the module shows its
 * members; then they are compared with list, and nothing is left of them after the removal. */
bool rg_conform_is_elastic(const RgConform *c);
void rg_conform_members(RgConform *c, const RgConformMade *made);
void rg_conform_no_members(RgConform *c, const RgConformMade *made);
/* conform_manners.c: a snapshot of the process; then NULL if nothing has changed, else what the
 * module changed (g_free). Main thread. */
typedef struct RgManners RgManners;
RgManners *rg_manners_new(void);
char *rg_manners_broken(const RgManners *before);
void rg_manners_free(RgManners *manners);
/* conform_hostile.c: input that raygpu never sends; the module must answer, not crash. */
void rg_conform_hostile(RgConform *c);
