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

/* With --json standard output is the document's. */
static void tell(const Context *context, const char *text)
{
	if (!context->json)
		out_text(text);
}

static bool write_file(Context *context, const char *path, const char *text)
{
	g_autoptr(GError) error = NULL;
	if (g_file_set_contents(path, text, -1, &error))
		return true;
	report_unwritable(context, "file.unreadable", path, error);
	return false;
}

static bool write_starter(Context *context, const char *path, bool *wrote)
{
	*wrote = !g_file_test(path, G_FILE_TEST_EXISTS);
	if (!*wrote) {
		g_autofree char *text =
			g_strdup_printf("%s is there already and stays as it is.\n", path);
		tell(context, text);
		return true;
	}
	if (!write_file(context, path, starter))
		return false;
	g_autofree char *text = g_strdup_printf("Wrote %s.\n", path);
	tell(context, text);
	return true;
}

static bool is_listed(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	return g_strv_contains((const char *const *)lines, ".raygpu/") ||
	       g_strv_contains((const char *const *)lines, "/.raygpu/");
}

/* The state holds secrets: it must never be committed by accident. */
static bool ignore_state(Context *context, bool *added)
{
	g_autofree char *text = NULL;
	*added = false;
	if (!g_file_get_contents(".gitignore", &text, NULL, NULL))
		text = g_strdup("");
	if (is_listed(text))
		return true;
	g_autofree char *more = g_strconcat(
		text, *text && !g_str_has_suffix(text, "\n") ? "\n" : "", ".raygpu/\n", NULL);
	if (!write_file(context, ".gitignore", more))
		return false;
	*added = true;
	tell(context, "Added .raygpu/ to .gitignore (the state holds the Ray token).\n");
	return true;
}

static void print_done(const Context *context, const char *path, bool wrote, bool ignored)
{
	g_autofree char *text =
		g_strdup_printf("\nNext:\n    raygpu validate %s\n    raygpu plan %s\n    "
				"raygpu apply %s\n",
			path, path, path);
	tell(context, text);
	if (!context->json)
		return;
	g_autoptr(RgJson) document = json_object();
	json_object_set_new(document, "raygpu_format", json_integer(1));
	rg_json_set_str(document, "spec", path);
	json_object_set_new(document, "wrote_spec", json_boolean(wrote));
	json_object_set_new(document, "wrote_gitignore", json_boolean(ignored));
	out_json(document);
}

int cmd_init(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE;
	bool wrote = false, ignored = false;
	if (!options_parse(context, NULL, &argc, &argv, 0, 1, &code))
		return code;
	const char *path = argc > 1 ? argv[1] : DEFAULT_SPEC;
	if (!write_starter(context, path, &wrote))
		return rg_diags_exit_code(context->diags);
	if (g_mkdir(".raygpu", 0700) && errno != EEXIST) {
		rg_diags_error(context->diags, "state.unwritable",
			"the folder \".raygpu\" can't be made: %s", g_strerror(errno));
		return EXIT_ERROR;
	}
	if (!ignore_state(context, &ignored))
		return rg_diags_exit_code(context->diags);
	print_done(context, path, wrote, ignored);
	return EXIT_FINE;
}
