#include "diff/internal.h"
#include "resource/expr.h"
#include <string.h>

static void attr_free(gpointer data)
{
	RgAttrChange *attr = data;
	json_decref(attr->before);
	json_decref(attr->after);
	json_decref(attr->recorded);
	g_free(attr);
}

static void change_free(gpointer data)
{
	RgChange *change = data;
	g_ptr_array_unref(change->attrs);
	g_ptr_array_unref(change->after);
	g_free(change->note);
	g_free(change);
}

bool rg_change_is_interrupted(const RgChange *change)
{
	return change->drifted && change->recorded && change->recorded->updating;
}

void rg_diff_free(RgDiff *diff)
{
	if (!diff)
		return;
	g_ptr_array_unref(diff->changes);
	g_ptr_array_unref(diff->unmanaged);
	g_free(diff);
}

static void differ_clear(Differ *differ)
{
	g_clear_pointer(&differ->changes, g_hash_table_destroy);
	g_clear_pointer(&differ->left_out, g_hash_table_destroy);
	g_clear_pointer(&differ->replaced, g_hash_table_destroy);
	g_clear_pointer(&differ->strays, g_hash_table_destroy);
	g_clear_pointer(&differ->families, g_hash_table_destroy);
	g_clear_pointer(&differ->fields, g_hash_table_destroy);
	g_clear_pointer(&differ->unread, g_hash_table_destroy);
	g_clear_pointer(&differ->kept, g_hash_table_destroy);
	g_clear_pointer(&differ->released, g_hash_table_destroy);
	g_clear_pointer(&differ->dependencies, rg_dependencies_free);
	rg_diff_free(differ->diff);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Differ, differ_clear)

static bool is_awaited(const Differ *differ, const RgResource *observed)
{
	GHashTable *awaited = differ->options ? differ->options->awaited : NULL;
	if (!awaited || !observed->id)
		return false;
	g_autofree char *key = g_strconcat(observed->kind, " ", observed->id, NULL);
	return g_hash_table_contains(awaited, key);
}

static void add_stray(Differ *differ, const RgResource *observed)
{
	const char *address = observed->address ? observed->address : "";
	GPtrArray *list = g_hash_table_lookup(differ->strays, address);
	if (observed->presence == RG_ABSENT || is_awaited(differ, observed) ||
		release_keeps(differ, observed))
		return;
	if (!list) {
		list = g_ptr_array_new();
		g_hash_table_insert(differ->strays, (gpointer)(uintptr_t)address, list);
	}
	g_ptr_array_add(list, (gpointer)(uintptr_t)observed);
}

static gint compare_strays(gconstpointer a, gconstpointer b)
{
	const RgResource *x = *(RgResource *const *)a, *y = *(RgResource *const *)b;
	int order = rg_address_compare(x->address ? x->address : "", y->address ? y->address : "");
	if (order == 0)
		order = strcmp(x->kind, y->kind);
	return order != 0 ? order : g_strcmp0(x->id, y->id);
}

/* Ours by its marks, but without a record: the extras, and resources at an address without a
 * record. */
static void find_strays(Differ *differ)
{
	const GPtrArray *extras = rg_resource_set_extras(differ->observed);
	for (guint i = 0; i < extras->len; i++)
		add_stray(differ, extras->pdata[i]);
	rg_resource_foreach (observed, differ->observed) {
		const RgResource *recorded =
			rg_resource_set_find(differ->recorded, observed->address);
		if (!recorded || recorded->presence == RG_PENDING)
			add_stray(differ, observed);
	}
	rg_hash_values (void, list, differ->strays)
		g_ptr_array_sort(list, compare_strays);
}

