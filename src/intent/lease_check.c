/* Leases that have ended, or soon will: what a plan may not create, and what is not drift. */
#include "base/clock.h"
#include "intent/internal.h"

#define SOON_S 86400

/* The name of the lease that ends the pool's nodes: its own, or NULL, the cluster's. */
static const char *owner_of(const json_t *leases, const char *pool)
{
	return pool && rg_lease_end(leases, pool) ? pool : NULL;
}

static bool has_ended(const json_t *leases, const char *pool)
{
	int64_t end_s = rg_lease_end_of(leases, pool);
	return end_s && end_s <= rg_clock_now_s();
}

static char *name_of(const RgPlan *plan, const char *pool)
{
	return g_strconcat(pool ? "pool " : "cluster ", pool ? pool : plan->cluster, NULL);
}

static void locate(RgDiag *diag, const RgCluster *cluster, const char *pool)
{
	const RgPool *found = cluster && pool ? rg_cluster_find_pool(cluster, pool) : NULL;
	if (found || (cluster && !pool))
		rg_diag_at(diag, found ? found->lease.source : cluster->lease.source);
}

/* Because its lease has ended (rg_intent_end_pools), or by `enabled: false`. */
static bool is_disabled(const RgCluster *cluster, const char *pool)
{
	const RgPool *found = cluster && pool ? rg_cluster_find_pool(cluster, pool) : NULL;
	return found && found->is_disabled;
}

static bool is_power(const RgSchema *schema, const char *kind, const char *attribute)
{
	const RgKind *known = rg_schema_kind(schema, kind);
	const RgAttribute *power = known ? rg_kind_with_role(known, RG_ROLE_POWER) : NULL;
	return power && g_str_equal(power->name, attribute);
}

/* It makes a node, or turns one on. */
static bool brings_up(const RgSchema *schema, const RgPlanChange *change)
{
	if (change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE)
		return true;
	for (guint i = 0; change->action == RG_ACTION_UPDATE && i < change->attrs->len; i++)
		if (is_power(schema, change->kind, ((RgPlanAttr *)change->attrs->pdata[i])->name))
			return true;
	return false;
}

/* Adds the owners of the ended leases that the change would create or start something for, each as
 * often as it does; "" is the cluster. */
static void add_owners(const RgPlanChange *change, const json_t *leases, json_t *counts)
{
	size_t n = change->nodes ? json_array_size(change->nodes) : 1;
	for (size_t i = 0; i < n; i++) {
		const char *pool =
			change->nodes ? rg_json_str(json_array_get(change->nodes, i), "pool", NULL)
				      : change->group;
		if (!has_ended(leases, pool))
			continue;
		const char *owner = owner_of(leases, pool);
		owner = owner ? owner : "";
		json_object_set_new(counts, owner, json_integer(rg_json_int(counts, owner, 0) + 1));
	}
}

static bool refuse_creation(const RgPlan *plan, const json_t *leases, const RgCluster *cluster,
	const char *pool, int64_t n, RgDiags *diags)
{
	g_autofree char *name = name_of(plan, pool);
	g_autofree char *end = rg_clock_show(rg_lease_end(leases, pool));
	RgDiag *diag = rg_diags_error(diags, "plan.lease-ended",
		"the lease of %s ended %s, but %" G_GINT64_FORMAT
		" of its resources would be created or started",
		name, end, n);
	locate(diag, cluster, pool);
	rg_diag_hint(diag, "extend `expires`, or %s",
		pool ? "remove the pool" : "run `raygpu destroy` and remove the spec");
	return false;
}

/* A new end in the past would shut the nodes down at once. */
static bool is_new_end(const RgPlan *plan, const char *pool)
{
	rg_json_foreach (lease, plan->leases)
		if (g_strcmp0(rg_json_str(lease, "pool", NULL), pool) == 0)
			return rg_plan_lease_changes(lease);
	return false;
}

static bool refuse_past(const RgPlan *plan, const json_t *leases, const RgCluster *cluster,
	const char *pool, RgDiags *diags)
{
	g_autofree char *name = name_of(plan, pool);
	g_autofree char *end = rg_clock_show(rg_lease_end(leases, pool));
	RgDiag *diag = rg_diags_error(diags, "plan.lease-ended",
		"the lease of %s would end %s, which is in the past", name, end);
	locate(diag, cluster, pool);
	rg_diag_hint(diag, "write a later `expires`; to end it now, %s",
		pool ? "remove the pool" : "run `raygpu destroy`");
	return false;
}

