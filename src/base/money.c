#include "base/money.h"

#include <inttypes.h>

#define MICRO 1000000

bool rg_money_parse(const char *text, int64_t *microusd)
{
	int64_t value = 0;
	const char *at = text;
	for (; g_ascii_isdigit(*at); at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, *at - '0', &value))
			return false;
	}
	if (at == text || __builtin_mul_overflow(value, MICRO, &value))
		return false;
	if (*at == '.') {
		int64_t unit = MICRO / 10;
		if (!g_ascii_isdigit(*++at))
			return false;
		for (; unit > 0 && g_ascii_isdigit(*at); at++, unit /= 10) {
			if (__builtin_add_overflow(value, (*at - '0') * unit, &value))
				return false;
		}
		if (unit == 0 && *at >= '5' && *at <= '9' &&
			__builtin_add_overflow(value, 1, &value))
			return false;
		while (g_ascii_isdigit(*at))
			at++;
	}
	if (*at != '\0')
		return false;
	*microusd = value;
	return true;
}

/* |INT64_MIN| is not an int64, so the result is unsigned. */
static uint64_t magnitude(int64_t value)
{
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

char *rg_money_format(int64_t microusd)
{
	if (microusd == RG_MONEY_UNKNOWN)
		return g_strdup("unknown");
	uint64_t cents = (magnitude(microusd) + MICRO / 200) / (MICRO / 100);
	const char *sign = microusd < 0 && cents > 0 ? "-" : "";
	return g_strdup_printf("%s$%" PRIu64 ".%02" PRIu64, sign, cents / 100, cents % 100);
}

char *rg_money_exact(int64_t microusd)
{
	if (microusd == RG_MONEY_UNKNOWN)
		return g_strdup("unknown");
	uint64_t value = magnitude(microusd);
	GString *text = g_string_new(microusd < 0 ? "-" : "");
	g_string_append_printf(text, "%" PRIu64, value / MICRO);
	if (value % MICRO != 0) {
		g_string_append_printf(text, ".%06" PRIu64, value % MICRO);
		while (text->str[text->len - 1] == '0')
			g_string_truncate(text, text->len - 1);
	}
	return g_string_free(text, FALSE);
}
