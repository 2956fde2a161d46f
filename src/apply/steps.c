#include "apply/internal.h"
#include "base/clock.h"
#include "resource/graph.h"

/* The graph of calls. A replace is two steps, so its edges cannot be drawn between changes: a
 * creation waits for what it refers to; a removal waits until no recorded dependent uses the
 * resource any more; the creation of a replace waits for its removal. */

typedef struct {
	Step *remove, *make; /* make: create, update, record; either may be NULL */
} Pair;

void step_free(Step *step)
{
	g_ptr_array_unref(step->unblocks);
	g_free(step->former);
	g_free(step->why);
	json_decref(step->changed);
	g_free(step);
}

void step_set(Apply *apply, Step *step, StepState state)
{
	apply->counts[step->state]--;
	apply->counts[state]++;
	step->state = state;
	if (state == STEP_READY && !step->held)
		batches_add(apply, step);
}

static Step *add_step(Apply *apply, const RgPlanChange *change, StepKind kind)
{
	Step *step = g_new0(Step, 1);
	step->change = change;
	step->kind = kind;
	step->last = true;
	step->unblocks = g_ptr_array_new();
	g_ptr_array_add(apply->steps, step);
	apply->counts[STEP_WAITING]++;
	return step;
}

void step_wait_for(Step *later, Step *earlier)
{
	if (!later || !earlier || later == earlier)
		return;
	g_ptr_array_add(earlier->unblocks, later);
	later->waiting++;
}

/* What the diff compares too: all but facts of the creation. */
static bool is_alike(const RgKind *kind, const json_t *made, const json_t *desired)
{
	json_auto_t *a = json_copy(rg_json_unconst(made));
	json_auto_t *b = json_copy(rg_json_unconst(desired));
	rg_hash_values (const RgAttribute, attribute, kind->attributes) {
		if (!attribute->create_only)
			continue;
		json_object_del(a, attribute->name);
		json_object_del(b, attribute->name);
	}
	return json_equal(a, b);
}

/* What a create still needs after the open journal rows were replayed (decide.md 16 to 18): a
 * resource that came back as planned is recorded, another one must be removed first. */
static void add_create(Apply *apply, const RgPlanChange *change, Pair *pair)
{
	const Live *live = live_get(apply, change->address);
	const json_t *made = live ? live->replayed : NULL;
	bool fits = made && change->action == RG_ACTION_CREATE &&
		    is_alike(kind_of(apply, change->kind), made, change->desired);
	if (made && !fits && !pair->remove)
		pair->remove = add_step(apply, change, STEP_REMOVE);
	pair->make = add_step(apply, change, fits ? STEP_REPLAYED : STEP_CREATE);
}

/* The new one first: what it replaces makes room at an address of its own, and stays there until
 * the caller names it in RgApplyOptions.formers. */
static void add_surge(Apply *apply, const RgPlanChange *change, Pair *pair)
{
	const RgResource *record = rg_resource_set_find(apply->snapshot->recorded, change->address);
	pair->make = add_step(apply, change, STEP_CREATE);
	pair->make->former = rg_address_former(change->address, record ? record->generation : 0);
}

/* Not what an interrupted run was creating or removing: nobody uses that node. */
static bool surges(const Apply *apply, const RgPlanChange *change)
{
	const RgPlanPool *pool = rg_plan_pool(apply->plan, change->group);
	const RgResource *record = rg_resource_set_find(apply->snapshot->recorded, change->address);
	return pool && pool->max_surge && change->index >= 0 && !change->replay &&
	       !(record && record->leaving);
}