static void warn(const RgPlan *plan, const json_t *leases, const RgCluster *cluster,
	const char *pool, RgDiags *diags)
{
	int64_t end_s = rg_lease_end(leases, pool);
	bool ended = end_s <= rg_clock_now_s();
	bool disabled = ended && is_disabled(cluster, pool);
	g_autofree char *name = name_of(plan, pool), *end = rg_clock_show(end_s);
	RgDiag *diag = rg_diags_warning(diags, ended ? "plan.lease-ended" : "plan.lease-ends",
		"the lease of %s %s %s%s", name, ended ? "ended" : "ends", end,
		disabled ? "; the pool is treated as disabled" : "");
	locate(diag, cluster, pool);
	rg_diag_hint(diag, disabled ? "extend `expires` to enable it again, or remove the pool"
			   : ended  ? "extend `expires` to keep it; `raygpu reap` removes what is "
				      "left"
				    : "extend `expires` and apply that to keep it");
}

/* `counts`: of add_owners; NULL: nothing is refused. */
static bool check_lease(const RgPlan *plan, const json_t *leases, const RgCluster *cluster,
	const char *pool, const json_t *counts, RgDiags *diags)
{
	int64_t end_s = rg_lease_end(leases, pool), now_s = rg_clock_now_s();
	int64_t n = rg_json_int(counts, pool ? pool : "", 0);
	if (!end_s || end_s - now_s > SOON_S)
		return true;
	if (n)
		return refuse_creation(plan, leases, cluster, pool, n, diags);
	if (counts && !is_disabled(cluster, pool) && end_s <= now_s && is_new_end(plan, pool))
		return refuse_past(plan, leases, cluster, pool, diags);
	warn(plan, leases, cluster, pool, diags);
	return true;
}

bool rg_intent_check_leases(const RgPlan *plan, const RgSchema *schema, const json_t *leases,
	const RgCluster *cluster, bool looking, RgDiags *diags)
{
	json_auto_t *counts = looking ? NULL : json_object();
	json_t *pools = json_object_get(leases, "pools");
	for (guint i = 0; counts && leases && i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (brings_up(schema, change))
			add_owners(change, leases, counts);
	}
	bool ok = check_lease(plan, leases, cluster, NULL, counts, diags);
	rg_json_foreach_member (pool, lease, pools)
		ok = check_lease(plan, leases, cluster, pool, counts, diags) && ok;
	return ok;
}

/* Its nodes outlive the lease: of a protected pool, and of the head that one needs (lease.c). */
static bool is_kept(const RgSnapshot *snapshot, const char *pool)
{
	rg_resource_foreach (record, snapshot->recorded) {
		if (record->protect &&
			(!pool || g_str_equal(pool, "head") || g_strcmp0(record->group, pool) == 0))
			return true;
	}
	return false;
}

/* Nodes that are off; other changes of theirs are drift. */
static bool is_only_off(const RgSchema *schema, const RgDriftItem *item)
{
	for (guint i = item->attrs->len; item->type == RG_DRIFT_CHANGED && i > 0; i--)
		if (is_power(schema, item->kind, ((RgDriftAttr *)item->attrs->pdata[i - 1])->name))
			g_ptr_array_remove_index(item->attrs, i - 1);
	return item->type == RG_DRIFT_CHANGED && !item->attrs->len;
}

void rg_intent_leave_ended(
	const RgSnapshot *snapshot, const json_t *leases, const RgSchema *schema, RgDrift *drift)
{
	for (guint i = drift->items->len; i > 0; i--) {
		const RgDriftItem *item = drift->items->pdata[i - 1];
		if (!has_ended(leases, item->group) || is_kept(snapshot, item->group))
			continue;
		if (item->type != RG_DRIFT_MISSING && item->type != RG_DRIFT_UNHEALTHY &&
			!is_only_off(schema, item))
			continue;
		g_ptr_array_remove_index(drift->items, i - 1);
		drift->checked--;
	}
}
