/* A static server of EC2's answers, so fast that a client's own time shows: all answers are in
 * memory before the first request, and a POSTed form selects one by Action and NextToken. FOLDER
 * has a file per answer, "DescribeInstances.0" the first page, "DescribeInstances.7" that of
 * NextToken=page-7. GET /count returns the requests since the last GET and resets the count. Until
 * SIGTERM. Usage: bench-pages FOLDER PORT_FILE [LATENCY_MS] */
#include <glib.h>
#include <microhttpd.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORM_MAX 65536
#define TOKEN "page-"

typedef struct {
	GHashTable *answers; /* file name -> struct MHD_Response * */
	gulong latency_us;
	atomic_uint requests;
} Pages;

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, char *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* The value of a field of a form, without percent-decoding; g_free; NULL if it does not exist. */
static char *field(const char *form, const char *name)
{
	g_autofree char *key = g_strconcat(name, "=", NULL);
	const char *at = form;
	while (at && !g_str_has_prefix(at, key)) {
		at = strchr(at, '&');
		at = at ? at + 1 : NULL;
	}
	return at ? g_strndup(at + strlen(key), strcspn(at + strlen(key), "&")) : NULL;
}

static enum MHD_Result answer(Pages *pages, struct MHD_Connection *connection, const char *form)
{
	g_autofree char *action = field(form, "Action"), *token = field(form, "NextToken");
	const char *number = token && g_str_has_prefix(token, TOKEN) ? token + strlen(TOKEN) : "0";
	g_autofree char *name = g_strdup_printf("%s.%s", action ? action : "", number);
	struct MHD_Response *response = g_hash_table_lookup(pages->answers, name);
	atomic_fetch_add(&pages->requests, 1);
	if (pages->latency_us > 0)
		g_usleep(pages->latency_us);
	if (!response)
		return send_text(connection, 400, g_strdup_printf("no file %s\n", name));
	return MHD_queue_response(connection, 200, response);
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *size, void **context)
{
	Pages *pages = data;
	if (!*context) {
		*context = g_string_new(NULL);
		return MHD_YES;
	}
	GString *form = *context;
	if (*size > 0 && form->len + *size <= FORM_MAX)
		g_string_append_len(form, upload, (gssize)*size);
	if (*size > 0) {
		*size = 0;
		return MHD_YES;
	}
	if (g_str_equal(method, "GET"))
		return send_text(connection, 200,
			g_strdup_printf("%u\n", atomic_exchange(&pages->requests, 0)));
	return answer(pages, connection, form->str);
}

static void on_completed(void *data, struct MHD_Connection *connection, void **context,
	enum MHD_RequestTerminationCode why)
{
	if (*context)
		g_string_free(*context, TRUE);
	*context = NULL;
}

static void free_response(gpointer response)
{
	MHD_destroy_response(response);
}

static bool load(Pages *pages, const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		char *bytes;
		gsize len;
		if (!g_file_get_contents(path, &bytes, &len, NULL))
			return false;
		struct MHD_Response *response =
			MHD_create_response_from_buffer(len, bytes, MHD_RESPMEM_MUST_FREE);
		MHD_add_response_header(response, "Content-Type", "text/xml;charset=UTF-8");
		g_hash_table_insert(pages->answers, g_strdup(name), response);
	}
	return g_hash_table_size(pages->answers) > 0;
}

static bool write_port(struct MHD_Daemon *daemon, const char *path)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
	g_autofree char *text = g_strdup_printf("%u", (unsigned)info->port);
	return g_file_set_contents(path, text, -1, NULL);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: bench-pages FOLDER PORT_FILE [LATENCY_MS]\n");
		return 4;
	}
	Pages pages = {
		.answers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_response),
		.latency_us = argc > 3 ? (gulong)g_ascii_strtoull(argv[3], NULL, 10) * 1000 : 0,
	};
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL); /* before the server's threads */
	struct MHD_Daemon *daemon = NULL;
	if (load(&pages, argv[1]))
		daemon = MHD_start_daemon(
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL,
			NULL, on_request, &pages, MHD_OPTION_SOCK_ADDR, &address,
			MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	if (!daemon || !write_port(daemon, argv[2])) {
		fprintf(stderr, "bench-pages: no answers in %s, or no port\n", argv[1]);
		return EXIT_FAILURE;
	}
	int signal;
	sigwait(&signals, &signal);
	MHD_stop_daemon(daemon);
	g_hash_table_unref(pages.answers);
	return EXIT_SUCCESS;
}
