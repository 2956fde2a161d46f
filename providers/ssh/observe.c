/* list and find: every host is asked what has claimed it. Reading calls. */
#include "ssh/claim.h"
#include "ssh/node.h"
#include "ssh/observe.h"

/* ---- the hosts */

GPtrArray *ssh_runs_of_all(const ModCall *call)
{
	GPtrArray *runs = ssh_runs_new();
	mod_ptr_foreach (const SshHost, host, call->inst->hosts->all)
		ssh_runs_add(runs, host);
	return runs;
}

bool ssh_has_its_gpus(const SshRun *run)
{
	int64_t said = ssh_shape_gpus(run->host->shape);
	return !said || (int64_t)json_array_size(json_object_get(run->answer, "gpu")) == said;
}

bool ssh_is_free(const SshRun *run)
{
	return ssh_run_is_good(run) && !ssh_is_claimed(run->answer) && ssh_has_its_gpus(run) &&
	       !json_object_get(run->answer, "foreign");
}

bool ssh_may_be(const SshRun *run, const json_t *attributes)
{
	return ssh_is_free(run) && g_str_equal(run->host->shape, mod_str(attributes, "shape")) &&
	       g_str_equal(run->host->rack, mod_str(attributes, "rack")) &&
	       ssh_has_labels(run->host, json_object_get(attributes, "labels"));
}

bool ssh_has_labels(const SshHost *host, const json_t *labels)
{
	mod_foreach_member (key, value, labels)
		if (!json_equal(json_object_get(host->labels, key), value))
			return false;
	return true;
}

static int by_labels(gconstpointer a, gconstpointer b)
{
	const SshRun *const *left = a, *const *right = b;
	return (int)json_object_size((*left)->host->labels) -
	       (int)json_object_size((*right)->host->labels);
}

GPtrArray *ssh_runs_that_may_be(const GPtrArray *runs, const json_t *attributes)
{
	GPtrArray *found = g_ptr_array_new();
	mod_ptr_foreach (SshRun, run, runs)
		if (ssh_may_be(run, attributes))
			g_ptr_array_add(found, run);
	g_ptr_array_sort(found, by_labels); /* stable since GLib 2.32 */
	return found;
}

/* ---- one answer */

typedef struct {
	const char *cluster, *lineage, *token; /* NULL: any */
	GHashTable *known;		       /* ids */
	json_t *resources;
} Observing;

static bool is_asked(const Observing *observing, const json_t *answer, const char *id)
{
	if (observing->token)
		return g_str_equal(ssh_claim_text(answer, "token"), observing->token);
	return g_str_equal(ssh_claim_text(answer, "cluster"), observing->cluster) ||
	       g_hash_table_contains(observing->known, id);
}

static void add_claim(const Observing *observing, const SshRun *run)
{
	const json_t *answer = run->answer;
	const char *id = ssh_claim_text(answer, "id"), *service = mod_str(answer, "service");
	const char *lineage = ssh_claim_text(answer, "lineage");
	if (!ssh_claim_is_sound(answer, run->host) || !is_asked(observing, answer, id))
		return;
	bool foreign = observing->lineage &&
		       (!g_str_equal(lineage, observing->lineage) ||
			       !g_str_equal(ssh_claim_text(answer, "cluster"), observing->cluster));
	json_t *resource = json_pack("{s:s, s:s, s:s, s:o}", "id", id, "state", "present", "status",
		*service ? service : "claimed", "attributes", ssh_node_observed(run));
	if (!foreign)
		json_object_set_new(
			resource, "address", json_string(ssh_claim_text(answer, "address")));
	if (*ssh_claim_text(answer, "token"))
		json_object_set_new(
			resource, "token", json_string(ssh_claim_text(answer, "token")));
	if (*lineage && (foreign || !observing->lineage))
		json_object_set_new(resource, "lineage", json_string(lineage));
	json_array_append_new(observing->resources, resource);
	g_hash_table_remove(observing->known, id);
}

/* ---- list */

static GHashTable *known_of(const json_t *input)
{
	GHashTable *known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	mod_foreach (id, json_object_get(json_object_get(input, "known"), SSH_NODE))
		if (json_is_string(id) && ssh_is_id(json_string_value(id)))
			g_hash_table_add(known, g_strdup(json_string_value(id)));
	return known;
}

static void add_unreadable(const Observing *observing, const char *id, const char *why)
{
	json_array_append_new(
		observing->resources, json_pack("{s:s, s:s, s:s, s:{}}", "id", id, "state",
					      "unknown", "status", why, "attributes"));
}

