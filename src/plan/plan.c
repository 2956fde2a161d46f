#include "plan/members.h"
#include <string.h>

void rg_plan_free(RgPlan *plan)
{
	if (!plan)
		return;
	members_free(plan_members, plan);
	members_free(spec_members, plan);
	members_free(git_members, plan);
	members_free(money_members, plan);
	members_free(touched_members, plan);
	g_free(plan->acting);
	g_clear_pointer(&plan->changes, g_ptr_array_unref);
	g_clear_pointer(&plan->pools, g_ptr_array_unref);
	g_clear_pointer(&plan->markets, g_ptr_array_unref);
	g_clear_pointer(&plan->limits, g_ptr_array_unref);
	g_clear_pointer(&plan->unmanaged, g_ptr_array_unref);
	json_decref(plan->carbon);
	json_decref(plan->capacity);
	json_decref(plan->capacity_packed);
	g_free(plan);
}

static json_t *copy_json(const json_t *value)
{
	return value && !json_is_null(value) ? json_deep_copy(value) : NULL;
}

static RgPlan *plan_from_input(const RgPlanInput *input)
{
	RgPlan *plan = g_new0(RgPlan, 1);
	plan->command = g_strdup(input->command);
	plan->cluster = g_strdup(input->cluster);
	plan->lineage = g_strdup(input->lineage);
	plan->provider = g_strdup(input->provider);
	plan->region = g_strdup(input->region);
	plan->config = copy_json(input->config);
	plan->facts = copy_json(input->facts);
	plan->labels = copy_json(json_object_get(input->fitted, "labels"));
	plan->ready_timeouts = copy_json(input->ready_timeouts);
	plan->ignore_tags = copy_json(input->ignore_tags);
	plan->fit = copy_json(input->fit);
	plan->protect = copy_json(input->protect);
	plan->protection = copy_json(input->protection);
	plan->leases = copy_json(input->leases);
	plan->renames = copy_json(input->renames);
	plan->refresh_only = input->refresh_only;
	plan->serial = input->serial;
	plan->state = g_strdup(input->state);
	plan->spec_file = g_strdup(input->spec_file);
	plan->spec_digest = g_strdup(input->spec_digest);
	plan->commit = g_strdup(input->commit);
	plan->in_git = input->in_git;
	plan->dirty = input->dirty;
	plan->carbon = copy_json(json_object_get(input->carbon, "basis"));
	plan->limits = g_ptr_array_new_with_free_func(rg_plan_limit_free);
	for (guint i = 0; input->limits && i < input->limits->len; i++) {
		const RgPlanLimit *limit = input->limits->pdata[i];
		g_ptr_array_add(plan->limits, rg_plan_limit_new(limit));
	}
	return plan;
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(((const RgAttribute *)a)->name, ((const RgAttribute *)b)->name);
}

/* Of the kinds that the plan is about. */
static json_t *details_of(const RgPlan *plan, const RgSchema *schema)
{
	json_auto_t *details = json_object();
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < plan->changes->len; i++) {
		char *name = ((RgPlanChange *)plan->changes->pdata[i])->kind;
		if (!g_hash_table_add(seen, name))
			continue;
		json_auto_t *names = json_array();
		g_autoptr(GList) attributes =
			g_hash_table_get_values(rg_schema_kind(schema, name)->attributes);
		attributes = g_list_sort(attributes, by_name);
		for (GList *at = attributes; at; at = at->next) {
			const RgAttribute *attribute = at->data;
			if (attribute->detail)
				json_array_append_new(names, json_string(attribute->name));
		}
		if (json_array_size(names) > 0)
			json_object_set(details, name, names);
	}
	return json_object_size(details) > 0 ? json_incref(details) : NULL;
}

static GPtrArray *unmanaged_of(const RgDiff *diff)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(rg_json_unref);
	rg_ptr_foreach (const RgResource, resource, diff->unmanaged) {
		json_t *item = json_object();
		rg_json_set_str(item, "address", resource->address);
		rg_json_set_str(item, "kind", resource->kind);
		rg_json_set_str(item, "id", resource->id);
		rg_json_set_str(item, "status", resource->status);
		g_ptr_array_add(list, item);
	}
	return list;
}

/* A row at that time: its generation, when it changed, and the run that left it open. */
static json_t *row_stamp(const RgResource *recorded)
{
	if (!recorded)
		return json_null();
	json_t *stamp = json_array();
	json_array_append_new(stamp, json_integer(recorded->generation));
	json_array_append_new(stamp, json_integer(recorded->updated_s));
	if (recorded->presence == RG_PENDING)
		json_array_append_new(stamp, json_string(recorded->run ? recorded->run : ""));
	return stamp;
}

void plan_count(RgPlan *plan)
{
	unsigned counts[RG_ACTION_STOP + 1] = {0};
	plan->drifted = plan->import = 0;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		counts[change->action]++;
		plan->import += change->import && !g_str_equal(change->kind, RG_SECRET_KIND);
		plan->drifted += change->drifted;
	}
	plan->create = counts[RG_ACTION_CREATE];
	plan->update = counts[RG_ACTION_UPDATE];
	plan->replace = counts[RG_ACTION_REPLACE];
	plan->remove = counts[RG_ACTION_DELETE];
	plan->record = counts[RG_ACTION_RECORD];
	plan->forget = counts[RG_ACTION_FORGET];
	plan->release = counts[RG_ACTION_RELEASE];
	plan->stop = counts[RG_ACTION_STOP];
}