static Pair *add_change(Apply *apply, const RgPlanChange *change)
{
	Pair *pair = g_new0(Pair, 1);
	const Live *live = live_get(apply, change->address);
	switch (change->action) {
	case RG_ACTION_CREATE:
		add_create(apply, change, pair);
		break;
	case RG_ACTION_UPDATE:
		pair->make = add_step(apply, change, STEP_UPDATE);
		break;
	case RG_ACTION_REPLACE:
		if (surges(apply, change)) {
			add_surge(apply, change, pair);
			break;
		}
		if (!change->replay)
			pair->remove = add_step(apply, change, STEP_REMOVE);
		add_create(apply, change, pair);
		break;
	case RG_ACTION_DELETE:
		pair->remove = add_step(apply, change,
			change->replay && !(live && live->replayed) ? STEP_FORGET : STEP_REMOVE);
		break;
	case RG_ACTION_RECORD:
		pair->make = add_step(apply, change, STEP_RECORD);
		break;
	case RG_ACTION_FORGET:
		pair->remove = add_step(apply, change, STEP_FORGET);
		break;
	case RG_ACTION_RELEASE:
		pair->make =
			add_step(apply, change, change->keep_marks ? STEP_FORGET : STEP_UPDATE);
		break;
	case RG_ACTION_NONE:
	case RG_ACTION_STOP:
		break;
	}
	if (pair->remove && pair->make) {
		pair->remove->last = false;
		step_wait_for(pair->make, pair->remove);
	}
	return pair;
}

static void add_making_edges(GHashTable *pairs, const RgPlanChange *change)
{
	const Pair *mine = g_hash_table_lookup(pairs, change->address);
	for (guint i = 0; change->depends_on && change->depends_on[i]; i++) {
		const Pair *other = g_hash_table_lookup(pairs, change->depends_on[i]);
		if (other)
			step_wait_for(mine->make, other->make);
	}
}

/* What is created again because it no longer exists has nothing to remove. What is replaced because
 * of a new id is still removed first: if the run ended in between, a record would refer to the new
 * one by its address, while the resource itself booted with the old one. */
static bool is_made_anew(const Pair *pair)
{
	return !pair->remove && pair->make && pair->make->kind == STEP_CREATE;
}

/* By the records: the spec may no longer have the dependency, or the resource. */
static void add_leaving_edges(
	GHashTable *pairs, const RgPlanChange *change, RgDependencies *cache, const RgResource *now)
{
	const Pair *mine = g_hash_table_lookup(pairs, change->address);
	/* a resource that no longer exists uses nothing */
	Step *freeing = mine->remove			     ? mine->remove
			: change->action == RG_ACTION_UPDATE ? mine->make
							     : NULL;
	GStrv names = rg_dependencies_get(cache, now);
	for (guint i = 0; freeing && names[i]; i++) {
		const Pair *other = g_hash_table_lookup(pairs, names[i]);
		/* the plan does not order an update and a replace of what it uses */
		if (other && other->remove && (freeing == mine->remove || !other->make))
			step_wait_for(other->remove, freeing);
		else if (other && mine->remove && mine->make && is_made_anew(other))
			step_wait_for(other->make, mine->remove);
	}
}

/* Made room by an earlier run: it stays until its successor is there. */
static void add_successor_edge(GHashTable *pairs, const RgPlanChange *change)
{
	const Pair *mine = g_hash_table_lookup(pairs, change->address);
	g_autofree char *address = rg_address_successor(change->address);
	const Pair *other = address ? g_hash_table_lookup(pairs, address) : NULL;
	if (other)
		step_wait_for(mine->remove, other->make);
}

/* What it uses is forgotten first: otherwise a run that is cut off would leave that without the
 * user that says why it stays. */
static void add_releasing_edges(GHashTable *pairs, const RgPlanChange *change)
{
	const Pair *mine = g_hash_table_lookup(pairs, change->address);
	for (guint i = 0; change->depends_on && change->depends_on[i]; i++) {
		const Pair *other = g_hash_table_lookup(pairs, change->depends_on[i]);
		if (other && other->make && other->make->change->action == RG_ACTION_RELEASE)
			step_wait_for(mine->make, other->make);
	}
}

/* Records and forgets do not touch the cloud, so they wait for nothing. */
static void add_edges(Apply *apply, GHashTable *pairs)
{
	g_autoptr(RgDependencies) cache = rg_dependencies_new();
	const GPtrArray *changes = apply->plan->changes;
	rg_ptr_foreach (const RgPlanChange, change, changes) {
		if (!g_hash_table_contains(pairs, change->address) ||
			change->action == RG_ACTION_RECORD || change->action == RG_ACTION_FORGET)
			continue;
		if (change->action == RG_ACTION_RELEASE) {
			add_releasing_edges(pairs, change);
			continue;
		}
		const RgResource *now =
			rg_resource_set_find(apply->snapshot->recorded, change->address);
		add_making_edges(pairs, change);
		add_successor_edge(pairs, change);
		if (now)
			add_leaving_edges(pairs, change, cache, now);
	}
}

