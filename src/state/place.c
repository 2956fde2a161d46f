#include "state/place.h"
#include "base/loopback.h"
#include "base/redact.h"
#include "state/read.h"
#include <stdlib.h>
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

/* Of the URL, unescaped; g_free it. */
static GHashTable *parameters_of(const char *place)
{
	GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	const char *query = strchr(place, '?');
	g_auto(GStrv) parts = g_strsplit(query ? query + 1 : "", "&", -1);
	for (guint i = 0; parts[i]; i++) {
		g_auto(GStrv) pair = g_strsplit(parts[i], "=", 2);
		char *name = pair[0] ? g_uri_unescape_string(pair[0], NULL) : NULL;
		char *value = pair[0] && pair[1] ? g_uri_unescape_string(pair[1], NULL) : NULL;
		if (name)
			g_hash_table_replace(all, name, value ? value : g_strdup(""));
		else
			g_free(value);
	}
	return all;
}

char *rg_store_parameter(const char *place, const char *name)
{
	if (!place_is_url(place))
		return NULL;
	g_autoptr(GHashTable) all = parameters_of(place);
	return g_strdup(g_hash_table_lookup(all, name));
}

/* Any other list than of addresses of this machine may be another one. */
static bool are_loopback(const char *hosts)
{
	g_auto(GStrv) names = g_strsplit(hosts, ",", -1);
	bool all = names[0] != NULL;
	for (guint i = 0; names[i]; i++)
		all = all && rg_is_loopback(names[i]);
	return all;
}

/* Up to the first slash: in the credentials, libpq takes ? and # for themselves. */
static char *authority_of(const char *place)
{
	const char *rest = strstr(place, "://") + 3;
	return g_strndup(rest, strcspn(rest, "/"));
}

/* libpq ends the credentials at the first @ before a slash, so that one after a ? or another @ is
 * the start of a host. NULL: there is no such character. */
static char *odd_authority(const char *place)
{
	g_autofree char *authority = authority_of(place);
	const char *at = strchr(authority, '@');
	bool odd = at && (strcspn(authority, "?#") < (size_t)(at - authority) ||
				 strcspn(at + 1, "@#") < strcspn(at + 1, "?"));
	return odd ? g_strdup("a second \"@\", \"?\" or \"#\" before the host") : NULL;
}

/* One of host, host:port, [address] and [address]:port. */
static bool is_loopback_server(const char *server)
{
	bool is_v6 = *server == '[';
	size_t len = strcspn(server + is_v6, is_v6 ? "]" : ":");
	const char *after = server + is_v6 + len + is_v6;
	if (is_v6 && server[1 + len] != ']')
		return false;
	g_autofree char *escaped = g_strndup(server + is_v6, len);
	g_autofree char *host = g_uri_unescape_string(escaped, NULL);
	return host && rg_is_loopback(host) && (*after == '\0' || *after == ':');
}

static bool are_loopback_servers(const char *servers)
{
	g_auto(GStrv) all = g_strsplit(servers, ",", -1);
	bool here = all[0] != NULL;
	for (guint i = 0; all[i]; i++)
		here = here && is_loopback_server(all[i]);
	return here;
}

static bool is_loopback(const char *place, GHashTable *parameters)
{
	g_autofree char *authority = authority_of(place);
	const char *at = strchr(authority, '@');
	char *servers = authority + (at ? at + 1 - authority : 0);
	servers[strcspn(servers, "?")] = '\0';
	const char *hosts = g_hash_table_lookup(parameters, "hostaddr");
	if (!hosts)
		hosts = g_hash_table_lookup(parameters, "host");
	return hosts ? are_loopback(hosts) : are_loopback_servers(servers);
}

/* The change itself may contain it: it is in a git work tree or the working folder, leads there, or
 * is whatever this process has open. */
static bool is_in_work_tree(const char *file)
{
	g_autofree char *here = g_get_current_dir();
	bool found = g_str_has_prefix(file, "/proc/") || g_str_has_prefix(file, "/dev/");
	char *at = g_path_get_dirname(file);
	while (!found && !g_str_equal(at, "/")) {
		g_autofree char *mark = g_build_filename(at, ".git", NULL);
		found = g_str_equal(at, here) || g_file_test(mark, G_FILE_TEST_EXISTS);
		char *above = g_path_get_dirname(at);
		g_free(at);
		at = above;
	}
	g_free(at);
	return found;
}

static bool is_of_the_machine(const char *file)
{
	if (!g_path_is_absolute(file))
		return false;
	g_autofree char *named = g_canonicalize_filename(file, NULL);
	char *real = realpath(named, NULL);
	bool inside = is_in_work_tree(named) || (real && is_in_work_tree(real));
	free(real);
	return !inside;
}

/* Not: what names files of certificates and passwords, a service, or other ways to be encrypted. */
static bool is_harmless(const char *parameter, const char *value)
{
	/* the certificates of a file that the change itself may contain verify nothing */
	if (g_str_equal(parameter, "sslrootcert"))
		return g_str_equal(value, "system") || is_of_the_machine(value);
	static const char *const harmless[] = {"schema", "host", "hostaddr", "port", "dbname",
		"user", "connect_timeout", "application_name", "fallback_application_name",
		"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
		"tcp_user_timeout", "target_session_attrs", "load_balance_hosts", "options",
		"client_encoding", "sslsni", "password", "sslpassword", NULL};
	return g_strv_contains(harmless, parameter);
}

char *rg_store_weakness(const char *place)
{
	if (!place_is_url(place) || !place_is_postgres(place))
		return NULL;
	char *odd = odd_authority(place);
	if (odd)
		return odd;
	g_autoptr(GHashTable) all = parameters_of(place);
	bool here = is_loopback(place, all);
	rg_hash_foreach (name, const char, value, all) {
		bool is_mode = g_str_equal(name, "sslmode");
		if (is_mode ? !here && !g_str_equal(value, "verify-full")
			    : !is_harmless(name, value))
			return g_strdup_printf("%s=%s", name, value);
	}
	return NULL;
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
