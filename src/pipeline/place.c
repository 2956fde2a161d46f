#include "pipeline/place.h"
#include <string.h>
#include "fit/compat.h"
#include "fit/whole.h"
#include "workloads/workloads.h"
#include "pipeline/internal.h"

/* One candidate and its evaluation. */
typedef struct {
	char *rejected; /* why not; NULL: it qualifies */
	char *over;	/* the finding about the budgets; NULL: it is within them */
	bool known;	/* whole is filled in */
	RgWhole whole;
	char *price_date, *oldest_date;
	RgDiags *found;
} Trial;

typedef struct {
	const RgPlacing *placing;
	RgCluster *cluster;
	const RgCarbon *carbon;
	Trial *trials; /* one per candidate */
	RgDiags *diags;
} Choosing;

bool rg_place_is_open(const RgCluster *cluster)
{
	return json_object_get(json_object_get(cluster->view, "provider"), "any_of") != NULL;
}

/* ---- one candidate */

static char *first_error(const RgDiags *diags)
{
	rg_diags_foreach (diag, diags) {
		if (diag->severity == RG_SEVERITY_ERROR)
			return g_strdup(diag->summary);
	}
	return NULL;
}

/* Only a provider with data to compare can be used without a module. */
static char *reject_provider(const Choosing *choosing, const char *name)
{
	if (rg_tables_have(choosing->placing->tables, name, "schema.json"))
		return NULL;
	if (!rg_tables_have(choosing->placing->tables, name, "instance_types.csv"))
		return g_strdup_printf("there is no provider \"%s\"", name);
	return g_strdup_printf("raygpu has no provider module for %s yet; its catalog is used only "
			       "by `raygpu offers`",
		name);
}

static char *reject_avoided(const Choosing *choosing)
{
	const RgProviderRef *place = &choosing->cluster->provider;
	g_autofree char *name = rg_place_text(place->name, place->region);
	return g_strdup(rg_json_str(choosing->placing->avoid, name, NULL));
}

/* Faults in a candidate's own settings, which no other candidate compensates for. */
static bool check_settings(const Choosing *choosing)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	bool good = pass_check_config(
		rg_tables_providers(choosing->placing->tables), choosing->cluster, found);
	rg_diags_take_new(choosing->diags, found);
	return good;
}

static void weigh(Choosing *choosing, Trial *trial, RgDiags *found)
{
	const RgCluster *cluster = choosing->cluster;
	RgTables *tables = choosing->placing->tables;
	g_autoptr(RgShapes) shapes = pass_fit_shapes(tables, cluster, NULL, found);
	if (!shapes)
		return;
	trial->whole = rg_fit_whole(cluster, shapes, choosing->carbon, true);
	trial->price_date = g_strdup(trial->whole.price_date);
	trial->oldest_date = g_strdup(trial->whole.oldest_date);
	trial->whole.price_date = trial->price_date;
	trial->whole.oldest_date = trial->oldest_date;
	trial->known = true;
	if (!trial->rejected)
		trial->rejected = rg_fit_whole_lacks(cluster, shapes);
	if (pass_check_policy(cluster, shapes, rg_tables_project(tables), found) &&
		rg_fit_check_compat(cluster, shapes, NULL, found))
		json_decref(rg_fit_workloads(cluster, shapes, NULL, 0, NULL, found));
	g_autoptr(RgDiags) over = rg_diags_new();
	if (!choosing->placing->override &&
		!pass_check_budget(cluster, tables, shapes, choosing->carbon, over))
		trial->over = first_error(over);
}

/* False: the spec or the data are wrong, whatever the other candidates are. */
static bool try_place(Choosing *choosing, guint i)
{
	rg_cluster_settle(choosing->cluster, i);
	const char *name = choosing->cluster->provider.name;
	Trial *trial = &choosing->trials[i];
	RgDiags *found = trial->found = rg_diags_new();
	trial->rejected = reject_provider(choosing, name);
	if (!trial->rejected)
		trial->rejected = reject_avoided(choosing);
	bool good = trial->rejected || check_settings(choosing);
	if (good && !trial->rejected)
		pass_check_place(
			rg_tables_providers(choosing->placing->tables), choosing->cluster, found);
	if (good && rg_tables_have(choosing->placing->tables, name, "instance_types.csv"))
		weigh(choosing, trial, found);
	if (!trial->rejected)
		trial->rejected = first_error(found);
	return good;
}

