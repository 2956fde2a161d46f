#include "apply/internal.h"
#include "base/clock.h"

#define CREATE_TRIES 3 /* a token whose resources were terminated meanwhile is given up so often   \
			*/

static char *indexes_text(const GPtrArray *steps)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < steps->len;) {
		int64_t from = ((Step *)steps->pdata[i])->change->index, to = from;
		while (++i < steps->len && ((Step *)steps->pdata[i])->change->index == to + 1)
			to++;
		if (from < 0)
			break;
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT, text->len ? "," : "", from);
		if (to > from)
			g_string_append_printf(text, "-%" G_GINT64_FORMAT, to);
	}
	return g_string_free(text, FALSE);
}

static json_t *marks_new(Apply *apply, const GPtrArray *steps)
{
	const RgPlanChange *change = ((Step *)steps->pdata[0])->change;
	g_autofree char *indexes = indexes_text(steps);
	json_t *marks = json_object();
	rg_json_set_str(marks, "cluster", apply->plan->cluster);
	rg_json_set_str(marks, "lineage", apply->options->lineage);
	rg_json_set_str(marks, "pool", change->group);
	rg_json_set_str(marks, "indexes", indexes);
	rg_json_set_str(marks, "commit", apply->options->commit);
	rg_json_set_str(marks, "run", apply->options->run);
	json_object_set_new(marks, "labels",
		apply->options->labels ? json_deep_copy(apply->options->labels) : json_object());
	return marks;
}

static json_t *member_new(const Step *step, int64_t generation, int64_t attempt)
{
	const RgPlanChange *change = step->change;
	json_t *member = json_object(), *depends = json_array();
	rg_json_set_str(member, "address", change->address);
	json_object_set_new(
		member, "index", change->index < 0 ? json_null() : json_integer(change->index));
	json_object_set_new(member, "attempt", json_integer(attempt));
	json_object_set_new(member, "generation", json_integer(generation));
	json_object_set(member, "attrs", change->desired);
	if (change->pin)
		json_object_set(member, "pin", change->pin);
	for (guint i = 0; change->depends_on && change->depends_on[i]; i++)
		json_array_append_new(depends, json_string(change->depends_on[i]));
	json_object_set_new(member, "depends_on", depends);
	rg_json_set_str(member, "group", change->group);
	rg_json_set_str(member, "origin", change->origin);
	return member;
}

/* The journal row of a batch, without its id: everything that the call will say. */
static bool row_fill(Apply *apply, GPtrArray *steps, json_t *attributes, RgJournalRow *row)
{
	g_autofree const char **addresses = g_new0(const char *, steps->len);
	g_autofree int64_t *generations = g_new0(int64_t, steps->len);
	g_autofree int64_t *attempts = g_new0(int64_t, steps->len);
	json_t *items = json_array();
	row->members = json_array();
	bool ok = true;
	for (guint i = 0; i < steps->len && ok; i++) {
		const Step *step = steps->pdata[i];
		addresses[i] = step->change->address;
		ok = rg_store_identity(apply->store, apply->plan->cluster, addresses[i],
			&generations[i], &attempts[i], apply->diags);
		json_array_append_new(row->members, member_new(step, generations[i], attempts[i]));
		json_t *item = json_object();
		rg_json_set_str(item, "address", addresses[i]);
		json_object_set_new(item, "index",
			step->change->index < 0 ? json_null() : json_integer(step->change->index));
		json_array_append_new(items, item);
	}
	row->token =
		rg_token(apply->options->lineage, addresses, generations, attempts, steps->len);
	row->input = json_object();
	rg_json_set_str(row->input, "kind", row->kind);
	rg_json_set_str(row->input, "token", row->token);
	json_object_set_new(row->input, "min_count", json_integer(1));
	json_object_set_new(row->input, "marks", marks_new(apply, steps));
	json_object_set_new(row->input, "items", items);
	json_object_set(row->input, "attributes", attributes);
	return ok;
}

static void row_clear(RgJournalRow *row)
{
	g_free(row->kind);
	g_free(row->token);
	g_free(row->run);
	json_decref(row->input);
	json_decref(row->members);
}

