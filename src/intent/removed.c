/* `removed`: pools that left the spec and whose resources stay. The diff forgets their records
 * (decide.md row 24); here is what the spec says of them, and what follows. */
#include "base/clock.h"
#include "intent/internal.h"
#include "intent/lease.h"
#include "resource/nodes.h"

const RgSpecRemoved *rg_intent_find_removed(const RgCluster *cluster, const char *pool)
{
	for (guint i = 0; cluster && pool && i < cluster->removed->len; i++) {
		const RgSpecRemoved *removed = cluster->removed->pdata[i];
		if (!removed->destroy && g_str_equal(removed->pool, pool))
			return removed;
	}
	return NULL;
}

GArray *rg_intent_releases(const RgCluster *cluster)
{
	GArray *releases = g_array_new(FALSE, TRUE, sizeof(RgRelease));
	for (guint i = 0; cluster && i < cluster->removed->len; i++) {
		const RgSpecRemoved *removed = cluster->removed->pdata[i];
		const RgRelease release = {
			removed->pool, g_intern_string(removed->origin), removed->keep_tags};
		if (!removed->destroy)
			g_array_append_val(releases, release);
	}
	return releases;
}

static RgDiag *removed_refuse(const RgIntent *intent, const RgResource *record,
	const RgSpecRemoved *removed, RgDiags *diags, const char *why)
{
	RgDiag *diag = rg_diags_error(
		diags, "plan.bad-removed", "pool %s cannot be forgotten: %s", removed->pool, why);
	rg_diag_address(diag, record->address, NULL);
	rg_diag_at(diag, rg_cluster_source(intent->cluster, removed->origin));
	return rg_diag_hint(diag, "keep the pool in the spec, or have it destroyed with "
				  "`destroy: true`");
}

/* Neither a part of a resource that stays can be forgotten, nor nodes that the module can't give
 * up. NULL: it can. */
static char *why_not(const RgSchema *schema, const RgResource *record, const char *pool)
{
	const RgKind *kind = rg_schema_kind(schema, record->kind);
	if (g_strcmp0(record->group, pool) != 0)
		return g_strdup_printf(
			"it is part of %s, which has nodes of other pools too", record->address);
	return kind && kind->node && !kind->removes_marks
		       ? g_strdup_printf("nodes of kind %s cannot exist without their cluster, or "
					 "cannot lose their ownership tags",
				 kind->name)
		       : NULL;
}

/* One of the tags is the lease, which ends the nodes even if raygpu no longer manages them. */
static bool check_lease(const RgIntent *intent, const RgSpecRemoved *removed, RgDiags *diags)
{
	const json_t *leases = rg_snapshot_leases(intent->snapshot);
	int64_t end_s = rg_lease_end_of(leases, removed->pool);
	if (removed->destroy || !removed->keep_tags || !end_s ||
		!once_has_pool(intent->snapshot, removed->pool))
		return true;
	g_autofree char *end = rg_clock_show(end_s);
	RgDiag *diag = rg_diags_error(diags, "plan.bad-removed",
		"pool %s cannot be forgotten with its tags: its lease ends its nodes %s",
		removed->pool, end);
	rg_diag_at(diag, rg_cluster_source(intent->cluster, removed->origin));
	rg_diag_hint(diag, "remove `keep_tags`, or apply the pool without its lease first");
	return false;
}

static bool check_record(
	const RgIntent *intent, const RgSchema *schema, const RgResource *record, RgDiags *diags)
{
	for (size_t i = 0; i < rg_nodes_pools(record, NULL); i++) {
		const char *pool = rg_nodes_get(record, i).pool;
		const RgSpecRemoved *removed = rg_intent_find_removed(intent->cluster, pool);
		g_autofree char *why = removed ? why_not(schema, record, pool) : NULL;
		if (!why)
			continue;
		removed_refuse(intent, record, removed, diags, why);
		return false;
	}
	return true;
}

