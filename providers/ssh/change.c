/* ready, update, remove, reveal, console: one run per item, on the host that its id names. */
#include "ssh/claim.h"
#include "ssh/node.h"
#include "ssh/observe.h"

typedef rgp_status (*EndFn)(const ModCall *call, const json_t *item, const SshRun *run);

typedef struct {
	const char *function; /* of host.sh */
	bool reading, boots;
	EndFn end;
} Action;

static rgp_status give_failed(const ModCall *call, const json_t *item, const SshRun *run)
{
	g_auto(ModFailure) failure = {0};
	ssh_run_fail(run, &failure);
	return mod_give_failed(&call->talk, mod_str(item, "address"), NULL, &failure);
}

static rgp_status give_gone(const ModCall *call, const json_t *item, const SshRun *run)
{
	g_auto(ModFailure) failure = {0};
	mod_failure_set(&failure, RGP_CLASS_GONE, NULL, "%s is not claimed by this node any more",
		run->host->name);
	return mod_give_failed(
		&call->talk, mod_str(item, "address"), mod_str(item, "id"), &failure);
}

/* The item cannot be done: the inventory no longer has its host. */
static rgp_status give_absent(const ModCall *call, const json_t *item)
{
	g_auto(ModFailure) failure = {.definite = true};
	g_autofree char *why = ssh_id_absent(call->inst->hosts, mod_str(item, "id"));
	mod_failure_set(&failure, RGP_CLASS_INVALID, NULL, "%s", why);
	return mod_give_failed(&call->talk, mod_str(item, "address"), NULL, &failure);
}

/* Those whose host is in the inventory. */
static rgp_status sort_out(const ModCall *call, const json_t *items, json_t *reachable)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, items) {
		if (ssh_host_of_id(call->inst->hosts, mod_str(item, "id")))
			json_array_append(reachable, mod_unconst(item));
		else if (status == RGP_OK)
			status = give_absent(call, item);
	}
	return status;
}

static rgp_status each(const ModCall *call, const json_t *input, const Action *action)
{
	json_auto_t *items = json_array();
	g_autoptr(GPtrArray) runs = ssh_runs_new();
	rgp_status status = sort_out(call, json_object_get(input, "items"), items);
	if (status != RGP_OK)
		return status;
	mod_foreach (item, items) {
		const char *id = mod_str(item, "id");
		SshRun *run = ssh_runs_add(runs, ssh_host_of_id(call->inst->hosts, id));
		ssh_node_set_id(run, id);
		if (action->boots)
			ssh_node_set_boot(run, json_object_get(item, "attributes"));
	}
	status = action->reading ? ssh_runs_start(call, runs, action->function, true)
				 : ssh_runs_change(call, runs, action->function);
	for (guint i = 0; i < runs->len && status == RGP_OK; i++) {
		const json_t *item = json_array_get(items, i);
		const SshRun *run = runs->pdata[i];
		status = ssh_run_is_good(run) ? action->end(call, item, run)
					      : give_failed(call, item, run);
	}
	return status;
}

/* A node whose service has stopped may have given up: it is not asked about for long. */
static rgp_status end_ready(const ModCall *call, const json_t *item, const SshRun *run)
{
	const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
	if (!g_str_equal(ssh_claim_text(run->answer, "id"), id))
		return give_gone(call, item, run);
	if (ssh_service_runs(run->answer))
		return mod_give_item(&call->talk, address, "done", id, NULL);
	if (ssh_is_unfinished(run->answer)) /* apply was cut off: it is done again */
		return mod_give(&call->talk, "item",
			json_pack("{s:s, s:s, s:s, s:[s]}", "address", address, "outcome", "done",
				"id", id, "changed", "script"));
	g_auto(ModFailure) failure = {0};
	mod_failure_set(&failure, RGP_CLASS_UNKNOWN, NULL, "%s: the service of Ray is %s",
		run->host->name, mod_str(run->answer, "service"));
	failure.hint = "`raygpu logs` shows what the node reported";
	return mod_give_pending(&call->talk, address, id, &failure);
}

