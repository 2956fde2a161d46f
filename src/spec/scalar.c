#include "spec/scalar.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

static bool is_one_of(const char *text, const char *const *words)
{
	return g_strv_contains(words, text);
}

static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const trues[] = {"true", "True", "TRUE", NULL};
static const char *const falses[] = {"false", "False", "FALSE", NULL};
static const char *const infinities[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
/* YAML 1.1's boolean type, https://yaml.org/type/bool.html, without the words that 1.2 kept. */
static const char *const words11[] = {"y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO",
	"on", "On", "ON", "off", "Off", "OFF", NULL};

static size_t span_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(const char *text)
{
	text += *text == '-' || *text == '+';
	size_t whole = span_digits(text);
	text += whole;
	if (*text == '.') {
		size_t part = span_digits(++text);
		if (whole == 0 && part == 0)
			return false;
		text += part;
	} else if (whole == 0) {
		return false;
	}
	if (*text == '\0')
		return true;
	if (*text != 'e' && *text != 'E')
		return false;
	text++;
	text += *text == '-' || *text == '+';
	size_t exponent = span_digits(text);
	return exponent > 0 && text[exponent] == '\0';
}

static RgScalarKind resolve_integer(const char *text, int base, json_t **value)
{
	errno = 0;
	gint64 number = g_ascii_strtoll(text, NULL, base);
	bool fits = errno == 0;
	*value = fits ? json_integer(number) : json_null();
	return fits ? RG_SCALAR_NUMBER : RG_SCALAR_TOO_LARGE;
}

static bool is_prefixed(const char *text, const char *prefix, const char *digits)
{
	if (!g_str_has_prefix(text, prefix))
		return false;
	text += strlen(prefix);
	size_t n = strspn(text, digits);
	return n > 0 && text[n] == '\0';
}

static RgScalarKind resolve_word(const char *text, json_t **value)
{
	const char *unsigned_text = text + (*text == '-' || *text == '+');
	if (is_one_of(unsigned_text, infinities)) {
		*value = json_null();
		return RG_SCALAR_NOT_FINITE;
	}
	*value = json_string(text);
	return is_one_of(text, words11) ? RG_SCALAR_WORD11 : RG_SCALAR_TEXT;
}

RgScalarKind rg_scalar_resolve(const char *text, json_t **value)
{
	const char *number = text + (*text == '-' || *text == '+');
	size_t digits = span_digits(number);
	if (digits > 0 && number[digits] == '\0') /* [-+]?[0-9]+ */
		return resolve_integer(text, 10, value);
	if (is_prefixed(text, "0o", "01234567"))
		return resolve_integer(text + 2, 8, value);
	if (is_prefixed(text, "0x", "0123456789abcdefABCDEF"))
		return resolve_integer(text + 2, 16, value);
	if (is_float(text)) {
		double real = g_ascii_strtod(text, NULL);
		*value = isfinite(real) ? json_real(real) : json_null();
		return isfinite(real) ? RG_SCALAR_NUMBER : RG_SCALAR_TOO_LARGE;
	}
	if (is_one_of(text, nulls)) {
		*value = json_null();
		return RG_SCALAR_NULL;
	}
	bool is_true = is_one_of(text, trues);
	if (is_true || is_one_of(text, falses)) {
		*value = json_boolean(is_true);
		return RG_SCALAR_BOOLEAN;
	}
	return resolve_word(text, value);
}

bool rg_scalar_is_octal11(const char *text)
{
	text += *text == '-' || *text == '+';
	return text[0] == '0' && g_ascii_isdigit(text[1]);
}
