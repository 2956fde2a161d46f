#include "base/json_place.h"

#include "base/json.h"
#include <string.h>

typedef struct {
	const char *at, *end;
} Cursor;

static bool is_at(const Cursor *cursor, char c)
{
	return cursor->at < cursor->end && *cursor->at == c;
}

static bool is_in(char c, const char *set)
{
	return c != '\0' && strchr(set, c);
}

static void skip_space(Cursor *cursor)
{
	while (cursor->at < cursor->end && is_in(*cursor->at, " \t\r\n"))
		cursor->at++;
}

/* From one quotation mark to after the other. */
static void skip_string(Cursor *cursor)
{
	if (cursor->at < cursor->end)
		cursor->at++;
	for (; cursor->at < cursor->end && *cursor->at != '"'; cursor->at++) {
		if (*cursor->at == '\\' && cursor->at + 1 < cursor->end)
			cursor->at++;
	}
	if (cursor->at < cursor->end)
		cursor->at++;
}

/* Moves past the value at the cursor, whatever it is. */
static void skip_value(Cursor *cursor)
{
	size_t depth = 0;
	if (!is_at(cursor, '{') && !is_at(cursor, '[') && !is_at(cursor, '"')) {
		while (cursor->at < cursor->end && !is_in(*cursor->at, ",]} \t\r\n"))
			cursor->at++;
		return;
	}
	do {
		if (is_at(cursor, '"')) {
			skip_string(cursor);
			continue;
		}
		depth += is_at(cursor, '{') || is_at(cursor, '[');
		depth -= is_at(cursor, '}') || is_at(cursor, ']');
		cursor->at++;
	} while (depth > 0 && cursor->at < cursor->end);
}

/* Whether the key at the cursor, between its quotation marks, is `name`. */
static bool key_is(const Cursor *from, const char *behind, const char *name)
{
	size_t len = (size_t)(behind - from->at);
	if (!memchr(from->at, '\\', len))
		return len == strlen(name) + 2 && memcmp(from->at + 1, name, len - 2) == 0;
	json_auto_t *key = json_loadb(from->at, len, JSON_DECODE_ANY, NULL);
	return g_strcmp0(json_string_value(key), name) == 0;
}

/* Moves to the member or item of that name; false and unmoved if there is none. */
static bool enter(Cursor *cursor, const char *name)
{
	Cursor inner = *cursor;
	bool is_object = is_at(&inner, '{');
	if (!is_object && !is_at(&inner, '['))
		return false;
	inner.at++;
	guint64 wanted = g_ascii_strtoull(name, NULL, 10);
	for (guint64 i = 0; inner.at < inner.end; i++) {
		skip_space(&inner);
		if (is_at(&inner, '}') || is_at(&inner, ']'))
			return false;
		bool found = !is_object && i == wanted;
		if (is_object) {
			const Cursor key = inner;
			skip_string(&inner);
			found = key_is(&key, inner.at, name);
			skip_space(&inner);
			inner.at += is_at(&inner, ':');
			skip_space(&inner);
		}
		if (found) {
			*cursor = inner;
			return true;
		}
		skip_value(&inner);
		skip_space(&inner);
		inner.at += is_at(&inner, ',');
	}
	return false;
}

bool rg_json_place(
	const char *text, size_t len, const char *pointer, unsigned *line, unsigned *column)
{
	Cursor cursor = {text, text + len};
	g_auto(GStrv) steps = g_strsplit(pointer, "/", -1);
	skip_space(&cursor);
	if (cursor.at >= cursor.end)
		return false;
	for (char **step = steps; *step != NULL; step++) {
		if (step == steps)
			continue;
		g_autofree char *name = rg_json_step_name(*step, strlen(*step));
		if (!enter(&cursor, name))
			break;
	}
	*line = *column = 1;
	for (const char *at = text; at < cursor.at; at++) {
		*column = *at == '\n' ? 1 : *column + ((*at & 0xc0) != 0x80);
		*line += *at == '\n';
	}
	return true;
}

size_t rg_json_count_values(const char *text, size_t len)
{
	Cursor cursor = {text, text + len};
	size_t n = 1;
	while (cursor.at < cursor.end) {
		if (*cursor.at == '"') {
			skip_string(&cursor);
			continue;
		}
		n += *cursor.at == ',' || *cursor.at == '[' || *cursor.at == '{';
		cursor.at++;
	}
	return n;
}
