/* What the hosts answered in this run, so that the calls of a plan connect to each only once. */
#include "ssh/observe.h"
#include "ssh/skew.h"

typedef struct {
	json_t *answer; /* NULL: fault */
	SshFault fault;
	int64_t when_s;
} Seen;

static void seen_free(gpointer data)
{
	Seen *seen = data;
	json_decref(seen->answer);
	ssh_fault_clear(&seen->fault);
	g_free(seen);
}

GHashTable *ssh_seen_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, seen_free);
}

/* Threads share no values. */
static void copy_end(
	json_t **answer, SshFault *fault, const json_t *from, const SshFault *from_fault)
{
	*answer = from ? json_deep_copy(from) : NULL;
	*fault = *from_fault;
	fault->message = g_strdup(from_fault->message);
}

static bool recall(const ModCall *call, SshRun *run, int64_t oldest_s)
{
	const Seen *seen = g_hash_table_lookup(call->inst->seen, run->host->name);
	if (!seen || seen->when_s < oldest_s)
		return false;
	copy_end(&run->answer, &run->fault, seen->answer, &seen->fault);
	return true;
}

static void note_skew(SshRun *run, int64_t before_s, int64_t after_s)
{
	const char *text = mod_str(run->answer, "clock");
	if (*text)
		json_object_set_new(
			run->answer, "skew_s", json_integer(ssh_skew_s(text, before_s, after_s)));
}

static void remember(const ModCall *call, const SshRun *run, int64_t now_s)
{
	Seen *seen = g_new0(Seen, 1);
	seen->when_s = now_s;
	copy_end(&seen->answer, &seen->fault, run->answer, &run->fault);
	g_hash_table_replace(call->inst->seen, g_strdup(run->host->name), seen);
}

static guint count_changes(const ModCall *call, guint more)
{
	g_mutex_lock(&call->inst->lock);
	guint changes = call->inst->changes += more;
	g_mutex_unlock(&call->inst->lock);
	return changes;
}

/* An answer from before a change, or from its time, is not kept. */
static rgp_status ask(const ModCall *call, GPtrArray *runs)
{
	const struct rgp_host *host = call->talk.host;
	guint before = count_changes(call, 0);
	int64_t before_s = host->now(call->talk.call);
	rgp_status status = ssh_runs_start(call, runs, "probe", true);
	int64_t now_s = host->now(call->talk.call);
	g_mutex_lock(&call->inst->lock);
	mod_ptr_foreach (SshRun, run, runs) {
		note_skew(run, before_s, now_s);
		if (status == RGP_OK && call->inst->changes == before)
			remember(call, run, now_s);
	}
	g_mutex_unlock(&call->inst->lock);
	return status;
}

rgp_status ssh_probe(const ModCall *call, GPtrArray *runs, int64_t age_s)
{
	int64_t oldest_s = call->talk.host->now(call->talk.call) - age_s;
	g_autoptr(GPtrArray) open = g_ptr_array_new();
	/* who comes meanwhile waits, and gets the same answers */
	g_mutex_lock(&call->inst->asking);
	g_mutex_lock(&call->inst->lock);
	mod_ptr_foreach (SshRun, run, runs)
		if (!recall(call, run, oldest_s))
			g_ptr_array_add(open, run);
	g_mutex_unlock(&call->inst->lock);
	rgp_status status = open->len ? ask(call, open) : RGP_OK;
	g_mutex_unlock(&call->inst->asking);
	return status;
}

rgp_status ssh_runs_change(const ModCall *call, GPtrArray *runs, const char *function)
{
	count_changes(call, 1);
	rgp_status status = ssh_runs_start(call, runs, function, false);
	g_mutex_lock(&call->inst->lock);
	call->inst->changes++;
	mod_ptr_foreach (const SshRun, run, runs)
		g_hash_table_remove(call->inst->seen, run->host->name);
	g_mutex_unlock(&call->inst->lock);
	return status;
}
