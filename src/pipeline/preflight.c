/* What the cloud reports in advance about the changes of a plan: quota and permissions, before
 * anything is created or approved. Only if the module offers it, once per command. */
#include <pthread.h>
#include <string.h>
#include "pipeline/internal.h"

struct RgPreflight {
	RgProvider *provider;
	RgPreflightAbout about; /* borrowed texts */
	const RgPlan *plan;
	json_t *creates, *updates;
	RgDiags *findings, *diags;
	json_t *limits; /* {address of findings: {code: the quota that one is about}} */
	pthread_t thread;
	bool waits, running, ok;
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
		/* a request that is sent again may have taken its quota already */
		if (replaces || (change->action == RG_ACTION_CREATE && !change->replay))
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

/* Only of kinds whose updates the module can try. */
static json_t *updates_of(const RgPass *pass, const RgPlan *plan)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	json_t *list = json_array();
	for (guint i = 0; plan && i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		const RgKind *kind = rg_schema_kind(schema, change->kind);
		if (change->action != RG_ACTION_UPDATE || !kind || !kind->tries_updates)
			continue;
		json_t *changed = json_array();
		for (guint k = 0; k < change->attrs->len; k++)
			json_array_append_new(changed,
				json_string(((RgPlanAttr *)change->attrs->pdata[k])->name));
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s?, s:s?, s:O, s:O?, s:o}", "kind",
				      change->kind, "address", change->address, "id", change->id,
				      "origin", change->origin, "attributes", change->desired,
				      "observed", change->observed, "changed", changed));
	}
	return list;
}

static void *run(void *data)
{
	RgPreflight *preflight = data;
	preflight->ok = rg_provider_preflight(preflight->provider, &preflight->about,
		preflight->creates, preflight->findings, preflight->limits, preflight->diags);
	return NULL;
}

/* A saved plan was checked when it was made. */
static const char *image_of(const RgCluster *cluster)
{
	return cluster && !cluster->ray.registry_user ? cluster->ray.image : NULL;
}

RgPreflight *pass_begin_preflight(RgSession *session, const RgPass *pass, const RgPlan *plan)
{
	if (session->skip_preflight || session->diff.looking || (plan && plan->errored) ||
		!rg_provider_offers(pass->provider, "preflight"))
		return NULL;
	json_auto_t *list = creates_of(pass, plan), *updates = updates_of(pass, plan);
	if (!json_array_size(list) && !json_array_size(updates))
		return NULL;
	pass_tell(session, "checking", "quota and permissions", 0, false);
	RgPreflight *preflight = g_new0(RgPreflight, 1);
	preflight->provider = pass->provider;
	preflight->plan = plan;
	preflight->updates = g_steal_pointer(&updates);
	preflight->about = (RgPreflightAbout){.cluster = pass->snapshot->cluster,
		.updates = preflight->updates,
		.container_image = image_of(pass->cluster),
		.applies = !session->http.read_only};
	preflight->waits = session->waits_for_capacity;
	preflight->creates = g_steal_pointer(&list);
	preflight->findings = rg_diags_new();
	preflight->limits = json_object();
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
	json_decref(preflight->updates);
	json_decref(preflight->limits);
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
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		size_t len = change->origin ? strlen(change->origin) : 0;
		if (len <= longest || !g_str_has_prefix(origin, change->origin) ||
			(origin[len] != '\0' && origin[len] != '/'))
			continue;
		longest = len;
		best = change->source;
	}
	return best;
}

static bool is_same(const json_t *offer, const json_t *other, const char *key)
{
	return g_strcmp0(rg_json_str(offer, key, ""), rg_json_str(other, key, "")) == 0;
}

/* Would the quota still be exceeded with this offer for the `count` nodes of `first`? */
static bool is_exceeded(
	const json_t *limit, const json_t *offer, const json_t *first, int64_t count)
{
	const char *types = rg_json_str(limit, "types", NULL);
	const char *market = rg_json_str(limit, "market", NULL);
	if (!types || (market && !is_same(offer, limit, "market")) ||
		!g_regex_match_simple(types, rg_json_str(offer, "instance_type", ""), 0, 0))
		return false;
	if (!json_object_get(limit, "wanted"))
		return true;
	const char *counts = rg_json_str(limit, "counts", "vcpus");
	int64_t more = rg_json_int(offer, counts, 0) - rg_json_int(first, counts, 0);
	return rg_json_int(limit, "wanted", 0) + count * more > rg_json_int(limit, "free", 0);
}

