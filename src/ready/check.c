#include "ready/internal.h"
#include "base/clock.h"
#include "resource/nodes.h"

/* The head reports at least every 15 minutes (src/boot/watch-ray.sh). */
#define QUIET_MAX_S (45 * 60)

static void unjoined_free(gpointer data)
{
	RgUnjoined *unjoined = data;
	g_free(unjoined->reason);
	g_free(unjoined);
}

static void add(GPtrArray *found, const RgResource *record, char *reason)
{
	RgUnjoined *unjoined = g_new0(RgUnjoined, 1);
	*unjoined = (RgUnjoined){record, reason};
	g_ptr_array_add(found, unjoined);
}

/* Its machine is there, and its time to join is over. */
static bool is_due(const RgReadyCheck *check, const RgResource *record, int64_t now_s)
{
	const RgKind *kind = rg_schema_kind(rg_provider_get_schema(check->provider), record->kind);
	if (record->presence != RG_PRESENT || record->leaving || !record->id || !kind ||
		!kind->node || !rg_nodes_are_plain(record))
		return false;
	const RgResource *observed = rg_resource_set_find(check->observed, record->address);
	const RgPoolNodes nodes = rg_nodes_get(record, 0);
	int64_t limit_s = rg_json_int(check->timeouts_s, nodes.pool, RG_READY_TIMEOUT_S);
	bool joined = json_object_size(record->joined) > 0;
	return observed && observed->presence == RG_PRESENT &&
	       (joined || now_s >= record->created_s + limit_s);
}

static const RgResource *find_head(const RgReadyCheck *check, int64_t now_s)
{
	for (size_t i = 0; i < rg_resource_set_size(check->recorded); i++) {
		const RgResource *record = rg_resource_set_get(check->recorded, i);
		if (is_due(check, record, now_s) && rg_nodes_get(record, 0).is_head)
			return record;
	}
	return NULL;
}

/* NULL: it can't be read, which a note says, or is too old to say anything. */
static RgConsole *read_head(const RgReadyCheck *check, const RgResource *head, RgDiags *diags)
{
	json_auto_t *input = json_pack("{s:s, s:[{s:s, s:s}]}", "kind", head->kind, "items",
		"address", head->address, "id", head->id);
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autoptr(GPtrArray) results = rg_provider_console(check->provider, input, unread);
	const RgItemResult *result = results->pdata[0];
	if (result->outcome == RG_OUTCOME_DONE)
		return result->stale ? NULL : rg_console_parse(result->text);
	RgDiag *diag = rg_diags_note(diags, "ready.unreadable",
		"cannot see which nodes are members of Ray: %s", result->message);
	rg_diag_address(diag, head->address, NULL);
	rg_diag_cloud(diag, rg_provider_name(check->provider), result->code, result->request_id);
	return NULL;
}

static void check_members(
	const RgReadyCheck *check, const RgRoster *roster, int64_t now_s, GPtrArray *found)
{
	for (size_t i = 0; i < rg_resource_set_size(check->recorded); i++) {
		const RgResource *record = rg_resource_set_get(check->recorded, i);
		if (is_due(check, record, now_s) && !rg_roster_find(roster, record->id))
			add(found, record, g_strdup("runs, but is not a member of Ray"));
	}
}

static void check_hardware(const RgReadyCheck *check, GPtrArray *found)
{
	for (size_t i = 0;
		json_array_size(check->hardware) && i < rg_resource_set_size(check->recorded);
		i++) {
		const RgResource *record = rg_resource_set_get(check->recorded, i);
		const RgResource *observed = rg_resource_set_find(check->observed, record->address);
		char *reason = record->id && observed && observed->presence == RG_PRESENT
				       ? rg_ready_bad_hardware(check->hardware, record)
				       : NULL;
		if (reason)
			add(found, record, reason);
	}
}

/* ---- what the cloud reports by itself */

/* Those of one kind of machine that are there; NULL: none. */
static json_t *machines_of(const RgReadyCheck *check, const char *kind)
{
	json_auto_t *items = json_array();
	for (size_t i = 0; i < rg_resource_set_size(check->recorded); i++) {
		const RgResource *record = rg_resource_set_get(check->recorded, i);
		const RgResource *observed = rg_resource_set_find(check->observed, record->address);
		if (g_str_equal(record->kind, kind) && record->id && !record->leaving && observed &&
			observed->presence == RG_PRESENT)
			json_array_append_new(items, json_pack("{s:s, s:s}", "address",
							     record->address, "id", record->id));
	}
	return json_array_size(items) ? json_incref(items) : NULL;
}

static void check_kind(
	const RgReadyCheck *check, const char *kind, GPtrArray *found, RgDiags *diags)
{
	json_t *items = machines_of(check, kind);
	if (!items)
		return;
	json_auto_t *input = json_pack("{s:s, s:o}", "kind", kind, "items", items);
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autoptr(GPtrArray) results = rg_provider_health(check->provider, input, unread);
	for (guint i = 0; i < results->len; i++) {
		const RgItemResult *result = results->pdata[i];
		if (result->outcome == RG_OUTCOME_DONE && result->text)
			add(found, rg_resource_set_find(check->recorded, result->address),
				g_strdup(result->text));
		if (result->outcome == RG_OUTCOME_DONE)
			continue;
		RgDiag *diag = rg_diags_note(diags, "ready.unreadable",
			"cannot see the cloud's own checks of the nodes: %s", result->message);
		rg_diag_cloud(
			diag, rg_provider_name(check->provider), result->code, result->request_id);
		return;
	}
}

static void check_health(const RgReadyCheck *check, GPtrArray *found, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(check->provider);
	g_autoptr(GHashTable) asked = g_hash_table_new(g_str_hash, g_str_equal);
	if (!rg_provider_offers(check->provider, "health"))
		return;
	for (size_t i = 0; i < rg_resource_set_size(check->recorded); i++) {
		const RgResource *record = rg_resource_set_get(check->recorded, i);
		const RgKind *kind = rg_schema_kind(schema, record->kind);
		if (kind && kind->node &&
			g_hash_table_add(asked, (gpointer)(uintptr_t)record->kind))
			check_kind(check, record->kind, found, diags);
	}
}

GPtrArray *rg_ready_check(const RgReadyCheck *check, RgDiags *diags)
{
	GPtrArray *found = g_ptr_array_new_with_free_func(unjoined_free);
	int64_t now_s = rg_clock_now_s();
	check_hardware(check, found);
	check_health(check, found, diags);
	const RgResource *head = rg_ready_reports(check->provider) ? find_head(check, now_s) : NULL;
	g_autoptr(RgConsole) console = head ? read_head(check, head, diags) : NULL;
	if (!console)
		return found;
	const RgRoster *roster = console->roster;
	if (console->state == RG_NODE_FAILED)
		add(found, head,
			g_strdup_printf("runs, but its Ray does not: step %s failed: %s",
				console->failed_step, console->reason));
	else if (roster && now_s - roster->at > QUIET_MAX_S)
		add(found, head,
			g_strdup_printf("has not reported the members of Ray for %" G_GINT64_FORMAT
					" minutes",
				(now_s - roster->at) / 60));
	else if (roster)
		check_members(check, roster, now_s, found);
	return found;
}