/* Known nodes whose host the inventory no longer has: no name is enough to reach it. */
static void add_absent(const ModCall *call, const Observing *observing)
{
	GHashTableIter iter;
	gpointer id;
	g_hash_table_iter_init(&iter, observing->known);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		g_autofree char *why = ssh_id_absent(call->inst->hosts, id);
		if (!why)
			continue;
		add_unreadable(observing, id, why);
		g_hash_table_iter_remove(&iter);
	}
}

/* Whether the host does not say what has claimed it, and why. */
static bool is_silent(const SshRun *run, ModFailure *failure)
{
	if (!ssh_run_is_good(run)) {
		ssh_run_fail(run, failure);
		if (!failure->hint)
			failure->hint = "if the host is lost, remove it from the inventory";
		return true;
	}
	if (!ssh_is_claimed(run->answer) || ssh_claim_is_sound(run->answer, run->host))
		return false;
	mod_failure_set(failure, RGP_CLASS_UNKNOWN, NULL,
		"%s: its claim, " SSH_CLAIM_FILE ", is damaged", run->host->name);
	failure->hint = "delete that file when no Ray of raygpu runs there";
	return true;
}

/* The nodes of such a host may well run. */
static void add_unknown(const Observing *observing, const SshRun *run)
{
	GHashTableIter iter;
	gpointer id;
	g_auto(ModFailure) failure = {0};
	if (!is_silent(run, &failure))
		return;
	g_hash_table_iter_init(&iter, observing->known);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		g_autofree char *name = ssh_id_host(id);
		if (!g_str_equal(name, run->host->name))
			continue;
		add_unreadable(observing, id, failure.message);
		g_hash_table_iter_remove(&iter);
	}
}

static rgp_status give(const ModCall *call, const Observing *observing)
{
	rgp_status status = mod_give(&call->talk, "page",
		json_pack("{s:s, s:O}", "kind", SSH_NODE, "resources", observing->resources));
	return status == RGP_OK ? mod_give_complete(&call->talk) : status;
}

/* Where an empty answer proves that there is nothing: such a host may have it. */
static rgp_status refuse_silent(const ModCall *call, const GPtrArray *runs)
{
	mod_ptr_foreach (const SshRun, run, runs) {
		g_auto(ModFailure) failure = {0};
		if (!is_silent(run, &failure))
			continue;
		mod_report(&call->talk, &failure, "a host does not say what has claimed it");
		return RGP_FAIL;
	}
	return RGP_OK;
}

rgp_status ssh_list(const ModCall *call, const json_t *input)
{
	g_autoptr(GHashTable) known = known_of(input);
	json_auto_t *resources = json_array();
	const Observing observing = {.cluster = mod_str(input, "cluster"),
		.lineage = json_string_value(json_object_get(input, "lineage")),
		.known = known,
		.resources = resources};
	g_autoptr(GPtrArray) runs = ssh_runs_of_all(call);
	add_absent(call, &observing);
	rgp_status status = ssh_probe(call, runs, SSH_AGE_LIST_S);
	mod_ptr_foreach (const SshRun, run, runs)
		add_claim(&observing, run);
	mod_ptr_foreach (const SshRun, run, runs)
		add_unknown(&observing, run);
	if (status == RGP_OK && json_is_true(json_object_get(input, "rebuild")))
		status = refuse_silent(call, runs);
	return status == RGP_OK ? give(call, &observing) : status;
}

/* ---- find */

rgp_status ssh_find(const ModCall *call, const json_t *input)
{
	json_auto_t *resources = json_array();
	g_autoptr(GHashTable) none = g_hash_table_new(g_str_hash, g_str_equal);
	const json_t *marks = json_object_get(input, "marks");
	const Observing observing = {.cluster = mod_str(marks, "cluster"),
		.lineage = json_string_value(json_object_get(marks, "lineage")),
		.token = mod_str(input, "token"),
		.known = none,
		.resources = resources};
	g_autoptr(GPtrArray) runs = ssh_runs_of_all(call);
	rgp_status status = ssh_probe(call, runs, SSH_AGE_NEW_S);
	mod_ptr_foreach (const SshRun, run, runs)
		add_claim(&observing, run);
	if (status == RGP_OK)
		status = refuse_silent(call, runs);
	return status == RGP_OK ? give(call, &observing) : status;
}
