/* Registries of container images: what the nodes of a provider can log in to ("boot.registry" of
 * the module's schema.json). */
#include "pipeline/internal.h"

static bool registry_check_setting(const RgCluster *cluster, const json_t *rule,
	const char *pointer, const char *what, RgDiags *diags)
{
	const char *setting = rg_json_str(rule, "setting", NULL);
	if (!setting || json_object_get(cluster->provider.config, setting))
		return true;
	RgDiag *diag =
		rg_diags_error(diags, "spec.conflict", "%s requires provider.%s", what, setting);
	rg_diag_at(diag, rg_cluster_source(cluster, pointer));
	rg_diag_hint(diag, "nodes have no permissions without it");
	return false;
}

static bool registry_check_login(const RgCluster *cluster, const json_t *rule, RgDiags *diags)
{
	static const char pointer[] = "/ray/registry/login/password_secret";
	const char *name = cluster->ray.registry_secret;
	if (!name)
		return true;
	if (!rule) {
		RgDiag *diag = rg_diags_error(diags, "spec.conflict",
			"nodes of the provider %s cannot read secrets", cluster->provider.name);
		rg_diag_at(diag, rg_cluster_source(cluster, "/ray/registry/login"));
		rg_diag_hint(diag,
			"use an image that needs no login, or one that the machine image holds");
		return false;
	}
	if (!pass_fits(rule, name)) {
		RgDiag *diag = rg_diags_error(diags, "spec.bad-pattern",
			"\"%s\" is not a secret of %s", name, cluster->provider.name);
		rg_diag_at(diag, rg_cluster_source(cluster, pointer));
		rg_diag_hint(diag, "it must be %s", rg_json_str(rule, "expected", ""));
		return false;
	}
	return registry_check_setting(cluster, rule, pointer, "ray.registry.login", diags);
}

bool pass_check_registry(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	const json_t *rules = json_object_get(rg_schema_boot(schema), "registry");
	const json_t *own = json_object_get(rules, "own");
	const char *image = cluster->ray.image;
	bool is_own = own && g_regex_match_simple(rg_json_str(own, "pattern", ""), image, 0, 0);
	g_autofree char *what = g_strdup_printf(
		"the image \"%s\", which is in %s,", image, rg_json_str(own, "what", ""));
	bool ok = registry_check_login(cluster, json_object_get(rules, "secret"), diags);
	return (!is_own || cluster->ray.registry_user ||
		       registry_check_setting(cluster, own, "/ray/image", what, diags)) &&
	       ok;
}
