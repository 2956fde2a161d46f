/* Members of the script's elastic pool, if the module offers the call. */
#include "base/clock.h"
#include "provider/conform_internal.h"
#include "resource/nodes.h"

/* The groups of the resource: a new reference, NULL and diagnostics. */
static json_t *ask(RgConform *c, const RgConformMade *made, RgDiags *diags)
{
	RgResource record = *made->wanted;
	record.id = made->id;
	g_autoptr(GPtrArray) records = g_ptr_array_new();
	g_ptr_array_add(records, &record);
	return rg_provider_members(c->provider, record.kind, records, diags);
}

static json_int_t count_running(const json_t *group)
{
	json_int_t n = 0;
	rg_json_foreach (member, json_object_get(group, "members"))
		n += g_str_equal(rg_json_str(member, "state", ""), "running");
	return n;
}

/* NULL if as many run as list counts, and no fewer than the pool's minimum. */
static char *compare(RgConform *c, const RgConformMade *made, RgDiags *diags)
{
	g_autoptr(GHashTable) seen = rg_conform_seen_new();
	rg_conform_list(c, made->wanted->kind, made->id, seen, diags);
	const RgResource *observed = g_hash_table_lookup(seen, made->id);
	json_auto_t *groups = ask(c, made, diags);
	rg_json_foreach (group, groups) {
		const char *pool = rg_json_str(group, "pool", "");
		json_int_t listed = rg_json_int(observed ? observed->nodes : NULL, pool, -1);
		json_int_t runs = count_running(group);
		if (runs != listed || runs < RG_CONFORM_LEAST)
			return g_strdup_printf(
				"%" JSON_INTEGER_FORMAT " members of pool %s run, list "
				"counts %" JSON_INTEGER_FORMAT ", and its minimum is %d",
				runs, pool, listed, RG_CONFORM_LEAST);
	}
	return NULL;
}

bool rg_conform_is_elastic(const RgConform *c)
{
	return rg_schema_elastic(c->schema) && rg_provider_offers(c->provider, "members");
}

static bool has_members(const RgConform *c, const RgConformMade *made)
{
	return rg_nodes_are_elastic(made->wanted) && rg_conform_is_elastic(c);
}

void rg_conform_members(RgConform *c, const RgConformMade *made)
{
	if (!has_members(c, made))
		return;
	g_autofree char *step =
		g_strdup_printf("members %s: as many run as list counts", made->wanted->kind);
	int64_t until = rg_clock_monotonic_ms() + c->options->wait_ms;
	for (;;) { /* they take their time to start */
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autofree char *why = compare(c, made, diags);
		bool failed = rg_diags_has_errors(diags);
		if (failed || !why || rg_clock_monotonic_ms() > until) {
			rg_conform_tell(c, step, !failed && !why, failed ? NULL : why, diags);
			return;
		}
		rg_provider_sleep(c->provider, RG_CONFORM_LOOK_MS);
	}
}

void rg_conform_no_members(RgConform *c, const RgConformMade *made)
{
	if (!has_members(c, made))
		return;
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *step =
		g_strdup_printf("members %s: what is gone has none", made->wanted->kind);
	json_auto_t *groups = ask(c, made, diags);
	const char *why = NULL;
	rg_json_foreach (group, groups) {
		if (json_array_size(json_object_get(group, "members")))
			why = "it reports members of what no longer exists";
	}
	rg_conform_tell(c, step, groups && !why, why, diags);
}
