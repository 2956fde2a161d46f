#include "provider/provider.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include "abi/raygpu/provider.h"

/* Each faulty module with the exact text of its refusal; "@" stands for its file. */
static const struct {
	const char *name, *code, *reason, *hint;
} refusals[] = {
	{"odd_nosym", "provider.refused",
		"@ is not a raygpu provider: it has no function raygpu_provider_v1",
		"a module exports that function with RGP_ENTRY of raygpu/provider.h, default "
		"visibility"},
	{"odd_older", "provider.refused", "@ was built for provider ABI 0, this raygpu has 1",
		"rebuild the module with this raygpu's raygpu/provider.h (ABI 1)"},
	{"odd_newer", "provider.refused", "@ was built for provider ABI 2, this raygpu has 1",
		"install a raygpu with provider ABI 2, or a release of the module for ABI 1"},
	{"odd_nulltab", "provider.refused", "@ returned no table of calls",
		"report it to the module's author: it refused to start"},
	{"odd_major", "provider.refused", "@ was built for provider ABI 3, this raygpu has 1",
		"install a raygpu with provider ABI 3, or a release of the module for ABI 1"},
	{"odd_short", "provider.refused",
		"@ has a table of 48 bytes, provider ABI 1.0 begins at 96",
		"rebuild the module with raygpu/provider.h of ABI 1.0 or later"},
	{"odd_norequired", "provider.refused",
		"@ lacks the call \"list\" that provider ABI 1 requires",
		"report it to the module's author: ABI 1 requires it"},
	{"odd_wrongname", "provider.refused",
		"@ claims to be the provider \"other\", not \"odd_wrongname\"",
		"name the file other.so"},
	{"odd_longname", "provider.refused",
		"@ calls itself \"a_name_that_is_much_longer_than_any_prov\", which is not a valid "
		"provider name",
		"a provider's name is at most 32 of a-z, 0-9 and _, beginning with a letter"},
	{"odd_noversion", "provider.refused", "@ does not state its name and version",
		"report it to the module's author: its table must have both"},
	{"odd_noname", "provider.refused", "@ does not state its name and version",
		"report it to the module's author: its table must have both"},
	{"odd_badname", "provider.refused",
		"@ calls itself \"../odd\", which is not a valid provider name",
		"a provider's name is at most 32 of a-z, 0-9 and _, beginning with a letter"},
	{"odd_empty", "provider.refused", "@ has a table of 0 bytes, provider ABI 1.0 begins at 96",
		"rebuild the module with raygpu/provider.h of ABI 1.0 or later"},
	{"odd_undefined", "provider.refused",
		"cannot load @: @: undefined symbol: odd_function_that_nobody_has",
		"build it as a shared object for this machine, with all dependencies linked in"},
	{"odd_badjson", "provider.refused",
		"@ does not return its schema: module odd_badjson returned a bad result from "
		"schema: "
		"\"schema\": the text is not valid JSON: line 1, column 13: string or '}' expected "
		"near end of file",
		"ask the module's author"},
	{"odd_badshape", "provider.refused",
		"the schema of @ is not the schema of a provider: /: \"kinds\" is missing; /: "
		"\"kind\" is not known",
		"correct the module's schema.json (schemas/provider-schema.json)"},
	{"odd_other", "provider.refused",
		"the schema of @ is the schema of the provider \"other\", not \"odd_other\"",
		"put the module's own schema.json beside it"},
	{"odd_strangekind", "provider.refused",
		"the schema of @ has a kind \"raygpu.secret\" outside \"odd_strangekind.*\"",
		"correct the module's schema.json"},
	{"odd_baddefault", "provider.refused",
		"the schema of @: the default of odd_baddefault.thing.size is not of type integer",
		"correct the module's schema.json"},
	{"odd_noschema", "provider.refused",
		"@ does not return its schema: module odd_noschema returned a bad result from "
		"schema: it "
		"returned without \"schema\"",
		"ask the module's author"},
	{"odd_twice", "provider.refused",
		"@ does not return its schema: module odd_twice returned a bad result from schema: "
		"\"schema\" "
		"was returned twice",
		"ask the module's author"},
	{"odd_impure", "provider.refused",
		"@ does not return its schema: module odd_impure returned a bad result from "
		"schema: it used "
		"the host's env, but schema must be pure",
		"ask the module's author"},
	{"odd_openfails", "provider.denied", "no credentials found", "set ODD_KEY"},
};

