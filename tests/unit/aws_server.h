/* A scripted HTTP server on loopback for tests: returns prepared answers in order and keeps the
 * forms that it received. It is the other end of a socket, so a module's requests are real. */
#pragma once
#include <glib.h>
#include <stddef.h>

typedef struct AwsServer AwsServer;

AwsServer *aws_server_new(void);
void aws_server_free(AwsServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AwsServer, aws_server_free)
char *aws_server_url(const AwsServer *server); /* g_free */

/* Adds an answer; status 0 cuts the connection without one. After the last answer: 404. */
void aws_server_say(AwsServer *server, int status, const char *body);
/* <OpResponse>...</OpResponse> with status 200. */
void aws_server_say_ok(AwsServer *server, const char *action, const char *inside);
/* An EC2 error document. */
void aws_server_say_error(AwsServer *server, int status, const char *code, const char *message);
/* The number of requests since the last reset, and the form of the n-th. */
unsigned aws_server_count(AwsServer *server);
const char *aws_server_form(AwsServer *server, unsigned n);
/* A decoded field of the n-th form, NULL if it does not exist. g_free. */
char *aws_server_field(AwsServer *server, unsigned n, const char *name);
/* Unused answers. */
unsigned aws_server_left(AwsServer *server);
void aws_server_reset(AwsServer *server);