/* It is there, but it did not join Ray. */
static Pair *add_again(Apply *apply, const RgPlanChange *change)
{
	Pair *pair = g_new0(Pair, 1);
	pair->remove = add_step(apply, change, STEP_REMOVE);
	pair->make = add_step(apply, change, STEP_CREATE);
	pair->remove->last = false;
	step_wait_for(pair->make, pair->remove);
	return pair;
}

/* The plan has a change for it only if an earlier run has made room. */
static void add_former(Apply *apply, const RgResource *record)
{
	const RgPlanChange *own = g_hash_table_lookup(apply->changes, record->address);
	g_autofree char *address = rg_address_successor(record->address);
	const RgPlanChange *successor =
		address ? g_hash_table_lookup(apply->changes, address) : NULL;
	if (own || !successor) {
		g_free(own ? add_change(apply, own) : NULL);
		return;
	}
	RgPlanChange *change = g_memdup2(successor, sizeof *successor);
	change->address = record->address;
	json_incref(change->desired);
	json_incref(change->pin);
	change->depends_on = g_strdupv(successor->depends_on);
	g_ptr_array_add(apply->moved, change);
	add_step(apply, change, STEP_REMOVE)->last = false;
}

static void add_formers(Apply *apply)
{
	const RgResourceSet *recorded = apply->snapshot->recorded;
	rg_resource_foreach (record, recorded) {
		if (g_hash_table_contains(apply->options->formers, record->address))
			add_former(apply, record);
	}
}

static Pair *add_steps(Apply *apply, const RgPlanChange *change)
{
	GHashTable *again = apply->options->again;
	if (again)
		return change->desired && g_hash_table_contains(again, change->address)
			       ? add_again(apply, change)
			       : NULL;
	GHashTable *only = apply->options->only, *later = apply->options->later;
	if (change->action == RG_ACTION_NONE || change->action == RG_ACTION_STOP ||
		(only && !g_hash_table_contains(only, change->address)) ||
		(later && g_hash_table_contains(later, change->address)))
		return NULL;
	return add_change(apply, change);
}

static void add_extra(Apply *apply, const char *address)
{
	g_autofree char *kind = NULL, *name = NULL;
	RgPlanChange *change = g_new0(RgPlanChange, 1);
	rg_address_parse(address, &kind, &name, &change->index);
	change->address = (char *)(uintptr_t)g_intern_string(address);
	change->kind = (char *)(uintptr_t)g_intern_string(kind);
	change->name = (char *)(uintptr_t)g_intern_string(name);
	change->action = RG_ACTION_DELETE;
	g_ptr_array_add(apply->moved, change);
	add_step(apply, change, STEP_REMOVE)->last = false;
}

static void add_extras(Apply *apply)
{
	const RgApplyOptions *options = apply->options;
	if (!options->extras || options->again || options->only)
		return;
	rg_hash_foreach (address, const Live, live, apply->live) {
		const char *id = live->id;
		if (id && g_hash_table_contains(options->extras, id) &&
			!g_hash_table_contains(apply->changes, address))
			add_extra(apply, address);
	}
}

void steps_build(Apply *apply)
{
	g_autoptr(GHashTable) pairs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	const GPtrArray *changes = apply->plan->changes;
	if (apply->options->formers) {
		add_formers(apply);
		return;
	}
	rg_ptr_foreach (const RgPlanChange, change, changes) {
		Pair *pair = add_steps(apply, change);
		if (pair)
			g_hash_table_insert(pairs, change->address, pair);
	}
	add_edges(apply, pairs);
	add_extras(apply);
}

void steps_begin(Apply *apply)
{
	rg_ptr_foreach (Step, step, apply->steps) {
		if (step->state == STEP_WAITING && !step->waiting)
			step_set(apply, step, STEP_READY);
	}
}

