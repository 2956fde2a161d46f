#include "command.h"

static void print_table(const json_t *rows)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_string_append_printf(
		text, "%-12s %-10s %-4s %-8s %s\n", "NAME", "VERSION", "ABI", "STATE", "FILE");
	rg_json_foreach (row, rows) {
		/* an installation with modules as files hides its own built-in ones */
		if (g_str_equal(rg_json_str(row, "state", ""), "hidden") &&
			g_str_equal(rg_json_str(row, "file", ""), "built-in"))
			continue;
		g_autofree char *abi =
			g_strdup_printf("%" G_GINT64_FORMAT, rg_json_int(row, "abi", 0));
		g_string_append_printf(text, "%-12s %-10s %-4s %-8s %s\n",
			rg_json_str(row, "name", "?"), rg_json_str(row, "version", "-"),
			json_object_get(row, "abi") ? abi : "-", rg_json_str(row, "state", "?"),
			rg_json_str(row, "file", "?"));
		const char *reason = rg_json_str(row, "reason", NULL);
		if (reason)
			g_string_append_printf(text, "             %s\n", reason);
	}
	out_text(text->str);
}

static int list(Context *context)
{
	context_open_providers(context);
	json_auto_t *rows = rg_provider_host_list(context->providers);
	if (context->json)
		out_json(rows);
	else
		print_table(rows);
	return EXIT_FINE;
}

int cmd_providers(Context *context, int argc, char **argv)
{
	CheckOptions check = {.wait_s = 60};
	const GOptionEntry entries[] = {
		{"region", 0, 0, G_OPTION_ARG_STRING, &check.region,
			"check: the region to create the nodes in", "NAME"},
		{"endpoint", 0, 0, G_OPTION_ARG_STRING, &check.endpoint,
			"check: the provider setting \"endpoint\"", "URL"},
		{"config", 0, 0, G_OPTION_ARG_STRING, &check.config,
			"check: the provider's settings as a JSON object", "JSON"},
		{"type", 0, 0, G_OPTION_ARG_STRING, &check.type,
			"check: instance type of the nodes; default: the first of its table",
			"NAME"},
		{"wait", 0, 0, G_OPTION_ARG_INT, &check.wait_s,
			"check: seconds that a node may take to start or to stop (default 60)",
			"SECONDS"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 1, 2, &code)) {
		bool wants_check = g_str_equal(argv[1], "check");
		if (wants_check && argc == 3) {
			code = providers_check(context, argv[2], &check);
		} else if (g_str_equal(argv[1], "list") && argc == 2) {
			code = list(context);
		} else {
			RgDiag *diag = rg_diags_error(context->diags,
				wants_check ? "usage.missing-argument" : "usage.bad-argument",
				wants_check ? "check requires the file of a module"
					    : "raygpu providers has no \"%s\"",
				argv[argc - 1]);
			rg_diag_hint(diag, "usage: raygpu providers list | check FILE");
			code = EXIT_USAGE;
		}
	}
	g_free(check.region);
	g_free(check.endpoint);
	g_free(check.config);
	g_free(check.type);
	return code;
}