static RgProviderHost *new_host(const char *first, const char *second)
{
	char *directories[] = {g_strdup(first), g_strdup(second), NULL};
	RgProviderHostOptions options = {.directories = directories};
	RgProviderHost *host = rg_provider_host_new(&options);
	g_free(directories[0]);
	g_free(directories[1]);
	return host;
}

static void assert_refused(RgProviderHost *host, size_t row)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *file = g_strdup_printf("%s/%s.so", MODULES_DIR, refusals[row].name);
	g_autoptr(GString) reason = g_string_new(refusals[row].reason);
	g_string_replace(reason, "@", file, 0);
	g_assert_null(rg_provider_open(host, refusals[row].name, "r", NULL, NULL, diags));
	g_assert_cmpuint(rg_diags_count(diags), ==, 1);
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_assert_cmpstr(diag->summary, ==, reason->str);
	g_assert_cmpstr(diag->hint, ==, refusals[row].hint);
	g_assert_cmpstr(diag->code, ==, refusals[row].code);
	g_assert_cmpstr(diag->provider, ==, refusals[row].name);
}

static void test_refuses_odd_modules_with_reason_and_remedy(void)
{
	g_autoptr(RgProviderHost) host = new_host(MODULES_DIR, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++)
		assert_refused(host, i);
	/* A second request gets the same answer: it was not loaded again. */
	assert_refused(host, 0);
}

static void test_refuses_a_config_schema_outside_the_subset(void)
{
	g_autoptr(RgProviderHost) host = new_host(MODULES_DIR, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_provider_open(host, "odd_badconfig", "r", NULL, NULL, diags));
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_assert_cmpstr(diag->code, ==, "provider.refused");
	g_assert_nonnull(strstr(diag->summary, "the schema of its settings is not usable"));
	g_assert_nonnull(strstr(diag->summary, "knob"));
}

static void test_opens_sound_ones_of_this_and_later_minor_versions(void)
{
	g_autoptr(RgProviderHost) host = new_host(MODULES_DIR, NULL);
	const char *const names[] = {"odd_sound", "odd_minor"};
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(RgProvider) provider =
			rg_provider_open(host, names[i], "r", NULL, NULL, diags);
		g_assert_nonnull(provider);
		g_assert_cmpuint(rg_diags_count(diags), ==, 0);
		g_assert_cmpstr(rg_provider_name(provider), ==, names[i]);
		g_assert_true(rg_provider_offers(provider, "create"));
		g_assert_false(rg_provider_offers(provider, "update"));
		g_assert_false(rg_provider_offers(provider, "no_such_call"));
	}
}

static void test_says_where_it_looked_and_what_is_near(void)
{
	g_autoptr(RgProviderHost) host = new_host("/nonexistent", MODULES_DIR);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_provider_open(host, "scriptd", "r", NULL, NULL, diags));
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_assert_cmpstr(diag->code, ==, "provider.not-found");
	g_assert_cmpstr(diag->summary, ==, "there is no provider \"scriptd\"");
	g_assert_cmpstr(diag->detail, ==, "not in " MODULES_DIR);
	g_assert_cmpstr(diag->hint, ==, "did you mean \"scripted\"?");
}

static void test_refuses_names_that_lead_elsewhere(void)
{
	g_autoptr(RgProviderHost) host = new_host(MODULES_DIR, NULL);
	const char *const names[] = {"", "../odd_sound", "Odd", "a/b", ".", "9a"};
	size_t len;
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_null(rg_provider_open(host, names[i], "r", NULL, NULL, diags));
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "provider.not-found");
		g_assert_null(rg_provider_data(host, names[i], "schema.json", &len));
	}
}

