/* drift: elastic pools whose machines a group of the cloud launches. How many run is never drift;
 * what the cloud refuses to launch is. */
#include "ready/internal.h"
#include "resource/nodes.h"

static bool is_elastic(const RgReadyCheck *check, const RgResource *record)
{
	const RgResource *observed = rg_resource_set_find(check->observed, record->address);
	return rg_nodes_are_elastic(record) && record->id && !record->leaving && observed &&
	       observed->presence == RG_PRESENT;
}

static void add_groups(const RgReadyCheck *check, const char *kind, json_t *groups, RgDiags *diags)
{
	g_autoptr(GPtrArray) records = g_ptr_array_new();
	g_autoptr(RgDiags) unread = rg_diags_new();
	rg_resource_foreach (record, check->snapshot->recorded) {
		if (g_str_equal(record->kind, kind) && is_elastic(check, record))
			g_ptr_array_add(records, record);
	}
	if (!records->len)
		return;
	json_auto_t *found = rg_provider_members(check->provider, kind, records, unread);
	json_array_extend(groups, found);
	if (found)
		return;
	RgDiag *diag = rg_diags_note(diags, "ready.unreadable",
		"cannot see the members of elastic pools: %s", rg_diags_get(unread, 0)->summary);
	rg_diag_cloud(diag, rg_provider_name(check->provider), NULL, NULL);
}

json_t *rg_ready_groups(const RgReadyCheck *check, RgDiags *diags)
{
	json_t *groups = json_array();
	GStrv kinds = rg_schema_kinds(rg_provider_get_schema(check->provider));
	for (size_t i = 0; kinds[i] && rg_provider_offers(check->provider, "members"); i++)
		add_groups(check, kinds[i], groups, diags);
	return groups;
}

/* How many of its members are in that state, or all if it is NULL. */
static unsigned count_members(const json_t *group, const char *state)
{
	unsigned n = 0;
	rg_json_foreach (member, json_object_get(group, "members"))
		n += !state || g_str_equal(rg_json_str(member, "state", ""), state);
	return n;
}

char *rg_ready_short_group(const json_t *group)
{
	const json_t *refusal = json_array_get(json_object_get(group, "refused"), 0);
	int64_t wants = rg_json_int(group, "wants", 0);
	unsigned runs = count_members(group, "running");
	if (!refusal || wants <= runs)
		return NULL;
	const char *zone = rg_json_str(refusal, "zone", NULL);
	int64_t tries = rg_json_int(refusal, "tries", 1);
	GString *text = g_string_new(NULL);
	g_string_append_printf(text,
		"should have %" G_GINT64_FORMAT " nodes of pool %s, but %u run%s: %s", wants,
		rg_json_str(group, "pool", ""), runs, runs == 1 ? "s" : "",
		rg_json_str(refusal, "message", ""));
	if (zone)
		g_string_append_printf(text, " in %s", zone);
	if (tries > 1)
		g_string_append_printf(text, " (refused %" G_GINT64_FORMAT " times)", tries);
	return g_string_free(g_steal_pointer(&text), FALSE);
}