static void free_table(gpointer table)
{
	g_hash_table_destroy(table);
}

RgPlan *rg_plan_new(
	const RgDiff *diff, const RgSchema *schema, const RgPlanInput *input, RgDiags *diags)
{
	RgPlan *plan = plan_from_input(input);
	Maker maker = {.diff = diff, .schema = schema, .input = input, .plan = plan};
	g_autoptr(GHashTable) befores =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_table);
	g_autoptr(GHashTable) computed =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_table);
	g_autoptr(RgDependencies) dependencies = rg_dependencies_new();
	maker.dependencies = dependencies;
	maker.befores = befores;
	maker.computed = computed;
	g_autoptr(GHashTable) explained = plan_explained_new();
	maker.explained = explained;
	offers_init(&maker.offers, input->fitted);
	plan->changes = g_ptr_array_new_full(diff->changes->len, plan_change_free);
	for (guint i = 0; i < diff->changes->len; i++)
		g_ptr_array_add(plan->changes, plan_change_new(&maker, diff->changes->pdata[i]));
	pools_make(&maker);
	plan->details = details_of(plan, schema);
	plan->unmanaged = unmanaged_of(diff);
	/* Every row of the cluster at that time, and null where there is none. Also those that the
	 * plan leaves unchanged: its cost, its budget and its policy include them. */
	json_t *rows = json_object();
	rg_ptr_foreach (const RgChange, change, diff->changes) {
		bool has_row = change->row != RG_ROW_LEFT_BEHIND;
		json_object_set_new(
			rows, change->address, row_stamp(has_row ? change->recorded : NULL));
	}
	plan->touched = rows;
	plan_count(plan);
	budget_estimate(&maker);
	bool passed = false;
	rg_plan_check_budget(plan, input->override, &passed, diags);
	plan->override = passed ? g_strdup(input->override) : NULL;
	capacity_make(&maker);
	plan->errored = plan->stop > 0 || rg_diags_has_errors(diags);
	offers_clear(&maker.offers);
	return plan;
}

const RgPlanPool *rg_plan_pool(const RgPlan *plan, const char *name)
{
	for (guint i = 0; name && i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		if (g_str_equal(pool->pool, name))
			return pool;
	}
	return NULL;
}

bool rg_plan_lease_changes(const json_t *lease)
{
	return g_strcmp0(rg_json_str(lease, "before", NULL), rg_json_str(lease, "after", NULL)) !=
	       0;
}

static bool changes_leases(const RgPlan *plan)
{
	rg_json_foreach (lease, plan->leases)
		if (rg_plan_lease_changes(lease))
			return true;
	return false;
}

bool rg_plan_has_changes(const RgPlan *plan)
{
	return plan->create + plan->update + plan->replace + plan->remove + plan->record +
			       plan->forget >
		       0 ||
	       plan->import || plan->release || plan->protection || plan->renames ||
	       changes_leases(plan);
}

bool rg_plan_is_noop(const RgPlan *plan)
{
	return !rg_plan_has_changes(plan) && plan->stop == 0 && !plan->errored;
}

unsigned rg_plan_left(const RgPlan *plan)
{
	unsigned n = 0;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		n += change->left;
	return n;
}

bool plan_is_partial(const RgPlan *plan)
{
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		if (change->action == RG_ACTION_STOP || change->row == 0)
			return true;
	return false;
}

static bool check_lineage(const RgPlan *plan, const char *lineage, RgDiags *diags)
{
	if (g_strcmp0(plan->lineage, lineage) == 0)
		return true;
	if (!plan->lineage) {
		rg_diag_hint(rg_diags_error(diags, "plan.stale",
				     "Saved plan is stale: it was created before cluster `%s` was "
				     "first applied",
				     plan->cluster),
			"create a new plan");
		return false;
	}
	rg_diag_hint(rg_diags_error(diags, "plan.wrong-state",
			     "the plan was created from another state: its lineage is %s, this "
			     "state's is %s",
			     plan->lineage, lineage ? lineage : "none yet"),
		"apply it with the state it was created from, or create a new plan");
	return false;
}

/* The first row that has changed since, and how many more there are. */
static const char *find_moved(const RgPlan *plan, const RgResourceSet *recorded, unsigned *others)
{
	const char *address, *moved = NULL;
	json_t *stamp;
	*others = 0;
	json_object_foreach (plan->touched, address, stamp) {
		json_auto_t *now = row_stamp(rg_resource_set_find(recorded, address));
		if (json_equal(now, stamp))
			continue;
		*others += moved != NULL;
		moved = moved ? moved : address;
	}
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		address = rg_resource_set_get(recorded, i)->address;
		if (json_object_get(plan->touched, address))
			continue;
		*others += moved != NULL;
		moved = moved ? moved : address;
	}
	return moved;
}

bool rg_plan_check_fresh(
	const RgPlan *plan, const char *lineage, const RgResourceSet *recorded, RgDiags *diags)
{
	unsigned others;
	if (!check_lineage(plan, lineage, diags))
		return false;
	const char *moved = find_moved(plan, recorded, &others);
	if (!moved)
		return true;
	g_autofree char *more = others > 0 ? g_strdup_printf(" and %u more", others) : g_strdup("");
	RgDiag *diag = rg_diags_error(diags, "plan.stale",
		"Saved plan is stale: `%s`%s changed in the state since it was created", moved,
		more);
	rg_diag_address(diag, moved, NULL);
	rg_diag_hint(diag, "create a new plan");
	return false;
}
