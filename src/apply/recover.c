#include "apply/internal.h"
#include "base/clock.h"

/* Open journal rows: a run died, or never learnt the result of a create. decide.md rows 16 to 18.
 * While the cloud still honours the token (kind.replay_s), the recorded request is sent again and
 * returns the same resources; search.c handles the rest if that shows nothing. Rows that the plan
 * leaves out (--target, --exclude, a stop) are not touched: sending them would create what nobody
 * requested. */

static void recovery_free(void *data)
{
	Recovery *recovery = data;
	g_ptr_array_unref(recovery->open);
	g_free(recovery->reason);
	g_free(recovery);
}

static const RgPlanChange *change_of(const Apply *apply, const json_t *member)
{
	const char *address = rg_json_str(member, "address", "");
	const char *renamed = apply->renamed ? g_hash_table_lookup(apply->renamed, address) : NULL;
	return g_hash_table_lookup(apply->changes, renamed ? renamed : address);
}

static Recovery *recovery_new(const Apply *apply, const RgJournalRow *row)
{
	bool wanted = false;
	Recovery *recovery = g_new0(Recovery, 1);
	recovery->provider = apply->provider;
	recovery->row = row;
	recovery->kind = kind_of(apply, row->kind);
	recovery->open = g_ptr_array_new();
	rg_json_foreach (member, row->members) {
		const RgPlanChange *change = change_of(apply, member);
		g_ptr_array_add(recovery->open, member);
		/* Left out, or stopped because of the view of the cloud: nothing may be done to it
		 * now. */
		wanted |= change && change->replay && change->action != RG_ACTION_NONE &&
			  change->action != RG_ACTION_STOP;
	}
	if (wanted)
		return recovery;
	recovery_free(recovery);
	return NULL;
}

static GPtrArray *recoveries_new(const Apply *apply)
{
	GPtrArray *recoveries = g_ptr_array_new_with_free_func(recovery_free);
	for (guint i = 0; i < apply->snapshot->journal->len; i++) {
		Recovery *recovery = recovery_new(apply, apply->snapshot->journal->pdata[i]);
		if (recovery)
			g_ptr_array_add(recoveries, recovery);
	}
	return recoveries;
}

static void submit(Apply *apply, Recovery *recovery)
{
	bool search = recovery->asked_ms || search_only(recovery);
	if (!recovery->asked_ms) {
		recovery->asked_ms = rg_clock_monotonic_ms();
		const RgJournalRow *row = recovery->row;
		g_autofree char *text = g_strdup_printf("%s%s: asking the cloud %s of run %s",
			rg_json_str(recovery->open->pdata[0], "address", "?"),
			recovery->open->len > 1 ? " and its batch" : "",
			search ? "what it created with the token" : "again with the token",
			row->run ? row->run : "?");
		emit(apply, RG_EVENT_REPLAY, NULL, NULL, text);
	}
	Job *job = job_new(search ? JOB_FIND : JOB_CREATE, json_incref(recovery->row->input), NULL);
	job->row_id = recovery->row->id;
	job->recovery = recovery;
	recovery->look_ms = 0;
	recovery->busy = true;
	jobs_submit(apply, job);
}

static const RgItemResult *result_of(const Job *job, const char *address)
{
	rg_ptr_foreach (const RgItemResult, result, job->results)
		if (g_str_equal(result->address, address))
			return result;
	return NULL;
}

/* It was created, if not correctly: good enough for a resource that will be removed anyway. */
static bool is_to_leave(const Apply *apply, const json_t *member)
{
	const RgPlanChange *change = change_of(apply, member);
	return change && change->replay &&
	       (change->action == RG_ACTION_DELETE || change->action == RG_ACTION_REPLACE);
}

static Fate replay_fate(
	const Apply *apply, const Job *job, const json_t *member, RgMemberOutcome *outcome)
{
	const char *address = rg_json_str(member, "address", "");
	const RgItemResult *result = result_of(job, address);
	*outcome = (RgMemberOutcome){.address = address};
	if (!result)
		return FATE_OPEN;
	if (result->outcome == RG_OUTCOME_DONE || (result->id && is_to_leave(apply, member))) {
		outcome->created = true;
		outcome->id = result->id;
		outcome->outputs = result->attributes;
		return FATE_MADE;
	}
	g_free(job->recovery->reason);
	job->recovery->reason = g_strdup_printf("%s%s%s", result->code ? result->code : "",
		result->code ? ": " : "",
		result->message ? result->message : rg_class_name(result->class_));
	if (!result->definite)
		return FATE_OPEN;
	/* "definite" applies only to this request. A refusal that comes before the cloud looks the
	 * token up (permission, quota, parameters, a missing reference) says nothing about the
	 * first request; these two do. */
	return result->class_ == RG_CLASS_CAPACITY || result->class_ == RG_CLASS_GONE
		       ? FATE_NOT_MADE
		       : FATE_SEARCH;
}

