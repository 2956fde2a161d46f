#include "command.h"
#include "reach/reach.h"

/* What the state knows of a cluster that its users need: addresses, ids, and the token by name. */

static void print_outputs(const json_t *outputs)
{
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach_member (name, value, outputs) {
		char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_INDENT(2));
		g_string_append_printf(text, "%s = %s\n", name, shown);
		free(shown);
	}
	out_text(text->str);
}

/* As scripts read it: a text without quotes, nothing for what there is not. */
static void print_value(const json_t *value)
{
	if (json_is_string(value)) {
		g_autofree char *line = g_strconcat(json_string_value(value), "\n", NULL);
		out_text(line);
	} else if (!json_is_null(value)) {
		out_json(value);
	}
}

static json_t *find_output(
	Context *context, const json_t *outputs, const RgSnapshot *snapshot, const char *name)
{
	const char *token = rg_reach_token(snapshot);
	json_t *value = json_object_get(outputs, name);
	if (value)
		return json_incref(value);
	if (g_str_equal(name, RG_REACH_TOKEN) && token)
		return json_string(token);
	if (g_str_equal(name, RG_REACH_TOKEN) &&
		rg_snapshot_refuse_sealed(snapshot, "the output", context->diags))
		return NULL;
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	rg_json_foreach_member (other, unused, outputs)
		g_strv_builder_add(builder, other);
	if (token)
		g_strv_builder_add(builder, RG_REACH_TOKEN);
	g_auto(GStrv) names = g_strv_builder_end(builder);
	g_autofree char *all = g_strjoinv(", ", names);
	RgDiag *diag =
		rg_diags_error(context->diags, "output.unknown", "there is no output \"%s\"", name);
	rg_diag_hint(diag, "outputs: %s", all);
	return NULL;
}

static int output_run(Context *context, const char *spec, const char *name)
{
	const RgSchema *schema = NULL;
	g_autoptr(RgSnapshot) snapshot = recorded_cluster(context, spec, &schema);
	if (!snapshot)
		return rg_diags_exit_code(context->diags);
	json_auto_t *outputs = rg_reach_outputs(schema, snapshot);
	if (!name) {
		if (context->json)
			out_json(outputs);
		else
			print_outputs(outputs);
		return EXIT_FINE;
	}
	json_auto_t *value = find_output(context, outputs, snapshot, name);
	if (!value)
		return rg_diags_exit_code(context->diags);
	if (context->json)
		out_json(value);
	else
		print_value(value);
	return EXIT_FINE;
}

/* One argument is a spec when there is such a file. */
static bool is_spec(const char *argument)
{
	return g_str_equal(argument, "-") || g_file_test(argument, G_FILE_TEST_EXISTS) ||
	       g_str_has_suffix(argument, ".yaml") || g_str_has_suffix(argument, ".yml");
}

int cmd_output(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"cluster of the state, without its spec", "NAME"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 0, 2, &code))
		return code;
	bool spec = argc > 2 || (argc > 1 && is_spec(argv[1]));
	return output_run(context, spec ? argv[1] : NULL,
		argc > 2	    ? argv[2]
		: argc > 1 && !spec ? argv[1]
				    : NULL);
}