static void differ_init(Differ *differ)
{
	RgDiff *diff = g_new0(RgDiff, 1);
	diff->changes = g_ptr_array_new_with_free_func(change_free);
	diff->unmanaged = g_ptr_array_new();
	differ->diff = diff;
	differ->changes = g_hash_table_new(g_str_hash, g_str_equal);
	differ->strays = g_hash_table_new_full(
		g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
	differ->families = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	differ->fields = fields_table_new();
	differ->dependencies = rg_dependencies_new();
	differ->unread = g_hash_table_new_full(
		g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
	const RgResource *last = NULL;
	rg_resource_foreach (desired, differ->desired) {
		if (!last || last->name != desired->name || last->kind != desired->kind)
			g_hash_table_add(differ->families,
				g_strconcat(desired->kind, ".", desired->name, NULL));
		last = desired;
	}
	release_find(differ);
	find_strays(differ);
}

static bool check_kinds(const Differ *differ, const RgResourceSet *set)
{
	const char *good = NULL;
	rg_resource_foreach (resource, set) {
		if (resource->kind == good)
			continue;
		if (!rg_schema_kind(differ->schema, resource->kind)) {
			rg_diag_address(
				rg_diags_error(differ->diags, "provider.bad-result",
					"the provider's schema has no kind `%s`", resource->kind),
				resource->address, NULL);
			return false;
		}
		good = resource->kind;
	}
	return true;
}

/* Records may refer to what was forgotten since. */
static bool wants_records(const Differ *differ)
{
	return differ->options && (differ->options->looking || differ->options->refresh_only);
}

/* Desired attributes must be in the schema and refer only to desired resources. */
static bool check_attributes(const Differ *differ, const RgResource *desired)
{
	const RgKind *kind = rg_schema_kind(differ->schema, desired->kind);
	g_autoptr(GHashTable) refs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rg_json_foreach_member (name, value, desired->attrs) {
		if (!rg_kind_attribute(kind, name)) {
			rg_diag_address(rg_diags_error(differ->diags, "provider.bad-result",
						"`%s` has no attribute `%s`", desired->kind, name),
				desired->address, name);
			return false;
		}
	}
	rg_expr_refs(desired->attrs, refs);
	rg_hash_keys (const char, address, refs) {
		if (!rg_resource_set_find(differ->desired, address) && !wants_records(differ)) {
			rg_diag_address(
				rg_diags_error(differ->diags, "provider.bad-result",
					"`%s` refers to `%s`, which does not exist in the plan",
					desired->address, (const char *)address),
				desired->address, NULL);
			return false;
		}
	}
	return true;
}

static bool check_sets(const Differ *differ)
{
	const json_t *good = NULL;
	if (!check_kinds(differ, differ->desired) || !check_kinds(differ, differ->recorded))
		return false;
	rg_resource_foreach (desired, differ->desired) {
		if (desired->attrs != good && !check_attributes(differ, desired))
			return false;
		good = desired->attrs;
	}
	return true;
}

static RgChange *change_new(Differ *differ, const char *address)
{
	RgChange *change = g_new0(RgChange, 1);
	change->address = address;
	change->attrs = g_ptr_array_new_with_free_func(attr_free);
	change->after = g_ptr_array_new();
	g_ptr_array_add(differ->diff->changes, change);
	g_hash_table_insert(differ->changes, (gpointer)(uintptr_t)address, change);
	return change;
}

static void add_change(Differ *differ, const char *address)
{
	const RgResource *desired = rg_resource_set_find(differ->desired, address);
	const RgResource *recorded = rg_resource_set_find(differ->recorded, address);
	RgChange *change = change_new(differ, (desired ? desired : recorded)->address);
	change->desired = desired;
	change->recorded = recorded;
	const RgKind *kind = rg_schema_kind(differ->schema, (recorded ? recorded : desired)->kind);
	change->removal = kind ? kind->removal : NULL;
	decide(differ, change);
}

/* Row 23, by address. */
static void add_left_behind(Differ *differ)
{
	g_autoptr(GList) addresses = g_hash_table_get_keys(differ->strays);
	addresses = g_list_sort(addresses, (GCompareFunc)rg_address_compare);
	for (GList *one = addresses; one != NULL; one = one->next) {
		const char *address = one->data;
		if (!*address || g_hash_table_contains(differ->changes, address))
			continue;
		const RgResource *stray = take_left_behind(differ, address);
		if (stray)
			decide_left_behind(change_new(differ, stray->address), stray);
	}
}

static bool decide_all(Differ *differ)
{
	g_autoptr(GPtrArray) making = rg_graph_order(differ->desired, differ->diags);
	/* Removals as a separate set: only dependencies among them order them. */
	g_autoptr(RgResourceSet) leaving = rg_resource_set_new();
	rg_resource_foreach (recorded, differ->recorded) {
		if (rg_resource_set_find(differ->desired, recorded->address))
			continue;
		RgResource *copy = rg_resource_new(recorded->kind, recorded->name, recorded->index);
		copy->attrs = json_incref(recorded->attrs);
		copy->depends_on = g_strdupv(recorded->depends_on);
		rg_resource_set_add(leaving, copy);
	}
	g_autoptr(GPtrArray) leaving_order = making ? rg_graph_order(leaving, differ->diags) : NULL;
	if (!leaving_order)
		return false;
	for (guint i = 0; i < making->len; i++)
		add_change(differ, making->pdata[i]);
	for (guint i = leaving_order->len; i > 0; i--)
		add_change(differ, leaving_order->pdata[i - 1]);
	add_left_behind(differ);
	return true;
}

/* One diagnostic per kind: a failed read affects all of its resources. */
static void report_unread(Differ *differ)
{
	g_autoptr(GList) kinds = g_hash_table_get_keys(differ->unread);
	kinds = g_list_sort(kinds, (GCompareFunc)strcmp);
	for (GList *kind = kinds; kind != NULL; kind = kind->next) {
		const GPtrArray *changes = g_hash_table_lookup(differ->unread, kind->data);
		const RgChange *first = changes->pdata[0];
		g_autofree char *others =
			changes->len > 1
				? g_strdup_printf(" and %u more of its kind", changes->len - 1)
				: g_strdup("");
		RgDiag *diag = rg_diags_error(differ->diags, "diff.unknown",
			"the state of `%s`%s in the cloud is unknown", first->address, others);
		rg_diag_address(diag, first->address, NULL);
		rg_diag_detail(
			diag, "nothing is created, changed or deleted while this is unknown");
		if (first->observed && first->observed->doubtful)
			rg_diag_hint(diag, "it was changed a moment ago: run again when the cloud "
					   "shows the change");
		else
			rg_diag_hint(diag,
				"fix what prevents it from being read, or wait a moment, "
				"and run again");
	}
}

static void report_strays(Differ *differ)
{
	GPtrArray *unmanaged = differ->diff->unmanaged;
	rg_hash_values (void, list, differ->strays)
		g_ptr_array_extend(unmanaged, list, NULL, NULL);
	g_ptr_array_sort(unmanaged, compare_strays);
	rg_ptr_foreach (const RgResource, stray, unmanaged) {
		/* Already reported, by the error that lists what it blocks. */
		const GPtrArray *strays =
			g_hash_table_lookup(differ->strays, stray->address ? stray->address : "");
		const RgChange *change =
			stray->address ? g_hash_table_lookup(differ->changes, stray->address)
				       : NULL;
		if (change && change->action == RG_ACTION_STOP && change->row == ROW_UNMANAGED &&
			strays->pdata[0] == stray)
			continue;
		RgDiag *diag = rg_diags_warning(differ->diags, "diff.unmanaged",
			"%s `%s` has this cluster's ownership tags, but is not recorded",
			stray->kind, stray->id ? stray->id : "?");
		rg_diag_address(diag, stray->address, NULL);
		g_autofree char *import = import_command(stray);
		rg_diag_hint(diag,
			"it is left unchanged: record it with `%s`, or remove it manually if "
			"nothing needs it",
			import);
	}
}

/* Writing a record makes its marks the right ones (after `state mv`, they may be the old ones). */
static bool must_keep_record(const RgChange *change)
{
	return change->recorded->mismarked && change->observed && change->observed->mismarked;
}

static const char *shown_name(const RgAttrChange *attr)
{
	return g_str_equal(attr->name, RG_MARKS) ? "ownership tags" : attr->name;
}

/* Keeps what only the state has to learn; the names of the rest. */
static GPtrArray *strip_attributes(RgChange *change)
{
	bool all = must_keep_record(change);
	GPtrArray *names = g_ptr_array_new();
	for (guint i = change->attrs->len; i > 0; i--) {
		const RgAttrChange *attr = change->attrs->pdata[i - 1];
		if (attr->record && !all)
			continue;
		if (attr->drift || attr->record || g_str_equal(attr->name, RG_MARKS))
			g_ptr_array_insert(names, 0, (gpointer)(uintptr_t)shown_name(attr));
		g_ptr_array_remove_index(change->attrs, i - 1);
	}
	return names;
}

/* decide.md "Attributes", the last paragraph on --refresh-only. */
static void leave_change(RgChange *change)
{
	bool open = change->recorded->presence == RG_PENDING || change->recorded->leaving;
	g_autoptr(GPtrArray) names = strip_attributes(change);
	g_ptr_array_add(names, NULL);
	g_autofree char *joined = g_strjoinv(", ", (GStrv)names->pdata);
	g_autofree char *note = g_strdup_printf("left to a plan without --refresh-only: %s",
		open ? "what an interrupted run left open" : joined);
	change->left = open || *joined;
	change->replay = false;
	change->reason = NULL;
	change_note(change, change->left ? note : NULL);
	if (change->attrs->len > 0)
		change_settle(change, RG_ACTION_RECORD, RG_GRADE_SAFE, 9);
	else
		change_settle(change, RG_ACTION_NONE, RG_GRADE_SAFE, 5);
}

/* Nothing but records: what else there is to do is left to the next run. */
static void leave_cloud(Differ *differ)
{
	rg_ptr_foreach (RgChange, change, differ->diff->changes) {
		if (change->action != RG_ACTION_NONE && change->action != RG_ACTION_RECORD &&
			change->action != RG_ACTION_FORGET && change->action != RG_ACTION_STOP)
			leave_change(change);
	}
}

RgDiff *rg_diff(const RgSchema *schema, const RgResourceSet *desired, const RgResourceSet *recorded,
	const RgResourceSet *observed, const RgDiffOptions *options, RgDiags *diags)
{
	g_autoptr(RgResourceSet) nothing = rg_resource_set_new();
	g_auto(Differ) differ = {.schema = schema, .options = options, .diags = diags};
	bool destroy = options && options->destroy;
	differ.desired = !desired || destroy ? nothing : desired;
	differ.recorded = recorded ? recorded : nothing;
	differ.observed = observed ? observed : nothing;
	differ_init(&differ);
	if (!check_sets(&differ) || !scope_find(&differ) || !decide_all(&differ))
		return NULL;
	if (refreshes(&differ) && !options->looking)
		leave_cloud(&differ);
	report_unread(&differ);
	report_strays(&differ);
	scope_guard(&differ);
	if (!options || !options->looking)
		stops_spread(&differ);
	order_edges(&differ);
	return g_steal_pointer(&differ.diff);
}
