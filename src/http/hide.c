#include "http/hide.h"
#include <string.h>

/* Names from RFC 6749 (OAuth 2.0), RFC 7521 (assertions), and those that all clouds use. */
static const char *const always[] = {"access_token", "refresh_token", "id_token", "client_secret",
	"assertion", "client_assertion", "subject_token", "password", "token"};

/* Parts of headers with credentials or sessions (Authorization, Cookie, X-Auth-Token, ...). */
static const char *const header_parts[] = {"authorization", "cookie", "token", "secret", "api-key"};

static void add_name(RgHide *hide, GString *pattern, const char *name)
{
	g_autofree char *escaped = g_regex_escape_string(name, -1);
	g_string_append_printf(pattern, "%s%s", pattern->len > 0 ? "|" : "", escaped);
	g_hash_table_add(hide->names, g_ascii_strdown(name, -1));
}

static GRegex *regex_of(const char *format, const char *names)
{
	g_autoptr(GString) pattern = g_string_new(format);
	g_string_replace(pattern, "NAMES", names, 0);
	return g_regex_new(pattern->str, G_REGEX_RAW | G_REGEX_CASELESS | G_REGEX_DOTALL, 0, NULL);
}

/* The steps of a JSON pointer (RFC 6901). */
static char **steps_of(const char *pointer)
{
	char **steps = g_strsplit(pointer + 1, "/", -1);
	for (char **step = steps; *step; step++) {
		g_autoptr(GString) text = g_string_new(*step);
		g_string_replace(text, "~1", "/", 0);
		g_string_replace(text, "~0", "~", 0);
		g_free(*step);
		*step = g_strdup(text->str);
	}
	return steps;
}

static void add_exact(RgHide *hide, const json_t *secrets)
{
	hide->headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	hide->pointers = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	rg_json_foreach (text, json_object_get(secrets, "headers"))
		g_hash_table_add(hide->headers, g_ascii_strdown(json_string_value(text), -1));
	rg_json_foreach (text, json_object_get(secrets, "pointers"))
		g_ptr_array_add(hide->pointers, steps_of(json_string_value(text)));
}

void rg_hide_init(RgHide *hide, const json_t *secrets)
{
	g_autoptr(GString) pattern = g_string_new(NULL);
	size_t i;
	json_t *name;
	add_exact(hide, secrets);
	hide->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_array_foreach (json_object_get(secrets, "names"), i, name)
		add_name(hide, pattern, json_string_value(name));
	g_autofree char *of_provider = g_strdup(pattern->len > 0 ? pattern->str : "(?!)");
	for (i = 0; i < G_N_ELEMENTS(always); i++)
		add_name(hide, pattern, always[i]);
	/* a provider's name may be part of a parameter's: LaunchSpecification.UserData */
	g_autofree char *form =
		g_strdup_printf("((?:^|[?&])(?:[\\w.]*(?:%s)[\\w.]*|NAMES)=)[^&]*", of_provider);
	hide->form = regex_of(form, pattern->str);
	hide->xml = regex_of("(<(NAMES)>).*?(</\\2>|$)", pattern->str);
	/* in a text that is not a complete JSON document */
	hide->member =
		regex_of("(\"(?:NAMES)\"\\s*:\\s*)(?:\"(?:[^\"\\\\]|\\\\.)*(?:\"|$)|[\\[{].*$)",
			pattern->str);
}

void rg_hide_clear(RgHide *hide)
{
	g_regex_unref(hide->form);
	g_regex_unref(hide->xml);
	g_regex_unref(hide->member);
	g_hash_table_unref(hide->names);
	g_hash_table_unref(hide->headers);
	g_ptr_array_unref(hide->pointers);
}

bool rg_hide_is_header(const RgHide *hide, const char *name)
{
	g_autofree char *folded = g_ascii_strdown(name, -1);
	for (size_t i = 0; i < G_N_ELEMENTS(header_parts); i++) {
		if (strstr(folded, header_parts[i]))
			return true;
	}
	return g_hash_table_contains(hide->headers, folded);
}

static bool is_secret(const RgHide *hide, const char *name)
{
	g_autofree char *folded = name ? g_ascii_strdown(name, -1) : NULL;
	return folded && g_hash_table_contains(hide->names, folded);
}

static void hide_in(const RgHide *hide, json_t *value);

static void hide_members(const RgHide *hide, json_t *object)
{
	const char *key;
	json_t *member;
	void *next;
	/* {"key": "user-data", "value": ...} has the name in a member of its own */
	bool named = is_secret(hide, json_string_value(json_object_get(object, "key"))) ||
		     is_secret(hide, json_string_value(json_object_get(object, "name")));
	json_object_foreach_safe (object, next, key, member) {
		if (is_secret(hide, key) || (named && g_str_equal(key, "value")))
			json_object_set_new(object, key, json_string(RG_HIDDEN));
		else
			hide_in(hide, member);
	}
}

static void hide_in(const RgHide *hide, json_t *value)
{
	if (json_is_object(value))
		hide_members(hide, value);
	rg_json_foreach (member, value)
		hide_in(hide, member);
}

/* Hides what the last step leads to; "*" is any member or index. */
static void hide_at(json_t *value, char **steps)
{
	size_t i;
	const char *key;
	json_t *member;
	void *next;
	bool any = g_str_equal(*steps, "*");
	json_object_foreach_safe (value, next, key, member) {
		if (!any && !g_str_equal(*steps, key))
			continue;
		if (steps[1])
			hide_at(member, steps + 1);
		else
			json_object_set_new(value, key, json_string(RG_HIDDEN));
	}
	json_array_foreach (value, i, member) {
		g_autofree char *index = g_strdup_printf("%zu", i);
		if (!any && !g_str_equal(*steps, index))
			continue;
		if (steps[1])
			hide_at(member, steps + 1);
		else
			json_array_set_new(value, i, json_string(RG_HIDDEN));
	}
}

/* NULL if the text is not a JSON object or list. If one is cut off, pointers cannot be followed:
 * all of it is hidden. */
static char *hide_json(const RgHide *hide, const char *text)
{
	if (text[strspn(text, " \t\r\n")] != '{' && text[strspn(text, " \t\r\n")] != '[')
		return NULL;
	json_auto_t *value = json_loads(text, 0, NULL);
	if (!value)
		return hide->pointers->len ? g_strdup(RG_HIDDEN) : NULL;
	hide_in(hide, value);
	for (guint i = 0; i < hide->pointers->len; i++)
		hide_at(value, hide->pointers->pdata[i]);
	char *dumped = json_dumps(value, JSON_COMPACT);
	char *shown = g_strdup(dumped);
	free(dumped);
	return shown;
}

/* Replaces what follows the first group; all of the text if PCRE gives up. */
static char *blank(const GRegex *regex, const char *replacement, const char *text)
{
	char *clean = g_regex_replace(regex, text, -1, 0, replacement, 0, NULL);
	return clean ? clean : g_strdup(RG_HIDDEN);
}

char *rg_hide(const RgHide *hide, const char *text)
{
	char *json = hide_json(hide, text);
	if (json)
		return json;
	g_autofree char *form = blank(hide->form, "\\1" RG_HIDDEN, text);
	g_autofree char *member = blank(hide->member, "\\1" RG_HIDDEN, form);
	return blank(hide->xml, "\\1" RG_HIDDEN "\\3", member);
}
