/* The shell script that does what the cloud-config does, for machines that start without one. */
#include "boot/internal.h"

#include <string.h>

#define PUT "put "

const char rg_boot_script_head[] = "#!/bin/bash\n"
				   "# raygpu: writes the files of a Ray node, and starts it\n"
				   "set -eu\n"
				   "umask 077\n"
				   "put() { install -d -m 755 \"${2%/*}\"; printf %s \"$3\" "
				   ">\"$2.new\"; chmod \"$1\" \"$2.new\"; "
				   "mv \"$2.new\" \"$2\"; }\n";

/* One word of a shell. */
char *rg_boot_quote(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "'", -1);
	g_autofree char *inner = g_strjoinv("'\\''", parts);
	return g_strconcat("'", inner, "'", NULL);
}

/* The word that begins at the quote `*at`, which is moved behind it; NULL: it has no end. */
static char *unquote(const char **at)
{
	g_autoptr(GString) word = g_string_new(NULL);
	for (;;) {
		const char *end = strchr(++*at, '\'');
		if (!end)
			return NULL;
		g_string_append_len(word, *at, end - *at);
		*at = end + 1;
		if (!g_str_has_prefix(*at, "\\''"))
			return g_string_free(g_steal_pointer(&word), FALSE);
		g_string_append_c(word, '\'');
		*at += 2;
	}
}

json_t *rg_boot_script_files(const char *script)
{
	if (!g_str_has_prefix(script, rg_boot_script_head))
		return NULL;
	json_t *files = json_object();
	const char *at = script + strlen(rg_boot_script_head);
	while (g_str_has_prefix(at, PUT)) {
		const char *path = strchr(at, '/'), *quote = path ? strstr(path, " '") : NULL;
		if (!quote)
			break;
		g_autofree char *name = g_strndup(path, (gsize)(quote - path));
		at = quote + 1;
		g_autofree char *content = unquote(&at);
		if (!content)
			break;
		json_object_set_new(files, name, json_string(content));
		at += *at == '\n';
	}
	return files;
}
