/* create: each node claims a free host of its shape and rack, and boots there. */
#include "ssh/claim.h"
#include "ssh/node.h"
#include "ssh/observe.h"

typedef struct {
	const ModCall *call;
	const json_t *input;
	GPtrArray *probes; /* SshRun*: what each host says */
	GPtrArray *free;   /* SshHost*: those to try, in the order of the inventory */
	char *refusal;	   /* of the last host that could not be claimed; NULL: none */
	rgp_status status;
} Creating;

/* ---- which hosts */

static const SshHost *owner_of(const Creating *creating, const json_t *item)
{
	mod_ptr_foreach (const SshRun, probe, creating->probes)
		if (ssh_is_claim_of(probe->answer, mod_str(creating->input, "token"),
			    mod_str(item, "address")))
			return probe->host;
	return NULL;
}

static void find_hosts(Creating *creating)
{
	g_autoptr(GPtrArray) runs = ssh_runs_that_may_be(
		creating->probes, json_object_get(creating->input, "attributes"));
	mod_ptr_foreach (const SshRun, run, runs)
		g_ptr_array_add(creating->free, (gpointer)(uintptr_t)run->host);
}

/* ---- one round: each of the items on a host */

static void prepare(const Creating *creating, SshRun *run, const json_t *item)
{
	const json_t *marks = json_object_get(creating->input, "marks");
	const char *token = mod_str(creating->input, "token");
	const json_t *index = json_object_get(item, "index");
	g_autofree char *number = json_is_integer(index) ? g_strdup_printf("%" JSON_INTEGER_FORMAT,
								   json_integer_value(index))
							 : g_strdup("");
	g_autofree char *id = ssh_id_of(run->host, token);
	ssh_run_set(run, "token", token);
	ssh_run_set(run, "lineage", mod_str(marks, "lineage"));
	ssh_run_set(run, "cluster", mod_str(marks, "cluster"));
	ssh_run_set(run, "pool", mod_str(marks, "pool"));
	ssh_run_set(run, "index", number);
	ssh_run_set(run, "address", mod_str(item, "address"));
	ssh_node_set_id(run, id);
	ssh_node_set_boot(run, json_object_get(creating->input, "attributes"));
}

static void fail(Creating *creating, const json_t *item, const ModFailure *failure)
{
	if (creating->status == RGP_OK)
		creating->status = mod_give_failed(
			&creating->call->talk, mod_str(item, "address"), NULL, failure);
}

static void fail_for_want(Creating *creating, const json_t *item)
{
	const json_t *attributes = json_object_get(creating->input, "attributes");
	g_auto(ModFailure) failure = {0};
	mod_failure_set(&failure, RGP_CLASS_CAPACITY, NULL,
		"no host of the shape %s in rack %s is free%s%s", mod_str(attributes, "shape"),
		mod_str(attributes, "rack"), creating->refusal ? "; " : "",
		creating->refusal ? creating->refusal : "");
	failure.definite = true;
	fail(creating, item, &failure);
}

static void note_refusal(Creating *creating, const SshRun *run)
{
	const char *why = mod_str(run->answer, "refused"), *owner = mod_str(run->answer, "taken");
	if (!*why && !*owner)
		return;
	g_free(creating->refusal);
	creating->refusal = *why ? g_strdup_printf("%s %s", run->host->name, why)
				 : g_strdup_printf("%s is claimed by %s", run->host->name, owner);
}

/* False: another node was faster, or the host cannot be claimed: the item needs another one. */
static bool take_end(Creating *creating, const json_t *item, const SshRun *run)
{
	note_refusal(creating, run);
	if (json_object_get(run->answer, "taken") || json_object_get(run->answer, "refused"))
		return false;
	if (ssh_run_is_good(run) && json_object_get(run->answer, "ok")) {
		g_autofree char *id = ssh_id_of(run->host, mod_str(creating->input, "token"));
		if (creating->status == RGP_OK)
			creating->status = mod_give_item(&creating->call->talk,
				mod_str(item, "address"), "done", id, ssh_node_computed(run));
		return true;
	}
	g_auto(ModFailure) failure = {0};
	ssh_run_fail(run, &failure);
	fail(creating, item, &failure);
	return true;
}

/* Takes the first free host from the list; NULL: there is none. */
static const SshHost *next_free(Creating *creating)
{
	return creating->free->len ? g_ptr_array_steal_index(creating->free, 0) : NULL;
}

/* What it said is out of date: the host is not that of an item any more. */
static void forget(Creating *creating, const SshHost *host)
{
	mod_ptr_foreach (SshRun, probe, creating->probes)
		if (probe->host == host)
			g_clear_pointer(&probe->answer, json_decref);
}

/* The items that still need a host; a new reference. */
static json_t *run_round(Creating *creating, const json_t *items)
{
	json_t *left = json_array(), *placed = json_array();
	g_autoptr(GPtrArray) runs = ssh_runs_new();
	mod_foreach (item, items) {
		const SshHost *owner = owner_of(creating, item);
		const SshHost *host = owner ? owner : next_free(creating);
		if (!host) {
			fail_for_want(creating, item);
			continue;
		}
		prepare(creating, ssh_runs_add(runs, host), item);
		json_array_append(placed, item);
	}
	rgp_status status = ssh_runs_change(creating->call, runs, "create");
	creating->status = creating->status == RGP_OK ? status : creating->status;
	for (guint i = 0; i < runs->len && creating->status == RGP_OK; i++) {
		json_t *item = json_array_get(placed, i);
		const SshRun *run = runs->pdata[i];
		if (take_end(creating, item, run))
			continue;
		forget(creating, run->host);
		json_array_append(left, item);
	}
	json_decref(placed);
	return left;
}

rgp_status ssh_create(const ModCall *call, const json_t *input)
{
	g_autoptr(GPtrArray) probes = ssh_runs_of_all(call), free = g_ptr_array_new();
	rgp_status status = ssh_probe(call, probes, SSH_AGE_STOCK_S);
	Creating creating = {
		.call = call, .input = input, .probes = probes, .free = free, .status = status};
	find_hosts(&creating);
	json_t *items = json_incref(json_object_get(input, "items"));
	while (json_array_size(items) && creating.status == RGP_OK) {
		json_t *left = run_round(&creating, items);
		json_decref(items);
		items = left;
	}
	json_decref(items);
	g_free(creating.refusal);
	return creating.status;
}
