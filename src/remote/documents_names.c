/* clusters/NAME/lock, clusters/NAME/00000000000000000042.change and so on. */
#include "remote/documents.h"
#include <string.h>

#define FOLDER "clusters/"
#define DIGITS 20

/* Percent signs would be escaped once more in URLs; a tilde stands for them. */
char *doc_folder(const char *cluster)
{
	g_autofree char *escaped = g_uri_escape_string(cluster, NULL, false);
	g_auto(GStrv) plain = g_strsplit(escaped, "~", -1);
	g_autofree char *doubled = g_strjoinv("%7E", plain);
	g_strdelimit(doubled, "%", '~');
	return g_strconcat(FOLDER, doubled, "/", NULL);
}

char *doc_name(const char *cluster, const char *what, uint64_t number)
{
	g_autofree char *folder = doc_folder(cluster);
	return g_strdup_printf("%s%0*" G_GUINT64_FORMAT ".%s", folder, DIGITS, number, what);
}

char *doc_lock_name(const char *cluster)
{
	g_autofree char *folder = doc_folder(cluster);
	return g_strconcat(folder, "lock", NULL);
}

static const char *kind_of(const char *file, uint64_t *number)
{
	static const char *const kinds[] = {DOC_SNAPSHOT, DOC_CHANGE, DOC_HISTORY};
	g_autofree char *digits = g_strndup(file, DIGITS);
	if (strlen(file) <= DIGITS + 1 || file[DIGITS] != '.' ||
		!g_ascii_string_to_unsigned(digits, 10, 0, G_MAXUINT64, number, NULL))
		return NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (g_str_equal(file + DIGITS + 1, kinds[i]))
			return kinds[i];
	}
	return NULL;
}

char *doc_parse_name(const char *object, uint64_t *number, const char **what)
{
	const char *start = object + strlen(FOLDER);
	const char *slash = g_str_has_prefix(object, FOLDER) ? strchr(start, '/') : NULL;
	if (!slash)
		return NULL;
	*number = 0;
	*what = kind_of(slash + 1, number);
	if (!*what && !g_str_equal(slash + 1, "lock"))
		return NULL;
	g_autofree char *escaped = g_strndup(start, (gsize)(slash - start));
	g_strdelimit(escaped, "~", '%');
	return g_uri_unescape_string(escaped, NULL);
}
