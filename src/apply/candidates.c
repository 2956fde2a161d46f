#include "apply/internal.h"
#include "base/clock.h"
#include "resource/nodes.h"
#include <string.h>

/* Where the cloud has no capacity or no quota for a pool's nodes: the next candidate of the plan
 * (RgPlan.capacity) is asked for, in a journal row of its own. Nothing else is ever asked for. A
 * candidate that was refused is spent for the round: no other node of the pool tries it in vain.
 * When all are spent, the run fails, or waits and begins again with the first while
 * RgApplyOptions.capacity_ms lasts. A node that is asked for is in one open row; where it was
 * refused is settled before the next row is opened. So no two candidates hold nodes of one slot. */

#define WAIT_FIRST_MS 2000
#define WAIT_MAX_MS 300000

struct Choice {
	const char *pool;
	const json_t *candidates;
	int64_t floor;	  /* nodes below it are bought on demand */
	bool whole;	  /* all of its nodes are of one candidate */
	GPtrArray *steps; /* Step*: the creates */
	bool *spent[2];	  /* of each candidate: refused in this round; [1]: below the floor */
	int64_t more;	  /* micro-USD an hour over what was planned */
	bool is_head;
	bool is_known;	   /* the head: other nodes know its address, which is one of its zone */
	guint gate;	   /* the head: from there, its step unblocks those that wait for it */
	unsigned wait_ms;  /* before the next round */
	int64_t resume_ms; /* when it begins; 0: the round goes on */
};

static void choice_free(Choice *choice)
{
	g_ptr_array_unref(choice->steps);
	g_free(choice->spent[0]);
	g_free(choice->spent[1]);
	g_free(choice);
}

/* ---- candidates */

static int is_below(const Choice *choice, const Step *step)
{
	return step->change->index >= 0 && step->change->index < choice->floor;
}

/* What the candidate is for such a node; NULL: nothing, as it has no on-demand part. */
static const json_t *entry_of(const Choice *choice, size_t k, int below)
{
	const json_t *candidate = json_array_get(choice->candidates, k);
	const json_t *node = json_object_get(candidate, "node");
	const json_t *floor = json_object_get(candidate, "floor");
	bool spot =
		g_strcmp0(rg_json_str(json_object_get(node, "offer"), "market", ""), "spot") == 0;
	return !below ? node : floor ? floor : spot ? NULL : node;
}

static const json_t *offer_of(const Choice *choice, size_t k, int below)
{
	return json_object_get(entry_of(choice, k, below), "offer");
}

static bool same_text(const json_t *a, const json_t *b, const char *member)
{
	return g_str_equal(rg_json_str(a, member, ""), rg_json_str(b, member, ""));
}

/* A pin names the market only where it is not on demand. */
static bool is_same(const json_t *offer, const json_t *pin, bool any_zone)
{
	const char *market = rg_json_str(offer, "market", "on-demand");
	return same_text(offer, pin, "instance_type") &&
	       (any_zone || same_text(offer, pin, "zone")) &&
	       g_str_equal(market, rg_json_str(pin, "market", "on-demand"));
}

static size_t count(const Choice *choice)
{
	return json_array_size(choice->candidates);
}

/* Refused as `pin` says: every candidate that is the same; by a quota, which is not a zone's, those
 * in other zones too. */
static void spend(Choice *choice, const json_t *pin, int below, bool any_zone)
{
	for (size_t k = 0; k < count(choice); k++) {
		const json_t *offer = offer_of(choice, k, below);
		if (!offer || !is_same(offer, pin, any_zone))
			continue;
		choice->spent[below][k] = true;
		if (choice->whole)
			choice->spent[!below][k] = true;
	}
}

static bool is_spent(const Choice *choice, const Step *step)
{
	int below = is_below(choice, step);
	for (size_t k = 0; k < count(choice); k++) {
		const json_t *offer = offer_of(choice, k, below);
		if (offer && is_same(offer, step->change->pin, false))
			return choice->spent[below][k];
	}
	return false;
}

