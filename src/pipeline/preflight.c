/* What the cloud reports in advance about the creations of a plan: quota and permissions, before
 * anything is created or approved. Only if the module offers it, once per command. */
#include <pthread.h>
#include <string.h>
#include "pipeline/internal.h"

struct RgPreflight {
	RgProvider *provider;
	const char *cluster; /* the snapshot's */
	const RgPlan *plan;
	json_t *creates;
	RgDiags *findings, *diags;
	pthread_t thread;
	bool applies, waits, running, ok;
};

/* What is created, one entry for all equal creations. */
typedef struct {
	json_t *list;
	GHashTable *entries; /* of the list, by what they have in common */
} Creates;

typedef struct {
	const char *address, *kind, *group, *origin;
	json_t *attributes;
	bool replaces;
} Create;

static void add_create(Creates *creates, const Create *create)
{
	if (g_str_equal(create->kind, RG_SECRET_KIND))
		return;
	g_autofree char *key = g_strdup_printf("%s %s %d %p", create->kind,
		create->group ? create->group : "", create->replaces, (void *)create->attributes);
	json_t *entry = g_hash_table_lookup(creates->entries, key);
	if (!entry) {
		entry = json_pack("{s:s, s:s?, s:s?, s:b, s:O, s:[]}", "kind", create->kind,
			"group", create->group, "origin", create->origin, "replaces",
			create->replaces, "attributes", create->attributes, "addresses");
		json_array_append_new(creates->list, entry);
		g_hash_table_insert(creates->entries, g_steal_pointer(&key), entry);
	}
	json_t *addresses = json_object_get(entry, "addresses");
	json_array_append_new(addresses, json_string(create->address));
	json_object_set_new(entry, "count", json_integer((json_int_t)json_array_size(addresses)));
}

/* `plan` NULL: all that is desired. */
static json_t *creates_of(const RgPass *pass, const RgPlan *plan)
{
	g_autoptr(GHashTable) entries =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Creates creates = {json_array(), entries};
	for (guint i = 0; plan && i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		const RgPlanPool *pool = rg_plan_pool(plan, change->group);
		bool replaces = change->action == RG_ACTION_REPLACE;
		bool surges = pool && pool->max_surge; /* the new one comes first */
		const Create create = {change->address, change->kind, change->group, change->origin,
			change->desired, replaces && !surges};
		if (change->action == RG_ACTION_CREATE || replaces)
			add_create(&creates, &create);
	}
	for (size_t i = 0; !plan && i < rg_resource_set_size(pass->desired); i++) {
		const RgResource *resource = rg_resource_set_get(pass->desired, i);
		const Create create = {resource->address, resource->kind, resource->group,
			resource->origin, resource->attrs, false};
		add_create(&creates, &create);
	}
	return creates.list;
}

static void *run(void *data)
{
	RgPreflight *preflight = data;
	preflight->ok = rg_provider_preflight(preflight->provider, preflight->cluster,
		preflight->creates, preflight->applies, preflight->findings, preflight->diags);
	return NULL;
}

RgPreflight *pass_begin_preflight(RgSession *session, const RgPass *pass, const RgPlan *plan)
{
	if (session->skip_preflight || session->diff.looking || (plan && plan->errored) ||
		!rg_provider_offers(pass->provider, "preflight"))
		return NULL;
	json_auto_t *list = creates_of(pass, plan);
	if (!json_array_size(list))
		return NULL;
	pass_tell(session, "checking", "quota and permissions", 0, false);
	RgPreflight *preflight = g_new0(RgPreflight, 1);
	preflight->provider = pass->provider;
	preflight->plan = plan;
	preflight->cluster = pass->snapshot->cluster;
	preflight->applies = !session->http.read_only;
	preflight->waits = session->waits_for_capacity;
	preflight->creates = g_steal_pointer(&list);
	preflight->findings = rg_diags_new();
	preflight->diags = rg_diags_new();
	preflight->running = pthread_create(&preflight->thread, NULL, run, preflight) == 0;
	if (!preflight->running)
		run(preflight);
	return preflight;
}

static void wait_for(RgPreflight *preflight)
{
	if (preflight->running)
		pthread_join(preflight->thread, NULL);
	preflight->running = false;
}

void pass_preflight_free(RgPreflight *preflight)
{
	if (!preflight)
		return;
	wait_for(preflight);
	json_decref(preflight->creates);
	rg_diags_free(preflight->findings);
	rg_diags_free(preflight->diags);
	g_free(preflight);
}

