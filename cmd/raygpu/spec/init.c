#include "command.h"
#include "state/write.h"
#include <errno.h>

/* A starter spec beside a module's schema.json. */
#define STARTER "starter.yaml"

/* With --json, standard output is for the document. */
static void init_tell(const Context *context, const char *text)
{
	if (!context->json)
		out_text(text);
}

static bool write_file(Context *context, const char *path, const char *text)
{
	g_autoptr(GError) error = NULL;
	if (g_file_set_contents(path, text, -1, &error))
		return true;
	report_unwritable(context, path, error);
	return false;
}

/* Their names, in one line; g_free. */
static char *providers_with_starters(const Context *context, GStrv names)
{
	GString *text = g_string_new(NULL);
	for (size_t i = 0; names[i]; i++)
		if (rg_provider_has(context->providers, names[i], STARTER))
			g_string_append_printf(text, "%s%s", text->len ? ", " : "", names[i]);
	return g_string_free(text, FALSE);
}

static bool write_starter(Context *context, const char *path, const char *provider, bool *wrote)
{
	*wrote = !g_file_test(path, G_FILE_TEST_EXISTS);
	if (!*wrote) {
		g_autofree char *text =
			g_strdup_printf("%s already exists; left unchanged.\n", path);
		init_tell(context, text);
		return true;
	}
	/* the text beside the module of that name, or beside the first that has one */
	size_t i = 0, len;
	context_open_providers(context);
	g_auto(GStrv) names = rg_provider_host_names(context->providers);
	while (!provider && names[i] && !rg_provider_has(context->providers, names[i], STARTER))
		i++;
	const char *name = provider ? provider : names[i];
	const char *starter =
		name ? rg_provider_data(context->providers, name, STARTER, &len) : NULL;
	if (!starter) {
		g_autofree char *known = providers_with_starters(context, names);
		RgDiag *diag = rg_diags_error(context->diags, "provider.not-found",
			"there is no starter spec for a provider \"%s\"", name ? name : "");
		rg_diag_hint(diag, "providers: %s", known);
		return false;
	}
	if (!write_file(context, path, starter))
		return false;
	g_autofree char *text = g_strdup_printf("Wrote %s.\n", path);
	init_tell(context, text);
	return true;
}

/* Reports now whether the state can be written, not when the first node exists. */
static bool prepare_state(Context *context, const char *spec, bool *made)
{
	context_use_spec(context, spec);
	const char *state = context_state_path(context);
	g_autofree char *folder = g_path_get_dirname(state);
	g_autofree char *ignore = g_build_filename(folder, ".gitignore", NULL);
	bool ignored = g_file_test(ignore, G_FILE_TEST_EXISTS);
	if (!rg_store_make_folder(state)) {
		RgDiag *diag = rg_diags_error(context->diags, "state.unwritable",
			"the folder \"%s\" for the state cannot be created: %s", folder,
			g_strerror(errno));
		rg_diag_hint(diag, "check its permissions, or choose another path with --state");
		return false;
	}
	*made = !ignored && g_file_test(ignore, G_FILE_TEST_EXISTS);
	if (!*made)
		return true;
	g_autofree char *text = g_strdup_printf(
		"Wrote %s: the state holds the Ray token and stays out of git.\n", ignore);
	init_tell(context, text);
	return true;
}

static void print_done(const Context *context, const char *path, bool wrote, bool ignored)
{
	g_autofree char *text =
		g_strdup_printf("\nNext:\n    raygpu validate %s\n    raygpu plan %s\n    "
				"raygpu apply %s\n",
			path, path, path);
	init_tell(context, text);
	if (!context->json)
		return;
	json_auto_t *document = json_object();
	json_object_set_new(document, "raygpu_format", json_integer(1));
	rg_json_set_str(document, "spec", path);
	json_object_set_new(document, "wrote_spec", json_boolean(wrote));
	json_object_set_new(document, "wrote_gitignore", json_boolean(ignored));
	out_json(document);
}

int cmd_init(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE;
	g_autofree char *provider = NULL;
	const GOptionEntry entries[] = {
		{"provider", 0, 0, G_OPTION_ARG_STRING, &provider,
			"the provider of the starter spec", "NAME"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	if (!options_parse(context, entries, &argc, &argv, 0, 1, &code))
		return code;
	const char *path = argc > 1 ? argv[1] : DEFAULT_SPEC;
	bool wrote = false, ignored = false;
	if (write_starter(context, path, provider, &wrote) &&
		prepare_state(context, path, &ignored)) {
		print_done(context, path, wrote, ignored);
		return EXIT_FINE;
	}
	return rg_diags_exit_code(context->diags);
}
