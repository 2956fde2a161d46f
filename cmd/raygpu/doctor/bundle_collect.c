#include "doctor/bundle.h"
#include "base/redact.h"
#include "config.h"
#include "raygpu/provider.h"
#include "transfer/document.h"
#include <string.h>
#include <sys/utsname.h>

#define RUNS_WITH_STEPS 20
#define FILE_MAX_BYTES (256 * 1024 * 1024)

static void file_free(gpointer data)
{
	BundleFile *file = data;
	g_free(file->name);
	g_free(file->text);
	g_free(file);
}

Bundle *bundle_new(void)
{
	Bundle *bundle = g_new0(Bundle, 1);
	bundle->files = g_ptr_array_new_with_free_func(file_free);
	bundle->missing = g_ptr_array_new_with_free_func(g_free);
	return bundle;
}

void bundle_free(Bundle *bundle)
{
	if (!bundle)
		return;
	g_ptr_array_unref(bundle->files);
	g_ptr_array_unref(bundle->missing);
	g_free(bundle);
}

static void add_text(Bundle *bundle, const char *name, const char *what, char *text)
{
	BundleFile *file = g_new0(BundleFile, 1);
	*file = (BundleFile){g_strdup(name), what, text};
	g_ptr_array_add(bundle->files, file);
}

static void add_json(Bundle *bundle, const char *name, const char *what, const json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);
	add_text(bundle, name, what, g_strconcat(text, "\n", NULL));
	free(text);
}

static void lack(Bundle *bundle, const char *what, const RgDiags *why)
{
	const char *reason = rg_diags_count(why) ? rg_diags_get(why, 0)->summary : "there is none";
	g_ptr_array_add(bundle->missing, g_strdup_printf("%s: %s", what, reason));
}

static void add_file(Bundle *bundle, const char *name, const char *what, const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &error);
	gsize len = file ? g_mapped_file_get_length(file) : 0;
	if (file && len <= FILE_MAX_BYTES)
		add_text(bundle, name, what, g_strndup(g_mapped_file_get_contents(file), len));
	else
		g_ptr_array_add(bundle->missing, g_strdup_printf("%s: \"%s\" %s", what, path,
							 file ? "is too large" : "cannot be read"));
}

/* ---- secrets */

static bool is_secret_name(const char *name)
{
	static const char *const words[] = {"SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE",
		"CREDENTIALS", "PGPASSWORD", NULL};
	static const char *const places[] = {"FILE", "PATH", "ID", "URI", "URL", "CMD", NULL};
	g_autofree char *upper = g_ascii_strup(name, -1);
	g_auto(GStrv) parts = g_strsplit(upper, "_", -1);
	guint n = g_strv_length(parts);
	const char *last = n ? parts[n - 1] : "";
	bool secret = g_str_equal(last, "KEY");
	for (guint i = 0; i < n; i++)
		secret = secret || g_strv_contains(words, parts[i]);
	return secret && !g_strv_contains(places, last);
}

/* Values of variables whose names say that they are secret, whatever uses them. */
static void hide_environment(void)
{
	g_auto(GStrv) names = g_listenv();
	for (guint i = 0; names[i]; i++) {
		const char *value = g_getenv(names[i]);
		if (value && is_secret_name(names[i]))
			rg_redact_add(value, strlen(value));
	}
}

/* Sealed ones too, if their key was given. */
static void hide_recorded(RgStore *store)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_auto(GStrv) names = rg_store_clusters(store, unread);
	for (guint i = 0; names && names[i]; i++) {
		g_autoptr(RgSnapshot) snapshot = rg_store_load(store, names[i], unread);
		for (size_t k = 0; snapshot && k < rg_resource_set_size(snapshot->recorded); k++) {
			const RgResource *one = rg_resource_set_get(snapshot->recorded, k);
			if (!g_str_equal(one->kind, RG_SECRET_KIND))
				continue;
			rg_json_foreach_member (name, value, rg_resource_outputs(one)) {
				if (json_is_string(value))
					rg_redact_add(json_string_value(value),
						json_string_length(value));
			}
		}
	}
}

void bundle_redact(Bundle *bundle)
{
	rg_ptr_foreach (BundleFile, file, bundle->files) {
		char *redacted = rg_redact(file->text, strlen(file->text));
		g_free(file->text);
		file->text = redacted;
	}
}

/* ---- parts */

