#include "ready/internal.h"
#include "base/clock.h"
#include "resource/nodes.h"

static const RgResource *find_head(const RgReadyCheck *check, int64_t now_s)
{
	rg_resource_foreach (record, check->snapshot->recorded) {
		if (check_is_due(check, record, now_s) && rg_nodes_get(record, 0).is_head)
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

static void check_hardware(const RgReadyCheck *check, GPtrArray *found)
{
	for (size_t i = 0; json_array_size(check->snapshot->hardware) &&
			   i < rg_resource_set_size(check->snapshot->recorded);
		i++) {
		const RgResource *record = rg_resource_set_get(check->snapshot->recorded, i);
		const RgResource *observed = rg_resource_set_find(check->observed, record->address);
		char *reason = record->id && observed && observed->presence == RG_PRESENT
				       ? rg_ready_bad_hardware(check->snapshot->hardware, record)
				       : NULL;
		if (reason)
			check_add(found, record, reason);
	}
}

/* ---- what the cloud reports by itself */

/* Those of one kind of machine that are there; NULL: none. */
static json_t *machines_of(const RgReadyCheck *check, const char *kind)
{
	json_auto_t *items = json_array();
	rg_resource_foreach (record, check->snapshot->recorded) {
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
	rg_ptr_foreach (const RgItemResult, result, results) {
		if (result->outcome == RG_OUTCOME_DONE && result->text)
			check_add(found,
				rg_resource_set_find(check->snapshot->recorded, result->address),
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
	rg_resource_foreach (record, check->snapshot->recorded) {
		const RgKind *kind = rg_schema_kind(schema, record->kind);
		if (kind && kind->node &&
			g_hash_table_add(asked, (gpointer)(uintptr_t)record->kind))
			check_kind(check, record->kind, found, diags);
	}
}

GPtrArray *rg_ready_check(const RgReadyCheck *check, json_t **seen, RgDiags *diags)
{
	GPtrArray *found = check_found_new();
	const int64_t now_s = rg_clock_now_s();
	check_hardware(check, found);
	check_health(check, found, diags);
	const RgResource *head = rg_ready_reports(check->provider) ? find_head(check, now_s) : NULL;
	g_autoptr(RgConsole) console = head ? read_head(check, head, diags) : NULL;
	const RgRoster *roster = console ? console->roster : NULL;
	const bool old = roster && now_s - roster->at > WAIT_QUIET_MAX_S;
	const bool failed = console && console->state == RG_NODE_FAILED;
	if (failed)
		check_add(found, head,
			g_strdup_printf("runs, but its Ray does not: step %s failed: %s",
				console->failed_step, console->reason));
	else if (old)
		check_add(found, head,
			g_strdup_printf("has not reported the members of Ray for %" G_GINT64_FORMAT
					" minutes",
				(now_s - roster->at) / 60));
	else if (roster)
		check_members(check, head, roster, found);
	if (seen)
		*seen = check_seen(check, old || failed ? NULL : console);
	return found;
}