static int64_t price_of(const json_t *offer)
{
	return MAX(rg_json_int(offer, "price_microusd_hour", 0), 0);
}

/* The best one that is not spent and that the budget still holds; -1: none. Of a whole pool, for
 * all of its nodes. */
static int next_of(const Apply *apply, const Choice *choice, const Step *step)
{
	int below = is_below(choice, step);
	int64_t n = choice->whole ? choice->steps->len : 1;
	for (size_t k = 0; k < count(choice); k++) {
		const json_t *offer = offer_of(choice, k, below);
		bool all = !choice->whole || !choice->floor || entry_of(choice, k, !below);
		bool far = choice->is_known && !same_text(offer, step->change->pin, "zone");
		if (!offer || !all || far || choice->spent[below][k])
			continue;
		int64_t more = n * (price_of(offer) - price_of(step->change->pin));
		if (more <= 0 || rg_plan_affords(apply->plan, choice->pool, choice->more + more,
					 apply->more + more))
			return (int)k;
	}
	return -1;
}

/* ---- build */

static Choice *choice_new(const json_t *pool)
{
	Choice *choice = g_new0(Choice, 1);
	choice->pool = rg_json_str(pool, "pool", "");
	choice->candidates = json_object_get(pool, "candidates");
	choice->floor = rg_json_int(pool, "floor", 0);
	choice->whole = rg_json_bool(pool, "whole", false);
	choice->is_head = g_str_equal(choice->pool, "head");
	choice->steps = g_ptr_array_new();
	for (size_t i = 0; i < G_N_ELEMENTS(choice->spent); i++)
		choice->spent[i] = g_new0(bool, count(choice) + 1);
	return choice;
}

static bool has_other_nodes(const Apply *apply)
{
	const RgResourceSet *recorded = apply->snapshot->recorded;
	rg_resource_foreach (record, recorded) {
		const RgKind *kind = kind_of(apply, record->kind);
		if (kind && kind->node && !rg_nodes_get(record, 0).is_head)
			return true;
	}
	return false;
}

/* While the head may still go to another zone, where its address is another one, nobody is created
 * who knows it: without a head, nobody is needed either. */
static void close_gate(Apply *apply, Choice *choice)
{
	Step *head = choice->steps->pdata[0];
	choice->gate = head->unblocks->len;
	choice->is_known = count(choice) < 2 || has_other_nodes(apply);
	for (guint i = 0; i < apply->steps->len && !choice->is_known; i++) {
		Step *step = apply->steps->pdata[i];
		if (step->kind == STEP_CREATE && step->change->pin && step != head)
			step_wait_for(step, head);
	}
}

void candidates_accepted(Apply *apply, const Step *step)
{
	Choice *choice = step->choice;
	if (!choice || !choice->is_head || choice->is_known)
		return;
	choice->is_known = true;
	for (guint i = choice->gate; i < step->unblocks->len; i++)
		step_release(apply, step->unblocks->pdata[i]);
	g_ptr_array_set_size(step->unblocks, (int)choice->gate);
}

void candidates_build(Apply *apply)
{
	apply->choices = g_ptr_array_new_with_free_func((GDestroyNotify)choice_free);
	rg_json_foreach (pool, json_object_get(apply->plan->capacity, "pools")) {
		Choice *choice = choice_new(pool);
		g_ptr_array_add(apply->choices, choice);
		rg_ptr_foreach (Step, step, apply->steps) {
			if (step->kind != STEP_CREATE || !step->change->pin ||
				g_strcmp0(step->change->group, choice->pool) != 0)
				continue;
			step->choice = choice;
			g_ptr_array_add(choice->steps, step);
		}
		if (choice->is_head && choice->steps->len)
			close_gate(apply, choice);
	}
}

