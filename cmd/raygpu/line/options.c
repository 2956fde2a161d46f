#include "command.h"
#include <string.h>

static void add_names(GPtrArray *names, const GOptionEntry *entries)
{
	for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++)
		g_ptr_array_add(names, g_strdup_printf("--%s", entry->long_name));
}

static const GOptionEntry *find_entry(const GOptionEntry *entries, const char *option)
{
	for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++) {
		g_autofree char *name = g_strdup_printf("--%s", entry->long_name);
		const char brief[] = {'-', entry->short_name, 0};
		if (g_str_equal(name, option) || (entry->short_name && g_str_equal(brief, option)))
			return entry;
	}
	return NULL;
}

static RgDiag *report_unknown(Context *context, const char *option, GPtrArray *names)
{
	RgDiag *diag = rg_diags_error(
		context->diags, "usage.unknown-option", "unknown option \"%s\"", option);
	const char *near = rg_nearest_word(option, (const char *const *)names->pdata);
	if (near)
		rg_diag_hint(diag, "did you mean `%s`? `raygpu %s -h` lists the options", near,
			context->command->name);
	return diag;
}

static RgDiag *report_value(Context *context, const char *option, const GOptionEntry *entry)
{
	bool is_number = entry && entry->arg == G_OPTION_ARG_INT;
	return rg_diags_error(context->diags, "usage.bad-argument", "%s requires %s", option,
		is_number			  ? "a whole number"
		: entry && entry->arg_description ? entry->arg_description
						  : "another value");
}

/* GOption has its own messages: only their subject is used. */
static void options_report(Context *context, const GError *error, const GOptionEntry *entries,
	const GOptionEntry *common)
{
	/* The option that GOption's message is about, "--name" or "-n": the last word with a dash.
	 */
	const char *at = g_strrstr(error->message, " -");
	g_autofree char *option = at ? g_strndup(at + 1, strcspn(at + 1, " =")) : g_strdup("?");
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	add_names(names, entries);
	add_names(names, common);
	g_ptr_array_add(names, NULL);
	const GOptionEntry *entry = find_entry(entries, option);
	RgDiag *diag =
		error->code == G_OPTION_ERROR_UNKNOWN_OPTION
			? report_unknown(context, option, names)
			: report_value(context, option, entry ? entry : find_entry(common, option));
	if (!diag->hint)
		rg_diag_hint(diag, "`raygpu %s -h` lists the options", context->command->name);
}

static bool has_word(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc && !g_str_equal(argv[i], "--"); i++) {
		if (g_str_equal(argv[i], word))
			return true;
	}
	return false;
}

static bool wants_help(int argc, char **argv)
{
	return has_word(argc, argv, "-h") || has_word(argc, argv, "--help");
}

static bool count_arguments(Context *context, int given, int min, int max)
{
	if (given >= min && (max < 0 || given <= max))
		return true;
	RgDiag *diag = rg_diags_error(context->diags,
		given < min ? "usage.missing-argument" : "usage.bad-argument",
		given < min ? "raygpu %s requires an argument" : "raygpu %s got too many arguments",
		context->command->name);
	if (subcommand_find(context->command->name, NULL))
		rg_diag_hint(diag, "`raygpu %s -h` lists the subcommands", context->command->name);
	else
		rg_diag_hint(diag, "usage: raygpu %s [OPTIONS] %s", context->command->name,
			context->command->arguments);
	return false;
}

static void list(const Context *context, const GOptionEntry *entries)
{
	for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++)
		context->list(context->list_data, entry);
}

bool options_parse(Context *context, const GOptionEntry *entries, int *argc, char ***argv,
	int min_arguments, int max_arguments, int *exit_code)
{
	const GOptionEntry common[] = {
		{"state", 0, 0, G_OPTION_ARG_FILENAME, &context->state_path,
			"state: a file or a URL (RAYGPU_STATE; .raygpu/state.db)", "PLACE"},
		{"provider-dir", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &context->provider_dirs,
			"look for provider modules here first", "DIR"},
		{"trace", 0, 0, G_OPTION_ARG_FILENAME, &context->trace_path,
			"append every API exchange to FILE, secrets redacted", "FILE"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &context->json, "print JSON", NULL},
		{"no-color", 0, 0, G_OPTION_ARG_NONE, &context->no_color, "no colours (NO_COLOR)",
			NULL},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	if (context->list) {
		list(context, entries);
		list(context, common);
		*exit_code = EXIT_FINE;
		return false;
	}
	*exit_code = EXIT_USAGE;
	if (wants_help(*argc, *argv)) {
		print_command_help(context->command, entries, common, *argv + 1);
		*exit_code = EXIT_FINE;
		return false;
	}
	g_autoptr(GOptionContext) parser = g_option_context_new(NULL);
	g_option_context_set_help_enabled(parser, FALSE);
	if (entries)
		g_option_context_add_main_entries(parser, entries, NULL);
	g_option_context_add_main_entries(parser, common, NULL);
	g_autoptr(GError) error = NULL;
	if (!g_option_context_parse(parser, argc, argv, &error)) {
		options_report(context, error, entries, common);
		context->json = has_word(*argc, *argv, "--json"); /* GOption took it back */
		return false;
	}
	if (*argc > 1 && g_str_equal((*argv)[1], "--")) {
		(*argc)--;
		(*argv)++;
	}
	if (context->no_color)
		context->out.color = context->err.color = false;
	if (context->verbose && context->summary) {
		rg_diags_error(context->diags, "usage.conflict",
			"--summary and --verbose exclude each other");
		return false;
	}
	context->out.detail = context->verbose	 ? RG_DETAIL_VERBOSE
			      : context->summary ? RG_DETAIL_SUMMARY
						 : RG_DETAIL_NORMAL;
	if (context->changed_since && context->cluster) {
		rg_diags_error(context->diags, "usage.conflict",
			"--cluster works without a spec, so there is nothing for --changed-since");
		return false;
	}
	if (context->ref)
		context->trusted = rg_trusted_work_tree();
	return count_arguments(context, *argc - 1, min_arguments, max_arguments);
}
