#include "common/open.h"
#include <string.h>
#include "base/loopback.h"

#define REGION_MAX 32

bool mod_is_region(const char *region)
{
	if (!*region || strlen(region) > REGION_MAX)
		return false;
	for (const char *at = region; *at; at++)
		if (!g_ascii_islower(*at) && !g_ascii_isdigit(*at) && *at != '-')
			return false;
	return true;
}

json_t *mod_open_input(
	const ModTalk *talk, const struct rgp_args *args, const char *cloud, const char *example)
{
	json_auto_t *input = mod_input(talk, args);
	const char *region = mod_str(input, "region");
	if (!input || mod_is_region(region))
		return input ? json_incref(input) : NULL;
	g_autofree char *summary =
		g_strdup_printf("\"%s\" is not the name of %s region", region, cloud);
	g_autofree char *hint = g_strconcat("write it like ", example, NULL);
	mod_report_text(talk, RGP_CLASS_INVALID, summary, NULL, hint);
	return NULL;
}

const char *mod_open_env(const ModTalk *talk, const char *name)
{
	const char *value = talk->host->env(talk->call, name);
	return value && *value ? value : "";
}

char *mod_open_connection(const char *ca_file)
{
	json_auto_t *connection =
		ca_file && *ca_file ? json_pack("{s:s}", "ca_file", ca_file) : NULL;
	char *text = connection ? json_dumps(connection, JSON_COMPACT) : NULL;
	char *copy = g_strdup(text);
	free(text);
	return copy;
}

bool mod_open_allows(const ModTalk *talk, const char *url)
{
	g_auto(GStrv) allowed =
		g_strsplit_set(mod_open_env(talk, "RAYGPU_ALLOW_ENDPOINTS"), " ,\n", -1);
	g_autofree char *longer = g_strconcat(url, "/", NULL);
	g_autofree char *shorter = g_strdup(url);
	if (g_str_has_suffix(shorter, "/"))
		shorter[strlen(shorter) - 1] = '\0';
	const char *const *words = (const char *const *)allowed;
	return g_strv_contains(words, url) || g_strv_contains(words, longer) ||
	       g_strv_contains(words, shorter);
}

int64_t mod_open_wait_s(const ModTalk *talk, const char *url, int64_t limit_s)
{
	guint64 most_s = 0;
	const char *text = mod_open_env(talk, "RAYGPU_LOOPBACK_WAIT_S");
	if (!g_ascii_string_to_unsigned(text, 10, 1, 3600, &most_s, NULL))
		return limit_s;
	return rg_is_loopback_url(url) ? MIN(limit_s, (int64_t)most_s) : limit_s;
}
