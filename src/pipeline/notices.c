/* Consequences of a plan that its changes alone do not show: every job ends with the head, and a
 * pool under another name is another pool. */
#include "base/clock.h"
#include "pipeline/internal.h"
#include <string.h>
#include "resource/nodes.h"

/* It is updated, and its nodes restart for that. */
static bool restarts_nodes(const RgChange *change, const RgKind *kind)
{
	for (guint i = 0; change->action == RG_ACTION_UPDATE && i < change->attrs->len; i++) {
		const RgAttrChange *changed = change->attrs->pdata[i];
		const RgAttribute *attribute = rg_kind_attribute(kind, changed->name);
		if (attribute && attribute->restarts)
			return true;
	}
	return false;
}

static void warn_of_head(const RgPass *pass, const RgChange *change, bool restarts, RgDiags *diags)
{
	const char *effect = restarts ? change->desired->restart : NULL;
	RgDiag *diag = rg_diags_warning(diags, "plan.head-replaced", "the head is %s: %s",
		restarts ? "restarted" : "replaced",
		effect ? effect : "every running job and actor of the cluster ends");
	rg_diag_address(diag, change->address, NULL);
	rg_diag_at(diag, pass->cluster->head->source);
	rg_diag_hint(diag, "apply when no job is running, or revert the change that %s the head",
		restarts ? "restarts" : "replaces");
}

static void note_restart(const RgPass *pass, const RgChange *change, RgDiags *diags)
{
	RgDiag *diag = rg_diags_note(diags, "plan.restart", "nodes of %s restart: %s",
		change->address, change->desired->restart);
	rg_diag_address(diag, change->address, NULL);
	if (change->desired->origin)
		rg_diag_at(diag, rg_cluster_source(pass->cluster, change->desired->origin));
}

static void find_restarts(const RgPass *pass, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	rg_ptr_foreach (const RgChange, change, pass->diff->changes) {
		const RgResource *desired = change->desired;
		const RgKind *kind = desired ? rg_schema_kind(schema, desired->kind) : NULL;
		bool restarts = kind && restarts_nodes(change, kind);
		if (!kind || (change->action != RG_ACTION_REPLACE && !restarts))
			continue;
		if (rg_nodes_has_pool(desired, kind, pass->cluster->head->name))
			warn_of_head(pass, change, restarts, diags);
		else if (restarts && desired->restart)
			note_restart(pass, change, diags);
	}
}

/* A pool that left and one that came, which may be one that was renamed. */
static void warn_of_rename(
	const RgPass *pass, const RgPlanPool *old, const RgPlanPool *new, RgDiags *diags)
{
	RgDiag *diag = rg_diags_warning(diags, "plan.renamed-pool",
		"pool %s is removed and pool %s added, both of %s: nodes are %s and created",
		old->pool, new->pool, new->instance_type,
		old->removed ? old->removed : "destroyed");
	g_autofree char *pointer = rg_json_pointer_add("/pools", new->pool);
	rg_diag_at(diag, rg_cluster_source(pass->cluster, pointer));
	rg_diag_hint(diag, "if the pool was renamed, `renamed_from: %s` in pool %s keeps its nodes",
		old->pool, new->pool);
}

static void find_renamed(const RgPass *pass, RgDiags *diags)
{
	const GPtrArray *pools = pass->plan->pools;
	rg_ptr_foreach (const RgPlanPool, old, pools) {
		bool leaves = old->before.most.nodes && !old->after.most.nodes &&
			      !rg_cluster_find_pool(pass->cluster, old->pool) &&
			      !rg_intent_find_removed(pass->cluster, old->pool);
		for (guint k = 0; leaves && k < pools->len; k++) {
			const RgPlanPool *new = pools->pdata[k];
			if (new->before.most.nodes || !new->after.most.nodes ||
				g_strcmp0(old->instance_type, new->instance_type) != 0)
				continue;
			warn_of_rename(pass, old, new, diags);
			break;
		}
	}
}

/* "user_data, image_id": the attributes that force the replacement; *hidden: no cloud reports any
 * of them. g_free. */