bool candidates_are_whole(const Step *step)
{
	return step->choice && step->choice->whole;
}

/* ---- refused */

/* Until one of the candidates is open: a reservation that starts later is closed until then. 0:
 * now, as far as is known. */
static int64_t opens_in_ms(const Choice *choice)
{
	int64_t now_s = rg_clock_now_s(), first_s = INT64_MAX;
	for (size_t k = 0; k < count(choice); k++) {
		const json_t *offer = offer_of(choice, k, 0);
		first_s = MIN(first_s, rg_json_int(offer, "start_s", 0));
	}
	return count(choice) && first_s > now_s ? (first_s - now_s) * 1000 : 0;
}

static bool may_wait(const Apply *apply, const Choice *choice)
{
	int64_t spent_ms = rg_clock_monotonic_ms() - apply->begun_ms;
	int64_t closed_ms = choice ? opens_in_ms(choice) : 0;
	return apply->options->capacity_ms > 0 && !apply->stopping &&
	       spent_ms + closed_ms < apply->options->capacity_ms;
}

char *candidates_closed(const Step *step)
{
	const json_t *offer = step->choice ? offer_of(step->choice, 0, 0) : NULL;
	int64_t start_s = rg_json_int(offer, "start_s", 0);
	if (start_s <= rg_clock_now_s())
		return NULL;
	g_autofree char *start = rg_clock_format(start_s);
	return g_strdup_printf(
		"reservation %s starts at %s", rg_json_str(offer, "reservation", "?"), start);
}

bool candidates_end(const Apply *apply, const Step *step)
{
	const Choice *choice = step->choice;
	unsigned left = 0;
	for (size_t k = 0; choice && k < count(choice); k++)
		left += !choice->spent[is_below(choice, step)][k];
	return left <= 1 && !may_wait(apply, choice);
}

/* What the run reports: one entry for a candidate and a reason. */
static void note_tried(Apply *apply, const Step *step, const RgItemResult *result)
{
	const json_t *pin = step->change->pin;
	const char *code = result->code ? result->code : rg_class_name(result->class_);
	rg_json_foreach (entry, apply->result->tried) {
		if (!same_text(entry, pin, "zone") || !is_same(entry, pin, false) ||
			!g_str_equal(rg_json_str(entry, "pool", ""), step->change->group) ||
			!g_str_equal(rg_json_str(entry, "code", ""), code))
			continue;
		json_object_set_new(
			entry, "refused", json_integer(rg_json_int(entry, "refused", 0) + 1));
		return;
	}
	if (!apply->result->tried)
		apply->result->tried = json_array();
	json_array_append_new(apply->result->tried,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "pool", step->change->group,
			"instance_type", rg_json_str(pin, "instance_type", ""), "market",
			rg_json_str(pin, "market", "on-demand"), "zone",
			rg_json_str(pin, "zone", ""), "class", rg_class_name(result->class_),
			"code", code, "refused", 1));
}

bool candidates_refused(Apply *apply, Step *step, const RgItemResult *result)
{
	bool lacks = result->class_ == RG_CLASS_CAPACITY || result->class_ == RG_CLASS_QUOTA;
	bool definite = result->definite || step->state == STEP_POLLED;
	if (!lacks || !definite || step->kind != STEP_CREATE || !step->change->pin)
		return false;
	note_tried(apply, step, result);
	Choice *choice = step->choice;
	if (!choice || apply->stopping || apply->store_failed)
		return false;
	spend(choice, step->change->pin, is_below(choice, step), result->class_ == RG_CLASS_QUOTA);
	step->refused =
		result->code ? g_intern_string(result->code) : rg_class_name(result->class_);
	return next_of(apply, choice, step) >= 0 || may_wait(apply, choice);
}

/* ---- what is said */

static const char *market_of(const json_t *offer)
{
	return g_str_equal(rg_json_str(offer, "market", "on-demand"), "spot") ? " on spot" : "";
}