/* The line of the change that contains, or is above, a pointer into the spec: a saved plan has no
 * more of its spec. */
static RgSource source_of_change(const void *data, const char *origin)
{
	const RgPlan *plan = data;
	RgSource best = {0};
	size_t longest = 0;
	for (guint i = 0; i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		size_t len = change->origin ? strlen(change->origin) : 0;
		if (len <= longest || !g_str_has_prefix(origin, change->origin) ||
			(origin[len] != '\0' && origin[len] != '/'))
			continue;
		longest = len;
		best = change->source;
	}
	return best;
}

/* Is a candidate of another type or market? Zones share quotas. */
static bool has_other_offer(const json_t *candidates)
{
	const json_t *first = NULL, *candidate;
	size_t i;
	json_array_foreach (candidates, i, candidate) {
		const json_t *offer = json_object_get(json_object_get(candidate, "node"), "offer");
		first = first ? first : offer;
		if (g_strcmp0(rg_json_str(offer, "instance_type", ""),
			    rg_json_str(first, "instance_type", "")) != 0 ||
			g_strcmp0(rg_json_str(offer, "market", ""),
				rg_json_str(first, "market", "")) != 0)
			return true;
	}
	return false;
}

/* Apply requests something else if the cloud cannot provide the nodes of this pool. */
static bool has_candidates(const RgPlan *plan, const char *pool, bool quota)
{
	size_t i;
	const json_t *one;
	json_array_foreach (json_object_get(plan->capacity, "pools"), i, one) {
		if (g_strcmp0(rg_json_str(one, "pool", ""), pool) == 0)
			return quota ? has_other_offer(json_object_get(one, "candidates"))
				     : json_array_size(json_object_get(one, "candidates")) > 1;
	}
	return false;
}

static bool is_scarcity(const void *unused, const RgDiag *diag)
{
	return g_str_equal(diag->code, rg_class_code(RG_CLASS_CAPACITY)) ||
	       g_str_equal(diag->code, rg_class_code(RG_CLASS_QUOTA));
}

static bool is_avoidable(const void *data, const RgDiag *diag)
{
	const RgPlan *plan = data;
	bool quota = g_str_equal(diag->code, rg_class_code(RG_CLASS_QUOTA));
	bool scarce = quota || g_str_equal(diag->code, rg_class_code(RG_CLASS_CAPACITY));
	for (guint i = 0; scarce && diag->address && i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (g_str_equal(change->address, diag->address))
			return has_candidates(plan, change->group, quota);
	}
	return false;
}

bool pass_end_preflight(RgPreflight *preflight, const RgPass *pass, RgDiags *diags)
{
	if (!preflight)
		return true;
	wait_for(preflight);
	if (!preflight->ok) {
		RgDiag *diag = rg_diags_warning(diags, "plan.unchecked",
			"quota and permissions could not be checked beforehand");
		if (rg_diags_count(preflight->diags))
			rg_diag_detail(diag, "%s", rg_diags_get(preflight->diags, 0)->summary);
		rg_diag_hint(diag, "the plan still holds; `--skip-preflight` leaves the check out");
	}
	pass_locate(pass->cluster, preflight->findings);
	if (preflight->plan)
		rg_diags_locate(preflight->findings, source_of_change, preflight->plan);
	const RgPlan *plan = preflight->plan ? preflight->plan : pass->plan;
	if (preflight->waits)
		rg_diags_soften(preflight->findings, is_scarcity, NULL);
	else if (plan)
		rg_diags_soften(preflight->findings, is_avoidable, plan);
	bool fine = !rg_diags_has_errors(preflight->findings);
	rg_diags_take_new(diags, preflight->findings);
	return fine;
}

RgPreflight *pass_begin_first_preflight(RgSession *session, const RgPass *pass)
{
	bool first = !pass->snapshot->lineage && !rg_resource_set_size(pass->snapshot->recorded);
	return first ? pass_begin_preflight(session, pass, NULL) : NULL;
}

void pass_preflight(RgSession *session, RgPass *pass, RgPreflight *begun, RgDiags *diags)
{
	g_autoptr(RgPreflight) own = begun ? NULL : pass_begin_preflight(session, pass, pass->plan);
	if (!pass_end_preflight(begun ? begun : own, pass, diags))
		pass->plan->errored = true;
}