/* The spec, what it extends, and the project file: by their names, whatever their folders. */
static void collect_specs(Bundle *bundle, const Doctor *doctor)
{
	RgSpecPeek peek = {0};
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autofree char *base = g_path_get_basename(doctor->spec);
	g_autofree char *name = g_strconcat("spec/", base, NULL);
	g_autofree char *project = rg_project_find(doctor->spec);
	rg_spec_peek_file(doctor->spec, &peek, unread);
	add_file(bundle, name, "the spec", doctor->spec);
	for (guint i = 1; peek.files && i < peek.files->len; i++) {
		g_autofree char *file = g_path_get_basename(peek.files->pdata[i]);
		g_autofree char *as = g_strdup_printf("spec/extends-%02u-%s", i, file);
		add_file(bundle, as, "a file that the spec extends", peek.files->pdata[i]);
	}
	if (project)
		add_file(bundle, "spec/" RG_PROJECT_FILE, "the project file", project);
	rg_spec_peek_clear(&peek);
}

static const RgSchema *schema_of(void *data, const char *provider, RgDiags *diags)
{
	const Context *context = data;
	return rg_provider_schema(context->providers, provider, diags);
}

/* The spec's cluster; without a spec, all. */
static void collect_state(Bundle *bundle, const Doctor *doctor)
{
	Context *context = doctor->context;
	g_autoptr(RgDiags) found = rg_diags_new();
	const RgStateRedactor redactor = {schema_of, context};
	json_auto_t *state =
		context->store ? rg_state_pull(context->store, doctor->cluster, &redactor, found)
			       : NULL;
	if (state)
		add_json(bundle, "state.json", "the state, without its secrets", state);
	else
		lack(bundle, "the state", found);
}

static void collect_log(Bundle *bundle, const Doctor *doctor)
{
	RgStore *store = doctor->context->store;
	g_autoptr(RgDiags) found = rg_diags_new();
	json_auto_t *runs = store ? rg_store_runs(store, doctor->cluster, found) : NULL;
	rg_json_foreach_at (i, run, runs) {
		json_auto_t *steps =
			i < RUNS_WITH_STEPS
				? rg_store_run_changes(store, rg_json_str(run, "id", ""), found)
				: NULL;
		if (steps)
			json_object_set(run, "steps", steps);
	}
	if (runs)
		add_json(bundle, "log.json", "earlier runs, as `raygpu log` lists them", runs);
	else
		lack(bundle, "the log", found);
}

static void collect_versions(Bundle *bundle, const Doctor *doctor)
{
	struct utsname system = {0};
	g_autoptr(RgDiags) unread = rg_diags_new();
	const char *http = rg_http_library(unread), *git = rg_git_library(unread);
	json_auto_t *modules = rg_provider_host_list(doctor->context->providers);
	g_autofree char *os = g_get_os_info(G_OS_INFO_KEY_PRETTY_NAME);
	uname(&system);
	json_auto_t *versions = json_pack("{s:s, s:i, s:i, s:[s, s*, s*], s:O, s:s?, s:s, s:s}",
		"raygpu", RG_VERSION, "provider_abi", RGP_ABI_MAJOR, "provider_abi_minor",
		RGP_ABI_MINOR, "libraries", rg_store_library(), http, git, "modules", modules, "os",
		os, "kernel", system.release, "machine", system.machine);
	add_json(
		bundle, "versions.json", "versions of raygpu, its libraries and modules", versions);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	const BundleFile *const *x = a, *const *y = b;
	return strcmp((*x)->name, (*y)->name);
}

void bundle_collect(Bundle *bundle, Doctor *doctor, const char *saved)
{
	const Context *context = doctor->context;
	g_autoptr(RgDiags) none = rg_diags_new();
	hide_environment();
	doctor_examine(doctor);
	json_auto_t *examined = doctor_document(doctor);
	add_json(bundle, "doctor.json", "what `raygpu doctor` finds", examined);
	if (context->store)
		hide_recorded(context->store);
	collect_versions(bundle, doctor);
	collect_log(bundle, doctor);
	collect_state(bundle, doctor);
	if (doctor->spec)
		collect_specs(bundle, doctor);
	if (doctor->plan)
		add_json(bundle, "plan.json", "a plan as of now", doctor->plan);
	else
		lack(bundle, "a plan as of now", none);
	if (saved)
		add_file(bundle, "saved-plan.json", "the saved plan", saved);
	if (context->trace_path)
		add_file(bundle, "trace.jsonl", "the trace: requests and answers",
			context->trace_path);
	g_ptr_array_sort(bundle->files, by_name);
}
