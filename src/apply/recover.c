#include "apply/internal.h"
#include "base/clock.h"

/* Open journal rows: a run died, or never learnt what became of a create. decide.md rows 16 to 18.
 * While the cloud still honours the token (kind.replay_s) the recorded request is sent again, so
 * it gives the same resources; later only what `find` shows is believed. */

static const RgPlanChange *find_change(Apply *apply, const char *address)
{
	for (guint i = 0; i < apply->plan->changes->len; i++) {
		const RgPlanChange *change = apply->plan->changes->pdata[i];
		if (g_str_equal(change->address, address))
			return change;
	}
	return NULL;
}

static void submit_row(Apply *apply, const RgJournalRow *row)
{
	const RgKind *kind = rg_schema_kind(rg_provider_get_schema(apply->provider), row->kind);
	bool too_old = kind && rg_clock_now_s() - row->started_s > kind->replay_s;
	bool find = too_old && rg_provider_offers(apply->provider, "find");
	Job *job = job_new(find ? JOB_FIND : JOB_CREATE, json_incref(row->input), NULL);
	job->row = row;
	job->row_id = row->id;
	const json_t *first = json_array_get(row->members, 0);
	g_autofree char *text =
		g_strdup_printf("%s%s: asking the cloud again under the token of run %s",
			rg_json_str(first, "address", "?"),
			json_array_size(row->members) > 1 ? " and its batch" : "",
			row->run ? row->run : "?");
	emit(apply, RG_EVENT_REPLAY, NULL, NULL, text);
	apply->running++;
	jobs_submit(apply->jobs, job);
}

static void back(Apply *apply, const char *address, const char *id, const json_t *outputs)
{
	live_set(apply, address, id, outputs);
	g_hash_table_add(apply->recovered, g_strdup(address));
}

/* "definite" speaks of this sending only. A refusal that comes before the cloud looks the token up
 * (permission, quota, parameters) says nothing of the first one; these two do. */
static bool tells_of_the_first_try(const RgItemResult *result)
{
	return result->definite &&
	       (result->class_ == RG_CLASS_CAPACITY || result->class_ == RG_CLASS_GONE);
}

/* false: nothing definite is known of the member, its row stays open. */
static bool outcome_of(Apply *apply, const Job *job, size_t i, RgMemberOutcome *outcome)
{
	const char *address = rg_json_str(json_array_get(job->row->members, i), "address", "");
	*outcome = (RgMemberOutcome){.address = address};
	if (job->kind == JOB_FIND) {
		for (guint k = 0; k < job->found->len; k++) {
			const RgResource *seen = job->found->pdata[k];
			if (seen->presence == RG_PRESENT &&
				g_strcmp0(seen->address, address) == 0) {
				outcome->created = true;
				outcome->id = seen->id;
				outcome->outputs = seen->attrs;
			}
		}
		return job->found_all;
	}
	for (guint k = 0; k < job->results->len; k++) {
		const RgItemResult *result = job->results->pdata[k];
		if (!g_str_equal(result->address, address))
			continue;
		outcome->created = result->outcome == RG_OUTCOME_DONE;
		outcome->id = result->id;
		outcome->outputs = result->attributes;
		return outcome->created || tells_of_the_first_try(result);
	}
	return false;
}

static void still_open(Apply *apply, const Job *job, unsigned n)
{
	const char *address = rg_json_str(json_array_get(job->row->members, 0), "address", "?");
	apply->result->open += n;
	RgDiag *diag = rg_diags_error(apply->diags, "apply.blocked",
		"the interrupted creation of %s%s could not be cleared up", address,
		n > 1 ? " and others" : "");
	rg_diag_hint(diag, "it stays in the journal; mend the cause above and run apply again");
	const RgPlanChange *change = find_change(apply, address);
	if (change)
		rg_diag_at(diag, change->source);
}

static void finish_row(Apply *apply, Job *job)
{
	size_t members = json_array_size(job->row->members), n = 0;
	g_autofree RgMemberOutcome *outcomes = g_new0(RgMemberOutcome, members);
	for (size_t i = 0; i < members; i++) {
		if (outcome_of(apply, job, i, &outcomes[n]))
			n++;
		else
			g_hash_table_add(apply->unsettled, g_strdup(outcomes[n].address));
	}
	if (n && !rg_store_journal_settle(apply->store, apply->plan->cluster, job->row_id, outcomes,
			 n, apply->diags)) {
		apply->store_failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (outcomes[i].created)
			back(apply, outcomes[i].address, outcomes[i].id, outcomes[i].outputs);
	}
	if (n == members)
		return;
	rg_diags_take_all(apply->diags, job->diags);
	still_open(apply, job, (unsigned)(members - n));
}

void recover_open_rows(Apply *apply)
{
	const GPtrArray *journal = apply->snapshot->journal;
	for (guint i = 0; i < journal->len && !apply_interrupted(apply); i++)
		submit_row(apply, journal->pdata[i]);
	while (apply->running) {
		apply_interrupted(apply);
		Job *job = jobs_take(apply->jobs, 200);
		if (!job)
			continue;
		apply->running--;
		finish_row(apply, job);
		job_free(job);
	}
}