bool rg_intent_check_removed(const RgIntent *intent, RgProviderHost *providers, RgDiags *diags)
{
	const RgResourceSet *recorded = intent->snapshot->recorded;
	if (!intent->cluster->removed->len)
		return true;
	const RgSchema *schema =
		rg_provider_schema(providers, intent->cluster->provider.name, diags);
	bool ok = schema != NULL;
	for (guint i = 0; i < intent->cluster->removed->len; i++)
		ok = check_lease(intent, intent->cluster->removed->pdata[i], diags) && ok;
	for (size_t i = 0; schema && i < rg_resource_set_size(recorded); i++)
		ok = check_record(intent, schema, rg_resource_set_get(recorded, i), diags) && ok;
	return ok;
}

/* ---- for a finished diff */

static bool is_of_pool(const RgResource *observed, const char *pool)
{
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	return observed->presence != RG_ABSENT && observed->address &&
	       rg_address_parse(observed->address, &kind, &name, &index) && g_str_equal(name, pool);
}

/* It is forgotten, and something has its marks: the entry keeps that from being reported. */
static bool is_still_marked(const RgIntent *intent, const char *pool)
{
	const GPtrArray *extras = rg_resource_set_extras(intent->observed);
	for (guint i = 0; i < extras->len; i++)
		if (is_of_pool(extras->pdata[i], pool))
			return true;
	return false;
}

static void note_forgotten(const RgIntent *intent, RgDiags *diags)
{
	const GPtrArray *all = intent->cluster->removed;
	for (guint i = 0; intent->snapshot->lineage && i < all->len; i++) {
		const RgSpecRemoved *removed = all->pdata[i];
		if (!once_has_pool(intent->snapshot, removed->pool) &&
			!is_still_marked(intent, removed->pool))
			once_note_removed(intent->cluster, removed, diags);
	}
}

typedef struct {
	const RgChange *first; /* that uses it */
	unsigned n;
} Users;

static void add_user(GHashTable *left, const char *address, const RgChange *change)
{
	Users *users = g_hash_table_lookup(left, address);
	if (!users) {
		users = g_new0(Users, 1);
		users->first = change;
		g_hash_table_insert(left, g_strdup(address), users);
	}
	users->n++;
	if (rg_address_compare(change->address, users->first->address) < 0)
		users->first = change;
}

/* address of a resource that stays managed -> Users: what is forgotten and still uses it */
static GHashTable *users_left(const RgIntent *intent)
{
	const RgSchema *schema = rg_provider_get_schema(intent->provider);
	GHashTable *left = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	rg_ptr_foreach (const RgChange, change, intent->diff->changes) {
		if (change->action != RG_ACTION_RELEASE)
			continue;
		g_autoptr(GHashTable) used =
			g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		rg_diff_uses(schema, change->recorded, used);
		rg_hash_keys (const char, address, used)
			if (rg_resource_set_find(intent->desired, address))
				add_user(left, address, change);
	}
	return left;
}

static void warn_of_users(const RgIntent *intent, RgDiags *diags)
{
	g_autoptr(GHashTable) left = users_left(intent);
	g_autoptr(GList) addresses = g_hash_table_get_keys(left);
	addresses = g_list_sort(addresses, (GCompareFunc)rg_address_compare);
	for (GList *one = addresses; one; one = one->next) {
		const Users *users = g_hash_table_lookup(left, one->data);
		g_autofree char *more =
			users->n > 1 ? g_strdup_printf(" and %u more", users->n - 1) : g_strdup("");
		RgDiag *diag = rg_diags_warning(diags, "plan.still-used",
			"%s%s will be forgotten, but will still use %s", users->first->address,
			more, (const char *)one->data);
		rg_diag_address(diag, users->first->address, NULL);
		rg_diag_at(diag, rg_cluster_source(intent->cluster, users->first->origin));
		rg_diag_hint(diag, "`raygpu destroy` cannot remove that while they exist");
	}
}

void rg_intent_notice_removed(const RgIntent *intent, RgDiags *diags)
{
	if (!intent->cluster->removed->len)
		return;
	note_forgotten(intent, diags);
	warn_of_users(intent, diags);
}
