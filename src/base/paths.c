#include "base/paths.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

char *rg_path_real(const char *path)
{
	g_autofree char *full = g_canonicalize_filename(path, NULL);
	g_autofree char *at = g_strdup(full);
	char *real;
	while (!(real = realpath(at, NULL))) {
		char *above = g_path_get_dirname(at);
		g_free(at);
		at = above;
	}
	const char *rest = full + strlen(at);
	char *all = g_canonicalize_filename(rest + strspn(rest, "/"), real);
	free(real);
	return all;
}

static char *below(const char *root, const char *full)
{
	size_t len = strlen(root);
	if (g_str_equal(full, root))
		return g_strdup("");
	return g_str_has_prefix(full, root) && full[len] == '/' ? g_strdup(full + len + 1) : NULL;
}

char *rg_path_real_below(const char *root, const char *path)
{
	g_autofree char *full = g_canonicalize_filename(path, NULL);
	g_autofree char *dir = g_path_get_dirname(full), *base = g_path_get_basename(full);
	g_autofree char *real = rg_path_real(dir);
	g_autofree char *file = g_build_filename(real, base, NULL);
	return below(root, g_str_equal(full, root) ? full : file);
}

char *rg_path_named_below(const char *root, const char *path)
{
	g_autofree char *full = g_canonicalize_filename(path, NULL);
	for (const char *end = full; *end;) {
		end += strcspn(end + 1, "/") + 1;
		g_autofree char *folder = g_strndup(full, (gsize)(end - full));
		char *real = realpath(folder, NULL);
		bool is_root = real && g_str_equal(real, root);
		free(real);
		if (is_root)
			return g_strdup(*end ? end + 1 : end);
	}
	return rg_path_real_below(root, path);
}
