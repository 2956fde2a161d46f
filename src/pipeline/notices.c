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
	for (guint i = 0; i < pass->diff->changes->len; i++) {
		const RgChange *change = pass->diff->changes->pdata[i];
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

/* The address of what stands for the nodes of this pool alone: "KIND.POOL"; g_free, NULL: none. */
static char *nodes_of(const RgPass *pass, const char *pool)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	for (guint i = 0; i < pass->diff->changes->len; i++) {
		const RgChange *change = pass->diff->changes->pdata[i];
		const RgResource *any = change->desired ? change->desired : change->recorded;
		const RgKind *kind = rg_schema_kind(schema, any->kind);
		if (rg_nodes_pools(any, kind) == 1 && rg_nodes_has_pool(any, kind, pool))
			return g_strconcat(any->kind, ".", any->name, NULL);
	}
	return NULL;
}

static void hint_at_move(
	const RgPass *pass, const RgPlanPool *old, const RgPlanPool *new, RgDiags *diags)
{
	g_autofree char *from = nodes_of(pass, old->pool), *to = nodes_of(pass, new->pool);
	if (!from || !to)
		return;
	RgDiag *diag = rg_diags_note(diags, "plan.renamed-pool",
		"pool %s is removed and pool %s added, both of %s: nodes are destroyed and created",
		old->pool, new->pool, new->instance_type);
	g_autofree char *pointer = rg_json_pointer_add("/pools", new->pool);
	rg_diag_at(diag, rg_cluster_source(pass->cluster, pointer));
	rg_diag_hint(
		diag, "if the pool was renamed, `raygpu state mv %s %s` keeps its nodes", from, to);
}

static void find_renamed(const RgPass *pass, RgDiags *diags)
{
	const GPtrArray *pools = pass->plan->pools;
	for (guint i = 0; i < pools->len; i++) {
		const RgPlanPool *old = pools->pdata[i];
		bool leaves = old->before.most.nodes && !old->after.most.nodes &&
			      !pass_find_pool(pass->cluster, old->pool) &&
			      !pass_find_removed(pass, old->pool);
		for (guint k = 0; leaves && k < pools->len; k++) {
			const RgPlanPool *new = pools->pdata[k];
			if (new->before.most.nodes || !new->after.most.nodes ||
				g_strcmp0(old->instance_type, new->instance_type) != 0)
				continue;
			hint_at_move(pass, old, new, diags);
			break;
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
	const char *key;
	json_t *image;
	json_object_foreach (json_object_get(pass->facts, "images"), key, image) {
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
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *record = rg_resource_set_get(recorded, i);
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
	find_deprecated(pass, diags);
	pass_notice_removed(pass, diags);
}