/* The named members stay in the journal: nothing may be done at their addresses. */
static void stays_open(Apply *apply, const Recovery *recovery, const GPtrArray *members)
{
	RgDiag *diag = NULL;
	const char *first = members->len ? rg_json_str(members->pdata[0], "address", "?") : NULL;
	if (first && !apply->stopping && !apply->store_failed) {
		const RgPlanChange *change = change_of(apply, members->pdata[0]);
		diag = rg_diags_error(apply->diags, "apply.blocked",
			"the interrupted creation of %s%s could not be resolved", first,
			members->len > 1 ? " and others" : "");
		if (recovery->reason)
			rg_diag_detail(diag, "%s", recovery->reason);
		rg_diag_hint(diag, "it stays in the journal; fix the cause and run apply again");
		rg_diag_address(diag, first, NULL);
		if (change)
			rg_diag_at(diag, change->source);
	}
	for (guint i = 0; i < members->len; i++) {
		const char *address = rg_json_str(members->pdata[i], "address", "?");
		leave_open(apply, address);
		g_hash_table_insert(apply->unsettled, g_strdup(address), diag);
	}
}

static void came_back(Apply *apply, const Job *job, const RgMemberOutcome *outcome, json_t *attrs,
	const json_t *observed)
{
	Live *live = live_set(apply, outcome->address, outcome->id, outcome->outputs);
	const RgItemResult *told = job->results ? result_of(job, outcome->address) : NULL;
	live->operation = g_strdup(told ? told->operation : NULL);
	live_made(live, json_object_get(job->recovery->row->input, "attributes"));
	live->observed = json_incref(rg_json_unconst(observed));
	live->replayed = json_incref(attrs);
}

/* rule 2, for all members whose result is now known */
static bool settle(
	Apply *apply, const Job *job, RgMemberOutcome *outcomes, json_t **members, size_t n)
{
	const Recovery *recovery = job->recovery;
	g_autofree const json_t **observed = g_new0(const json_t *, n + 1);
	for (size_t i = 0; i < n; i++) {
		observed[i] = outcomes[i].outputs;
		outcomes[i].outputs = computed_of(recovery->kind, observed[i]);
	}
	bool ok = !n || rg_store_journal_settle(apply->store, apply->plan->cluster,
				recovery->row->id, outcomes, n, apply->diags);
	for (size_t i = 0; i < n; i++) {
		if (ok && outcomes[i].created)
			came_back(apply, job, &outcomes[i], json_object_get(members[i], "attrs"),
				observed[i]);
		json_decref(rg_json_unconst(outcomes[i].outputs));
	}
	apply->store_failed |= !ok;
	return ok;
}

static void finish(Apply *apply, const Job *job)
{
	Recovery *recovery = job->recovery;
	g_autoptr(GPtrArray) open = g_ptr_array_new(), again = g_ptr_array_new();
	g_autofree RgMemberOutcome *outcomes = g_new0(RgMemberOutcome, recovery->open->len);
	g_autofree json_t **members = g_new0(json_t *, recovery->open->len);
	size_t n = 0;
	rg_ptr_foreach (json_t, member, recovery->open) {
		Fate fate = job->kind == JOB_FIND ? search_fate(job, member, &outcomes[n])
						  : replay_fate(apply, job, member, &outcomes[n]);
		if (fate == FATE_MADE || fate == FATE_NOT_MADE)
			members[n++] = member;
		else
			g_ptr_array_add(fate == FATE_SEARCH ? again : open, member);
	}
	if (!settle(apply, job, outcomes, members, n))
		return; /* all of them stay open */
	g_ptr_array_set_size(recovery->open, 0);
	g_ptr_array_extend(recovery->open, again, NULL, NULL);
	if (again->len && job->kind == JOB_FIND)
		search_plan(recovery);
	else if (again->len)
		recovery->look_ms = rg_clock_monotonic_ms();
	if (open->len)
		rg_diags_take_all(apply->diags, job->diags);
	stays_open(apply, recovery, open);
}

