/* How a request reaches its server, and with which credentials: TLS against openssl s_server with a
 * certificate of its own authority, Unix sockets, proxies, authentication. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "http_sent.h"
#include "http_server.h"

typedef struct {
	char *dir, *cert, *key, *socket, *url, *cert_pem, *key_pem;
	GPid pid;
	int out;
} Server;

static bool make_certificate(Server *server)
{
	g_autofree char *command = g_strdup_printf(
		"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
		"-subj /CN=raygpu-test -addext subjectAltName=IP:127.0.0.1,DNS:cloud.internal "
		"-keyout %s -out %s",
		server->key, server->cert);
	g_autofree char *out = NULL, *err = NULL;
	int status;
	return g_spawn_command_line_sync(command, &out, &err, &status, NULL) && status == 0 &&
	       g_file_get_contents(server->cert, &server->cert_pem, NULL, NULL) &&
	       g_file_get_contents(server->key, &server->key_pem, NULL, NULL);
}

static char *read_accept_line(const Server *server)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char byte = 0;
	while (!strstr(text->str, "ACCEPT") || byte != '\n') {
		g_assert_cmpint(read(server->out, &byte, 1), ==, 1);
		g_string_append_c(text, byte);
	}
	return g_strdup(g_strstrip(strstr(text->str, "ACCEPT") + strlen("ACCEPT")));
}

/* `more`: options of openssl s_server. */
static void set_up(Server *server, gconstpointer more)
{
	server->dir = g_dir_make_tmp("rg-tls-XXXXXX", NULL);
	server->cert = g_build_filename(server->dir, "cert.pem", NULL);
	server->key = g_build_filename(server->dir, "key.pem", NULL);
	server->socket = g_build_filename(server->dir, "socket", NULL);
	if (!make_certificate(server)) {
		g_test_skip("openssl is not installed");
		return;
	}
	bool local = g_str_equal(more, "unix"), verify = g_str_equal(more, "verify");
	g_autofree char *command = g_strdup_printf(
		"openssl s_server %s %s -www -cert %s -key %s %s %s", local ? "-unix" : "-accept",
		local ? "socket" : "127.0.0.1:0", server->cert, server->key,
		verify ? "-Verify 1 -verify_return_error -CAfile" : "", verify ? server->cert : "");
	g_auto(GStrv) argv = g_strsplit_set(g_strchomp(command), " ", -1);
	/* in the folder: OpenSSL 3.0 serves no socket whose path has 32 characters */
	g_assert_true(g_spawn_async_with_pipes(server->dir, argv, NULL,
		G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
		NULL, &server->pid, NULL, &server->out, NULL, NULL));
	g_autofree char *place = read_accept_line(server);
	server->url = g_strdup_printf("https://%s/", local ? "127.0.0.1" : place);
}

static void tear_down(Server *server, gconstpointer more)
{
	if (server->pid != 0) {
		kill(server->pid, SIGTERM);
		waitpid(server->pid, NULL, 0);
		close(server->out);
	}
	unlink(server->cert);
	unlink(server->key);
	unlink(server->socket);
	rmdir(server->dir);
	g_free(server->dir);
	g_free(server->cert);
	g_free(server->key);
	g_free(server->socket);
	g_free(server->url);
	g_free(server->cert_pem);
	g_free(server->key_pem);
}

/* Sends with a connection of up to four members, alternating names and values. */
static Sent send_with(const char *url, const char *const *members)
{
	json_auto_t *connection = json_object();
	for (; *members != NULL; members += 2)
		json_object_set_new(connection, members[0], json_string(members[1]));
	return sent_to(url, (RgHttpOptions){0},
		(RgHttpRequest){.method = "GET", .connection = connection});
}
#define SEND_WITH(url, ...) send_with(url, (const char *const[]){__VA_ARGS__, NULL})

static void assert_trusted(Sent sent, bool trusted)
{
	g_auto(Sent) mine = sent;
	g_assert_cmpint(mine.reply.status, ==, trusted ? 200 : 0);
	if (!trusted)
		g_assert_cmpstr(sent_diag(&mine)->code, ==, "http.tls");
}

static void an_unknown_certificate_is_refused_at_once(Server *server, gconstpointer more)
{
	if (server->pid == 0)
		return;
	g_auto(Sent) refused =
		sent_to(server->url, (RgHttpOptions){0}, (RgHttpRequest){.method = "GET"});
	g_assert_cmpstr(sent_diag(&refused)->code, ==, "http.tls");
	g_assert_cmpstr(sent_diag(&refused)->detail, ==, "TestCall, 1 try");
	assert_trusted(SEND_WITH(server->url, "ca_file", server->cert), true);
	assert_trusted(SEND_WITH(server->url, "ca_pem", server->cert_pem), true);
	g_auto(Sent) no_ca = SEND_WITH(server->url, "ca_file", "/nonexistent.pem");
	g_assert_cmpstr(sent_diag(&no_ca)->detail, ==, "TestCall, 1 try");
	g_assert_nonnull(strstr(sent_diag(&no_ca)->summary, "/nonexistent.pem"));
}

