#include "sim/core/server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include "sim/core/call.h"

/* Clouds accept less; a client that sends more is broken. */
#define MAX_BODY (4 * 1024 * 1024)
#define MAX_CONNECTIONS 2000
#define IDLE_S 120
/* Headers and the URL of one request must fit in here. */
#define CONNECTION_MEMORY (128 * 1024)

struct RgSimServer {
	RgSim *sim;
	struct MHD_Daemon *daemon;
	unsigned port;
};

/* The state of a request while its body arrives. */
typedef struct {
	char *path;
	char *query;
	GString *body;
	bool too_large;
	bool started;
} Incoming;

static void *incoming_begin(void *data, const char *uri, struct MHD_Connection *connection)
{
	Incoming *incoming = g_new0(Incoming, 1);
	const char *mark = strchrnul(uri, '?');
	incoming->path = g_strndup(uri, (gsize)(mark - uri));
	incoming->query = g_strdup(*mark ? mark + 1 : "");
	incoming->body = g_string_new(NULL);
	return incoming;
}

static void incoming_end(void *data, struct MHD_Connection *connection, void **context,
	enum MHD_RequestTerminationCode reason)
{
	Incoming *incoming = *context;
	if (!incoming)
		return;
	g_free(incoming->path);
	g_free(incoming->query);
	g_string_free(incoming->body, TRUE);
	g_free(incoming);
	*context = NULL;
}

/* A body that ends early: libmicrohttpd has announced the full length and then has to close the
 * connection. */
typedef struct {
	char *text;
	size_t length;
} Torn;

static ssize_t read_torn(void *data, uint64_t position, char *out, size_t max)
{
	const Torn *torn = data;
	if (position >= torn->length)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	size_t size = MIN(max, torn->length - (size_t)position);
	memcpy(out, torn->text + position, size);
	return (ssize_t)size;
}

static void free_torn(void *data)
{
	Torn *torn = data;
	g_free(torn->text);
	g_free(torn);
}

static struct MHD_Response *make_response(const RgSimReply *reply)
{
	const GString *body = reply->body;
	if (reply->truncate < 0 || (gsize)reply->truncate >= body->len)
		return MHD_create_response_from_buffer(body->len, body->str, MHD_RESPMEM_MUST_COPY);
	Torn *torn = g_new0(Torn, 1);
	torn->length = (size_t)reply->truncate;
	torn->text = g_strndup(body->str, torn->length);
	return MHD_create_response_from_callback(body->len, 4096, read_torn, torn, free_torn);
}

static void add_headers(struct MHD_Response *response, const RgSimReply *reply)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(reply->now_s);
	g_autofree char *date = now ? g_date_time_format(now, "%a, %d %b %Y %H:%M:%S GMT") : NULL;
	if (date)
		MHD_add_response_header(response, "Date", date);
	MHD_add_response_header(response, "Server", "raygpu-sim");
	for (unsigned i = 0; i < reply->headers->len; i += 2)
		MHD_add_response_header(
			response, reply->headers->pdata[i], reply->headers->pdata[i + 1]);
}

static enum MHD_Result server_refuse(
	struct MHD_Connection *connection, unsigned status, const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(guintptr)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result queued = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return queued;
}

static enum MHD_Result take_header(
	void *data, enum MHD_ValueKind kind, const char *name, const char *value)
{
	GHashTable *headers = data;
	char *key = g_ascii_strdown(name, -1);
	const char *before = g_hash_table_lookup(headers, key);
	g_hash_table_replace(headers, key,
		before ? g_strconcat(before, ",", value ? value : "", NULL)
		       : g_strdup(value ? value : ""));
	return MHD_YES;
}

static enum MHD_Result server_finish(RgSimServer *server, struct MHD_Connection *connection,
	const char *method, Incoming *incoming)
{
	g_autoptr(GHashTable) headers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, headers);
	RgSimRequest request = {.method = method,
		.path = incoming->path,
		.query = incoming->query,
		.headers = headers,
		.body = incoming->body->str,
		.body_length = incoming->body->len};
	RgSimReply reply;
	rg_sim_serve(server->sim, &request, &reply);
	enum MHD_Result queued = MHD_NO; /* closes the connection */
	if (!reply.drop) {
		struct MHD_Response *response = make_response(&reply);
		add_headers(response, &reply);
		queued = MHD_queue_response(connection, (unsigned)reply.status, response);
		MHD_destroy_response(response);
	}
	rg_sim_reply_clear(&reply);
	return queued;
}

static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};

/* Called at the headers, for each piece of the body, and finally to answer. */
static enum MHD_Result server_handle(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *piece, size_t *piece_size,
	void **context)
{
	Incoming *incoming = *context;
	if (!incoming)
		return MHD_NO;
	if (!incoming->started) {
		incoming->started = true;
		return MHD_YES;
	}
	if (*piece_size) {
		if (incoming->body->len + *piece_size > MAX_BODY)
			incoming->too_large = true;
		else
			g_string_append_len(incoming->body, piece, (gssize)*piece_size);
		*piece_size = 0;
		return MHD_YES;
	}
	if (incoming->too_large)
		return server_refuse(connection, 413, "the request is too large\n");
	if (!g_strv_contains(methods, method))
		return server_refuse(connection, 405, "this method is not served here\n");
	return server_finish(data, connection, method, incoming);
}

static struct MHD_Daemon *start_daemon(
	RgSimServer *server, const RgSimListen *listen, const struct sockaddr_in *address)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			 MHD_USE_POLL | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(guintptr)listen->tls_certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(guintptr)listen->tls_key},
		{MHD_OPTION_END, 0, NULL}};
	if (listen->tls_certificate)
		flags |= MHD_USE_TLS;
	else
		tls[0].option = MHD_OPTION_END;
	return MHD_start_daemon(flags, (uint16_t)listen->port, NULL, NULL, server_handle, server,
		MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_URI_LOG_CALLBACK, incoming_begin, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, incoming_end, NULL, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_ARRAY,
		tls, MHD_OPTION_END);
}

RgSimServer *rg_sim_server_start(RgSim *sim, const RgSimListen *listen, char **problem)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)listen->port)};
	if (inet_pton(AF_INET, listen->address, &address.sin_addr) != 1) {
		*problem = g_strdup_printf("%s is not an IPv4 address", listen->address);
		return NULL;
	}
	RgSimServer *server = g_new0(RgSimServer, 1);
	server->sim = sim;
	errno = 0;
	server->daemon = start_daemon(server, listen, &address);
	if (!server->daemon) {
		*problem = g_strdup_printf("cannot listen on %s port %u: %s", listen->address,
			listen->port, errno ? g_strerror(errno) : "certificate or key unusable");
		g_free(server);
		return NULL;
	}
	server->port = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
	return server;
}

unsigned rg_sim_server_port(const RgSimServer *server)
{
	return server->port;
}

void rg_sim_server_stop(RgSimServer *server)
{
	g_atomic_int_set(&server->sim->stopping, 1);
	MHD_stop_daemon(server->daemon);
	g_free(server);
}