/* "a2-highgpu-1g (spot)", once. */
static void add_offer(GString *list, const json_t *offer)
{
	g_autofree char *text = g_strdup_printf("%s (%s)", rg_json_str(offer, "instance_type", ""),
		rg_json_str(offer, "market", ""));
	if (!strstr(list->str, text))
		g_string_append_printf(list, "%s%s", list->len ? ", " : "", text);
}

/* The candidates of another type or market by whether they come under the same quota, which zones
 * share: NULL if all do; else a text about both, g_free. */
static char *list_other_offers(const json_t *candidates, const json_t *limit, int64_t count)
{
	g_autoptr(GString) under = g_string_new(NULL), free = g_string_new(NULL);
	const json_t *first = NULL;
	rg_json_foreach (candidate, candidates) {
		const json_t *offer = json_object_get(json_object_get(candidate, "node"), "offer");
		first = first ? first : offer;
		bool other =
			!is_same(offer, first, "instance_type") || !is_same(offer, first, "market");
		if (other)
			add_offer(is_exceeded(limit, offer, first, count) ? under : free, offer);
	}
	if (!free->len)
		return NULL;
	return g_strdup_printf("apply will request %s instead%s%s", free->str,
		under->len ? "; also over this quota: " : "", under->str);
}

static int64_t created_in(const RgPlan *plan, const char *pool)
{
	int64_t n = 0;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		n += change->action == RG_ACTION_CREATE && change->index >= 0 &&
		     g_strcmp0(change->group, pool) == 0;
	return n;
}

/* What apply requests if the cloud cannot provide the nodes of this pool, g_free; NULL: nothing. */
static char *other_offers(const RgPlan *plan, const char *pool, bool quota, const json_t *limit)
{
	rg_json_foreach (one, json_object_get(plan->capacity, "pools")) {
		const json_t *candidates = json_object_get(one, "candidates");
		if (g_strcmp0(rg_json_str(one, "pool", ""), pool) == 0)
			return quota ? list_other_offers(candidates, limit, created_in(plan, pool))
			       : json_array_size(candidates) > 1 ? g_strdup("")
								 : NULL;
	}
	return NULL;
}

static bool is_scarcity(const void *unused, RgDiag *diag)
{
	return g_str_equal(diag->code, rg_class_code(RG_CLASS_CAPACITY)) ||
	       g_str_equal(diag->code, rg_class_code(RG_CLASS_QUOTA));
}

typedef struct {
	const RgPlan *plan;
	const json_t *limits;
} Ways;

static bool is_avoidable(const void *data, RgDiag *diag)
{
	const Ways *ways = data;
	const RgPlan *plan = ways->plan;
	bool quota = g_str_equal(diag->code, rg_class_code(RG_CLASS_QUOTA));
	bool scarce = quota || g_str_equal(diag->code, rg_class_code(RG_CLASS_CAPACITY));
	for (guint i = 0; scarce && diag->address && i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (!g_str_equal(change->address, diag->address))
			continue;
		const json_t *by_code = json_object_get(ways->limits, diag->address);
		g_autofree char *others = other_offers(plan, change->group, quota,
			json_object_get(by_code, diag->cloud_code ? diag->cloud_code : ""));
		if (others && *others) {
			g_autofree char *detail = g_strdup(diag->detail);
			rg_diag_detail(
				diag, "%s%s%s", detail ? detail : "", detail ? "\n" : "", others);
		}
		return others != NULL;
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
	const Ways ways = {plan, preflight->limits};
	if (preflight->waits)
		rg_diags_soften(preflight->findings, is_scarcity, NULL);
	else if (plan)
		rg_diags_soften(preflight->findings, is_avoidable, &ways);
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

static bool creates_all(const RgPass *pass)
{
	const GPtrArray *changes = pass->plan->changes;
	rg_ptr_foreach (const RgPlanChange, change, changes)
		if (change->desired && change->action != RG_ACTION_CREATE)
			return false;
	return true;
}

/* Quotas and names say nothing about what exists. */
static void keep_denied(RgDiags *found)
{
	size_t i = 0;
	while (i < rg_diags_count(found)) {
		const RgDiag *diag = rg_diags_get(found, i);
		if (g_str_equal(diag->code, rg_class_code(RG_CLASS_DENIED)) ||
			g_str_equal(diag->code, "plan.unchecked"))
			i++;
		else
			rg_diags_drop(found, g_intern_string(diag->code));
	}
}

bool rg_pipeline_try_creates(RgSession *session, const RgPass *pass, RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	if (creates_all(pass))
		return false; /* the plan did it */
	g_autoptr(RgPreflight) preflight = pass_begin_preflight(session, pass, NULL);
	if (!preflight)
		return false;
	pass_end_preflight(preflight, pass, found);
	keep_denied(found);
	rg_diags_take_new(diags, found);
	return true;
}
