#include "common/indexes.h"

char *mod_indexes_format(const int64_t *indexes, size_t count)
{
	GString *text = g_string_new(NULL);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && indexes[end] == indexes[end - 1] + 1;)
			end++;
		if (text->len)
			g_string_append_c(text, ',');
		g_string_append_printf(text, "%" G_GINT64_FORMAT, indexes[i]);
		if (end > i + 1)
			g_string_append_printf(text, "-%" G_GINT64_FORMAT, indexes[end - 1]);
	}
	return g_string_free(text, FALSE);
}

/* A non-negative decimal number of at most nine digits at *at, which is moved behind it. */
static bool take_number(const char **at, uint64_t *number)
{
	const char *start = *at;
	*number = 0;
	while (g_ascii_isdigit(**at) && *at - start < 9)
		*number = *number * 10 + (uint64_t)(*(*at)++ - '0');
	return *at > start && !g_ascii_isdigit(**at);
}

bool mod_indexes_at(const char *text, uint64_t place, int64_t *index)
{
	for (const char *at = text; *at;) {
		uint64_t first, last;
		if (!take_number(&at, &first))
			return false;
		last = first;
		if (*at == '-' && (at++, !take_number(&at, &last)))
			return false;
		if (last < first || (*at && *at != ','))
			return false;
		if (place <= last - first) {
			*index = (int64_t)(first + place);
			return true;
		}
		place -= last - first + 1;
		if (*at == ',')
			at++;
	}
	return false;
}
