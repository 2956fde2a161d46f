/* `expires`: the end of each lease, from the spec and from what the state recorded of it, for the
 * nodes of the fitted document. Recorded in the facts as {"cluster": LEASE, "pools": {NAME:
 * LEASE}}, LEASE = {"expires": as in the spec, "began_s", "ends_s"}. */
#include "intent/lease.h"
#include "base/clock.h"
#include "intent/internal.h"

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
	rg_resource_foreach (one, snapshot->recorded) {
		if ((pool && g_strcmp0(one->group, pool) != 0) || !one->created_s)
			continue;
		oldest_s = oldest_s ? MIN(oldest_s, one->created_s) : one->created_s;
	}
	return oldest_s;
}

/* What is recorded of the pool under its name, or under the one that the plan renames it from. */
static const json_t *recorded_lease(const RgIntent *intent, const char *pool)
{
	const json_t *leases = rg_snapshot_leases(intent->snapshot);
	const char *name = pool;
	rg_json_foreach (item, intent->renames)
		if (pool && g_str_equal(rg_json_str(item, "to", ""), pool))
			name = rg_json_str(item, "from", pool);
	return lease_of(leases, name);
}

/* *is_new: it begins with the apply of this plan, of which only this minute is known. */
static int64_t began_s(const RgIntent *intent, const char *pool, bool *is_new)
{
	const json_t *recorded = recorded_lease(intent, pool);
	bool over = rg_json_bool(recorded, "destroyed", false) &&
		    !rg_resource_set_size(intent->snapshot->recorded);
	int64_t known_s = over ? 0 : rg_json_int(recorded, "began_s", 0);
	if (!known_s)
		known_s = oldest_record_s(intent->snapshot, pool);
	*is_new = known_s == 0;
	return known_s ? known_s : (rg_clock_now_s() + 59) / 60 * 60;
}

/* ---- the spec's leases */

/* A new reference; NULL without a lease. */
static json_t *settle(const RgIntent *intent, const RgLease *lease, const char *pool)
{
	if (!lease->text)
		return NULL;
	bool is_new;
	int64_t from_s = began_s(intent, pool, &is_new);
	int64_t ends_s = lease->end_s ? lease->end_s : from_s + lease->duration_s;
	return json_pack("{s:s, s:I, s:I}", "expires", lease->text, "began_s", (json_int_t)from_s,
		"ends_s", (json_int_t)ends_s);
}

/* The ends are known only here if one is a date and the other a duration. */
static bool check_order(
	const RgIntent *intent, const RgPool *pool, const json_t *leases, RgDiags *diags)
{
	int64_t cluster_s = rg_lease_end(leases, NULL), pool_s = rg_lease_end(leases, pool->name);
	if (!cluster_s || pool_s <= cluster_s)
		return true;
	g_autofree char *own = rg_clock_show(pool_s), *all = rg_clock_show(cluster_s);
	RgDiag *diag = rg_diags_error(diags, "spec.conflict",
		"the lease of pool %s ends %s, after that of the cluster (%s), whose head it needs",
		pool->name, own, all);
	rg_diag_at(diag, pool->lease.source);
	rg_diag_related(diag, intent->cluster->lease.source, "the end of the cluster");
	rg_diag_hint(diag, "extend the cluster too, or let the pool end before it");
	return false;
}

bool rg_intent_settle_leases(const RgIntent *intent, json_t **settled, RgDiags *diags)
{
	const RgCluster *cluster = intent->cluster;
	json_auto_t *leases = json_object(), *pools = json_object();
	bool ok = true;
	json_t *whole = settle(intent, &cluster->lease, NULL);
	if (whole)
		json_object_set_new(leases, "cluster", whole);
	json_object_set(leases, "pools", pools);
	rg_ptr_foreach (const RgPool, pool, cluster->pools) {
		json_t *own = settle(intent, &pool->lease, pool->name);
		if (own)
			json_object_set_new(pools, pool->name, own);
		ok = (!own || check_order(intent, pool, leases, diags)) && ok;
	}
	if (!json_object_size(pools))
		json_object_del(leases, "pools");
	g_clear_pointer(settled, json_decref);
	if (json_object_size(leases))
		*settled = json_incref(leases);
	return ok;
}

/* An end that the spec moved to the past, of a pool that exists, would shut its nodes down:
 * rg_intent_check_leases refuses it. */
static bool is_moved_back(const RgIntent *intent, const char *pool)
{
	int64_t recorded_s = rg_json_int(recorded_lease(intent, pool), "ends_s", 0);
	return once_has_pool(intent->snapshot, pool) &&
	       recorded_s != rg_lease_end(intent->leases, pool);
}

void rg_intent_end_pools(const RgIntent *intent)
{
	rg_ptr_foreach (RgPool, pool, intent->cluster->pools) {
		int64_t ends_s = rg_lease_end(intent->leases, pool->name);
		if (pool->is_disabled || pool->protect || !ends_s || ends_s > rg_clock_now_s() ||
			is_moved_back(intent, pool->name))
			continue;
		pool->is_disabled = true;
		pool->enabled_source = pool->lease.source;
		pool->nodes = pool->nodes_max = 0;
	}
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
	rg_ptr_foreach (const RgPool, one, cluster->pools)
		kept |= one->protect && (head || g_str_equal(one->name, pool));
	return kept;
}

void rg_intent_set_expiries(const RgIntent *intent, json_t *fitted)
{
	set_expiry(fitted, rg_lease_end(intent->leases, NULL));
	rg_json_foreach (node, json_object_get(fitted, "nodes")) {
		const char *pool = rg_json_str(node, "pool", "");
		if (!is_kept(intent->cluster, pool))
			set_expiry(node, rg_lease_end_of(intent->leases, pool));
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

json_t *rg_intent_lease_changes(const RgIntent *intent)
{
	const RgCluster *cluster = intent->cluster;
	const json_t *before = rg_snapshot_leases(intent->snapshot);
	if (!cluster || !rg_resource_set_size(intent->snapshot->recorded))
		before = NULL;
	json_auto_t *list = json_array();
	add_lease(list, NULL, lease_of(before, NULL), lease_of(intent->leases, NULL));
	for (guint i = 0; cluster && i < cluster->pools->len; i++) {
		const char *name = ((const RgPool *)cluster->pools->pdata[i])->name;
		add_lease(list, name, before ? recorded_lease(intent, name) : NULL,
			lease_of(intent->leases, name));
	}
	return json_array_size(list) ? json_incref(list) : NULL;
}