static char *forcing(const RgKind *kind, const RgChange *change, bool *hidden)
{
	GString *names = g_string_new(NULL);
	*hidden = true;
	rg_ptr_foreach (const RgAttrChange, changed, change->attrs) {
		const RgAttribute *attribute = rg_kind_attribute(kind, changed->name);
		if (!changed->force_new)
			continue;
		g_string_append_printf(names, "%s%s", names->len ? ", " : "", changed->name);
		*hidden = *hidden && attribute && attribute->unreadable;
	}
	return g_string_free(names, FALSE);
}

static void warn_of_lost_import(
	const RgPass *pass, const RgSpecImport *entry, const RgChange *change, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	bool hidden;
	g_autofree char *names =
		forcing(rg_schema_kind(schema, change->recorded->kind), change, &hidden);
	RgDiag *diag = rg_diags_warning(diags, "plan.import-replaced",
		"the imported %s will be %s and created again: %s %s not as in the spec", entry->id,
		rg_json_str(change->removal, "done", "destroyed"), names,
		strchr(names, ',') ? "are" : "is");
	rg_diag_address(diag, entry->address, NULL);
	rg_diag_at(diag, rg_cluster_source(pass->cluster, entry->origin));
	rg_diag_hint(diag, !hidden	  ? "write the spec as the resource is, to keep it"
			   : entry->as_is ? "they depend on what this plan creates: import it "
					    "after that is applied, to keep it"
					  : "`as_is: true` keeps it");
}

static void find_lost_imports(const RgPass *pass, RgDiags *diags)
{
	for (guint i = 0; pass->importing && i < pass->importing->len; i++) {
		const RgSpecImport *entry = pass->importing->pdata[i];
		rg_ptr_foreach (const RgChange, change, pass->diff->changes) {
			if (change->action == RG_ACTION_REPLACE && change->recorded &&
				g_str_equal(change->address, entry->address))
				warn_of_lost_import(pass, entry, change, diags);
		}
	}
}

/* Nothing breaks on that day: the image can still be started, but it gets no fixes, and the cloud
 * may remove it. */
static void note_deprecated(const RgPass *pass, const char *id, const char *date, RgDiags *diags)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(rg_clock_now_s());
	g_autofree char *today = now ? g_date_time_format(now, "%Y-%m-%d") : NULL;
	if (!today || strncmp(date, today, strlen(today)) > 0)
		return;
	RgDiag *diag = rg_diags_note(diags, "plan.image-deprecated",
		"image %s of the nodes is deprecated since %.10s", id, date);
	rg_diag_at(diag, pass->cluster->head->source);
	rg_diag_hint(diag, "`raygpu plan --renew-images` uses the newest one; an image that the "
			   "spec names has to be changed there");
}

static void find_deprecated(const RgPass *pass, RgDiags *diags)
{
	g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);
	rg_json_foreach_member (key, image, json_object_get(pass->facts, "images")) {
		const char *date = rg_json_str(image, "deprecated", NULL);
		const char *id = rg_json_str(image, "id", "");
		if (date && g_hash_table_add(told, (gpointer)(uintptr_t)id))
			note_deprecated(pass, id, date, diags);
	}
}

/* By the state alone: a plan does not read consoles. */
static void note_unjoined(const RgPass *pass, RgDiags *diags)
{
	const RgResourceSet *recorded = pass->snapshot->recorded;
	const RgResource *first = NULL;
	unsigned n = 0;
	rg_resource_foreach (record, recorded) {
		if (!record->joined || json_object_size(record->joined))
			continue;
		first = first ? first : record;
		n++;
	}
	if (!n || !rg_ready_reports(pass->provider))
		return;
	g_autofree char *more = n > 1 ? g_strdup_printf(" and %u more", n - 1) : g_strdup("");
	RgDiag *diag = rg_diags_note(
		diags, "ready.not-joined", "no apply has seen %s%s join Ray", first->address, more);
	rg_diag_hint(diag,
		"the next `raygpu apply` looks again; `raygpu logs '%s'` prints its console",
		first->address);
}

void pass_notice(const RgSession *session, const RgPass *pass, RgDiags *diags)
{
	if (!pass->cluster || session->diff.destroy || session->diff.looking)
		return;
	if (session->http.read_only) /* an apply looks itself */
		note_unjoined(pass, diags);
	find_restarts(pass, diags);
	find_renamed(pass, diags);
	find_lost_imports(pass, diags);
	find_deprecated(pass, diags);
	const RgIntent intent = pass_intent(session, pass);
	rg_intent_notice_removed(&intent, diags);
}