static rgp_status end_update(const ModCall *call, const json_t *item, const SshRun *run)
{
	if (json_object_get(run->answer, "gone"))
		return give_gone(call, item, run);
	if (!json_object_get(run->answer, "ok"))
		return give_failed(call, item, run);
	return mod_give_item(&call->talk, mod_str(item, "address"), "done", mod_str(item, "id"),
		ssh_node_computed(run));
}

static rgp_status end_remove(const ModCall *call, const json_t *item, const SshRun *run)
{
	if (!json_object_get(run->answer, "ok") && !json_object_get(run->answer, "gone"))
		return give_failed(call, item, run);
	return mod_give_item(
		&call->talk, mod_str(item, "address"), "done", mod_str(item, "id"), NULL);
}

/* What the host prints line by line; g_free. */
static char *lines_of(const SshRun *run, const char *end)
{
	g_autoptr(GString) text = g_string_new(NULL);
	mod_foreach (line, json_object_get(run->answer, "log"))
		g_string_append_printf(text, "%s%s", json_string_value(line), end);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static rgp_status end_console(const ModCall *call, const json_t *item, const SshRun *run)
{
	g_autofree char *text = lines_of(run, "\n");
	if (json_object_get(run->answer, "gone"))
		return give_gone(call, item, run);
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s}", "address", mod_str(item, "address"), "outcome", "done",
			"text", text));
}

static rgp_status end_reveal(const ModCall *call, const json_t *item, const SshRun *run)
{
	g_autofree char *text = lines_of(run, "");
	gsize len = 0;
	g_autofree guchar *script = g_base64_decode(text, &len);
	if (json_object_get(run->answer, "gone"))
		return give_gone(call, item, run);
	return mod_give_item(&call->talk, mod_str(item, "address"), "done", mod_str(item, "id"),
		json_pack("{s:s%}", "script", script, len));
}

/* Nothing changes on the host: only what is recorded of it. */
static rgp_status end_reached(const ModCall *call, const json_t *item, const SshRun *run)
{
	const char *id = mod_str(item, "id");
	if (!g_str_equal(ssh_claim_text(run->answer, "id"), id))
		return give_gone(call, item, run);
	return mod_give_item(
		&call->talk, mod_str(item, "address"), "done", id, ssh_node_computed(run));
}

rgp_status ssh_ready(const ModCall *call, const json_t *input)
{
	static const Action action = {"probe", true, false, end_ready};
	return each(call, input, &action);
}

/* Is it a change of the node itself, not only of the way to its host? */
static bool is_on_host(const json_t *item)
{
	static const char *const ways[] = {"host", "port", "proxy_jump", "user", NULL};
	mod_foreach (name, json_object_get(item, "changed"))
		if (!g_strv_contains(ways, json_string_value(name)))
			return true;
	return false;
}

static rgp_status update(const ModCall *call, const ModKind *kind, const json_t *input)
{
	static const Action change = {"change", false, true, end_update};
	static const Action reach = {"probe", true, false, end_reached};
	json_auto_t *changed = json_object(), *reached = json_object();
	json_t *on_host = json_array(), *elsewhere = json_array();
	(void)kind;
	mod_foreach (item, json_object_get(input, "items"))
		json_array_append(is_on_host(item) ? on_host : elsewhere, mod_unconst(item));
	json_object_set_new(changed, "items", on_host);
	json_object_set_new(reached, "items", elsewhere);
	rgp_status status = each(call, changed, &change);
	return status == RGP_OK ? each(call, reached, &reach) : status;
}

rgp_status ssh_update(const ModCall *call, const struct rgp_args *args)
{
	static const char *const changeable[] = {"address", "files", "host", "port", "proxy_jump",
		"script", "service", "user", NULL};
	static const ModKind node = {SSH_NODE, changeable};
	static const ModKind *const kinds[] = {&node, NULL};
	return mod_call_update(call, args, kinds, update);
}

rgp_status ssh_remove(const ModCall *call, const json_t *input)
{
	static const Action action = {"remove", false, false, end_remove};
	return each(call, input, &action);
}

rgp_status ssh_console(const ModCall *call, const json_t *input)
{
	static const Action action = {"console", true, false, end_console};
	return each(call, input, &action);
}

rgp_status ssh_reveal(const ModCall *call, const json_t *input)
{
	static const Action action = {"reveal", true, false, end_reveal};
	return each(call, input, &action);
}