static void count_done(Apply *apply, const Step *step)
{
	RgApplyResult *result = apply->result;
	switch (step->kind) {
	case STEP_CREATE:
	case STEP_REPLAYED:
		result->added++;
		break;
	case STEP_UPDATE:
		if (step->change->action == RG_ACTION_RELEASE)
			result->forgotten++;
		else
			result->changed += !step->changed;
		break;
	case STEP_REMOVE:
		if (step->gives_back) {
			result->given_back++;
			result->remade += step->remakes;
		} else {
			result->destroyed++;
		}
		break;
	case STEP_FORGET:
		result->forgotten += step->change->action == RG_ACTION_RELEASE ||
				     step->change->action == RG_ACTION_FORGET;
		break;
	case STEP_RECORD:
	case STEP_LOOK:
		break;
	}
}

void step_release(Apply *apply, Step *later)
{
	if (--later->waiting == 0 && later->state == STEP_WAITING && !later->parked)
		step_set(apply, later, STEP_READY);
}

void step_done(Apply *apply, Step *step)
{
	step_set(apply, step, STEP_DONE);
	if (step->last && step->kind != STEP_RECORD &&
		(step->kind != STEP_FORGET || step->change->action == RG_ACTION_RELEASE))
		apply->ended++;
	count_done(apply, step);
	if (step->kind != STEP_LOOK)
		emit(apply, step->queued ? RG_EVENT_QUEUED : RG_EVENT_DONE, step, NULL,
			step->queued ? step->why : NULL);
	for (guint i = 0; i < step->unblocks->len; i++)
		step_release(apply, step->unblocks->pdata[i]);
}

void step_block(Apply *apply, Step *step, const char *culprit)
{
	step_set(apply, step, STEP_BLOCKED);
	if (step->last) {
		apply->result->blocked++;
		apply->ended++;
	}
	emit(apply, RG_EVENT_BLOCKED, step, NULL, culprit);
	step_block_dependents(apply, step, culprit);
}

void step_block_dependents(Apply *apply, const Step *failed, const char *culprit)
{
	rg_ptr_foreach (Step, next, failed->unblocks) {
		if (next->state == STEP_WAITING)
			step_block(apply, next, culprit);
	}
}

Step *step_extra(Apply *apply, const RgPlanChange *change, StepKind kind)
{
	Step *step = add_step(apply, change, kind);
	step->last = false;
	return step;
}

Step *step_give_back(Apply *apply, const Step *made)
{
	Step *step = step_extra(apply, made->change, STEP_REMOVE);
	step->gives_back = true;
	return step;
}

void step_make_again(Apply *apply, Step *dependent, const RgPlanChange *was, const RgPlanChange *as)
{
	Step *removal = add_step(apply, was, STEP_REMOVE), *make = add_step(apply, as, STEP_CREATE);
	rg_ptr_foreach (const Step, made, apply->steps)
		removal->gives_back |= made->change == was && made->kind == STEP_CREATE &&
				       made->state == STEP_DONE;
	apply->result->added -= removal->gives_back;
	removal->remakes = true;
	removal->last = make->last = false;
	step_wait_for(make, removal);
	step_wait_for(dependent, make);
	step_set(apply, removal, STEP_READY);
}

void step_fail(Apply *apply, Step *step, const RgDiag *why)
{
	step_set(apply, step, STEP_FAILED);
	apply->result->failed++;
	if (step->last)
		apply->ended++;
	if (step->gives_back)
		apply->result->added++; /* it still exists */
	emit(apply, RG_EVENT_FAILED, step, why, NULL);
	step_block_dependents(apply, step, step->change->address);
}

void steps_report_stuck(Apply *apply)
{
	if (apply->stopping || apply->store_failed || !apply->counts[STEP_WAITING])
		return;
	RgDiag *diag = NULL;
	rg_ptr_foreach (Step, step, apply->steps) {
		if (step->state != STEP_WAITING)
			continue;
		if (!diag) {
			diag = rg_diags_error(apply->diags, "apply.blocked",
				"%s and others wait for each other: the resources to remove are "
				"still in use",
				step->change->address);
			rg_diag_hint(diag, "apply the change in two parts: first the additions, "
					   "then the removals");
		}
		step_set(apply, step, STEP_BLOCKED);
		apply->result->blocked += step->last;
	}
}
