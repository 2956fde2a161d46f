#include "remote/postgres.h"
#include "base/clock.h"
#include "base/loopback.h"
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 15000

/* Takes schema=NAME out of the URL: libpq does not know it. */
static char *take_schema(const char *url, char **schema)
{
	const char *question = strchr(url, '?');
	*schema = NULL;
	if (!question)
		return g_strdup(url);
	g_auto(GStrv) parameters = g_strsplit(question + 1, "&", -1);
	g_autoptr(GString) text = g_string_new_len(url, question - url);
	char between = '?';
	for (guint i = 0; parameters[i]; i++) {
		if (g_str_has_prefix(parameters[i], "schema=")) {
			g_free(*schema);
			*schema = g_uri_unescape_string(parameters[i] + 7, NULL);
			continue;
		}
		g_string_append_printf(text, "%c%s", between, parameters[i]);
		between = '&';
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool bad_url(const RgRemote *pg, const char *why, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "state.unreachable", "the state \"%s\" is not a PostgreSQL URL", pg->shown);
	rg_diag_detail(diag, "%s", why);
	rg_diag_hint(diag, "it has the form postgres://USER@HOST/DATABASE?schema=NAME; %% and "
			   "other special characters are written as %%25");
	return false;
}

/* libpq takes nothing, a folder and an abstract name for a socket of this machine. */
static bool host_is_here(const char *host)
{
	return !host || *host == '\0' || *host == '/' || *host == '@' || rg_is_loopback(host);
}

/* All of a list of hosts. */
static bool are_loopback(const char *hosts)
{
	g_auto(GStrv) names = g_strsplit(hosts ? hosts : "", ",", -1);
	bool all = true;
	for (guint i = 0; names[i]; i++)
		all = all && host_is_here(names[i]);
	return all;
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
	for (; options && options->keyword; options++) {
		if (g_str_equal(options->keyword, keyword) && options->val && *options->val != '\0')
			return options->val;
	}
	return NULL;
}

/* libpq 15 verifies only against a file that is named or in ~/.postgresql. */
static char *system_certificates(void)
{
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"};
	g_autofree char *own = g_build_filename(g_get_home_dir(), ".postgresql", "root.crt", NULL);
	if (g_file_test(own, G_FILE_TEST_EXISTS))
		return NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		if (g_file_test(files[i], G_FILE_TEST_EXISTS))
			return g_strdup(files[i]);
	}
	return NULL;
}

/* Over a network the server is verified, unless the URL or PGSSLMODE says otherwise. */
static void choose_tls(RgRemote *pg, const PQconninfoOption *given, const PQconninfoOption *all)
{
	const char *host = value_of(given, "host");
	const char *address = value_of(given, "hostaddr");
	if (!host)
		host = value_of(all, "host");
	pg->loopback = are_loopback(address ? address : host);
	const char *mode = value_of(given, "sslmode");
	g_auto(GStrv) environment = g_get_environ();
	if (!mode)
		mode = g_environ_getenv(environment, "PGSSLMODE");
	if (!mode && !pg->loopback)
		pg->sslmode = g_strdup("verify-full");
	if ((mode ? g_str_has_prefix(mode, "verify-") : !pg->loopback) &&
		!value_of(given, "sslrootcert") && !g_environ_getenv(environment, "PGSSLROOTCERT"))
		pg->rootcert = system_certificates();
	pg->unverified = !pg->loopback && mode && !g_str_has_prefix(mode, "verify-");
}

static bool read_url(RgRemote *pg, RgDiags *diags)
{
	char *why = NULL;
	PQconninfoOption *given = PQconninfoParse(pg->dsn, &why);
	if (!given) {
		/* the parser quotes the URL */
		bool ok = bad_url(pg, "it could not be parsed", diags);
		PQfreemem(why);
		return ok;
	}
	PQconninfoOption *all = PQconndefaults();
	choose_tls(pg, given, all);
	PQconninfoFree(given);
	if (all)
		PQconninfoFree(all);
	if (pg->unverified) {
		RgDiag *diag = rg_diags_warning(diags, "state.not-verified",
			"the server of the state \"%s\" is not verified", pg->shown);
		rg_diag_hint(diag, "anyone who controls the network can read and change the state, "
				   "which holds secrets: use sslmode=verify-full");
	}
	return true;
}

