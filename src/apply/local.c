#include "apply/internal.h"
#include "base/redact.h"
#include "state/move.h"
#include <sys/random.h>

/* Steps that change only the state: many of a kind in one transaction. */

#define TOKEN_BYTES 32

static bool is_secret(const Step *step)
{
	return g_str_equal(step->change->kind, RG_SECRET_KIND);
}

/* A Ray token: 64 hex digits from the kernel's generator. It is kept only in the state. */
static bool mint_secret(Apply *apply, const Step *step)
{
	unsigned char random[TOKEN_BYTES];
	const RgPlanChange *change = step->change;
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		rg_diags_error(apply->diags, "apply.blocked",
			"the kernel returned no random bytes for %s", change->address);
		return false;
	}
	GString *text = g_string_sized_new(2 * TOKEN_BYTES);
	for (size_t i = 0; i < sizeof(random); i++)
		g_string_append_printf(text, "%02x", random[i]);
	rg_redact_add(text->str, text->len);
	bool ok = rg_store_put_secret(apply->store, apply->plan->cluster, change->address,
		change->desired, text->str, apply->diags);
	if (ok) {
		json_auto_t *outputs = json_object();
		rg_json_set_str(outputs, "value", text->str);
		live_set(apply, change->address, NULL, outputs);
	}
	apply->store_failed |= !ok;
	g_string_free(text, TRUE);
	return ok;
}

static bool record_all(Apply *apply, const GPtrArray *steps)
{
	g_autofree RgRecordNews *news = g_new0(RgRecordNews, steps->len);
	for (guint i = 0; i < steps->len; i++) {
		const RgPlanChange *change = ((Step *)steps->pdata[i])->change;
		news[i] = (RgRecordNews){change->address, change->desired, NULL, change->pin};
	}
	return rg_store_record_many(
		apply->store, apply->plan->cluster, news, steps->len, apply->diags);
}

bool release_all(Apply *apply, const char *const *addresses, size_t n)
{
	bool ok = true;
	for (size_t i = 0; i < n && ok; i++)
		ok = rg_store_forget(
			apply->store, apply->plan->cluster, addresses[i], apply->diags);
	return ok;
}

/* What an open row was to create and certainly did not has no record, so there is nothing to
 * forget. */
static bool forget_all(Apply *apply, const GPtrArray *steps)
{
	g_autofree const char **addresses = g_new0(const char *, steps->len);
	g_autofree RgGone *gone = g_new0(RgGone, steps->len);
	size_t n = 0;
	for (guint i = 0; i < steps->len; i++) {
		const RgPlanChange *change = ((Step *)steps->pdata[i])->change;
		live_forget(apply, change->address);
		if (change->replay)
			continue;
		addresses[n] = change->address;
		gone[n++] = (RgGone){change->address, change->id};
	}
	if (n && ((Step *)steps->pdata[0])->change->action == RG_ACTION_RELEASE) {
		rg_store_group_begin(apply->store);
		bool ok = release_all(apply, addresses, n);
		return rg_store_group_end(apply->store, apply->diags) && ok;
	}
	return !n || rg_store_gone(apply->store, apply->plan->cluster, gone, n, apply->diags);
}

static bool do_secret(Apply *apply, GPtrArray *steps)
{
	const Step *step = steps->pdata[0];
	if (step->kind == STEP_REMOVE)
		return forget_all(apply, steps);
	/* the nodes have its value: other attributes are no reason for a new one */
	return step->kind == STEP_CREATE ? mint_secret(apply, step) : record_all(apply, steps);
}

static void run_local(Apply *apply, GPtrArray *steps)
{
	const Step *first = steps->pdata[0];
	for (guint i = 0; i < steps->len; i++) {
		step_set(apply, steps->pdata[i], STEP_RUNNING);
		emit(apply, RG_EVENT_START, steps->pdata[i], NULL, NULL);
	}
	bool ok = first->kind == STEP_RECORD   ? record_all(apply, steps)
		  : first->kind == STEP_FORGET ? forget_all(apply, steps)
					       : do_secret(apply, steps);
	if (!ok && !is_secret(first))
		apply->store_failed = true;
	for (guint i = 0; i < steps->len; i++) {
		if (ok)
			step_done(apply, steps->pdata[i]);
		else
			step_fail(apply, steps->pdata[i], last_diag(apply));
	}
}

void local_steps(Apply *apply)
{
	while (apply->local.length && !apply->store_failed) {
		/* Steps at the head of the queue that fit in one transaction. */
		g_autoptr(GPtrArray) steps = g_ptr_array_new();
		const Step *first = g_queue_peek_head(&apply->local);
		do
			g_ptr_array_add(steps, g_queue_pop_head(&apply->local));
		while (!is_secret(first) && steps->len < RECORDS_MAX && apply->local.length &&
			((Step *)g_queue_peek_head(&apply->local))->kind == first->kind &&
			((Step *)g_queue_peek_head(&apply->local))->change->action ==
				first->change->action &&
			!is_secret(g_queue_peek_head(&apply->local)));
		for (guint i = steps->len; i > 0; i--) {
			if (((Step *)steps->pdata[i - 1])->state != STEP_READY)
				g_ptr_array_remove_index(steps, i - 1);
		}
		if (steps->len && ((Step *)steps->pdata[0])->kind == STEP_REPLAYED) {
			for (guint i = 0; i < steps->len; i++)
				settle_begin(apply, steps->pdata[i]);
		} else if (steps->len) {
			run_local(apply, steps);
		}
	}
}