/* ---- all */

/* True: some are, because another one is not. */
static bool reject_over_budget(const Choosing *choosing)
{
	guint n = choosing->cluster->places->len;
	bool within = false, rejected = false;
	for (guint i = 0; i < n; i++)
		within |= !choosing->trials[i].rejected && !choosing->trials[i].over;
	for (guint i = 0; i < n && within; i++) {
		Trial *trial = &choosing->trials[i];
		if (trial->rejected || !trial->over)
			continue;
		trial->rejected = g_steal_pointer(&trial->over);
		rejected = true;
	}
	return rejected;
}

static json_t *amount_json(int64_t amount, bool known)
{
	return known ? json_integer(amount) : json_null();
}

static void put_figures(json_t *to, const Trial *trial)
{
	const RgWhole *whole = &trial->whole;
	json_object_set_new(to, "microusd_hour", amount_json(whole->microusd_hour, trial->known));
	json_object_set_new(to, "estimate_microusd_hour",
		amount_json(whole->merit.microusd_hour,
			trial->known && whole->merit.microusd_hour != INT64_MAX));
	json_object_set_new(to, "unpriced", amount_json(whole->unpriced, trial->known));
	json_object_set_new(to, "carbon_mg_hour", amount_json(whole->carbon_mg_hour, trial->known));
	json_object_set_new(to, "uncounted", amount_json(whole->uncounted, trial->known));
	rg_json_set_str(to, "price_date", trial->price_date);
	rg_json_set_str(to, "oldest_price_date", trial->oldest_date);
	json_object_set_new(to, "derived", amount_json(whole->derived, trial->known));
}

/* Price and carbon are compared only between places that have the same choice of accelerators, and
 * that know their prices equally well. */
static char *reason_of(const Choosing *choosing, const RgMerit *merits, const bool *admitted,
	guint best, bool over_budget)
{
	guint n = choosing->cluster->places->len, count = 0, alike = 0;
	bool by_choice = false, by_price = false;
	for (guint i = 0; i < n; i++) {
		bool later = merits[i].preference != merits[best].preference;
		bool unsure = !later && merits[i].sureness != merits[best].sureness;
		count += admitted[i];
		alike += admitted[i] && !later && !unsure;
		by_choice |= admitted[i] && later;
		by_price |= admitted[i] && unsure;
	}
	const char *word = rg_merit_word(choosing->cluster->optimize);
	if (count == 1)
		return g_strdup_printf("the only one of %u candidate%s that has everything%s", n,
			n == 1 ? "" : "s", over_budget ? " within the budget" : "");
	if (alike == count && merits[best].microusd_hour == INT64_MAX &&
		choosing->cluster->optimize != RG_OPTIMIZE_CARBON)
		return g_strdup_printf("the first of %u candidates without known prices", count);
	if (alike == count)
		return g_strdup_printf("%s of %u candidates", word, count);
	const char *with = !by_price	? "the preferred accelerators"
			   : !by_choice ? "known prices"
					: "the preferred accelerators and known prices";
	if (alike == 1)
		return g_strdup_printf("the only one of %u candidates with %s", count, with);
	return g_strdup_printf("%s of the %u of %u candidates with %s", word, alike, count, with);
}

static guint best_of(const Choosing *choosing, const RgMerit *merits, const bool *admitted)
{
	RgOptimize optimize = choosing->cluster->optimize;
	guint n = choosing->cluster->places->len;
	guint best = rg_fit_best(optimize, merits, admitted, n);
	int kept = choosing->placing->kept;
	if (best == n || kept < 0 || !admitted[kept])
		return best;
	RgMerit least = merits[best]; /* equal to the best is as good, on any scale */
	return rg_merit_compare(optimize, &least, &merits[best], &merits[kept]) == 0 ? (guint)kept
										     : best;
}

