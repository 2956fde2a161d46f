#include "apply/internal.h"

/* Updates and removals. */

static const char *step_id(Apply *apply, const Step *step)
{
	Live *live = live_get(apply, step->change->address);
	return live && live->id ? live->id : step->change->id;
}

static json_t *input_new(const GPtrArray *steps)
{
	json_t *input = json_object();
	rg_json_set_str(input, "kind", ((Step *)steps->pdata[0])->change->kind);
	json_object_set_new(input, "items", json_array());
	return input;
}

static json_t *item_new(Apply *apply, const Step *step)
{
	json_t *item = json_object();
	rg_json_set_str(item, "address", step->change->address);
	rg_json_set_str(item, "id", step_id(apply, step));
	return item;
}

typedef bool (*MarkFn)(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	bool mark, RgDiags *diags);

/* Durable before the first request; when it can't be, the steps have failed. */
static bool mark_all(Apply *apply, MarkFn mark, const GPtrArray *steps)
{
	g_autoptr(GPtrArray) addresses = g_ptr_array_new();
	for (guint i = 0; i < steps->len; i++)
		g_ptr_array_add(addresses, ((Step *)steps->pdata[i])->change->address);
	if (mark(apply->store, apply->plan->cluster, (const char *const *)addresses->pdata,
		    addresses->len, true, apply->diags))
		return true;
	apply->store_failed = true;
	for (guint i = 0; i < steps->len; i++)
		step_fail(apply, steps->pdata[i], last_diag(apply));
	return false;
}

Job *remove_prepare(Apply *apply, GPtrArray *steps)
{
	/* decide.md rows 19 and 20 */
	if (!mark_all(apply, rg_store_leaving, steps))
		return NULL;
	json_t *input = input_new(steps);
	for (guint i = 0; i < steps->len; i++)
		json_array_append_new(
			json_object_get(input, "items"), item_new(apply, steps->pdata[i]));
	return job_new(JOB_REMOVE, input, steps);
}

/* Deletes the records of what is gone, and takes the mark "leaving" from what the cloud refused to
 * delete. When the state can't be written, all stay marked, and the next apply finishes them. */
static bool record_removed(Apply *apply, const Job *job)
{
	g_autoptr(GPtrArray) gone = g_ptr_array_new(), refused = g_ptr_array_new();
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		if (result->outcome == RG_OUTCOME_DONE)
			g_ptr_array_add(gone, result->address);
		else if (result->definite)
			g_ptr_array_add(refused, result->address);
	}
	const char *cluster = apply->plan->cluster;
	bool ok = !gone->len || rg_store_removed(apply->store, cluster,
					(const char *const *)gone->pdata, gone->len, apply->diags);
	if (refused->len &&
		!rg_store_leaving(apply->store, cluster, (const char *const *)refused->pdata,
			refused->len, false, apply->diags))
		apply->store_failed = true;
	apply->store_failed |= !ok;
	return ok;
}

void remove_finish(Apply *apply, Job *job)
{
	rg_diags_take_all(apply->diags, job->diags);
	bool recorded = record_removed(apply, job);
	g_autoptr(Failures) failures = failures_new();
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		if (result->outcome != RG_OUTCOME_DONE) {
			failures_add(failures, step, result);
		} else if (!recorded) {
			step_fail(apply, step, last_diag(apply));
		} else {
			step_done(apply, step);
			live_forget(apply, step->change->address);
		}
	}
	failures_tell(failures, apply, "could not destroy", NULL);
}

static json_t *changed_names(const RgPlanChange *change)
{
	json_t *names = json_array();
	for (guint i = 0; i < change->attrs->len; i++)
		json_array_append_new(
			names, json_string(((RgPlanAttr *)change->attrs->pdata[i])->name));
	return names;
}

/* What the cloud has now, as far as the plan saw it. */
static json_t *prior_new(const RgPlanChange *change)
{
	json_t *prior = change->before ? json_copy(change->before) : json_object();
	for (guint i = 0; i < change->attrs->len; i++) {
		const RgPlanAttr *attr = change->attrs->pdata[i];
		if (attr->before)
			json_object_set(prior, attr->name, attr->before);
	}
	return prior;
}