RgRemote *pg_open(const RgRemoteOpen *how, RgDiags *diags)
{
	RgRemote *pg = g_new0(RgRemote, 1);
	pg->dsn = take_schema(how->url, &pg->schema);
	pg->shown = g_strdup(how->shown);
	if (!pg->schema || *pg->schema == '\0') {
		g_free(pg->schema);
		pg->schema = g_strdup("raygpu");
	}
	g_auto(GStrv) parts = g_strsplit(pg->schema, "\"", -1);
	g_autofree char *doubled = g_strjoinv("\"\"", parts);
	pg->quoted = g_strdup_printf("\"%s\"", doubled);
	pg->writes = how->writes;
	pg->canceled = how->canceled;
	pg->away = how->away;
	pg->data = how->data;
	pg->message = g_strdup("");
	pg->locks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (read_url(pg, diags)) {
		if (pg_connect(pg))
			return pg;
		pg_error(pg, diags);
	}
	pg_close(pg);
	return NULL;
}

void pg_close(RgRemote *pg)
{
	PQfinish(pg->conn);
	g_hash_table_unref(pg->locks);
	g_free(pg->dsn);
	g_free(pg->shown);
	g_free(pg->schema);
	g_free(pg->quoted);
	g_free(pg->sslmode);
	g_free(pg->rootcert);
	g_free(pg->message);
	g_free(pg);
}

/* ---- connecting */

/* Verbose messages are "FATAL:  28P01: password authentication failed ...\nLOCATION: ...". */
static void keep_reason(RgRemote *pg)
{
	g_autofree char *text = g_strdup(PQerrorMessage(pg->conn));
	char *location = strstr(text, "\nLOCATION:");
	g_autoptr(GRegex) form = g_regex_new("(?<= )([0-9][0-9A-Z]{4}|XX[0-9]{3}): ", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	if (location)
		*location = '\0';
	g_free(pg->message);
	pg->sqlstate[0] = '\0';
	if (!g_regex_match(form, text, 0, &match)) {
		pg->message = g_strstrip(g_strdup(text));
		return;
	}
	g_autofree char *state = g_match_info_fetch(match, 1);
	g_strlcpy(pg->sqlstate, state, sizeof(pg->sqlstate));
	pg->message = g_regex_replace_literal(form, text, -1, 0, "", 0, NULL);
	g_strstrip(pg->message);
}

static bool poll_connection(RgRemote *pg)
{
	int64_t until = rg_clock_monotonic_ms() + CONNECT_MS;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
		struct pollfd fd = {.fd = PQsocket(pg->conn),
			.events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
		int ready = poll(&fd, 1, 200);
		if (ready > 0)
			status = PQconnectPoll(pg->conn);
		else if (rg_clock_monotonic_ms() > until || pg->canceled(pg->data))
			return false;
	}
	return status == PGRES_POLLING_OK;
}

/* A dead client's lock must not outlive it by the two hours of TCP's defaults. Ignored on a Unix
 * socket. */
static PgOutcome set_up(RgRemote *pg)
{
	PQsetErrorVerbosity(pg->conn, PQERRORS_DEFAULT);
	if (PQsetnonblocking(pg->conn, 1) != 0 || !PQenterPipelineMode(pg->conn))
		return PG_LOST;
	pg_send_plain(pg,
		"SELECT set_config('tcp_keepalives_idle', '20', false),"
		" set_config('tcp_keepalives_interval', '5', false),"
		" set_config('tcp_keepalives_count', '4', false),"
		" set_config('search_path', 'pg_catalog', false)",
		NULL, 0);
	pg_send_plain(pg,
		"SELECT set_config('synchronous_commit', 'on', false)"
		" WHERE current_setting('synchronous_commit') = 'off'",
		NULL, 0);
	return pg_sync(pg, NULL, NULL);
}

static void nothing(void *data, const char *message)
{
}

bool pg_connect(RgRemote *pg)
{
	/* parameters after dbname override those of its URL; those before it are defaults */
	const char *keys[10] = {"application_name", "keepalives_idle", "tcp_user_timeout"};
	const char *values[10] = {"raygpu", "20", "30000"};
	int n = 3;
	if (pg->sslmode) {
		keys[n] = "sslmode";
		values[n++] = pg->sslmode;
	}
	if (pg->rootcert) {
		keys[n] = "sslrootcert";
		values[n++] = pg->rootcert;
	}
	keys[n] = "dbname";
	values[n] = pg->dsn;
	PQfinish(pg->conn);
	pg->owed = 0;
	pg->conn = PQconnectStartParams(keys, values, 1);
	if (!pg->conn)
		return false;
	PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE);
	PQsetNoticeProcessor(pg->conn, nothing, NULL);
	if (PQstatus(pg->conn) != CONNECTION_BAD && poll_connection(pg) && set_up(pg) == PG_DONE)
		return true;
	if (pg->conn && PQstatus(pg->conn) == CONNECTION_BAD)
		keep_reason(pg);
	else if (pg->message[0] == '\0') {
		g_free(pg->message);
		pg->message = g_strdup("the server did not answer in time");
	}
	PQfinish(pg->conn);
	pg->conn = NULL;
	return false;
}