/* "east-1b", "on-demand in east-1a", "p4de.24xlarge on spot in east-1a" */
static char *next_text(const json_t *from, const json_t *to)
{
	const char *zone = rg_json_str(to, "zone", "?");
	const char *type = rg_json_str(to, "instance_type", "?");
	const char *market = rg_json_str(to, "market", "on-demand");
	bool same_market = g_str_equal(market, rg_json_str(from, "market", "on-demand"));
	if (!same_text(from, to, "instance_type"))
		return g_strdup_printf("%s%s in %s", type, market_of(to), zone);
	return same_market ? g_strdup(zone) : g_strdup_printf("%s in %s", market, zone);
}

static void tell_move(Apply *apply, const Step *step, const json_t *to, GHashTable *told)
{
	const json_t *from = step->change->pin;
	g_autofree char *next = next_text(from, to);
	g_autofree char *text =
		g_strdup_printf("%s: %s has no %s%s (%s), trying %s", step->choice->pool,
			rg_json_str(from, "zone", "?"), rg_json_str(from, "instance_type", "?"),
			market_of(from), step->refused ? step->refused : "refused before", next);
	if (g_hash_table_contains(told, text))
		return;
	emit(apply, RG_EVENT_MOVE, NULL, NULL, text);
	g_hash_table_add(told, g_steal_pointer(&text));
}

/* ---- on to the next */

/* `change` with other wishes; everything else is borrowed from the plan. It takes the pin. */
static RgPlanChange *moved_new(
	Apply *apply, const RgPlanChange *change, const RgResource *desired, json_t *pin)
{
	RgPlanChange *moved = g_memdup2(change, sizeof *change);
	moved->desired = json_incref(desired->attrs);
	moved->depends_on = g_strdupv(desired->depends_on);
	moved->pin = pin;
	g_ptr_array_add(apply->moved, moved);
	g_hash_table_insert(apply->changes, moved->address, moved);
	return moved;
}

void moved_free(void *data)
{
	RgPlanChange *moved = data;
	json_decref(moved->desired);
	json_decref(moved->pin);
	g_strfreev(moved->depends_on);
	g_free(moved);
}

static bool drop_index(json_t *indexes, int64_t index)
{
	for (size_t i = 0; i < json_array_size(indexes); i++) {
		if (json_integer_value(json_array_get(indexes, i)) == index)
			return json_array_remove(indexes, i) == 0;
	}
	return false;
}

static void put_head(json_t *nodes, const json_t *entry)
{
	for (size_t i = 0; i < json_array_size(nodes); i++) {
		if (g_str_equal(rg_json_str(json_array_get(nodes, i), "role", ""), "head"))
			json_array_set(nodes, i, rg_json_unconst(entry));
	}
}

/* The node of that index becomes one of `entry`. */
static void put_index(json_t *nodes, const char *pool, int64_t index, const json_t *entry)
{
	json_t *home = NULL, *node;
	for (size_t i = json_array_size(nodes); i > 0; i--) {
		node = json_array_get(nodes, i - 1);
		json_t *indexes = json_object_get(node, "indexes");
		if (g_strcmp0(rg_json_str(node, "pool", NULL), pool) != 0)
			continue;
		bool dropped = drop_index(indexes, index); /* also where it is asked for again */
		if (json_object_get(node, "offer") == json_object_get(entry, "offer"))
			home = node;
		else if (dropped && !json_array_size(indexes))
			json_array_remove(nodes, i - 1);
	}
	if (!home) {
		home = json_copy(rg_json_unconst(entry));
		json_object_set_new(home, "indexes", json_array());
		json_array_append_new(nodes, home);
	}
	json_array_append_new(json_object_get(home, "indexes"), json_integer(index));
}

