#include "command.h"

static void print_table(const json_t *rows)
{
	g_autoptr(GString) text = g_string_new(NULL);
	size_t i;
	const json_t *row;
	g_string_append_printf(
		text, "%-12s %-10s %-4s %-8s %s\n", "NAME", "VERSION", "ABI", "STATE", "FILE");
	json_array_foreach (rows, i, row) {
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

int cmd_providers(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE;
	if (!options_parse(context, NULL, &argc, &argv, 1, 1, &code))
		return code;
	if (!g_str_equal(argv[1], "list")) {
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"raygpu providers has no \"%s\"", argv[1]);
		rg_diag_hint(diag, "usage: raygpu providers list");
		return EXIT_USAGE;
	}
	context_open_providers(context);
	g_autoptr(RgJson) rows = rg_provider_host_list(context->providers);
	if (context->json)
		out_json(rows);
	else
		print_table(rows);
	return EXIT_FINE;
}
