#include "common/indexes.h"

/* A non-negative decimal number of at most nine digits at *at, which is moved past it. */
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