static void write_file(const char *dir, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void copy_module(const char *dir, const char *from, const char *to)
{
	g_autofree char *source = g_strdup_printf("%s/%s.so", MODULES_DIR, from);
	g_autofree char *target = g_strdup_printf("%s/%s.so", dir, to);
	g_autofree char *bytes = NULL;
	size_t len;
	g_assert_true(g_file_get_contents(source, &bytes, &len, NULL));
	g_assert_true(g_file_set_contents(target, bytes, (gssize)len, NULL));
}

static void remove_all(const char *dir)
{
	g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
	const char *name;
	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_DIR))
			remove_all(path);
		else
			g_unlink(path);
	}
	g_rmdir(dir);
}

static void assert_open_error(const char *dir, const char *name, const char *code, const char *part)
{
	g_autoptr(RgProviderHost) host = new_host(dir, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_provider_open(host, name, "r", NULL, NULL, diags));
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_assert_cmpstr(diag->code, ==, code);
	g_autofree char *all = g_strdup_printf("%s\n%s", diag->summary, diag->detail);
	if (!strstr(all, part))
		g_error("\"%s\" is not in: %s", part, all);
}

static void test_refuses_files_and_directories_that_others_may_write(void)
{
	g_autofree char *dir = g_dir_make_tmp("load-XXXXXX", NULL);
	copy_module(dir, "odd_sound", "odd_sound");
	write_file(dir, "junk.so", "this is no shared object");
	assert_open_error(dir, "junk", "provider.refused", "/junk.so: ");
	g_autofree char *file = g_build_filename(dir, "odd_sound.so", NULL);
	g_assert_cmpint(chmod(file, 0666), ==, 0);
	assert_open_error(dir, "odd_sound", "provider.refused",
		"odd_sound.so is world-writable, so it is not loaded");
	g_assert_cmpint(chmod(file, 0644), ==, 0);
	g_assert_cmpint(chmod(dir, 0777), ==, 0);
	assert_open_error(dir, "odd_sound", "provider.not-found", "is world-writable");
	assert_open_error("relative/dir", "odd_sound", "provider.not-found",
		"skipped: relative/dir is not an absolute path");
	g_assert_cmpint(chmod(dir, 0700), ==, 0);
	g_unlink(file);
	g_assert_cmpint(g_mkdir(file, 0700), ==, 0);
	assert_open_error(dir, "odd_sound", "provider.refused", "is not a regular file");
	remove_all(dir);
}

static const struct rgp_provider *no_entry(void)
{
	return NULL;
}

static const struct rg_embedded own_data[] = {
	{"schema.json", "{\"embedded\": 1}", 15}, {"types.csv", "a,b\n", 4}, {NULL, NULL, 0}};
static const RgBuiltinProvider own_builtins[] = {
	{"odd_sound", no_entry, own_data}, {"lonely", no_entry, own_data}, {NULL, NULL, NULL}};

static void test_reads_data_beside_the_module_or_embedded_never_mixed(void)
{
	g_autofree char *dir = g_dir_make_tmp("load-XXXXXX", NULL);
	g_autofree char *data_dir = g_build_filename(dir, "odd_sound", NULL);
	char *directories[] = {dir, NULL};
	RgProviderHostOptions options = {.builtins = own_builtins, .directories = directories};
	g_autoptr(RgProviderHost) host = rg_provider_host_new(&options);
	size_t len;
	const char *embedded = rg_provider_data(host, "odd_sound", "types.csv", &len);
	g_assert_cmpstr(embedded, ==, "a,b\n");
	g_assert_cmpuint(len, ==, 4);
	g_assert_null(rg_provider_data(host, "odd_sound", "nothing.csv", &len));
	copy_module(dir, "odd_sound", "odd_sound");
	g_mkdir(data_dir, 0700);
	write_file(data_dir, "more.csv", "c\n");
	g_assert_cmpstr(rg_provider_data(host, "odd_sound", "more.csv", &len), ==, "c\n");
	g_assert_null(rg_provider_data(host, "odd_sound", "types.csv", &len));
	g_assert_null(rg_provider_data(host, "odd_sound", "../odd_sound.so", &len));
	g_assert_cmpstr(rg_provider_data(host, "lonely", "types.csv", &len), ==, "a,b\n");
	remove_all(dir);
}

