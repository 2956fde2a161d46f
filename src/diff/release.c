#include "diff/internal.h"
#include "resource/expr.h"
#include <string.h>

/* decide.md row 24: records of pools that left the spec while their resources stay. */

static const RgRelease *release_of(const Differ *differ, const char *pool)
{
	const RgDiffOptions *options = differ->options;
	for (size_t i = 0; options && pool && i < options->n_releases; i++)
		if (g_str_equal(options->releases[i].pool, pool))
			return &options->releases[i];
	return NULL;
}

/* Also of what the pool alone has without being of its nodes, such as its placement group: a run
 * that was cut off may have forgotten the nodes already. */
static const RgRelease *release_of_record(const Differ *differ, const RgResource *record)
{
	if (record->group || !record->origin || !g_str_has_prefix(record->origin, "/pools/"))
		return release_of(differ, record->group);
	const char *rest = record->origin + strlen("/pools/");
	g_autofree char *pool = g_strndup(rest, strcspn(rest, "/"));
	return release_of(differ, pool);
}

bool release_keeps(const Differ *differ, const RgResource *observed)
{
	g_autofree char *kind_name = NULL, *name = NULL;
	int64_t index;
	if (!observed->address || !rg_address_parse(observed->address, &kind_name, &name, &index))
		return false;
	const RgRelease *release = release_of(differ, name);
	const RgKind *kind = rg_schema_kind(differ->schema, kind_name);
	return release && !rg_resource_set_find(differ->recorded, observed->address) &&
	       (release->keep_marks || !kind || !kind->removes_marks);
}

void rg_diff_uses(const RgSchema *schema, const RgResource *record, GHashTable *used)
{
	const RgKind *kind = rg_schema_kind(schema, record->kind);
	rg_json_foreach_member (name, value, record->attrs) {
		const RgAttribute *attribute = kind ? rg_kind_attribute(kind, name) : NULL;
		if (attribute && !attribute->unreadable)
			rg_expr_refs(value, used);
	}
}

static void release_add(
	Differ *differ, const RgResource *record, const RgRelease *release, GPtrArray *queue)
{
	bool leaves = !rg_resource_set_find(differ->desired, record->address) && !record->leaving;
	bool core = g_str_equal(record->kind, RG_SECRET_KIND);
	if (!leaves || core || g_hash_table_contains(differ->released, record->address))
		return;
	g_hash_table_insert(differ->released, record->address, (gpointer)(uintptr_t)release);
	g_ptr_array_add(queue, (gpointer)(uintptr_t)record);
}

/* The pools' own records, and what is left of the cluster that these still use: the cloud would
 * refuse to remove it. */
void release_find(Differ *differ)
{
	g_autoptr(GPtrArray) queue = g_ptr_array_new();
	differ->released = g_hash_table_new(g_str_hash, g_str_equal);
	rg_resource_foreach (record, differ->recorded) {
		const RgRelease *release = release_of_record(differ, record);
		if (release)
			release_add(differ, record, release, queue);
	}
	rg_ptr_foreach (const RgResource, user, queue) {
		const RgRelease *release = g_hash_table_lookup(differ->released, user->address);
		g_autoptr(GHashTable) used =
			g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		rg_diff_uses(differ->schema, user, used);
		rg_hash_keys (const char, address, used) {
			const RgResource *record = rg_resource_set_find(differ->recorded, address);
			if (record)
				release_add(differ, record, release, queue);
		}
	}
}

static void release_stop(Differ *differ, RgChange *change)
{
	change_stop(change, RG_GRADE_CONFLICT, RG_ROW_RELEASED,
		"an interrupted run was creating it, and its request is still open");
	if (differ->options->looking)
		return;
	RgDiag *diag = rg_diags_error(differ->diags, "diff.conflict",
		"`%s` cannot be forgotten: an interrupted run was creating it", change->address);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_origin(diag, change->origin);
	rg_diag_hint(diag, "apply the spec with the pool, which completes that run, or set "
			   "`destroy: true`");
}

void decide_release(Differ *differ, RgChange *change, const RgRelease *release)
{
	const RgKind *kind = rg_schema_kind(differ->schema, change->recorded->kind);
	bool own = release_of(differ, change->recorded->group) == release;
	change->origin = release->origin;
	if (change->recorded->presence == RG_PENDING) {
		release_stop(differ, change);
		return;
	}
	change->action = RG_ACTION_RELEASE;
	change->grade = RG_GRADE_SAFE;
	change->row = RG_ROW_RELEASED;
	bool unmarked =
		change->observed && change->observed->mismarked && !change->observed->marked_as;
	change->keep_marks = release->keep_marks || !kind->removes_marks || unmarked;
	g_free(change->note);
	change->note = g_strdup_printf("%s; %s",
		!own	     ? "a resource that is forgotten uses it"
		: kind->node ? "`removed` has destroy: false: it keeps running and costs money"
			     : "`removed` has destroy: false",
		unmarked	      ? "it has no ownership tags"
		: !change->keep_marks ? "its ownership tags are removed"
		: release->keep_marks ? "it keeps its ownership tags"
				      : "it keeps its ownership tags: the provider cannot remove "
					"them");
}
