#include "http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct TestServer {
	TestAnswer answer;
	void *data;
	int fd;
	char *url;
	pthread_t accepter;
	pthread_mutex_t lock;
	GArray *threads;     /* pthread_t */
	GArray *connections; /* int */
	GPtrArray *requests; /* char * */
};

typedef struct {
	TestServer *server;
	int fd;
} Connection;

void test_write(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		bytes += n;
		len -= (size_t)n;
	}
}

void test_say(int fd, const char *status, const char *headers, const char *body)
{
	g_autofree char *text = g_strdup_printf("HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s",
		status, headers, strlen(body), body);
	test_write(fd, text, strlen(text));
}

/* The length of the first complete request in the buffer; 0 if more data must come. */
static size_t measure_request(const GString *buffer)
{
	const char *end = strstr(buffer->str, "\r\n\r\n");
	if (!end)
		return 0;
	size_t head = (size_t)(end - buffer->str) + 4;
	g_autofree char *folded = g_ascii_strdown(buffer->str, (gssize)head);
	const char *length = strstr(folded, "\r\ncontent-length:");
	size_t body = length ? (size_t)g_ascii_strtoull(length + 17, NULL, 10) : 0;
	return buffer->len >= head + body ? head + body : 0;
}

static bool answer_request(TestServer *server, int fd, GString *buffer, size_t len)
{
	char *request = g_strndup(buffer->str, len);
	g_string_erase(buffer, 0, (gssize)len);
	pthread_mutex_lock(&server->lock);
	unsigned n = server->requests->len;
	g_ptr_array_add(server->requests, request);
	pthread_mutex_unlock(&server->lock);
	return server->answer(fd, n, request, server->data);
}

static void *serve(void *data)
{
	Connection *connection = data;
	TestServer *server = connection->server;
	g_autoptr(GString) buffer = g_string_new(NULL);
	char bytes[16384];
	bool open = true;
	while (open) {
		ssize_t n = recv(connection->fd, bytes, sizeof bytes, 0);
		if (n <= 0)
			break;
		g_string_append_len(buffer, bytes, n);
		for (size_t len; open && (len = measure_request(buffer)) > 0;)
			open = answer_request(server, connection->fd, buffer, len);
	}
	shutdown(connection->fd, SHUT_RDWR); /* closed by test_server_free */
	g_free(connection);
	return NULL;
}

static void *accept_all(void *data)
{
	TestServer *server = data;
	for (;;) {
		int fd = accept(server->fd, NULL, NULL);
		if (fd < 0)
			return NULL;
		Connection *connection = g_new0(Connection, 1);
		*connection = (Connection){server, fd};
		pthread_t thread;
		g_assert_cmpint(pthread_create(&thread, NULL, serve, connection), ==, 0);
		pthread_mutex_lock(&server->lock);
		g_array_append_val(server->threads, thread);
		g_array_append_val(server->connections, fd);
		pthread_mutex_unlock(&server->lock);
	}
}

TestServer *test_server_new(TestAnswer answer, void *data)
{
	TestServer *server = g_new0(TestServer, 1);
	server->answer = answer;
	server->data = data;
	server->threads = g_array_new(FALSE, FALSE, sizeof(pthread_t));
	server->connections = g_array_new(FALSE, FALSE, sizeof(int));
	server->requests = g_ptr_array_new_with_free_func(g_free);
	pthread_mutex_init(&server->lock, NULL);
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(bind(server->fd, (struct sockaddr *)&address, size), ==, 0);
	g_assert_cmpint(listen(server->fd, 64), ==, 0);
	g_assert_cmpint(getsockname(server->fd, (struct sockaddr *)&address, &size), ==, 0);
	server->url = g_strdup_printf("http://127.0.0.1:%u", ntohs(address.sin_port));
	g_assert_cmpint(pthread_create(&server->accepter, NULL, accept_all, server), ==, 0);
	return server;
}

void test_server_free(TestServer *server)
{
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->accepter, NULL);
	close(server->fd);
	for (guint i = 0; i < server->connections->len; i++)
		shutdown(g_array_index(server->connections, int, i), SHUT_RDWR);
	for (guint i = 0; i < server->threads->len; i++)
		pthread_join(g_array_index(server->threads, pthread_t, i), NULL);
	for (guint i = 0; i < server->connections->len; i++)
		close(g_array_index(server->connections, int, i));
	g_array_unref(server->threads);
	g_array_unref(server->connections);
	g_ptr_array_unref(server->requests);
	pthread_mutex_destroy(&server->lock);
	g_free(server->url);
	g_free(server);
}

const char *test_server_url(const TestServer *server)
{
	return server->url;
}

unsigned test_server_count(TestServer *server)
{
	pthread_mutex_lock(&server->lock);
	unsigned n = server->requests->len;
	pthread_mutex_unlock(&server->lock);
	return n;
}

char *test_server_request(TestServer *server, unsigned n)
{
	pthread_mutex_lock(&server->lock);
	g_assert_cmpuint(n, <, server->requests->len);
	char *copy = g_strdup(g_ptr_array_index(server->requests, n));
	pthread_mutex_unlock(&server->lock);
	return copy;
}