static bool changes_marks(const RgPlanChange *change)
{
	for (guint i = 0; i < change->attrs->len; i++) {
		if (g_str_equal(((RgPlanAttr *)change->attrs->pdata[i])->name, RG_MARKS))
			return true;
	}
	return false;
}

static json_t *marks_new(const Apply *apply, const RgPlanChange *change)
{
	json_t *marks = json_object();
	rg_json_set_str(marks, "cluster", apply->plan->cluster);
	rg_json_set_str(marks, "lineage", apply->options->lineage);
	rg_json_set_str(marks, "pool", change->group);
	return marks;
}

static bool add_update(Apply *apply, json_t *items, Step *step)
{
	json_t *attributes = live_resolve(apply, step->change->desired, apply->diags);
	if (!attributes) {
		step_fail(apply, step, last_diag(apply));
		return false;
	}
	json_t *item = item_new(apply, step);
	json_object_set_new(item, "attributes", attributes);
	json_object_set_new(item, "prior", prior_new(step->change));
	json_object_set_new(item, "changed", changed_names(step->change));
	if (changes_marks(step->change))
		json_object_set_new(item, "marks", marks_new(apply, step->change));
	json_array_append_new(items, item);
	return true;
}

Job *update_prepare(Apply *apply, GPtrArray *steps)
{
	json_t *input = input_new(steps);
	g_autoptr(GPtrArray) going = g_ptr_array_new();
	for (guint i = 0; i < steps->len; i++) {
		if (add_update(apply, json_object_get(input, "items"), steps->pdata[i]))
			g_ptr_array_add(going, steps->pdata[i]);
	}
	/* a crash must not leave a record that an old view confirms: decide.md */
	if (going->len && mark_all(apply, rg_store_updating, going))
		return job_new(JOB_UPDATE, input, going);
	json_decref(input);
	return NULL;
}

/* The plan promised a change in place; a replacement has to be shown and approved first. */
static void not_in_place(Apply *apply, Step *step)
{
	const RgPlanChange *change = step->change;
	RgDiag *diag = rg_diags_error(
		apply->diags, "provider.invalid", "%s can't be changed in place", change->address);
	rg_diag_at(diag, change->source);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_hint(diag, "replace it: raygpu apply --replace '%s'", change->address);
	step_fail(apply, step, diag);
}

static bool record_updated(Apply *apply, const Job *job)
{
	g_autofree RgRecordNews *news = g_new0(RgRecordNews, job->results->len);
	g_autoptr(GPtrArray) refused = g_ptr_array_new();
	size_t n = 0;
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		const RgPlanChange *change = ((Step *)job->steps->pdata[i])->change;
		if (result->outcome == RG_OUTCOME_UNSUPPORTED || result->definite)
			g_ptr_array_add(refused, change->address);
		if (result->outcome != RG_OUTCOME_DONE)
			continue;
		bool learnt = live_learn(apply, change, result->attributes);
		Live *live = live_get(apply, change->address);
		news[n++] = (RgRecordNews){change->address, change->desired,
			learnt ? live->outputs : NULL, change->pin};
	}
	if (refused->len &&
		!rg_store_updating(apply->store, apply->plan->cluster,
			(const char *const *)refused->pdata, refused->len, false, apply->diags))
		apply->store_failed = true;
	if (!n || rg_store_record_many(apply->store, apply->plan->cluster, news, n, apply->diags))
		return true;
	apply->store_failed = true;
	return false;
}

void update_finish(Apply *apply, Job *job)
{
	rg_diags_take_all(apply->diags, job->diags);
	bool recorded = record_updated(apply, job);
	g_autoptr(Failures) failures = failures_new();
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		if (result->outcome == RG_OUTCOME_UNSUPPORTED)
			not_in_place(apply, step);
		else if (result->outcome != RG_OUTCOME_DONE)
			failures_add(failures, step, result);
		else if (!recorded)
			step_fail(apply, step, last_diag(apply));
		else
			step_set(apply, step, STEP_STARTING); /* an update may restart it */
	}
	failures_tell(failures, apply, "could not update", NULL);
}
