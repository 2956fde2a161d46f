/* What a node boots from: the Ray node, and what its cloud starts it with. */
#include "boot/internal.h"

/* A container that the cloud starts itself. */
static void add_container(const RgBootNode *node, json_t *boot)
{
	const json_t *ray = json_object_get(node->fitted, "ray");
	json_auto_t *args = rg_boot_ray_args(node, boot);
	json_t *command = json_pack("[s, s]", "ray", "start");
	json_array_extend(command, args);
	if (!rg_boot_is_head(node))
		json_array_append_new(command, json_pack("{s:[s, o, s]}", "$join", "--address=",
						       rg_boot_head_ref(), ":" RG_BOOT_GCS_PORT));
	json_object_set(boot, "image", json_object_get(ray, "image"));
	json_object_set_new(boot, "command", command);
	if (rg_boot_uses_token(node))
		json_object_set_new(boot, "token", rg_boot_token_ref());
}

/* NULL if something cannot be represented. */
static json_t *boot_of(const RgBootNode *node)
{
	json_auto_t *boot = rg_boot_ray_node(node);
	if (boot && node->options->by == RG_BOOT_CONTAINER)
		add_container(node, boot);
	if (!boot || node->options->by != RG_BOOT_CLOUD_INIT)
		return json_incref(boot);
	json_t *user_data = rg_boot_user_data(node, boot);
	json_object_set_new(boot, "user_data", user_data);
	return user_data ? json_incref(boot) : NULL;
}

bool rg_boot_render(json_t *fitted, const RgBootOptions *options, RgDiags *diags)
{
	json_t *nodes = json_object_get(fitted, "nodes");
	json_auto_t *rendered = json_array();
	/* one error per pool, however many groups it has */
	g_autoptr(GHashTable) failed = g_hash_table_new(g_str_hash, g_str_equal);
	size_t i;
	json_t *node;
	json_array_foreach (nodes, i, node) {
		const RgBootNode one = {options, fitted, node, diags};
		void *origin = (void *)(uintptr_t)rg_json_str(node, "origin", "");
		json_t *boot = g_hash_table_contains(failed, origin) ? NULL : boot_of(&one);
		if (boot)
			json_array_append_new(rendered, boot);
		else
			g_hash_table_add(failed, origin);
	}
	if (g_hash_table_size(failed))
		return false;
	json_array_foreach (nodes, i, node)
		json_object_set(node, "boot", json_array_get(rendered, i));
	return true;
}
