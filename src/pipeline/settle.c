/* Where a cluster is if its spec leaves a choice: recorded resources stay where they are; only a
 * cluster that does not exist yet is placed. */
#include <string.h>
#include "pipeline/internal.h"
#include "pipeline/place.h"

static bool is_at(const char *provider, const char *region, const RgProviderRef *place)
{
	return g_strcmp0(provider, place->name) == 0 && g_strcmp0(region, place->region) == 0;
}

/* The recorded choice; clusters that existed before their spec had any_of have none. */
static json_t *recorded_choice(const RgSnapshot *snapshot)
{
	json_t *choice = json_object_get(snapshot->facts, "place");
	if (g_strcmp0(rg_json_str(choice, "provider", NULL), snapshot->provider) == 0 &&
		g_strcmp0(rg_json_str(choice, "region", NULL), snapshot->region) == 0)
		return json_incref(choice);
	return json_pack("{s:s, s:s, s:s}", "provider", snapshot->provider, "region",
		snapshot->region, "reason", "it is already there");
}

static bool report_left_out(const RgPass *pass, RgDiags *diags)
{
	g_autofree char *place = rg_place_text(pass->snapshot->provider, pass->snapshot->region);
	RgDiag *diag = rg_diags_error(diags, "plan.wrong-state",
		"cluster %s is recorded in %s, which provider.any_of does not name",
		pass->cluster->name, place);
	rg_diag_at(diag, rg_cluster_source(pass->cluster, "/provider/any_of"));
	rg_diag_hint(diag,
		"a cluster cannot move: run `raygpu destroy --cluster %s` first, then apply "
		"chooses again; or add its place again",
		pass->cluster->name);
	return false;
}

static const json_t *candidate(const json_t *choice, guint i)
{
	return json_array_get(json_object_get(choice, "candidates"), i);
}

static char *price_of(const json_t *row)
{
	const json_t *estimate = json_object_get(row, "estimate_microusd_hour");
	int64_t known = rg_json_int(row, "microusd_hour", 0);
	g_autofree char *money =
		rg_money_format(json_is_integer(estimate) ? json_integer_value(estimate) : known);
	if (rg_json_str(row, "rejected", NULL))
		return g_strdup(rg_json_str(row, "rejected", ""));
	if (known == 0 && !json_is_integer(estimate) && rg_json_int(row, "unpriced", 0) > 0)
		return g_strdup("an unknown price");
	const char *about = !rg_json_int(row, "unpriced", 0) ? ""
			    : json_is_integer(estimate)	     ? "about "
							     : "at least ";
	return g_strdup_printf("%s%s per hour", about, money);
}

/* An instance of a provider that removes resources in one region cannot create any in another: one
 * apply has one scope. So a move is two runs, and the first of them shows what it destroys. */
static bool report_move(const RgPass *pass, const json_t *choice, guint from, RgDiags *diags)
{
	guint to = 0;
	const RgProviderRef *best = &pass->cluster->provider;
	while (!is_at(best->name, best->region, pass->cluster->places->pdata[to]))
		to++;
	g_autofree char *here = rg_place_text(pass->snapshot->provider, pass->snapshot->region);
	g_autofree char *there = rg_place_text(best->name, best->region);
	g_autofree char *now = price_of(candidate(choice, from));
	g_autofree char *then = price_of(candidate(choice, to));
	RgDiag *diag = rg_diags_error(diags, "plan.would-move",
		"cluster %s would move from %s to %s: everything would be destroyed and recreated",
		pass->cluster->name, here, there);
	rg_diag_at(diag, best->source);
	rg_diag_detail(diag, "%s: %s\n%s: %s", here, now, there, then);
	rg_diag_hint(diag,
		"a cluster cannot move in one apply: run `raygpu destroy --cluster %s`, then "
		"apply; to choose again in its present place, leave only %s in any_of",
		pass->cluster->name, here);
	return false;
}

static bool choose(RgSession *session, RgPass *pass, int kept, RgDiags *diags)
{
	const RgPlacing placing = {.tables = pass_tables(session, pass),
		.avoid = session->avoid,
		.kept = kept,
		.override = session->override != NULL};
	pass->place = rg_place_choose(&placing, pass->cluster, diags);
	return json_object_get(pass->place, "provider") != NULL;
}

