#include "resource/resource.h"
#include <string.h>

char *rg_address_format(const char *kind, const char *name, int64_t index)
{
	if (index < 0)
		return g_strconcat(kind, ".", name, NULL);
	return g_strdup_printf("%s.%s[%" G_GINT64_FORMAT "]", kind, name, index);
}

/* The parts of an address within its text. */
typedef struct {
	size_t kind_len;
	const char *name;
	size_t name_len;
	int64_t index;
} Parts;

static bool is_word(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!g_ascii_isalnum(text[i]) && text[i] != '_' && text[i] != '-')
			return false;
	return len > 0;
}

/* "train", or "train~1" for a resource that is being replaced. */
static bool is_name(const char *text, size_t len)
{
	const char *tilde = memchr(text, '~', len);
	size_t word = tilde ? (size_t)(tilde - text) : len;
	size_t digits = tilde ? strspn(tilde + 1, "0123456789") : 0;
	return is_word(text, word) && (!tilde || (digits > 0 && word + 1 + digits == len));
}

/* "[12]": no sign, no leading zero, so that each resource has one address. */
static bool parse_index(const char *text, int64_t *index)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 18 || (digits > 1 && text[0] == '0'))
		return false;
	if (!g_str_equal(text + digits, "]"))
		return false;
	*index = g_ascii_strtoll(text, NULL, 10);
	return true;
}

static bool split(const char *address, Parts *parts)
{
	const char *dot = strchr(address, '.');
	const char *second = dot ? strchr(dot + 1, '.') : NULL;
	if (!second)
		return false;
	const char *bracket = strchr(second, '[');
	parts->kind_len = (size_t)(second - address);
	parts->name = second + 1;
	parts->name_len = bracket ? (size_t)(bracket - parts->name) : strlen(parts->name);
	parts->index = -1;
	if (!is_word(address, (size_t)(dot - address)) ||
		!is_word(dot + 1, (size_t)(second - dot - 1)) ||
		!is_name(parts->name, parts->name_len))
		return false;
	return !bracket || parse_index(bracket + 1, &parts->index);
}

bool rg_address_parse(const char *address, char **kind, char **name, int64_t *index)
{
	Parts parts;
	if (!split(address, &parts))
		return false;
	*kind = g_strndup(address, parts.kind_len);
	*name = g_strndup(parts.name, parts.name_len);
	*index = parts.index;
	return true;
}

static int compare_texts(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, MIN(a_len, b_len));
	return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

int rg_address_compare(const char *a, const char *b)
{
	Parts x, y;
	if (!split(a, &x) || !split(b, &y))
		return strcmp(a, b);
	int order = compare_texts(a, x.kind_len, b, y.kind_len);
	if (order == 0)
		order = compare_texts(x.name, x.name_len, y.name, y.name_len);
	return order != 0 ? order : (x.index > y.index) - (x.index < y.index);
}

char *rg_address_former(const char *address, int64_t generation)
{
	Parts parts;
	if (!split(address, &parts))
		return NULL;
	g_autofree char *kind = g_strndup(address, parts.kind_len);
	g_autofree char *name = g_strdup_printf(
		"%.*s~%" G_GINT64_FORMAT, (int)parts.name_len, parts.name, generation);
	return rg_address_format(kind, name, parts.index);
}

char *rg_address_successor(const char *address)
{
	Parts parts;
	const char *tilde = strchr(address, '~');
	if (!tilde || !split(address, &parts))
		return NULL;
	g_autofree char *kind = g_strndup(address, parts.kind_len);
	g_autofree char *name = g_strndup(parts.name, (size_t)(tilde - parts.name));
	return rg_address_format(kind, name, parts.index);
}
