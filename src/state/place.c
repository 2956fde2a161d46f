#include "state/place.h"
#include "base/redact.h"
#include "state/store.h"
#include <string.h>

bool place_is_url(const char *place)
{
	const char *end = strstr(place, "://");
	if (!end || end == place)
		return false;
	for (const char *c = place; c < end; c++) {
		if (!g_ascii_isalnum(*c) && !strchr("+-.", *c))
			return false;
	}
	return true;
}

bool place_is_postgres(const char *url)
{
	return g_str_has_prefix(url, "postgres://") || g_str_has_prefix(url, "postgresql://");
}

bool rg_store_is_file(const char *place)
{
	return !place_is_url(place);
}

void place_refuse(const char *url, RgDiags *diags)
{
	g_autofree char *scheme = g_strndup(url, strcspn(url, ":"));
	RgDiag *diag = rg_diags_error(
		diags, "state.unknown-store", "raygpu has no store for \"%s://\"", scheme);
	rg_diag_hint(diag, "a state is a file (a path), or a PostgreSQL database "
			   "(postgres://HOST/DATABASE)");
}

/* Where a database is, or the server of a bucket; not who connects to it. */
static bool is_place(const char *parameter)
{
	static const char *const kept[] = {
		"host", "hostaddr", "port", "dbname", "service", "schema", "endpoint"};
	if (g_str_has_prefix(parameter, "endpoint=") && strchr(parameter, '@'))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
		size_t len = strlen(kept[i]);
		if (strncmp(parameter, kept[i], len) == 0 && parameter[len] == '=')
			return true;
	}
	return false;
}

static char *shown_query(const char *query)
{
	g_auto(GStrv) parameters = g_strsplit(query, "&", -1);
	g_autoptr(GString) text = g_string_new(NULL);
	for (guint i = 0; parameters[i]; i++) {
		if (is_place(parameters[i]))
			g_string_append_printf(
				text, "%c%s", text->len > 0 ? '&' : '?', parameters[i]);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* The user may differ between those who plan and those who apply, so it does not belong to the
 * name. */
char *rg_store_shown(const char *place)
{
	if (!place_is_url(place))
		return g_strdup(place);
	const char *rest = strstr(place, "://") + 3;
	size_t len = strcspn(rest, "/?#");
	g_autofree char *scheme = g_strndup(place, (gsize)(rest - place));
	g_autofree char *authority = g_strndup(rest, len);
	const char *at = strrchr(authority, '@');
	const char *path = rest + len, *question = strchr(path, '?');
	g_autofree char *folder =
		question ? g_strndup(path, (gsize)(question - path)) : g_strdup(path);
	g_autofree char *query = shown_query(question ? question + 1 : "");
	const char *known = place_is_postgres(place) ? "postgres://" : scheme;
	return g_strconcat(known, at ? at + 1 : authority, folder, query, NULL);
}

static void hide_text(const char *text)
{
	g_autofree char *plain = g_uri_unescape_string(text, NULL);
	if (strlen(text) >= 4)
		rg_redact_add(text, strlen(text));
	if (plain && strlen(plain) >= 4)
		rg_redact_add(plain, strlen(plain));
}

/* The password of user:password@host, or of a parameter; NULL: there is none. */
static char *password_of(const char *place)
{
	const char *rest = strstr(place, "://") + 3;
	g_autofree char *authority = g_strndup(rest, strcspn(rest, "/?#"));
	char *at = strrchr(authority, '@');
	const char *query = strchr(rest, '?');
	if (at)
		*at = '\0';
	const char *colon = at ? strchr(authority, ':') : NULL;
	if (colon && colon[1] != '\0')
		return g_strdup(colon + 1);
	g_auto(GStrv) parameters = g_strsplit(query ? query + 1 : "", "&", -1);
	for (guint i = 0; parameters[i]; i++) {
		const char *equals = strchr(parameters[i], '=');
		if (equals && (g_str_has_prefix(parameters[i], "password=") ||
				      g_str_has_prefix(parameters[i], "sslpassword=")))
			return g_strdup(equals + 1);
	}
	return NULL;
}

bool rg_store_has_password(const char *place)
{
	if (!place_is_url(place))
		return false;
	g_autofree char *password = password_of(place);
	if (password)
		hide_text(password);
	return password != NULL;
}
