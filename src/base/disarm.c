#include "base/disarm.h"
#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\357\277\275" /* U+FFFD */

/* The character at this place and its bytes; a byte that is not UTF-8 is a character of its own. */
static gunichar character(const char *at, size_t *len)
{
	if ((guchar)*at < 0x80) {
		*len = 1;
		return (gunichar)*at;
	}
	gunichar c = g_utf8_get_char_validated(at, -1);
	bool valid = c != (gunichar)-1 && c != (gunichar)-2;
	*len = valid ? g_utf8_skip[(guchar)*at] : 1;
	return valid ? c : 0xfffd;
}

/* The runner compares by linguistic rules, which ignore such characters. */
static bool is_hidden(gunichar c)
{
	if (c < 0x80)
		return c < 0x20 && c != '\n' && c != '\r' && c != 033;
	return g_unichar_iszerowidth(c) || g_unichar_type(c) == G_UNICODE_CONTROL ||
	       g_unichar_type(c) == G_UNICODE_FORMAT;
}

static bool is_line_end(gunichar c)
{
	return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static bool is_word(gunichar c)
{
	return c < 0x80 && (g_ascii_isalnum((char)c) || c == '.' || c == '_' || c == '-');
}

/* Whether `wanted` comes next, after a word where one is allowed. */
static bool comes(const char *at, gunichar wanted, bool after_word)
{
	while (*at) {
		size_t len;
		gunichar c = character(at, &len);
		if (c == wanted)
			return true;
		if (!is_hidden(c) && !(after_word && is_word(c)))
			return false;
		at += len;
	}
	return false;
}

static char *disarm(const char *text, const char *colon, const char *hash)
{
	GString *out = g_string_sized_new(strlen(text) + 16);
	bool margin = true, after_hash = false;
	for (const char *at = text; *at;) {
		size_t len;
		gunichar c = character(at, &len);
		if (c == ':' && margin && comes(at + 1, ':', false))
			g_string_append(out, colon);
		else if (c == '#' && after_hash && comes(at + 1, '[', true))
			g_string_append(out, hash);
		else
			g_string_append_len(out, at, (gssize)len);
		/* white space before a command, and invisible characters */
		margin = is_line_end(c) || (margin && (is_hidden(c) || g_unichar_isspace(c)));
		after_hash = c == '#' || (after_hash && is_hidden(c));
		at += len;
	}
	return g_string_free(out, FALSE);
}

char *rg_disarm(const char *text)
{
	return disarm(text, REPLACEMENT, REPLACEMENT);
}

char *rg_disarm_json(const char *text)
{
	return disarm(text, ":", "\\u0023");
}