/* "PLACE: $1.58 per hour", a line per candidate. */
static char *list_candidates(const json_t *choice)
{
	GString *list = g_string_new(NULL);
	rg_json_foreach_at (i, row, json_object_get(choice, "candidates")) {
		g_autofree char *what = price_of(row);
		g_autofree char *place = rg_place_text(
			rg_json_str(row, "provider", ""), rg_json_str(row, "region", NULL));
		const char *lost = rg_json_str(row, "lost", NULL);
		g_string_append_printf(list, "%s%s: %s%s%s", i ? "\n" : "", place, what,
			lost ? ", but " : "", lost ? lost : "");
	}
	return g_string_free(list, FALSE);
}

static void tell_choice(const RgCluster *cluster, const json_t *choice, RgDiags *diags)
{
	g_autofree char *price = price_of(choice);
	g_autofree char *list = list_candidates(choice);
	g_autofree char *best = rg_place_text(cluster->provider.name, cluster->provider.region);
	RgDiag *diag = rg_diags_note(diags, "fit.place", "today %s would be chosen, %s, at %s",
		best, rg_json_str(choice, "reason", ""), price);
	rg_diag_at(diag, cluster->provider.source);
	rg_diag_detail(diag, "%s", list);
}

bool pass_settle_offline(RgTables *tables, RgCluster *cluster, RgDiags *diags)
{
	if (!rg_place_is_open(cluster))
		return true;
	const RgPlacing placing = {.tables = tables, .kept = -1};
	json_auto_t *choice = rg_place_choose(&placing, cluster, diags);
	if (!json_object_get(choice, "provider"))
		return false;
	tell_choice(cluster, choice, diags);
	return true;
}

/* To destroy what does not exist, any place that can be asked will do. */
static void settle_somewhere(RgSession *session, RgPass *pass)
{
	const GPtrArray *places = pass->cluster->places;
	guint i = 0;
	while (i < places->len && !rg_provider_has(session->providers,
					  ((RgProviderRef *)places->pdata[i])->name, "schema.json"))
		i++;
	if (i < places->len)
		rg_cluster_settle(pass->cluster, i);
}

bool pass_settle(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const RgSnapshot *snapshot = pass->snapshot;
	if (!rg_place_is_open(pass->cluster))
		return true;
	if (!rg_resource_set_size(snapshot->recorded)) {
		if (!session->diff.destroy)
			return choose(session, pass, -1, diags);
		settle_somewhere(session, pass);
		return true;
	}
	const GPtrArray *places = pass->cluster->places;
	guint recorded = 0;
	while (recorded < places->len &&
		!is_at(snapshot->provider, snapshot->region, places->pdata[recorded]))
		recorded++;
	if (recorded == places->len)
		return report_left_out(pass, diags);
	if (session->reoptimize && !session->diff.destroy) {
		if (!choose(session, pass, (int)recorded, diags))
			return false;
		const RgProviderRef *best = &pass->cluster->provider;
		return is_at(best->name, best->region, places->pdata[recorded]) ||
		       report_move(pass, pass->place, recorded, diags);
	}
	rg_cluster_settle(pass->cluster, recorded);
	pass->place = recorded_choice(snapshot);
	return true;
}

/* What was resolved in one place says nothing about another: images, networks and what is sold
 * where. */
json_t *rg_pass_pins(RgPass *pass)
{
	if (pass->pins)
		return pass->pins;
	pass->pins = rg_snapshot_pins(pass->snapshot);
	if (pass->snapshot->provider &&
		!is_at(pass->snapshot->provider, pass->snapshot->region, &pass->cluster->provider))
		json_object_set_new(pass->pins, "facts", json_null());
	else
		json_object_set_new(
			pass->pins, "kept", rg_intent_kept(pass->cluster, pass->snapshot));
	return pass->pins;
}

json_t *pass_facts(const RgPass *pass, const json_t *fitted)
{
	json_t *facts = json_copy(json_object_get(fitted, "facts"));
	if (facts && pass->place)
		json_object_set(facts, "place", pass->place);
	if (facts && pass->leases)
		json_object_set(facts, "leases", pass->leases);
	json_t *kept = facts ? rg_intent_keep(pass->cluster, pass->pins) : NULL;
	if (kept)
		json_object_set_new(facts, "kept", kept);
	return facts;
}
