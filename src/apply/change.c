#include "apply/internal.h"
#include "base/redact.h"
#include <sys/random.h>

#define TOKEN_BYTES 32

bool step_is_local(const Step *step)
{
	return step->kind == STEP_RECORD || step->kind == STEP_FORGET ||
	       step->kind == STEP_REPLAYED || g_str_equal(step->change->kind, RG_SECRET_KIND);
}

/* A Ray token: 64 hex digits from the kernel's generator. Lives in the state only. */
static bool mint_secret(Apply *apply, const Step *step)
{
	unsigned char random[TOKEN_BYTES];
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		rg_diags_error(apply->diags, "apply.blocked",
			"the kernel gave no random bytes for %s", step->change->address);
		return false;
	}
	GString *text = g_string_sized_new(2 * TOKEN_BYTES);
	for (size_t i = 0; i < sizeof(random); i++)
		g_string_append_printf(text, "%02x", random[i]);
	rg_redact_add(text->str, text->len);
	bool ok = rg_store_put_secret(apply->store, apply->plan->cluster, step->change->address,
		step->change->desired, text->str, apply->diags);
	if (ok) {
		g_autoptr(RgJson) outputs = json_object();
		rg_json_set_str(outputs, "value", text->str);
		live_set(apply, step->change->address, NULL, outputs);
	} else {
		apply->store_failed = true;
	}
	g_string_free(text, TRUE);
	return ok;
}

static bool forget(Apply *apply, const Step *step)
{
	const char *address = step->change->address;
	live_forget(apply, address);
	if (step->change->replay)
		return true; /* its journal row is closed, there was no record */
	bool ok = rg_store_removed(apply->store, apply->plan->cluster, &address, 1, apply->diags);
	apply->store_failed |= !ok;
	return ok;
}

static bool record(Apply *apply, const Step *step)
{
	const RgPlanChange *change = step->change;
	bool ok = rg_store_record(apply->store, apply->plan->cluster, change->address,
		change->desired, NULL, change->pin, apply->diags);
	apply->store_failed |= !ok;
	return ok;
}

static bool do_local(Apply *apply, const Step *step)
{
	if (step->kind == STEP_RECORD)
		return record(apply, step);
	if (step->kind == STEP_FORGET || step->kind == STEP_REMOVE)
		return forget(apply, step);
	return mint_secret(apply, step);
}

void local_step(Apply *apply, Step *step)
{
	if (step->kind == STEP_REPLAYED) {
		step->state = STEP_STARTING;
		return;
	}
	emit(apply, RG_EVENT_START, step, NULL, NULL);
	if (do_local(apply, step)) {
		step_done(apply, step);
	} else {
		size_t n = rg_diags_count(apply->diags);
		step_fail(apply, step, n ? rg_diags_get(apply->diags, n - 1) : NULL);
	}
}

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

static bool mark_leaving(Apply *apply, const GPtrArray *steps)
{
	g_autoptr(GPtrArray) addresses = g_ptr_array_new();
	for (guint i = 0; i < steps->len; i++)
		g_ptr_array_add(addresses, ((Step *)steps->pdata[i])->change->address);
	return rg_store_leaving(apply->store, apply->plan->cluster,
		(const char *const *)addresses->pdata, addresses->len, true, apply->diags);
}

Job *remove_prepare(Apply *apply, GPtrArray *steps)
{
	/* durable before the first request: decide.md rows 19 and 20 */
	if (!mark_leaving(apply, steps)) {
		apply->store_failed = true;
		size_t n = rg_diags_count(apply->diags);
		for (guint i = 0; i < steps->len; i++)
			step_fail(apply, steps->pdata[i], rg_diags_get(apply->diags, n - 1));
		return NULL;
	}
	json_t *input = input_new(steps);
	for (guint i = 0; i < steps->len; i++)
		json_array_append_new(
			json_object_get(input, "items"), item_new(apply, steps->pdata[i]));
	return job_new(JOB_REMOVE, input, steps);
}

static void fail_one(Apply *apply, const char *verb, Step *step, const RgItemResult *result)
{
	g_autoptr(GPtrArray) one = g_ptr_array_new();
	g_ptr_array_add(one, step);
	step_fail(apply, step, batch_diag(apply, verb, one, result));
}

void remove_finish(Apply *apply, Job *job)
{
	g_autoptr(GPtrArray) gone = g_ptr_array_new(), refused = g_ptr_array_new();
	rg_diags_take_all(apply->diags, job->diags);
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		if (result->outcome == RG_OUTCOME_DONE)
			g_ptr_array_add(gone, result->address);
		else
			fail_one(apply, "could not destroy", job->steps->pdata[i], result);
		if (result->outcome != RG_OUTCOME_DONE && result->definite)
			g_ptr_array_add(refused, result->address);
	}
	if (refused->len &&
		!rg_store_leaving(apply->store, apply->plan->cluster,
			(const char *const *)refused->pdata, refused->len, false, apply->diags))
		apply->store_failed = true;
	if (gone->len && !rg_store_removed(apply->store, apply->plan->cluster,
				 (const char *const *)gone->pdata, gone->len, apply->diags))
		apply->store_failed = true;
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		if (result->outcome != RG_OUTCOME_DONE)
			continue;
		Step *step = job->steps->pdata[i];
		step_done(apply, step);
		live_forget(apply, step->change->address);
	}
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

static bool add_update(Apply *apply, json_t *items, Step *step)
{
	json_t *attributes = live_resolve(apply, step->change->desired, apply->diags);
	if (!attributes) {
		size_t n = rg_diags_count(apply->diags);
		step_fail(apply, step, n ? rg_diags_get(apply->diags, n - 1) : NULL);
		return false;
	}
	json_t *item = item_new(apply, step);
	json_object_set_new(item, "attributes", attributes);
	json_object_set_new(item, "prior", prior_new(step->change));
	json_object_set_new(item, "changed", changed_names(step->change));
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
	if (going->len)
		return job_new(JOB_UPDATE, input, going);
	json_decref(input);
	return NULL;
}

void update_finish(Apply *apply, Job *job)
{
	rg_diags_take_all(apply->diags, job->diags);
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		const RgPlanChange *change = step->change;
		if (result->outcome != RG_OUTCOME_DONE) {
			fail_one(apply, "could not update", step, result);
			continue;
		}
		if (!rg_store_record(apply->store, apply->plan->cluster, change->address,
			    change->desired, result->attributes, change->pin, apply->diags))
			apply->store_failed = true;
		step->state = STEP_STARTING; /* an update may restart it */
	}
}
