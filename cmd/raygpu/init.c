#include "command.h"
#include <errno.h>
#include <glib/gstdio.h>

static const char starter[] =
	"# A Ray cluster for raygpu. All fields: man 5 raygpu-spec\n"
	"cluster: research\n"
	"labels: {team: ml-platform}\n"
	"provider: {name: aws, region: us-east-1}\n"
	"ray: {version: 2.52.0, python: \"3.11\", image: \"rayproject/ray:2.52.0-py311-cu121\"}\n"
	"head: {instance_type: m6i.2xlarge}\n"
	"pools:\n"
	"  serve:\n"
	"    accelerators: T4:1 # MODEL:GPUS A NODE; the cheapest matching type is taken and "
	"pinned\n"
	"    nodes: 1\n";

static bool write_starter(Context *context, const char *path)
{
	if (g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_autofree char *text =
			g_strdup_printf("%s is there already and stays as it is.\n", path);
		out_text(text);
		return true;
	}
	g_autoptr(GError) error = NULL;
	if (!g_file_set_contents(path, starter, -1, &error)) {
		rg_diags_error(context->diags, "file.unreadable",
			"can't write the starter spec: %s", error->message);
		return false;
	}
	g_autofree char *text = g_strdup_printf("Wrote %s.\n", path);
	out_text(text);
	return true;
}

static bool is_listed(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	return g_strv_contains((const char *const *)lines, ".raygpu/") ||
	       g_strv_contains((const char *const *)lines, "/.raygpu/");
}

/* The state holds secrets: it must never be committed by accident. */
static bool ignore_state(Context *context)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	if (!g_file_get_contents(".gitignore", &text, NULL, NULL))
		text = g_strdup("");
	if (is_listed(text))
		return true;
	g_autofree char *more = g_strconcat(
		text, *text && !g_str_has_suffix(text, "\n") ? "\n" : "", ".raygpu/\n", NULL);
	if (!g_file_set_contents(".gitignore", more, -1, &error)) {
		rg_diags_error(context->diags, "file.unreadable", "can't write .gitignore: %s",
			error->message);
		return false;
	}
	out_text("Added .raygpu/ to .gitignore (the state holds the Ray token).\n");
	return true;
}

int cmd_init(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE;
	if (!options_parse(context, NULL, &argc, &argv, 0, 1, &code))
		return code;
	const char *path = argc > 1 ? argv[1] : "cluster.yaml";
	if (!write_starter(context, path))
		return EXIT_ERROR;
	if (g_mkdir(".raygpu", 0700) && errno != EEXIST) {
		rg_diags_error(context->diags, "state.unwritable", "can't make .raygpu: %s",
			g_strerror(errno));
		return EXIT_ERROR;
	}
	if (!ignore_state(context))
		return EXIT_ERROR;
	g_autofree char *text =
		g_strdup_printf("\nNext:\n    raygpu validate %s\n    raygpu plan %s\n    "
				"raygpu apply %s\n",
			path, path, path);
	out_text(text);
	return EXIT_FINE;
}
