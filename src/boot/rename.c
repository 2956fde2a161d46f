#include "base/json.h"
#include "boot/boot.h"
#include <string.h>

/* Where a node's boot contains its pool's name (node.c): in a text, or as members of env and
 * labels. */
static const char *const sayings[] = {"RAY_NODE_TYPE_NAME=", "ray.io/node-group="};
static const char *const members[] = {"RAY_NODE_TYPE_NAME", "ray.io/node-group", NULL};

static bool is_of_name(char c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
}

static char *rename_saying(const char *text, const char *saying, const char *from, const char *to)
{
	g_autofree char *old = g_strconcat(saying, from, NULL);
	GString *renamed = g_string_new(NULL);
	const char *whole = text, *at;
	while ((at = strstr(text, old))) {
		const char *after = at + strlen(old);
		g_string_append_len(renamed, text, at - text);
		/* not the end of a longer word, such as a user's variable; an escaped newline also
		 * ends one */
		bool begins = at == whole || !is_of_name(at[-1]) ||
			      (at - whole >= 2 && at[-2] == '\\' && at[-1] == 'n');
		if (begins && !is_of_name(*after))
			g_string_append_printf(renamed, "%s%s", saying, to);
		else
			g_string_append(renamed, old);
		text = after;
	}
	g_string_append(renamed, text);
	return g_string_free(renamed, FALSE);
}

static json_t *renamed_text(const char *text, const char *from, const char *to)
{
	g_autofree char *renamed = g_strdup(text);
	for (size_t i = 0; i < G_N_ELEMENTS(sayings); i++) {
		char *next = rename_saying(renamed, sayings[i], from, to);
		g_free(renamed);
		renamed = next;
	}
	return json_string(renamed);
}

json_t *rg_boot_rename_pool(const json_t *value, const char *from, const char *to)
{
	json_t *copy;
	if (json_is_string(value))
		return renamed_text(json_string_value(value), from, to);
	if (json_is_array(value)) {
		copy = json_array();
		rg_json_foreach (member, value)
			json_array_append_new(copy, rg_boot_rename_pool(member, from, to));
		return copy;
	}
	if (!json_is_object(value))
		return json_incref(rg_json_unconst(value));
	copy = json_object();
	rg_json_foreach_member (key, member, value)
		json_object_set_new(copy, key,
			g_strv_contains(members, key) &&
					g_str_equal(rg_json_str(value, key, ""), from)
				? json_string(to)
				: rg_boot_rename_pool(member, from, to));
	return copy;
}
