/* Root disks in the provider's cloud: "disk" in the module's schema.json. */
#include "pipeline/internal.h"

static bool disk_check(
	const RgCluster *cluster, const json_t *rules, const RgPool *pool, RgDiags *diags)
{
	const json_t *types = json_object_get(rules, "types");
	const char *type = pool->disk.type;
	if (!type || !types || rg_json_has_text(types, type))
		return true;
	const char *why = rg_json_str(json_object_get(rules, "refused"), type, NULL);
	g_autoptr(GString) known = g_string_new(NULL);
	size_t i;
	const json_t *name;
	json_array_foreach (types, i, name)
		g_string_append_printf(known, "%s%s", i ? ", " : "", json_string_value(name));
	RgDiag *diag = rg_diags_error(diags, "spec.bad-value",
		"\"%s\" is not a valid type for a root disk: %s%s", type,
		why ? why : cluster->provider.name, why ? "" : " has no such disk type");
	g_autofree char *pointer = g_strconcat(pool->origin, "/disk/type", NULL);
	rg_diag_at(diag, rg_cluster_source(cluster, pointer));
	rg_diag_hint(diag, "the disk types are: %s", known->str);
	return false;
}

bool pass_check_disks(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	const json_t *rules = rg_schema_disk(schema);
	bool ok = disk_check(cluster, rules, cluster->head, diags);
	for (guint i = 0; i < cluster->pools->len; i++)
		ok = disk_check(cluster, rules, cluster->pools->pdata[i], diags) && ok;
	return ok;
}

void pass_choose_disks(const RgSchema *schema, json_t *fitted)
{
	size_t i, k;
	const json_t *node, *choice;
	json_array_foreach (json_object_get(fitted, "nodes"), i, node) {
		json_t *disk = json_object_get(node, "disk");
		const char *type = rg_json_str(json_object_get(node, "offer"), "instance_type", "");
		json_array_foreach (json_object_get(rg_schema_disk(schema), "default"), k, choice) {
			const char *pattern = rg_json_str(choice, "instance_types", "");
			if (!rg_json_str(disk, "type", NULL) &&
				g_regex_match_simple(pattern, type, 0, 0))
				json_object_set(disk, "type", json_object_get(choice, "type"));
		}
	}
}
