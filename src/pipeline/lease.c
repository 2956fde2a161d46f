/* `expires`: the end of each lease, from the spec and from what the state recorded of it, for the
 * nodes of the fitted document. Recorded in the facts as {"cluster": LEASE, "pools": {NAME:
 * LEASE}}, LEASE = {"expires": as in the spec, "began_s", "ends_s"}. */
#include "pipeline/lease.h"
#include "base/clock.h"
#include "pipeline/internal.h"

static const json_t *lease_of(const json_t *leases, const char *pool)
{
	return pool ? json_object_get(json_object_get(leases, "pools"), pool)
		    : json_object_get(leases, "cluster");
}

int64_t rg_lease_end(const json_t *leases, const char *pool)
{
	return rg_json_int(lease_of(leases, pool), "ends_s", 0);
}

int64_t rg_lease_end_of(const json_t *leases, const char *pool)
{
	int64_t own = rg_lease_end(leases, pool);
	return own ? own : rg_lease_end(leases, NULL);
}

const json_t *rg_snapshot_leases(const RgSnapshot *snapshot)
{
	return json_object_get(snapshot->facts, "leases");
}

/* ---- when a duration began */

/* The oldest record of the pool, or of the cluster; 0: there is none. */
static int64_t oldest_record_s(const RgSnapshot *snapshot, const char *pool)
{
	int64_t oldest_s = 0;
	for (size_t i = 0; i < rg_resource_set_size(snapshot->recorded); i++) {
		const RgResource *one = rg_resource_set_get(snapshot->recorded, i);
		if ((pool && g_strcmp0(one->group, pool) != 0) || !one->created_s)
			continue;
		oldest_s = oldest_s ? MIN(oldest_s, one->created_s) : one->created_s;
	}
	return oldest_s;
}

/* What is recorded of the pool under its name, or under the one that the plan renames it from. */
static const json_t *recorded_lease(const RgPass *pass, const char *pool)
{
	const json_t *leases = rg_snapshot_leases(pass->snapshot), *item;
	const char *name = pool;
	size_t i;
	json_array_foreach (pass->renames, i, item)
		if (pool && g_str_equal(rg_json_str(item, "to", ""), pool))
			name = rg_json_str(item, "from", pool);
	return lease_of(leases, name);
}

/* *is_new: it begins with the apply of this plan, of which only this minute is known. */
static int64_t began_s(const RgPass *pass, const char *pool, bool *is_new)
{
	const json_t *recorded = recorded_lease(pass, pool);
	bool over = rg_json_bool(recorded, "destroyed", false) &&
		    !rg_resource_set_size(pass->snapshot->recorded);
	int64_t known_s = over ? 0 : rg_json_int(recorded, "began_s", 0);
	if (!known_s)
		known_s = oldest_record_s(pass->snapshot, pool);
	*is_new = known_s == 0;
	return known_s ? known_s : (rg_clock_now_s() + 59) / 60 * 60;
}

/* ---- the spec's leases */

/* A new reference; NULL without a lease. */
static json_t *settle(const RgPass *pass, const RgLease *lease, const char *pool)
{
	if (!lease->text)
		return NULL;
	bool is_new;
	int64_t from_s = began_s(pass, pool, &is_new);
	int64_t ends_s = lease->end_s ? lease->end_s : from_s + lease->duration_s;
	return json_pack("{s:s, s:I, s:I}", "expires", lease->text, "began_s", (json_int_t)from_s,
		"ends_s", (json_int_t)ends_s);
}

