#include "aws_server.h"
#include <netinet/in.h>
#include <microhttpd.h>
#include <pthread.h>
#include <string.h>

typedef struct {
	int status;
	char *body;
} Answer;

struct AwsServer {
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	GQueue answers; /* Answer * */
	GPtrArray *forms;
};

static void answer_free(Answer *answer)
{
	g_free(answer->body);
	g_free(answer);
}

static Answer *take(AwsServer *server, const GString *form)
{
	pthread_mutex_lock(&server->lock);
	g_ptr_array_add(server->forms, g_strdup(form->str));
	Answer *answer = g_queue_pop_head(&server->answers);
	pthread_mutex_unlock(&server->lock);
	return answer;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **state)
{
	GString *form = *state;
	if (!form) {
		*state = g_string_new(NULL);
		return MHD_YES;
	}
	if (*upload_size) {
		g_string_append_len(form, upload, (gssize)*upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	Answer *answer = take(data, form);
	const char *body = answer ? answer->body : "no answer is left";
	unsigned status = answer ? (unsigned)answer->status : 404;
	enum MHD_Result result = MHD_NO;
	if (status) {
		struct MHD_Response *response = MHD_create_response_from_buffer(
			strlen(body), (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
		result = MHD_queue_response(connection, status, response);
		MHD_destroy_response(response);
	}
	if (answer)
		answer_free(answer);
	return result;
}

static void on_end(void *data, struct MHD_Connection *connection, void **state,
	enum MHD_RequestTerminationCode code)
{
	if (*state)
		g_string_free(*state, TRUE);
	*state = NULL;
}

AwsServer *aws_server_new(void)
{
	AwsServer *server = g_new0(AwsServer, 1);
	pthread_mutex_init(&server->lock, NULL);
	g_queue_init(&server->answers);
	server->forms = g_ptr_array_new_with_free_func(g_free);
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	server->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL,
		on_request, server, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_NOTIFY_COMPLETED,
		on_end, NULL, MHD_OPTION_END);
	g_assert_nonnull(server->daemon);
	return server;
}

void aws_server_free(AwsServer *server)
{
	MHD_stop_daemon(server->daemon);
	g_queue_clear_full(&server->answers, (GDestroyNotify)answer_free);
	g_ptr_array_unref(server->forms);
	pthread_mutex_destroy(&server->lock);
	g_free(server);
}

char *aws_server_url(const AwsServer *server)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
	return g_strdup_printf("http://127.0.0.1:%u", info->port);
}

void aws_server_say(AwsServer *server, int status, const char *body)
{
	Answer *answer = g_new0(Answer, 1);
	answer->status = status;
	answer->body = g_strdup(body);
	pthread_mutex_lock(&server->lock);
	g_queue_push_tail(&server->answers, answer);
	pthread_mutex_unlock(&server->lock);
}

void aws_server_say_ok(AwsServer *server, const char *action, const char *inside)
{
	g_autofree char *body =
		g_strdup_printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
				"<%sResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">"
				"<requestId>req-ok</requestId>%s</%sResponse>",
			action, inside, action);
	aws_server_say(server, 200, body);
}

void aws_server_say_error(AwsServer *server, int status, const char *code, const char *message)
{
	g_autofree char *body = g_markup_printf_escaped(
		"<?xml version=\"1.0\" "
		"encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>%s</Code>"
		"<Message>%s</Message></Error></Errors><RequestID>req-bad</RequestID></Response>",
		code, message);
	aws_server_say(server, status, body);
}

unsigned aws_server_count(AwsServer *server)
{
	pthread_mutex_lock(&server->lock);
	unsigned count = server->forms->len;
	pthread_mutex_unlock(&server->lock);
	return count;
}

const char *aws_server_form(AwsServer *server, unsigned n)
{
	g_assert_cmpuint(n, <, aws_server_count(server));
	return server->forms->pdata[n];
}

char *aws_server_field(AwsServer *server, unsigned n, const char *name)
{
	g_auto(GStrv) pairs = g_strsplit(aws_server_form(server, n), "&", -1);
	for (char **pair = pairs; *pair; pair++) {
		g_auto(GStrv) parts = g_strsplit(*pair, "=", 2);
		g_autofree char *key = g_uri_unescape_string(parts[0], NULL);
		if (!g_strcmp0(key, name))
			return g_uri_unescape_string(parts[1], NULL);
	}
	return NULL;
}

unsigned aws_server_left(AwsServer *server)
{
	pthread_mutex_lock(&server->lock);
	unsigned left = g_queue_get_length(&server->answers);
	pthread_mutex_unlock(&server->lock);
	return left;
}

void aws_server_reset(AwsServer *server)
{
	pthread_mutex_lock(&server->lock);
	g_queue_clear_full(&server->answers, (GDestroyNotify)answer_free);
	g_ptr_array_set_size(server->forms, 0);
	pthread_mutex_unlock(&server->lock);
}