static void fail_all(Apply *apply, GPtrArray *steps, const RgDiag *why)
{
	for (guint i = 0; i < steps->len; i++)
		step_fail(apply, steps->pdata[i], why);
}

static const RgDiag *last_diag(const Apply *apply)
{
	size_t n = rg_diags_count(apply->diags);
	return n ? rg_diags_get(apply->diags, n - 1) : NULL;
}

Job *create_prepare(Apply *apply, GPtrArray *steps)
{
	const RgPlanChange *change = ((Step *)steps->pdata[0])->change;
	g_autoptr(RgJson) attributes = live_resolve(apply, change->desired, apply->diags);
	if (!attributes) {
		fail_all(apply, steps, last_diag(apply));
		return NULL;
	}
	RgJournalRow row = {.kind = g_strdup(change->kind), .run = g_strdup(apply->options->run)};
	row.started_s = rg_clock_now_s();
	Job *job = NULL;
	int64_t row_id = 0;
	/* rule 1: the row is durable before the first request of the batch */
	if (row_fill(apply, steps, attributes, &row) &&
		rg_store_journal_open(
			apply->store, apply->plan->cluster, &row, &row_id, apply->diags)) {
		job = job_new(JOB_CREATE, json_incref(row.input), steps);
		job->row_id = row_id;
	} else {
		apply->store_failed = true;
		fail_all(apply, steps, last_diag(apply));
	}
	row_clear(&row);
	return job;
}

/* Items that failed alike share one diagnostic. */
static char *failure_key(const RgItemResult *result)
{
	return g_strdup_printf("%d %s %s", (int)result->class_, result->code ? result->code : "",
		result->message ? result->message : "");
}

static bool begin_again(const Step *step, const RgItemResult *result)
{
	return result->class_ == RG_CLASS_GONE && result->definite && step->tries < CREATE_TRIES;
}

static void report_failures(Apply *apply, Job *job)
{
	g_autoptr(GHashTable) groups = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
	g_autoptr(GPtrArray) order = g_ptr_array_new(), results = g_ptr_array_new();
	for (guint i = 0; i < job->results->len; i++) {
		RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		if (result->outcome == RG_OUTCOME_DONE)
			continue;
		if (begin_again(step, result)) {
			step->tries++;
			step->state = STEP_READY;
			continue;
		}
		g_autofree char *key = failure_key(result);
		GPtrArray *group = g_hash_table_lookup(groups, key);
		if (!group) {
			group = g_ptr_array_new();
			g_ptr_array_add(order, group);
			g_ptr_array_add(results, result);
			g_hash_table_insert(groups, g_steal_pointer(&key), group);
		}
		g_ptr_array_add(group, step);
		if (!result->definite)
			apply->result->open++;
	}
	for (guint i = 0; i < order->len; i++) {
		const RgItemResult *result = results->pdata[i];
		RgDiag *diag = batch_diag(apply, "could not create", order->pdata[i], result);
		if (!result->definite)
			rg_diag_detail(diag, "what became of the request is not known; the next "
					     "apply asks the cloud "
					     "under the same token and takes over what was made");
		fail_all(apply, order->pdata[i], diag);
	}
}

void create_finish(Apply *apply, Job *job)
{
	g_autofree RgMemberOutcome *outcomes = g_new0(RgMemberOutcome, job->results->len);
	size_t n = 0;
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		if (result->outcome != RG_OUTCOME_DONE && !result->definite)
			continue;
		outcomes[n++] = (RgMemberOutcome){.address = result->address,
			.created = result->outcome == RG_OUTCOME_DONE,
			.id = result->id,
			.outputs = result->attributes};
	}
	/* rule 2: outcome and attributes in one transaction */
	if (n && !rg_store_journal_settle(apply->store, apply->plan->cluster, job->row_id, outcomes,
			 n, apply->diags))
		apply->store_failed = true;
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		if (result->outcome != RG_OUTCOME_DONE)
			continue;
		Step *step = job->steps->pdata[i];
		live_set(apply, step->change->address, result->id, result->attributes);
		step->state = STEP_STARTING;
	}
	rg_diags_take_all(apply->diags, job->diags);
	report_failures(apply, job);
}
