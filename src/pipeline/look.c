/* clouds -> observed -> diff: what is there, and what would have to change. */
#include "boot/boot.h"
#include "pipeline/internal.h"

GPtrArray *pass_pool_order(const RgCluster *cluster)
{
	GPtrArray *names = g_ptr_array_new();
	if (cluster)
		g_ptr_array_add(names, cluster->head->name);
	for (guint i = 0; cluster && i < cluster->pools->len; i++)
		g_ptr_array_add(names, ((RgPool *)cluster->pools->pdata[i])->name);
	return names;
}

/* Whether it says why something could not be read. */
static bool has_reason(const RgDiags *unread)
{
	rg_diags_foreach (diag, unread) {
		if (diag->severity == RG_SEVERITY_ERROR &&
			!g_str_equal(diag->code, "refresh.incomplete"))
			return true;
	}
	return false;
}

bool pass_look(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_autoptr(RgDiags) unread = rg_diags_new(), undecided = rg_diags_new();
	g_clear_pointer(&pass->diff, rg_diff_free);
	g_clear_pointer(&pass->observed, rg_resource_set_free);
	pass_refresh(session, pass, unread);
	if (!rg_pass_check_account(pass, !rg_diags_has_errors(unread), diags))
		return false; /* what it shows, or refuses, says nothing about this cluster */
	bool blind = !rg_resource_set_size(pass->snapshot->recorded) && rg_diags_has_errors(unread);
	if (blind && has_reason(unread))
		rg_diags_drop(unread, "refresh.incomplete");
	/* of a new cluster, why it could not be read is all there is to say */
	if (!pass->observed || blind) {
		rg_diags_take_new(diags, unread);
		return false;
	}
	g_autoptr(GPtrArray) order = pass_pool_order(pass->cluster);
	json_auto_t *ignored = pass_ignored_tags(pass->cluster, pass->project);
	RgDiffOptions options = session->diff;
	const RgIntent intent = pass_intent(session, pass);
	g_autoptr(GHashTable) awaited = rg_intent_awaited(&intent);
	options.pools = order;
	options.ignored = ignored;
	options.same = rg_boot_is_same_node;
	options.awaited = awaited;
	g_autoptr(GArray) releases = rg_intent_releases(pass->cluster);
	options.releases = (const RgRelease *)(gconstpointer)releases->data;
	options.n_releases = releases->len;
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	const RgResourceSet *recorded = pass->snapshot->recorded;
	if (options.refresh_only) {
		rg_resource_set_free(pass->desired);
		pass->desired =
			rg_diff_refreshed(schema, recorded, pass->observed, &options, undecided);
	}
	if (pass->desired)
		pass->diff = rg_diff(
			schema, pass->desired, recorded, pass->observed, &options, undecided);
	if (rg_diags_has_errors(unread))
		rg_diags_drop(undecided, "diff.unknown"); /* the read has already reported why */
	rg_diags_take_new(diags, unread);
	rg_diags_take_new(diags, undecided);
	return pass->diff != NULL;
}
