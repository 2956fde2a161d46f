/* Private to src/plan. Everything belongs to the caller's thread until the plan is returned. */
#pragma once
#include "plan/plan.h"
#include "resource/nodes.h"

/* offers.c: the fitted document by pool and index. */
typedef struct {
	GHashTable *pools; /* char* -> GHashTable: index + 1 -> Offer* */
} Offers;

typedef struct {
	json_t *pin; /* what the state keeps about such a node (src/fit/fit.h), owned */
	const char *instance_type, *accelerator, *price_date, *price_quality,
		*reason;    /* may be NULL; of `pin` */
	const char *market; /* "on-demand" if the pin does not say */
	int64_t price;	    /* RG_MONEY_UNKNOWN */
	unsigned gpus;
} Offer;

void offers_init(Offers *offers, const json_t *fitted);
void offers_clear(Offers *offers);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Offers, offers_clear)
/* From a pin; owns only `pin`. */
void offer_from_pin(Offer *offer, const json_t *pin);

/* What rg_plan_new works with. */
typedef struct {
	const RgDiff *diff;
	const RgSchema *schema;
	const RgPlanInput *input;
	Offers offers;
	RgPlan *plan;
	/* kind -> attributes object -> json_t*: equal nodes share the results */
	GHashTable *befores, *computed;
	GHashTable *explained; /* Pair* of such values -> result of explain */
	RgDependencies *dependencies;
} Maker;

/* offers.c */
/* The resource that exists after the change: what is stopped or left out stays as recorded. */
const RgResource *resource_after(const RgChange *change);
/* Of nodes of the change's resource, as fitted if they are desired, otherwise as pinned. Borrowed
 * from the maker and the change. */
Offer offer_of(const Maker *maker, const RgChange *change, const RgPoolNodes *nodes, bool wanted);
/* What the state must remember of the nodes of the desired resources: a new reference, NULL:
 * nothing. */
/* How many of them run after the change. */
unsigned nodes_after(const RgChange *change, const RgPoolNodes *nodes);
json_t *pin_after(const Maker *maker, const RgChange *change);

/* changes.c */
RgPlanChange *plan_change_new(Maker *maker, const RgChange *change);
/* The place in the spec as plans name its file. */
RgSource plan_source(const Maker *maker, RgSource source);
void plan_change_free(gpointer change);
void plan_attr_free(gpointer attr);
/* explain.c: which fields of the spec caused the change of attributes. A new reference or NULL. */
json_t *plan_explain(Maker *maker, const RgChange *change);
GHashTable *plan_explained_new(void);
/* A node that exists now / that will exist after the apply. */
bool node_before(const RgChange *change);
bool node_after(const RgChange *change);

/* pools.c, budget.c */
/* Fills the plan's pools and markets. */
void pools_make(Maker *maker);
/* rolling.c: pools of which nodes are replaced that others can stay for: char* set, borrowed. */
GHashTable *rolling_pools(const RgPlan *plan);
void plan_pool_free(gpointer pool);
void plan_market_free(gpointer market);
void budget_estimate(Maker *maker);
void plan_count(RgPlan *plan);
bool plan_is_partial(const RgPlan *plan);

/* capacity.c: sets plan->capacity, when the rest of the plan is made. */
void capacity_make(Maker *maker);
/* Its form in a plan file; a new reference or NULL. And back: false if it is malformed. */
json_t *capacity_json(const RgPlan *plan);
bool capacity_load(RgPlan *plan, const json_t *capacity);

/* words.c: enumerations as text */
const char *action_name(RgAction action);
bool action_parse(const char *name, RgAction *action);
const char *grade_name(RgGrade grade);
bool grade_parse(const char *name, RgGrade *grade);

/* blobs.c: long values of a plan file, each written once */
typedef struct {
	json_t *table;	    /* digest -> value */
	GHashTable *packed; /* json_t* object -> json_t* the same with long members replaced */
	GHashTable *refs;   /* json_t* -> json_t* reference or NULL if short; keys are held */
} Blobs;
void blobs_init(Blobs *blobs);
void blobs_clear(Blobs *blobs);
/* Longer values of ours are stored there. */
#define LONG_VALUE 96
/* Longer texts are stored there wherever they occur. */
#define LONG_TEXT 512
/* New reference: the value itself, or {"$blob": digest} if its text is longer than `limit`. */
json_t *blobs_put(Blobs *blobs, const json_t *value, size_t limit);
/* The same for an object of values, each of which may itself be long: nodes of two pools may share
 * only their user data. */
json_t *blobs_put_object(Blobs *blobs, const json_t *object, size_t limit);
/* New reference to the object with such members restored; NULL if one leads nowhere. */
json_t *blobs_unpack(const json_t *table, const json_t *object);
/* Borrowed: the value, or what a reference in it leads to; NULL if that leads nowhere. */
const json_t *blobs_get(const json_t *table, const json_t *value);

/* terraform.c: the part of a change that Terraform's tools read */
json_t *terraform_change(const RgPlan *plan, const RgPlanChange *change, Blobs *blobs);
json_t *terraform_drift(const RgPlan *plan, const RgPlanChange *change, Blobs *blobs);
