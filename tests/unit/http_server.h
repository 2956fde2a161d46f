/* A real HTTP server on loopback for the transport's tests: one thread per connection, the test's
 * function writes the answers. Owned by the test; stopping it joins all threads. */
#pragma once
#include <glib.h>
#include <stdbool.h>

typedef struct TestServer TestServer;

/* Answers the n-th request (from 0) by writing to fd; false closes the connection after it.
 * Called from the connection's thread. */
typedef bool (*TestAnswer)(int fd, unsigned n, const char *request, void *data);

TestServer *test_server_new(TestAnswer answer, void *data);
void test_server_free(TestServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TestServer, test_server_free)

/* "http://127.0.0.1:PORT"; borrowed. */
const char *test_server_url(const TestServer *server);
unsigned test_server_count(TestServer *server);
/* The n-th request as received, head and body; g_free the result. */
char *test_server_request(TestServer *server, unsigned n);

/* Writes one complete answer with Content-Length; `headers` are lines with CRLF, or "". */
void test_say(int fd, const char *status, const char *headers, const char *body);
void test_write(int fd, const char *bytes, size_t len);