/* The fitted document, whose entries may lose indexes; the plan's own stays. */
static json_t *fitted_of(Apply *apply)
{
	if (apply->fitted)
		return apply->fitted;
	apply->fitted = json_copy(json_object_get(apply->plan->capacity, "fitted"));
	json_t *nodes = json_array();
	rg_json_foreach (node, json_object_get(apply->fitted, "nodes")) {
		json_t *copy = json_copy(node);
		json_t *indexes = json_object_get(node, "indexes");
		if (indexes)
			json_object_set_new(copy, "indexes", json_copy(indexes));
		json_array_append_new(nodes, copy);
	}
	json_object_set_new(apply->fitted, "nodes", nodes);
	return apply->fitted;
}

typedef struct {
	Step *step;
	const json_t *entry;
} Move;

/* Chosen one after the other, so that all of them together keep the budget. */
static void choose(Apply *apply, Step *step, int k, GHashTable *told, GArray *moves)
{
	Choice *choice = step->choice;
	if (k < 0) { /* until the next round; candidates_refused has seen that there is one */
		apply->parked++;
		step->parked = true;
		return;
	}
	const json_t *entry = entry_of(choice, (size_t)k, is_below(choice, step));
	const json_t *offer = json_object_get(entry, "offer");
	const Move move = {step, entry};
	int64_t more = price_of(offer) - price_of(step->change->pin);
	choice->more += more;
	apply->more += more;
	if (!is_same(offer, step->change->pin, false))
		tell_move(apply, step, offer, told);
	json_t *nodes = json_object_get(fitted_of(apply), "nodes");
	if (choice->is_head)
		put_head(nodes, entry);
	else
		put_index(nodes, choice->pool, step->change->index, entry);
	g_array_append_val(moves, move);
}

/* What was last wished for at that address, as lowered: the plan's own wishes may have more. */
static const json_t *wished(
	const Apply *apply, const RgPlanChange *was, const RgResourceSet *planned)
{
	const RgResource *resource = rg_resource_set_find(planned, was->address);
	bool moved = g_ptr_array_find(apply->moved, was, NULL);
	return moved ? was->desired : resource ? resource->attrs : NULL;
}

/* What the head has to itself, such as its address, is made again where the head goes. */
static void take_along(
	Apply *apply, Step *head, const RgResource *desired, const RgResourceSet *lowered)
{
	g_autoptr(RgResourceSet) planned = rg_provider_lower(
		apply->provider, json_object_get(apply->plan->capacity, "fitted"), apply->diags);
	for (guint i = 0; planned && desired->depends_on && desired->depends_on[i]; i++) {
		const char *address = desired->depends_on[i];
		const RgPlanChange *was = g_hash_table_lookup(apply->changes, address);
		const RgResource *wanted = rg_resource_set_find(lowered, address);
		const json_t *before = was ? wished(apply, was, planned) : NULL;
		if (wanted && before && !json_equal(rg_json_unconst(before), wanted->attrs))
			step_make_again(apply, head, was,
				moved_new(apply, was, wanted, json_incref(was->pin)));
	}
}

static void take(Apply *apply, const Move *move, RgResourceSet *lowered)
{
	Step *step = move->step;
	const RgResource *desired =
		lowered ? rg_resource_set_find(lowered, step->change->address) : NULL;
	if (!desired) {
		step_fail(apply, step, last_diag(apply));
		return;
	}
	if (step->choice->is_head)
		take_along(apply, step, desired, lowered);
	step->change = moved_new(apply, step->change, desired, rg_plan_pin(move->entry));
	step->refused = NULL;
	step_set(apply, step, step->waiting ? STEP_WAITING : STEP_READY);
}

/* Those of the choice that have not been asked for yet, and would be in vain. */
static void add_vain(Apply *apply, const Choice *choice, GPtrArray *steps)
{
	rg_ptr_foreach (Step, step, choice->steps) {
		if (step->state != STEP_READY || step->held || !is_spent(choice, step) ||
			next_of(apply, choice, step) < 0)
			continue;
		batches_drop(apply, step);
		g_ptr_array_add(steps, step);
	}
}

