/* What a node boots from: the Ray node, and what its cloud starts it with. */
#include "boot/internal.h"

/* A container that the cloud starts itself. */
static void add_container(const RgBootNode *node, json_t *boot)
{
	json_auto_t *args = rg_boot_ray_args(node, boot);
	json_t *command = json_pack("[s, s]", "ray", "start");
	json_array_extend(command, args);
	if (!rg_boot_is_head(node))
		json_array_append_new(command, json_pack("{s:[s, o, s]}", "$join", "--address=",
						       rg_boot_head_ref(), ":" RG_BOOT_GCS_PORT));
	rg_json_set_str(boot, "image", rg_boot_image_of(node));
	json_object_set_new(boot, "command", command);
	if (rg_boot_uses_token(node))
		json_object_set_new(boot, "token", rg_boot_token_ref());
}

/* Commands and mounts need raygpu's own script on the machine. */
static bool can_prepare(const RgBootNode *node)
{
	json_t *prepare = rg_json_unconst(rg_boot_prepare_of(node));
	if (!prepare || rg_boot_runs_start_ray(node))
		return true;
	const char *name = json_object_iter_key(json_object_iter(prepare));
	g_autofree char *at = g_strconcat(rg_json_str(node->node, "origin", ""), "/", name, NULL);
	RgDiag *diag = rg_diags_error(node->diags, "boot.bad-value", "`%s` is not supported on %s",
		name, rg_json_str(json_object_get(node->fitted, "scope"), "provider", ""));
	rg_diag_origin(diag, at);
	rg_diag_hint(diag, "put what Ray needs into the container image");
	return false;
}

/* NULL if something cannot be represented. */
static json_t *boot_of(const RgBootNode *node)
{
	if (!can_prepare(node))
		return NULL;
	json_auto_t *boot = rg_boot_ray_node(node);
	if (boot && node->options->by == RG_BOOT_CONTAINER)
		add_container(node, boot);
	if (!boot || !rg_boot_runs_start_ray(node))
		return json_incref(boot);
	const char *member = node->options->by == RG_BOOT_SCRIPT ? "script" : "user_data";
	json_t *start = rg_boot_user_data(node, boot);
	json_object_set_new(boot, member, start);
	return start ? json_incref(boot) : NULL;
}

bool rg_boot_render(json_t *fitted, const RgBootOptions *options, RgDiags *diags)
{
	json_t *nodes = json_object_get(fitted, "nodes");
	json_auto_t *rendered = json_array();
	/* one error per pool, however many groups it has */
	g_autoptr(GHashTable) failed = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) scripts =
		g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	g_autoptr(GHashTable) sizes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rg_json_foreach (node, nodes) {
		const RgBootNode one = {options, fitted, node, diags, scripts, sizes};
		void *origin = (void *)(uintptr_t)rg_json_str(node, "origin", "");
		json_t *boot = g_hash_table_contains(failed, origin) ? NULL : boot_of(&one);
		if (boot)
			json_array_append_new(rendered, boot);
		else
			g_hash_table_add(failed, origin);
	}
	if (g_hash_table_size(failed))
		return false;
	rg_json_foreach_at (i, node, nodes)
		json_object_set(node, "boot", json_array_get(rendered, i));
	return true;
}
