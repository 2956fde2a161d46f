#include "sim/core/counters.h"

typedef struct {
	gint64 requests;
	gint64 errors;
	gint64 injected;
} Count;

struct RgSimCounters {
	Count all;
	gint64 reading;
	gint64 mutating;
	gint64 dry_run;
	gint64 refused;
	GHashTable *actions; /* name -> Count */
};

RgSimCounters *rg_sim_counters_new(void)
{
	RgSimCounters *counters = g_new0(RgSimCounters, 1);
	counters->actions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return counters;
}

void rg_sim_counters_free(RgSimCounters *counters)
{
	if (!counters)
		return;
	g_hash_table_unref(counters->actions);
	g_free(counters);
}

void rg_sim_counters_reset(RgSimCounters *counters)
{
	GHashTable *actions = counters->actions;
	g_hash_table_remove_all(actions);
	*counters = (RgSimCounters){.actions = actions};
}

static void count(Count *count, RgSimOutcome outcome)
{
	count->requests++;
	count->errors += outcome != RG_SIM_COUNT_OK;
	count->injected += outcome == RG_SIM_COUNT_INJECTED;
}

void rg_sim_counters_add(
	RgSimCounters *counters, const RgSimAction *action, bool dry_run, RgSimOutcome outcome)
{
	count(&counters->all, outcome);
	if (!action) {
		counters->refused++;
		return;
	}
	if (dry_run)
		counters->dry_run++;
	else if (action->mutating)
		counters->mutating++;
	else
		counters->reading++;
	Count *own = g_hash_table_lookup(counters->actions, action->name);
	if (!own) {
		own = g_new0(Count, 1);
		g_hash_table_insert(counters->actions, g_strdup(action->name), own);
	}
	count(own, outcome);
}

json_t *rg_sim_counters_json(const RgSimCounters *counters)
{
	json_t *actions = json_object();
	GHashTableIter iter;
	void *name;
	void *value;
	g_hash_table_iter_init(&iter, counters->actions);
	while (g_hash_table_iter_next(&iter, &name, &value)) {
		const Count *own = value;
		json_object_set_new(actions, name,
			json_pack("{s:I, s:I, s:I}", "requests", (json_int_t)own->requests,
				"errors", (json_int_t)own->errors, "injected",
				(json_int_t)own->injected));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "requests",
		(json_int_t)counters->all.requests, "reading", (json_int_t)counters->reading,
		"mutating", (json_int_t)counters->mutating, "dry_run",
		(json_int_t)counters->dry_run, "errors", (json_int_t)counters->all.errors,
		"injected", (json_int_t)counters->all.injected, "refused",
		(json_int_t)counters->refused, "actions", actions);
}
