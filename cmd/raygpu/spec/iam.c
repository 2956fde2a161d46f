#include "command.h"
#include "pipeline/pass.h"

/* The minimum permissions for a spec, as the cloud's own document. */

typedef struct {
	char *task, *account;
	char **with;
} PermissionOptions;

/* "key=value" or "key" (true). */
static json_t *with_of(char **words)
{
	json_t *with = json_object();
	for (size_t i = 0; words && words[i]; i++) {
		g_auto(GStrv) pair = g_strsplit(words[i], "=", 2);
		json_object_set_new(with, pair[0] ? pair[0] : "",
			pair[0] && pair[1] ? json_string(pair[1]) : json_true());
	}
	return with;
}

/* [{"region", "config"}] of a spec that names several places of this provider; NULL: it does not.
 * The others need a policy of their own. */
static json_t *places_of(Context *context, const RgCluster *cluster)
{
	json_auto_t *places = json_array();
	for (guint i = 0; cluster->places && i < cluster->places->len; i++) {
		const RgProviderRef *place = cluster->places->pdata[i];
		if (g_str_equal(place->name, cluster->provider.name)) {
			json_array_append_new(
				places, json_pack("{s:s?, s:O}", "region", place->region, "config",
						place->config));
			continue;
		}
		RgDiag *diag = rg_diags_note(context->diags, "provider.no-permissions",
			"the policy does not cover %s, another provider of any_of", place->name);
		rg_diag_at(diag, place->source);
	}
	return json_array_size(places) ? json_incref(places) : NULL;
}

static json_t *permissions_input(
	Context *context, const RgPass *pass, const PermissionOptions *options)
{
	const RgCluster *cluster = pass->cluster;
	const char *account = options->account ? options->account : pass->snapshot->account;
	return json_pack("{s:s, s:s?, s:O, s:o*, s:O, s:o}", "for",
		options->task ? options->task : "apply", "account", account, "config",
		cluster->provider.config, "places", places_of(context, cluster), "spec",
		cluster->view, "with", with_of(options->with));
}

static int permissions_run(Context *context, const PermissionOptions *options, const char *spec)
{
	context_use_spec(context, spec);
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgPass) pass =
		rg_pipeline_load(spec, context->ref, context->trusted, context->diags);
	if (!pass || !rg_pass_settle(&context->session, pass, context->diags) ||
		!rg_pass_open(&context->session, pass, context->diags))
		return rg_diags_exit_code(context->diags);
	if (!rg_provider_offers(pass->provider, "permissions")) {
		rg_diags_error(context->diags, "provider.no-permissions",
			"module %s does not report the permissions that it needs",
			rg_provider_name(pass->provider));
		return EXIT_ERROR;
	}
	json_auto_t *input = permissions_input(context, pass, options);
	json_auto_t *document = rg_provider_permissions(pass->provider, input, context->diags);
	if (document)
		out_json(document);
	return rg_diags_exit_code(context->diags);
}

int cmd_iam(Context *context, int argc, char **argv)
{
	PermissionOptions options = {0};
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		{"for", 0, 0, G_OPTION_ARG_STRING, &options.task, "the task (default: apply)",
			"plan|apply|import|rebuild|offers|connect|state|state-read"},
		{"account", 0, 0, G_OPTION_ARG_STRING, &options.account,
			"limit it to this account (default: that of the state)", "ID"},
		{"with", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.with,
			"something that the spec does not contain; may be repeated", "KEY[=VALUE]"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code)) {
		const char *spec = argv[1] ? argv[1] : DEFAULT_SPEC;
		code = argv[1] || spec_is_here(context) ? permissions_run(context, &options, spec)
							: rg_diags_exit_code(context->diags);
	}
	g_free(options.task);
	g_free(options.account);
	g_strfreev(options.with);
	return code;
}
