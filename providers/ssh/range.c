/* Names that stand for several hosts: "gpu[01-16].example.org". */
#include "ssh/inventory.h"
#include <string.h>

static GPtrArray *texts_new(void)
{
	return g_ptr_array_new_with_free_func(g_free);
}

/* The number that begins at `*at`, which is moved behind it. */
static bool read_number(const char **at, guint64 *number)
{
	char *end = NULL;
	*number = g_ascii_strtoull(*at, &end, 10);
	bool good = g_ascii_isdigit(**at) && end - *at <= 6;
	*at = end;
	return good;
}

GPtrArray *ssh_range_expand(const char *text)
{
	const char *open = strchr(text, '['), *at = open ? open + 1 : NULL;
	g_autoptr(GPtrArray) texts = texts_new();
	guint64 first = 0, last = 0;
	if (!open) {
		g_ptr_array_add(texts, g_strdup(text));
		return g_steal_pointer(&texts);
	}
	if (!read_number(&at, &first) || *at != '-')
		return NULL;
	int width = (int)(at - open - 1);
	at++;
	if (!read_number(&at, &last) || *at != ']' || strchr(at, '[') || last < first ||
		last - first >= SSH_HOSTS_MAX)
		return NULL;
	for (guint64 n = first; n <= last; n++)
		g_ptr_array_add(texts, g_strdup_printf("%.*s%0*" G_GUINT64_FORMAT "%s",
					       (int)(open - text), text, width, n, at + 1));
	return g_steal_pointer(&texts);
}