/* The ends are known only here if one is a date and the other a duration. */
static bool check_order(
	const RgPass *pass, const RgPool *pool, const json_t *leases, RgDiags *diags)
{
	int64_t cluster_s = rg_lease_end(leases, NULL), pool_s = rg_lease_end(leases, pool->name);
	if (!cluster_s || pool_s <= cluster_s)
		return true;
	g_autofree char *own = rg_clock_show(pool_s), *all = rg_clock_show(cluster_s);
	RgDiag *diag = rg_diags_error(diags, "spec.conflict",
		"the lease of pool %s ends %s, after that of the cluster (%s), whose head it needs",
		pool->name, own, all);
	rg_diag_at(diag, pool->lease.source);
	rg_diag_related(diag, pass->cluster->lease.source, "the end of the cluster");
	rg_diag_hint(diag, "extend the cluster too, or let the pool end before it");
	return false;
}

bool pass_settle_leases(RgPass *pass, RgDiags *diags)
{
	const RgCluster *cluster = pass->cluster;
	json_auto_t *leases = json_object(), *pools = json_object();
	bool ok = true;
	json_t *whole = settle(pass, &cluster->lease, NULL);
	if (whole)
		json_object_set_new(leases, "cluster", whole);
	json_object_set(leases, "pools", pools);
	for (guint i = 0; i < cluster->pools->len; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		json_t *own = settle(pass, &pool->lease, pool->name);
		if (own)
			json_object_set_new(pools, pool->name, own);
		ok = (!own || check_order(pass, pool, leases, diags)) && ok;
	}
	if (!json_object_size(pools))
		json_object_del(leases, "pools");
	g_clear_pointer(&pass->leases, json_decref);
	if (json_object_size(leases))
		pass->leases = json_incref(leases);
	return ok;
}

static void set_expiry(json_t *object, int64_t end_s)
{
	g_autofree char *text = rg_clock_format(end_s);
	if (end_s)
		rg_json_set_str(object, "expires", text);
}

/* A protected pool outlives its lease, and the head with it: `raygpu reap` reports them. */
static bool is_kept(const RgCluster *cluster, const char *pool)
{
	bool head = g_str_equal(pool, "head"), kept = head && cluster->head->protect;
	for (guint i = 0; i < cluster->pools->len; i++) {
		const RgPool *one = cluster->pools->pdata[i];
		kept |= one->protect && (head || g_str_equal(one->name, pool));
	}
	return kept;
}

void pass_set_expiries(const RgPass *pass, json_t *fitted)
{
	size_t i;
	json_t *node;
	set_expiry(fitted, rg_lease_end(pass->leases, NULL));
	json_array_foreach (json_object_get(fitted, "nodes"), i, node) {
		const char *pool = rg_json_str(node, "pool", "");
		if (!is_kept(pass->cluster, pool))
			set_expiry(node, rg_lease_end_of(pass->leases, pool));
	}
}

/* ---- what a plan changes of them */

static void add_lease(json_t *list, const char *pool, const json_t *before, const json_t *after)
{
	if (!before && !after)
		return;
	g_autofree char *was = rg_clock_format(rg_json_int(before, "ends_s", 0));
	g_autofree char *is = rg_clock_format(rg_json_int(after, "ends_s", 0));
	json_array_append_new(list, json_pack("{s:s*, s:s*, s:s*, s:s*}", "pool", pool, "expires",
					    rg_json_str(after, "expires", NULL), "before",
					    before ? was : NULL, "after", after ? is : NULL));
}

json_t *pass_lease_changes(const RgPass *pass)
{
	const RgCluster *cluster = pass->cluster;
	const json_t *before = rg_snapshot_leases(pass->snapshot);
	if (!cluster || !rg_resource_set_size(pass->snapshot->recorded))
		before = NULL;
	json_auto_t *list = json_array();
	add_lease(list, NULL, lease_of(before, NULL), lease_of(pass->leases, NULL));
	for (guint i = 0; cluster && i < cluster->pools->len; i++) {
		const char *name = ((const RgPool *)cluster->pools->pdata[i])->name;
		add_lease(list, name, before ? recorded_lease(pass, name) : NULL,
			lease_of(pass->leases, name));
	}
	return json_array_size(list) ? json_incref(list) : NULL;
}
