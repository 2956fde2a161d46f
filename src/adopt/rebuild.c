/* The state from the cloud's marks: resources with the cluster's name are read, fitted with their
 * values as pins, and recorded as they are. Writes only the state, once, at the end. */
#include "adopt/internal.h"
#include "state/move.h"

/* The only lineage of all, or the requested one. NULL and a diagnostic. */
static char *choose_lineage(Rebuild *rebuild, const GPtrArray *marked, const char *asked)
{
	g_autoptr(GPtrArray) lineages = g_ptr_array_new();
	const RgProviderRef *place = &rebuild->pass->cluster->provider;
	const char *name = rebuild->pass->cluster->name;
	rg_ptr_foreach (const RgResource, resource, marked)
		if (resource->lineage && (!asked || g_str_equal(asked, resource->lineage)) &&
			!g_ptr_array_find_with_equal_func(
				lineages, resource->lineage, g_str_equal, NULL))
			g_ptr_array_add(lineages, resource->lineage);
	if (lineages->len == 1)
		return g_strdup(lineages->pdata[0]);
	if (!lineages->len) {
		RgDiag *diag = rg_diags_error(rebuild->diags, "state.no-marks",
			"nothing in %s has the ownership tags of cluster %s%s%s",
			rg_place_name(place->name, place->region), name,
			asked ? " and lineage " : "", asked ? asked : "");
		rg_diag_hint(diag, "check that the %s and the account are right",
			rg_schema_words(rg_provider_get_schema(rebuild->pass->provider))->region);
		return NULL;
	}
	g_ptr_array_add(lineages, NULL);
	g_autofree char *list = g_strjoinv(", ", (char **)lineages->pdata);
	RgDiag *diag = rg_diags_error(rebuild->diags, "state.ambiguous",
		"several states have created a cluster %s: lineages %s", name, list);
	rg_diag_hint(diag, "select yours with --lineage");
	return NULL;
}

static void report_twice(Rebuild *rebuild, const RgResource *one, const RgResource *other)
{
	RgDiag *diag = rg_diags_error(rebuild->diags, "state.ambiguous",
		"both %s and %s have the ownership tags of %s", one->id, other->id, one->address);
	rg_diag_address(diag, one->address, NULL);
	rg_diag_hint(diag, "remove the unused one manually, then try again");
}

/* A record of it would be empty, and without one the next plan would create another. */
static void report_unread(Rebuild *rebuild, const RgResource *resource)
{
	g_autofree char *name = g_strdup_printf("%s, which has the ownership tags of %s,",
		resource->id, resource->address ? resource->address : "this cluster");
	g_autofree char *why = rg_resource_unread(resource, name);
	RgDiag *diag = rg_diags_error(rebuild->diags, "refresh.incomplete", "%s", why);
	rg_diag_address(diag, resource->address, NULL);
	rg_diag_hint(diag, "run this again when it can be read; if it is lost, remove its "
			   "ownership tags first");
}

/* Moves resources with the lineage and an address into the snapshot. */
static bool sort_out(Rebuild *rebuild, GPtrArray *marked, const char *lineage)
{
	bool ok = true;
	g_ptr_array_set_free_func(marked, NULL);
	rg_ptr_foreach (RgResource, resource, marked) {
		const RgResource *same =
			resource->address && g_strcmp0(resource->lineage, lineage) == 0
				? rg_resource_set_find(rebuild->found.found, resource->address)
				: NULL;
		if (resource->presence == RG_UNKNOWN &&
			(!resource->lineage || g_str_equal(resource->lineage, lineage))) {
			report_unread(rebuild, resource);
			ok = false;
		} else if (same) {
			report_twice(rebuild, same, resource);
			ok = false;
		} else if (g_strcmp0(resource->lineage, lineage) == 0 && resource->address) {
			rg_resource_set_add(rebuild->found.found, resource);
			continue;
		} else if (g_strcmp0(resource->lineage, lineage) == 0) {
			rg_diags_warning(rebuild->diags, "state.not-told",
				"the ownership tags of %s %s contain no address: it is skipped",
				resource->kind, resource->id);
		}
		rg_resource_free(resource);
	}
	return ok;
}

/* ---- records */

static RgResourceSet *make_records(Rebuild *rebuild)
{
	RgResourceSet *records = rg_resource_set_new();
	rg_resource_foreach (found, rebuild->found.found)
		rg_resource_set_add(records,
			rg_found_record(&rebuild->found, found,
				rg_resource_set_find(rebuild->pass->desired, found->address)));
	RgResource *secret = rg_found_secret(&rebuild->found);
	if (secret)
		rg_resource_set_add(records, secret);
	if (rebuild->found.untold)
		rg_diags_note(rebuild->diags, "state.not-told",
			"what the cloud does not report (disks, for example) is recorded as in the "
			"spec");
	return records;
}

static bool store_records(Rebuild *rebuild)
{
	const RgPass *pass = rebuild->pass;
	g_autoptr(RgResourceSet) records = make_records(rebuild);
	const RgRebuilt rebuilt = {.cluster = pass->cluster->name,
		.account = pass->account,
		.lineage = pass->snapshot->lineage,
		.provider = pass->cluster->provider.name,
		.region = pass->cluster->provider.region,
		.config = pass->cluster->provider.config,
		.facts = pass->facts,
		.labels = pass->cluster->labels,
		.resources = records,
		.desired = pass->desired};
	return rg_store_rebuild(rebuild->session->store, &rebuilt, rebuild->diags);
}

static bool is_free(const RgSession *session, const RgSnapshot *snapshot, RgDiags *diags)
{
	if (!snapshot->lineage)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.not-empty",
		"the state \"%s\" already has cluster %s", session->state_path, snapshot->cluster);
	rg_diag_hint(
		diag, "rebuild is for a lost state; choose another file with --state to compare");
	return false;
}

static bool find_and_store(Rebuild *rebuild, const char *asked)
{
	RgPass *pass = rebuild->pass;
	RgDiags *diags = rebuild->diags;
	g_autoptr(GPtrArray) marked =
		g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
	pass->snapshot = rg_store_load(rebuild->session->store, pass->cluster->name, diags);
	if (!pass->snapshot || !is_free(rebuild->session, pass->snapshot, diags) ||
		!rebuild_find_place(rebuild, asked, marked))
		return false;
	rebuild->found.cluster = pass->cluster;
	rebuild->found.snapshot = pass->snapshot;
	rebuild->found.provider = pass->provider;
	rebuild->found.found = pass->snapshot->recorded;
	pass->snapshot->lineage = choose_lineage(rebuild, marked, asked);
	if (!pass->snapshot->lineage || !sort_out(rebuild, marked, pass->snapshot->lineage) ||
		!rg_pass_fit_found(rebuild->session, pass, &rebuild->found, diags) ||
		!rg_found_reveal(&rebuild->found))
		return false;
	rg_pass_ask_account(pass);
	rg_found_find_token(&rebuild->found);
	return rg_pass_check_account(pass, true, diags) && store_records(rebuild);
}

bool rg_adopt_rebuild(RgSession *session, RgPass *pass, const char *lineage, const char *ray_token,
	RgDiags *diags)
{
	g_autoptr(GHashTable) revealed =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rg_json_unref);
	Rebuild rebuild = {.session = session,
		.pass = pass,
		.found = {.revealed = revealed, .token = g_strdup(ray_token), .diags = diags},
		.diags = diags};
	bool ok = find_and_store(&rebuild, lineage);
	g_free(rebuild.found.token);
	return ok;
}
