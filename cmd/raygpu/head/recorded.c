#include "command.h"

/* The one cluster that output and connect are about, as the state has it. */

static char *cluster_name(Context *context, const char *spec)
{
	if (!spec)
		return context_one_cluster(context);
	g_autoptr(RgProvenance) provenance = NULL;
	g_autoptr(RgCluster) cluster =
		rg_specs_load(spec, context->ref, &provenance, context->diags);
	if (!cluster || !context_has_cluster(context, cluster->name))
		return NULL;
	return g_strdup(cluster->name);
}

RgSnapshot *recorded_cluster(Context *context, const char *spec, const RgSchema **schema)
{
	if (!spec && !context->cluster && g_file_test(DEFAULT_SPEC, G_FILE_TEST_IS_REGULAR))
		spec = DEFAULT_SPEC;
	context_use_spec(context, spec);
	context->store = context_open_state(context, RG_STORE_READ, context->diags);
	g_autofree char *name = context->store ? cluster_name(context, spec) : NULL;
	g_autoptr(RgSnapshot) snapshot =
		name ? rg_store_load(context->store, name, context->diags) : NULL;
	if (!snapshot || !snapshot->provider)
		return NULL;
	context_open_providers(context);
	*schema = rg_provider_schema(context->providers, snapshot->provider, context->diags);
	return *schema ? g_steal_pointer(&snapshot) : NULL;
}