static void a_certificate_may_name_another_server(Server *server, gconstpointer more)
{
	if (server->pid == 0)
		return;
	const char *port = strrchr(server->url, ':');
	g_autofree char *localhost = g_strdup_printf("https://localhost%s", port);
	assert_trusted(SEND_WITH(localhost, "ca_pem", server->cert_pem), false);
	assert_trusted(
		SEND_WITH(localhost, "ca_pem", server->cert_pem, "server_name", "cloud.internal"),
		true);
	assert_trusted(
		SEND_WITH(server->url, "ca_pem", server->cert_pem, "server_name", "other.internal"),
		false);
}

static void a_client_shows_its_certificate(Server *server, gconstpointer more)
{
	if (server->pid == 0)
		return;
	g_auto(Sent) unknown = SEND_WITH(server->url, "ca_pem", server->cert_pem);
	g_assert_cmpint(unknown.reply.status, ==, 0);
	assert_trusted(SEND_WITH(server->url, "ca_pem", server->cert_pem, "cert_pem",
			       server->cert_pem, "key_pem", server->key_pem),
		true);
	assert_trusted(SEND_WITH(server->url, "ca_file", server->cert, "cert_file", server->cert,
			       "key_file", server->key),
		true);
}

static void a_socket_is_reached_by_its_path(Server *server, gconstpointer more)
{
	if (server->pid == 0)
		return;
	assert_trusted(
		SEND_WITH(server->url, "ca_pem", server->cert_pem, "unix_socket", server->socket),
		true);
	g_autofree char *nobody = g_strconcat(server->socket, ".none", NULL);
	g_auto(Sent) missing = SEND_WITH(server->url, "unix_socket", nobody);
	g_assert_cmpstr(sent_diag(&missing)->code, ==, "http.connect");
}

static bool say_fine(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, "200 OK", "", "fine");
	return true;
}

static void near_hosts_are_not_asked_through_a_proxy(void)
{
	g_autoptr(TestServer) server = test_server_new(say_fine, NULL);
	g_autofree char *outside = g_strdup(g_getenv("no_proxy"));
	g_setenv("no_proxy", "", true);
	g_setenv("http_proxy", "http://127.0.0.1:1", true); /* nothing listens there */
	g_auto(Sent) near = sent_to(
		test_server_url(server), (RgHttpOptions){0}, (RgHttpRequest){.method = "GET"});
	g_assert_cmpint(near.reply.status, ==, 200);
	g_auto(Sent) far = SEND_WITH("http://cloud.example/", "proxy_url", test_server_url(server));
	g_assert_cmpint(far.reply.status, ==, 200);
	g_autofree char *request = test_server_request(server, 1);
	g_assert_true(g_str_has_prefix(request, "GET http://cloud.example/ HTTP/1.1\r\n"));
	g_unsetenv("http_proxy");
	g_setenv("no_proxy", outside ? outside : "", true);
}

static const struct {
	const char *auth, *header;
} ways[] = {
	{"{\"type\": \"bearer\", \"token\": \"t0ken\"}", "\r\nAuthorization: Bearer t0ken\r\n"},
	{"{\"type\": \"basic\", \"user\": \"u\", \"password\": \"p\"}",
		"\r\nAuthorization: Basic dTpw\r\n"},
	{"{\"type\": \"aws_sigv4\", \"region\": \"r\", \"service\": \"s\", \"access_key\": \"AK\","
	 " \"secret_key\": \"S\"}",
		"\r\nAuthorization: AWS4-HMAC-SHA256 Credential=AK/"},
	{"{\"type\": \"none\"}", NULL},
};

static void the_type_of_authentication_decides(void)
{
	g_autoptr(TestServer) server = test_server_new(say_fine, NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++) {
		json_auto_t *auth = json_loads(ways[i].auth, 0, NULL);
		g_auto(Sent) sent = sent_to(test_server_url(server), (RgHttpOptions){0},
			(RgHttpRequest){.method = "GET", .auth = auth});
		g_autofree char *request = test_server_request(server, i);
		g_assert_cmpint(sent.reply.status, ==, 200);
		g_assert_nonnull(
			strstr(request, ways[i].header ? ways[i].header : "GET / HTTP/1.1\r\n"));
		g_assert_cmpint(
			strstr(request, "Authorization:") != NULL, ==, ways[i].header != NULL);
	}
	json_auto_t *strange = json_pack("{s:s}", "type", "digest");
	g_auto(Sent) refused = sent_to(
		test_server_url(server), (RgHttpOptions){0}, (RgHttpRequest){.auth = strange});
	g_assert_nonnull(strstr(sent_diag(&refused)->summary, "unknown type"));
	g_assert_cmpuint(test_server_count(server), ==, G_N_ELEMENTS(ways));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/connect/an unknown certificate is refused at once", Server, "tcp", set_up,
		an_unknown_certificate_is_refused_at_once, tear_down);
	g_test_add("/connect/a certificate may name another server", Server, "tcp", set_up,
		a_certificate_may_name_another_server, tear_down);
	g_test_add("/connect/a client shows its certificate", Server, "verify", set_up,
		a_client_shows_its_certificate, tear_down);
	g_test_add("/connect/a socket is reached by its path", Server, "unix", set_up,
		a_socket_is_reached_by_its_path, tear_down);
	g_test_add_func("/connect/near hosts are not asked through a proxy",
		near_hosts_are_not_asked_through_a_proxy);
	g_test_add_func(
		"/connect/the type of authentication decides", the_type_of_authentication_decides);
	return g_test_run();
}
