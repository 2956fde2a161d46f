#include "doctor/bundle.h"
#include "archive/pack.h"
#include <string.h>

/* raygpu debug-bundle: what someone else needs to find out why a run failed, in one archive. It
 * shows what that is before it writes it. */

typedef struct {
	char *out, *plan;
	gboolean auto_approve;
} BundleOptions;

/* What people read: with --json, standard output is for the document. */
static void bundle_say(Context *context, const char *text)
{
	if (context->json)
		err_text(context, text);
	else
		out_text(text);
}

static void print_list(Context *context, const Bundle *bundle, const char *path)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_string_printf(text, "%s will contain:\n\n", path);
	rg_ptr_foreach (const BundleFile, file, bundle->files)
		g_string_append_printf(text, "  %-24s %9zu bytes  %s\n", file->name,
			strlen(file->text), file->what);
	for (guint i = 0; i < bundle->missing->len; i++)
		g_string_append_printf(text, "%sNot included: %s\n", i ? "" : "\n",
			(char *)bundle->missing->pdata[i]);
	g_string_append(text,
		"\nSecrets that raygpu knows are removed: the Ray token, credentials, keys and\n"
		"passwords. What specs contain is included as it is. Before you share it, check\n"
		"`env`, `setup_commands`, `initialization_commands` and the `options` of mounts:\n"
		"they are in spec/ and, encoded in user data, in plan.json and saved-plan.json.\n"
		"Names and addresses of those who ran raygpu are in log.json and state.json.\n");
	bundle_say(context, text->str);
}

static json_t *document_of(const Bundle *bundle, const char *path)
{
	json_t *files = json_array();
	rg_ptr_foreach (const BundleFile, file, bundle->files) {
		json_array_append_new(
			files, json_pack("{s:s, s:I, s:s}", "name", file->name, "bytes",
				       (json_int_t)strlen(file->text), "what", file->what));
	}
	json_t *missing = json_array();
	for (guint i = 0; i < bundle->missing->len; i++)
		json_array_append_new(missing, json_string(bundle->missing->pdata[i]));
	return json_pack("{s:i, s:s, s:o, s:o}", "raygpu_format", 1, "file", path, "files", files,
		"not_included", missing);
}

static bool write_bundle(Context *context, const Bundle *bundle, const char *path)
{
	guint n = bundle->files->len;
	g_autofree RgArchiveFile *files = g_new0(RgArchiveFile, n);
	for (guint i = 0; i < n; i++) {
		const BundleFile *file = bundle->files->pdata[i];
		files[i] = (RgArchiveFile){
			file->name, g_bytes_new_static(file->text, strlen(file->text))};
	}
	bool ok = rg_archive_write(path, files, n, context->diags);
	for (guint i = 0; i < n; i++)
		g_bytes_unref(files[i].content);
	if (!ok)
		return false;
	if (context->json) {
		json_auto_t *document = document_of(bundle, path);
		out_json(document);
		return true;
	}
	g_autofree char *text = g_strdup_printf("\nWrote %s.\n", path);
	out_text(text);
	return true;
}

/* Before the work, not after the question. */
static bool is_free(Context *context, const char *path)
{
	if (!g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
		return true;
	RgDiag *diag =
		rg_diags_error(context->diags, "file.unwritable", "\"%s\" already exists", path);
	rg_diag_hint(diag, "remove it, or choose another name with --out");
	return false;
}

static int bundle_run(Context *context, const BundleOptions *options, const char *spec)
{
	g_autofree char *cluster = spec ? rg_specs_name(spec, NULL) : NULL;
	g_autofree char *path = options->out ? g_strdup(options->out)
					     : g_strdup_printf("raygpu-debug%s%s.tar.gz",
						       cluster ? "-" : "", cluster ? cluster : "");
	if (!is_free(context, path))
		return EXIT_ERROR;
	Doctor doctor;
	g_autoptr(Bundle) bundle = bundle_new();
	doctor_init(&doctor, context, spec);
	bundle_collect(bundle, &doctor, options->plan);
	doctor_clear(&doctor);
	bundle_redact(bundle);
	if (signals_came(NULL))
		return EXIT_INTERRUPTED;
	print_list(context, bundle, path);
	if (!options->auto_approve &&
		!confirm(context,
			"\nDo you want to write this archive?\n  Only 'yes' will be accepted to "
			"approve.\n\n  Enter a value: ",
			"debug-bundle", "use --auto-approve"))
		return rg_diags_exit_code(context->diags);
	return write_bundle(context, bundle, path) ? EXIT_FINE : EXIT_ERROR;
}

int cmd_debug_bundle(Context *context, int argc, char **argv)
{
	BundleOptions options = {0};
	const GOptionEntry entries[] = {
		{"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
			"the archive: .tar.gz, .tar.zst or .zip (default: "
			"raygpu-debug-CLUSTER.tar.gz)",
			"FILE"},
		{"plan", 0, 0, G_OPTION_ARG_FILENAME, &options.plan,
			"also include this saved plan, such as that of the failed run", "FILE"},
		{"auto-approve", 0, 0, G_OPTION_ARG_NONE, &options.auto_approve,
			"do not ask for approval", NULL},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code)) {
		const char *here =
			g_file_test(DEFAULT_SPEC, G_FILE_TEST_EXISTS) ? DEFAULT_SPEC : NULL;
		signals_start();
		keys_redact(context);
		code = bundle_run(context, &options, argv[1] ? argv[1] : here);
	}
	g_free(options.out);
	g_free(options.plan);
	return code;
}
