/* What the nodes of a fitted cluster boot from, as the module's schema defines: fitted ->
 * fitted. */
#include "boot/boot.h"
#include "pipeline/internal.h"
#include "resource/expr.h"

/* A fragment beside the schema; *text NULL: it names none. */
static bool take_fragment(RgProviderHost *providers, const char *provider, const json_t *boot,
	const char *member, const char **text, RgDiags *diags)
{
	const char *file = rg_json_str(boot, member, NULL);
	size_t len = 0;
	*text = file ? rg_provider_data(providers, provider, file, &len) : NULL;
	if (!file || (*text && g_utf8_validate_len(*text, len, NULL)))
		return true;
	rg_diags_error(diags, "provider.refused",
		"the schema of provider %s names the file %s in boot.%s, which %s", provider, file,
		member, *text ? "is not UTF-8" : "is not beside it");
	return false;
}

bool pass_boot(RgSession *session, const RgPass *pass, json_t *fitted, RgDiags *diags)
{
	const json_t *boot = rg_schema_boot(rg_provider_get_schema(pass->provider));
	const char *provider = pass->cluster->provider.name;
	const char *by = rg_json_str(boot, "by", "nothing");
	RgBootOptions options = {.by = g_str_equal(by, "cloud_init")  ? RG_BOOT_CLOUD_INIT
				       : g_str_equal(by, "script")    ? RG_BOOT_SCRIPT
				       : g_str_equal(by, "container") ? RG_BOOT_CONTAINER
								      : RG_BOOT_NOTHING,
		.user_data_bytes = (size_t)rg_json_int(boot, "user_data_bytes", G_MAXINT64),
		.install_docker = rg_json_bool(boot, "install_docker", false),
		.lease = rg_json_bool(boot, "lease", false),
		.gzip_size = rg_expr_gzip_size};
	bool ok =
		take_fragment(session->providers, provider, boot, "cloud", &options.cloud, diags) &&
		take_fragment(session->providers, provider, boot, "fast_network",
			&options.fast_network, diags) &&
		rg_boot_render(fitted, &options, diags);
	pass_locate(pass->cluster, diags);
	return ok;
}