static void test_reads_a_schema_without_loading_the_module(void)
{
	g_autofree char *dir = g_dir_make_tmp("load-XXXXXX", NULL);
	g_autofree char *data_dir = g_build_filename(dir, "junk", NULL);
	write_file(dir, "junk.so", "this is no shared object");
	g_mkdir(data_dir, 0700);
	write_file(data_dir, "schema.json",
		"{\"format\":1,\"provider\":\"junk\",\"boot\":{\"by\":\"nothing\"},\"limits\":{"
		"\"requests_per_s\":1,\"burst\":1},\"kinds\":{}}");
	g_autoptr(RgProviderHost) host = new_host(dir, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	const RgSchema *schema = rg_provider_schema(host, "junk", diags);
	g_assert_nonnull(schema);
	g_assert_cmpstr(rg_json_str(rg_schema_boot(schema), "by", ""), ==, "nothing");
	g_assert_true(rg_provider_schema(host, "junk", diags) == schema);
	remove_all(dir);
}

static void test_refuses_a_schema_of_another_release_beside_the_module(void)
{
	g_autofree char *dir = g_dir_make_tmp("load-XXXXXX", NULL);
	g_autofree char *data_dir = g_build_filename(dir, "odd_sound", NULL);
	copy_module(dir, "odd_sound", "odd_sound");
	g_mkdir(data_dir, 0700);
	write_file(data_dir, "schema.json", "{}");
	assert_open_error(dir, "odd_sound", "provider.refused",
		"odd_sound.so returns a schema other than the odd_sound/schema.json beside it");
	remove_all(dir);
}

static void test_checks_settings_before_the_module_sees_them(void)
{
	static const struct {
		const char *config, *summary, *hint;
	} rows[] = {
		{"{\"script\": {}, \"jornal\": \"x\"}",
			"provider \"scripted\" has no setting \"jornal\"",
			"did you mean \"journal\"?"},
		{"{\"script\": {}, \"zzzzzzzz\": 1}",
			"provider \"scripted\" has no setting \"zzzzzzzz\"",
			"its settings are script, journal"},
		{"{\"journal\": \"x\"}", "provider \"scripted\" needs the setting \"script\"",
			NULL},
		{"{\"script\": {}, \"journal\": 5}",
			"provider.journal must be of type string, not 5", "a path"},
	};
	g_autoptr(RgProviderHost) host = new_host(MODULES_DIR, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		json_auto_t *config = json_loads(rows[i].config, 0, NULL);
		g_assert_null(rg_provider_open(host, "scripted", "r", config, NULL, diags));
		g_assert_cmpuint(rg_diags_count(diags), ==, 1);
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_assert_cmpstr(diag->summary, ==, rows[i].summary);
		g_assert_cmpstr(diag->hint, ==, rows[i].hint);
		g_assert_cmpstr(diag->code, ==, "provider.bad-config");
		g_assert_false(rg_provider_check_config(host, "scripted", config, diags));
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *config = json_pack("{s:i}", "any", 1);
	g_assert_null(rg_provider_open(host, "odd_sound", "r", config, NULL, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->hint, ==, "it has no settings");
}

static const json_t *find_row(const json_t *rows, const char *file)
{
	size_t i;
	json_t *row;
	json_array_foreach (rows, i, row) {
		if (g_str_has_suffix(rg_json_str(row, "file", ""), file))
			return row;
	}
	return NULL;
}

static void assert_row(
	const json_t *rows, const char *file, const char *name, const char *state, const char *why)
{
	const json_t *row = find_row(rows, file);
	g_assert_nonnull(row);
	g_assert_cmpstr(rg_json_str(row, "name", NULL), ==, name);
	g_assert_cmpstr(rg_json_str(row, "state", NULL), ==, state);
	if (why)
		g_assert_nonnull(strstr(rg_json_str(row, "reason", ""), why));
}

static void test_lists_good_bad_and_hidden_files_as_rows(void)
{
	g_autofree char *dir = g_dir_make_tmp("load-XXXXXX", NULL);
	g_autofree char *open_dir = g_build_filename(dir, "open", NULL);
	copy_module(dir, "odd_sound", "odd_sound");
	copy_module(dir, "odd_newer", "odd_newer");
	copy_module(dir, "odd_sound", "Bad Name");
	g_mkdir(open_dir, 0700);
	chmod(open_dir, 0777);
	char *directories[] = {open_dir, dir, g_strdup(MODULES_DIR), NULL};
	RgProviderHostOptions options = {.builtins = own_builtins, .directories = directories};
	g_autoptr(RgProviderHost) host = rg_provider_host_new(&options);
	g_free(directories[2]);
	json_auto_t *rows = rg_provider_host_list(host);
	assert_row(rows, "/open", "(directory)", "refused", "is world-writable");
	g_autofree char *sound = g_build_filename(dir, "odd_sound.so", NULL);
	assert_row(rows, sound, "odd_sound", "ok", NULL);
	g_assert_cmpstr(rg_json_str(find_row(rows, sound), "version", ""), ==, "1.2.3");
	g_assert_cmpint(rg_json_int(find_row(rows, sound), "abi", 0), ==, 1);
	assert_row(rows, MODULES_DIR "/odd_sound.so", "odd_sound", "hidden", " is found first");
	assert_row(rows, "odd_newer.so", "odd_newer", "refused", "was built for provider ABI 2");
	assert_row(rows, "Bad Name.so", "Bad Name", "refused", "not a valid provider name");
	assert_row(rows, "built-in", "odd_sound", "hidden", " is found first");
	const json_t *last = json_array_get(rows, json_array_size(rows) - 1);
	g_assert_cmpstr(rg_json_str(last, "name", ""), ==, "lonely");
	g_assert_nonnull(
		strstr(rg_json_str(last, "reason", ""), "lonely returned no table of calls"));
	remove_all(dir);
}

/* raygpu's own modules are looked for beside the program; this one's folder is src/provider. */
#define BESIDE(name) "../src/provider/" name ".so"
static const RgBuiltinProvider loaded_builtins[] = {{"gone", NULL, own_data, BESIDE("gone")},
	{"odd_sound", NULL, own_data, BESIDE("odd_sound")}, {NULL, NULL, NULL, NULL}};

static void test_refuses_an_own_module_that_is_missing_or_of_another_build(void)
{
	RgProviderHostOptions options = {.builtins = loaded_builtins};
	g_autoptr(RgProviderHost) host = rg_provider_host_new(&options);
	json_auto_t *rows = rg_provider_host_list(host);
	g_assert_cmpuint(json_array_size(rows), ==, 2);
	const char *gone = rg_json_str(json_array_get(rows, 0), "reason", "");
	g_assert_nonnull(strstr(gone, "cannot load raygpu's own module"));
	g_assert_nonnull(strstr(gone, "/raygpu/internal/"));
	const char *other = rg_json_str(json_array_get(rows, 1), "reason", "");
	g_assert_nonnull(strstr(other, "odd_sound.so does not belong to this build of raygpu"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/provider/load/refuses odd modules with reason and remedy",
		test_refuses_odd_modules_with_reason_and_remedy);
	g_test_add_func("/provider/load/refuses a config schema outside the subset",
		test_refuses_a_config_schema_outside_the_subset);
	g_test_add_func("/provider/load/opens sound ones of this and later minor versions",
		test_opens_sound_ones_of_this_and_later_minor_versions);
	g_test_add_func("/provider/load/says where it looked and what is near",
		test_says_where_it_looked_and_what_is_near);
	g_test_add_func("/provider/load/refuses names that lead elsewhere",
		test_refuses_names_that_lead_elsewhere);
	g_test_add_func("/provider/load/refuses files and directories that others may write",
		test_refuses_files_and_directories_that_others_may_write);
	g_test_add_func("/provider/load/reads data beside the module or embedded never mixed",
		test_reads_data_beside_the_module_or_embedded_never_mixed);
	g_test_add_func("/provider/load/reads a schema without loading the module",
		test_reads_a_schema_without_loading_the_module);
	g_test_add_func("/provider/load/refuses a schema of another release beside the module",
		test_refuses_a_schema_of_another_release_beside_the_module);
	g_test_add_func("/provider/load/checks settings before the module sees them",
		test_checks_settings_before_the_module_sees_them);
	g_test_add_func("/provider/load/lists good bad and hidden files as rows",
		test_lists_good_bad_and_hidden_files_as_rows);
	g_test_add_func("/provider/load/refuses an own module that is missing or of another build",
		test_refuses_an_own_module_that_is_missing_or_of_another_build);
	return g_test_run();
}
