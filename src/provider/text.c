#include "provider/internal.h"

#include <string.h>
#include "base/redact.h"

/* The maximum length of a module's text that is shown. */
#define TEXT_MAX 4096

char *rg_text_clean(const char *text)
{
	if (!text)
		return NULL;
	/* Redacted before it is cut: half a secret would not be recognized. Nothing beyond 16 times
	 * the maximum can be shown, so it need not be checked. */
	g_autofree char *valid = g_utf8_make_valid(text, (gssize)strnlen(text, 16 * TEXT_MAX));
	char *clean = rg_redact(valid, strlen(valid));
	if (strlen(clean) > TEXT_MAX) {
		char *cut = g_utf8_find_prev_char(clean, clean + TEXT_MAX);
		*cut = '\0';
	}
	/* Control characters could move a terminal's cursor or hide lines of a log. */
	for (char *at = clean; *at != '\0'; at = g_utf8_next_char(at)) {
		if (*at == '\n' || !g_unichar_iscntrl(g_utf8_get_char(at)))
			continue;
		memset(at, ' ', (size_t)(g_utf8_next_char(at) - at));
	}
	g_strchomp(clean);
	return clean;
}