/* Why the best place was preferred to one that costs less; NULL: that one does not cost less. */
static const char *lost_by(const Choosing *choosing, const RgMerit *merit, const RgMerit *best)
{
	if (merit->microusd_hour >= best->microusd_hour)
		return NULL;
	if (merit->preference != best->preference)
		return "its accelerators are listed later";
	if (merit->sureness != best->sureness)
		return "not all of its prices are known";
	switch (choosing->cluster->optimize) {
	case RG_OPTIMIZE_CARBON:
		return "it emits more";
	case RG_OPTIMIZE_BALANCED:
		return "its balance of price and carbon is worse";
	case RG_OPTIMIZE_COST:
		break;
	}
	return NULL;
}

static json_t *candidates_json(const Choosing *choosing, const RgMerit *merits, guint best)
{
	const GPtrArray *places = choosing->cluster->places;
	json_t *all = json_array();
	for (guint i = 0; i < places->len; i++) {
		const RgProviderRef *place = places->pdata[i];
		json_t *row =
			json_pack("{s:s, s:s}", "provider", place->name, "region", place->region);
		put_figures(row, &choosing->trials[i]);
		rg_json_set_str(row, "rejected", choosing->trials[i].rejected);
		if (best < places->len && !choosing->trials[i].rejected)
			rg_json_set_str(row, "lost", lost_by(choosing, &merits[i], &merits[best]));
		json_array_append_new(all, row);
	}
	return all;
}

static json_t *choice_json(Choosing *choosing)
{
	guint n = choosing->cluster->places->len;
	g_autofree RgMerit *merits = g_new(RgMerit, n);
	g_autofree bool *admitted = g_new(bool, n);
	bool over_budget = reject_over_budget(choosing);
	for (guint i = 0; i < n; i++) {
		merits[i] = choosing->trials[i].whole.merit;
		admitted[i] = !choosing->trials[i].rejected;
	}
	guint best = best_of(choosing, merits, admitted);
	json_t *choice = json_object();
	rg_cluster_settle(choosing->cluster, best < n ? best : 0);
	if (best < n) {
		g_autofree char *reason = reason_of(choosing, merits, admitted, best, over_budget);
		rg_json_set_str(choice, "provider", choosing->cluster->provider.name);
		rg_json_set_str(choice, "region", choosing->cluster->provider.region);
		rg_json_set_str(choice, "reason", reason);
		put_figures(choice, &choosing->trials[best]);
	}
	json_object_set_new(choice, "candidates", candidates_json(choosing, merits, best));
	return choice;
}

static void report_none(const Choosing *choosing, const json_t *choice)
{
	g_autoptr(GString) why = g_string_new(NULL);
	rg_json_foreach_at (i, row, json_object_get(choice, "candidates")) {
		rg_diags_take_new(choosing->diags, choosing->trials[i].found);
		g_autofree char *place = rg_place_text(
			rg_json_str(row, "provider", ""), rg_json_str(row, "region", NULL));
		g_string_append_printf(
			why, "%s%s: %s", i ? "\n" : "", place, rg_json_str(row, "rejected", ""));
	}
	RgDiag *diag = rg_diags_error(choosing->diags, "fit.no-place",
		"no candidate of provider.any_of has everything that the spec requires");
	rg_diag_at(diag, rg_cluster_source(choosing->cluster, "/provider/any_of"));
	rg_diag_detail(diag, "%s", why->str);
	rg_diag_hint(diag,
		"`raygpu offers SPEC` compares them; add a candidate, or reduce the requirements");
}

json_t *rg_place_choose(const RgPlacing *placing, RgCluster *cluster, RgDiags *diags)
{
	guint n = cluster->places->len;
	const RgCarbon *carbon = rg_tables_carbon(placing->tables, diags);
	if (!carbon)
		return NULL;
	g_autofree Trial *trials = g_new0(Trial, n);
	Choosing choosing = {placing, cluster, carbon, trials, diags};
	bool good = true;
	for (guint i = 0; i < n; i++)
		good = try_place(&choosing, i) && good;
	json_t *choice = good ? choice_json(&choosing) : NULL;
	if (choice && !placing->compare && !json_object_get(choice, "provider"))
		report_none(&choosing, choice);
	for (guint i = 0; i < n; i++) {
		g_free(trials[i].rejected);
		g_free(trials[i].over);
		g_free(trials[i].price_date);
		g_free(trials[i].oldest_date);
		rg_diags_free(trials[i].found);
	}
	return choice;
}