static void plan_round(Apply *apply, Choice *choice)
{
	int64_t now = rg_clock_monotonic_ms(), closed_ms = opens_in_ms(choice);
	int64_t end = apply->begun_ms + apply->options->capacity_ms;
	if (choice->resume_ms)
		return;
	choice->wait_ms = choice->wait_ms ? MIN(2 * choice->wait_ms, WAIT_MAX_MS) : WAIT_FIRST_MS;
	/* not all who wait for the same machines at the same time */
	int64_t wait = (int64_t)(choice->wait_ms * g_random_double_range(0.8, 1.2));
	choice->resume_ms = MIN(now + MAX(wait, closed_ms), MAX(end, now));
	g_autofree char *closed = candidates_closed(choice->steps->pdata[0]);
	g_autofree char *text = g_strdup_printf("%s: %s, trying again in %" G_GINT64_FORMAT " s",
		choice->pool, closed ? closed : "no candidate has capacity",
		(choice->resume_ms - now + 999) / 1000);
	emit(apply, RG_EVENT_MOVE, NULL, NULL, text);
}

void candidates_move(Apply *apply, GPtrArray *steps)
{
	if (!steps->len)
		return;
	Choice *choice = ((Step *)steps->pdata[0])->choice;
	g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) moves = g_array_new(FALSE, FALSE, sizeof(Move));
	for (guint i = 0; i < steps->len; i++)
		step_set(apply, steps->pdata[i], STEP_WAITING);
	if (!choice->whole)
		add_vain(apply, choice, steps);
	int all = next_of(apply, choice, steps->pdata[0]);
	for (guint i = 0; i < steps->len; i++) {
		int k = choice->whole ? all : next_of(apply, choice, steps->pdata[i]);
		choose(apply, steps->pdata[i], k, told, moves);
	}
	if (moves->len < steps->len)
		plan_round(apply, choice);
	g_autoptr(RgResourceSet) lowered =
		moves->len ? rg_provider_lower(apply->provider, fitted_of(apply), apply->diags)
			   : NULL;
	for (guint i = 0; i < moves->len; i++)
		take(apply, &g_array_index(moves, Move, i), lowered);
}

/* ---- rounds */

static void begin_round(Apply *apply, Choice *choice)
{
	g_autoptr(GPtrArray) steps = g_ptr_array_new();
	choice->resume_ms = 0;
	for (size_t i = 0; i < G_N_ELEMENTS(choice->spent); i++)
		memset(choice->spent[i], 0, sizeof(bool) * count(choice));
	rg_ptr_foreach (Step, step, choice->steps) {
		if (!step->parked)
			continue;
		step->parked = false;
		apply->parked--;
		if (step->state == STEP_WAITING) /* else it has been blocked */
			g_ptr_array_add(steps, step);
	}
	candidates_move(apply, steps);
}

void candidates_look(Apply *apply)
{
	for (guint i = 0; i < apply->choices->len && !apply->stopping; i++) {
		Choice *choice = apply->choices->pdata[i];
		if (choice->resume_ms && choice->resume_ms <= rg_clock_monotonic_ms())
			begin_round(apply, choice);
	}
}

/* ---- the end */

char *candidates_tried(const Apply *apply, const char *pool)
{
	g_autoptr(GString) text = g_string_new("refused:");
	unsigned n = 0;
	rg_json_foreach (entry, apply->result->tried) {
		if (g_strcmp0(rg_json_str(entry, "pool", NULL), pool) != 0)
			continue;
		g_string_append_printf(text, "%s %s%s in %s (%s)", n++ ? "," : "",
			rg_json_str(entry, "instance_type", ""), market_of(entry),
			rg_json_str(entry, "zone", "?"), rg_json_str(entry, "code", "?"));
	}
	return n > 1 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}