static RgResource *extra_new(
	Apply *apply, const json_t *sibling, const RgItemResult *result, const RgKind *kind)
{
	int64_t index, attempt;
	g_autofree char *kind_name = NULL, *name = NULL;
	if (!result->id || !rg_address_parse(result->address, &kind_name, &name, &index))
		return NULL;
	RgResource *extra = rg_resource_new(kind_name, name, index);
	extra->id = g_strdup(result->id);
	extra->group = g_intern_string(rg_json_str(sibling, "group", NULL));
	extra->origin = g_intern_string(rg_json_str(sibling, "origin", NULL));
	extra->attrs = json_incref(json_object_get(sibling, "attrs"));
	extra->outputs_json = computed_of(kind, result->attributes);
	rg_store_identity(apply->store, apply->plan->cluster, result->address, &extra->generation,
		&attempt, apply->diags);
	return extra;
}

/* At whatever address: it may have been moved or imported since. */
static bool is_recorded(Apply *apply, const RgJournalRow *row, const char *id)
{
	GHashTableIter iter;
	gpointer address, live;
	g_autofree char *prefix = g_strconcat(row->kind, ".", NULL);
	g_hash_table_iter_init(&iter, apply->live);
	while (id && g_hash_table_iter_next(&iter, &address, &live)) {
		if (g_str_has_prefix(address, prefix) &&
			g_strcmp0(((const Live *)live)->id, id) == 0)
			return true;
	}
	return false;
}

/* A replay may create a member that was settled as not created the first time. It must not be lost:
 * it gets the same record as its siblings, at its address, if that is free. */
static void adopt_extra(Apply *apply, const Job *job, const RgItemResult *result)
{
	const Live *live = live_get(apply, result->address);
	const json_t *sibling = json_array_get(job->recovery->row->members, 0);
	if (is_recorded(apply, job->recovery->row, result->id))
		return;
	g_autoptr(RgResource) extra =
		live ? NULL : extra_new(apply, sibling, result, job->recovery->kind);
	if (extra && rg_store_adopt(apply->store, apply->plan->cluster, extra, apply->diags)) {
		const RgMemberOutcome outcome = {
			.address = extra->address, .id = extra->id, .outputs = extra->outputs_json};
		came_back(apply, job, &outcome, extra->attrs, result->attributes);
		if (apply->options->extras)
			g_hash_table_add(apply->options->extras, g_strdup(extra->id));
		return;
	}
	RgDiag *diag = rg_diags_error(apply->diags, "apply.blocked",
		"the repeated request returned %s for %s, which is recorded as another resource",
		result->id ? result->id : "?", result->address);
	rg_diag_hint(diag, "it has this cluster's ownership tags; remove it manually");
	g_hash_table_insert(apply->unsettled, g_strdup(result->address), diag);
}

static void take_extras(Apply *apply, const Job *job)
{
	g_autoptr(GHashTable) asked = g_hash_table_new(g_str_hash, g_str_equal);
	const json_t *members = job->recovery->row->members;
	rg_json_foreach (member, members)
		g_hash_table_add(asked, (char *)(uintptr_t)rg_json_str(member, "address", ""));
	for (guint i = 0; job->results && i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		if (result->outcome == RG_OUTCOME_DONE &&
			!g_hash_table_contains(asked, result->address))
			adopt_extra(apply, job, result);
	}
}

/* Starts what is due; true if something will become due. */
static bool start_due(Apply *apply, const GPtrArray *recoveries)
{
	bool waiting = false;
	rg_ptr_foreach (Recovery, recovery, recoveries) {
		bool due = !recovery->asked_ms ||
			   (recovery->look_ms && recovery->look_ms <= rg_clock_monotonic_ms());
		if (recovery->busy)
			continue;
		if (due && jobs_free_slots(apply))
			submit(apply, recovery);
		else
			waiting |= due || recovery->look_ms;
	}
	return waiting;
}

void recover_open_rows(Apply *apply)
{
	g_autoptr(GPtrArray) recoveries = recoveries_new(apply);
	for (;;) {
		bool stop = apply_interrupted(apply) || apply->store_failed;
		bool waiting = !stop && start_due(apply, recoveries);
		if (!apply->running && !waiting)
			break;
		Job *job = jobs_take(apply, 100);
		if (!job)
			continue;
		job->recovery->busy = false;
		finish(apply, job);
		take_extras(apply, job);
		job_free(job);
	}
	rg_ptr_foreach (const Recovery, recovery, recoveries)
		stays_open(apply, recovery, recovery->open);
}
