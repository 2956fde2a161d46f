#include "scripted.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static const char *lookup_env(const char *name)
{
	if (g_str_equal(name, "RAYGPU_CHECK_CALLS"))
		return g_getenv(name);
	return g_str_equal(name, "SCRIPTED") ? "a value" : NULL;
}

static bool is_canceled(void *data)
{
	return g_atomic_int_get(&((Scripted *)data)->canceled) != 0;
}

json_t *scripted_json(const char *text)
{
	g_autofree char *real = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(real, JSON_DECODE_ANY, &error);
	if (!value)
		g_error("test's own JSON, line %d column %d: %s", error.line, error.column,
			error.text);
	return value;
}

static char *new_journal(void)
{
	char *path = NULL;
	int fd = g_file_open_tmp("scripted-XXXXXX", &path, NULL);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	return path;
}

static const char *const kinds[] = {"scripted.node", NULL};
const RgListing scripted_nodes = {.kinds = kinds, .cluster = "c", .lineage = "lineage"};

Scripted *scripted_open(const char *script, bool network)
{
	Scripted *scripted = g_new0(Scripted, 1);
	char *directories[] = {g_strdup(MODULES_DIR), NULL};
	RgProviderHostOptions options = {
		.directories = directories, .env = lookup_env, .home = "/home/somebody"};
	RgHttpOptions transport = {
		.user_agent = "test", .canceled = is_canceled, .canceled_data = scripted};
	scripted->diags = rg_diags_new();
	scripted->journal = new_journal();
	scripted->host = rg_provider_host_new(&options);
	g_free(directories[0]);
	json_auto_t *config = json_object();
	json_object_set_new(config, "script", scripted_json(script));
	json_object_set_new(config, "journal", json_string(scripted->journal));
	scripted->provider = rg_provider_open(scripted->host, "scripted", "here", config,
		network ? &transport : NULL, scripted->diags);
	if (!scripted->provider)
		g_error("%s", rg_diags_get(scripted->diags, 0)->summary);
	return scripted;
}

void scripted_free(Scripted *scripted)
{
	rg_provider_close(scripted->provider);
	rg_provider_host_free(scripted->host);
	rg_diags_free(scripted->diags);
	g_unlink(scripted->journal);
	g_free(scripted->journal);
	g_free(scripted);
}

void scripted_assert_diag(const RgDiags *diags, size_t n, const char *code, const char *summary)
{
	g_assert_cmpuint(n, <, rg_diags_count(diags));
	const RgDiag *diag = rg_diags_get(diags, n);
	g_assert_cmpstr(diag->summary, ==, summary);
	g_assert_cmpstr(diag->code, ==, code);
}

unsigned scripted_count(const Scripted *scripted, const char *line)
{
	g_autofree char *text = NULL;
	unsigned count = 0;
	g_assert_true(g_file_get_contents(scripted->journal, &text, NULL, NULL));
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (size_t i = 0; lines[i] != NULL; i++)
		count += g_str_has_prefix(lines[i], line);
	return count;
}
