/* The transport against a real server on loopback: tries, waits, limits, cancel, trace. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/caps.h"
#include "base/clock.h"
#include "base/redact.h"
#include "http_sent.h"
#include "http_server.h"

static void assert_body(const Sent *sent, const char *expected)
{
	g_assert_cmpmem(sent->reply.body->data, sent->reply.body->len, expected, strlen(expected));
}

static bool busy_once(int fd, unsigned n, const char *request, void *data)
{
	if (n == 0)
		test_say(fd, "503 Slow Down", "Retry-After: 2\r\n", "busy");
	else
		test_say(fd, "200 OK", "X-Two: a\r\nx-two: b\r\n", "fine");
	return true;
}

static void note_retry(void *data, const char *what, unsigned n, unsigned wait_ms, const char *why)
{
	g_string_append_printf(
		data, "%s %u %s %s;", what, n, wait_ms >= 2000 ? ">=2000" : "short", why);
}

static void throttled_waits_as_long_as_told(void)
{
	g_autoptr(TestServer) server = test_server_new(busy_once, NULL);
	g_autoptr(GString) notes = g_string_new(NULL);
	int64_t start_ms = rg_clock_monotonic_ms();
	g_auto(Sent) sent = sent_to(test_server_url(server),
		(RgHttpOptions){
			.on_retry = note_retry, .on_retry_data = notes, .loopback_backoff_ms = 1},
		(RgHttpRequest){.body = "a=b", .body_len = 3});
	g_assert_true(sent.ok);
	g_assert_cmpint(rg_clock_monotonic_ms() - start_ms, >=, 2000);
	g_assert_cmpint(sent.reply.status, ==, 200);
	g_assert_cmpuint(sent.reply.tries, ==, 2);
	assert_body(&sent, "fine");
	g_assert_cmpstr(rg_json_str(sent.reply.headers, "x-two", ""), ==, "b");
	g_assert_cmpstr(notes->str, ==, "TestCall 2 >=2000 status 503;");
	g_autofree char *second = test_server_request(server, 1);
	g_assert_true(g_str_has_suffix(second, "\r\n\r\na=b"));
}

static bool say_status(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, data, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "<html>oops</html>");
	return true;
}

static void final_answers_are_handed_over_at_once(void)
{
	static const char *const statuses[] = {
		"400 Bad Request", "403 Forbidden", "301 Moved", "204 No"};
	for (size_t i = 0; i < G_N_ELEMENTS(statuses); i++) {
		g_autofree char *status = g_strdup(statuses[i]);
		g_autoptr(TestServer) server = test_server_new(say_status, status);
		g_auto(Sent) sent = sent_to(test_server_url(server), (RgHttpOptions){0},
			(RgHttpRequest){.method = "GET"});
		g_assert_true(sent.ok);
		g_assert_cmpint(sent.reply.status, ==, g_ascii_strtoll(statuses[i], NULL, 10));
		g_assert_cmpuint(test_server_count(server), ==, 1);
		int64_t expected = 784111777 - rg_clock_now_s();
		g_assert_cmpint(ABS(sent.reply.skew_s - expected), <=, 2);
	}
}

static bool say_no_body(int fd, unsigned n, const char *request, void *data)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Size: big\r\n\r\n";
	test_write(fd, answer, strlen(answer));
	return true;
}

/* The length of an answer to HEAD is that of a body which never comes. */
static void head_waits_for_no_body(void)
{
	g_autoptr(TestServer) server = test_server_new(say_no_body, NULL);
	g_auto(Sent) sent = sent_to(test_server_url(server), (RgHttpOptions){0},
		(RgHttpRequest){.method = "HEAD", .timeout_ms = 2000, .max_tries = 1});
	g_assert_true(sent.ok);
	g_assert_cmpint(sent.reply.status, ==, 200);
	g_assert_cmpuint(sent.reply.body->len, ==, 0);
	g_autofree char *request = test_server_request(server, 0);
	g_assert_true(g_str_has_prefix(request, "HEAD / HTTP/1.1\r\n"));
}

static void tries_end_and_the_last_answer_is_kept(void)
{
	g_autofree char *status = g_strdup("500 Internal Server Error");
	g_autoptr(TestServer) server = test_server_new(say_status, status);
	g_auto(Sent) sent = sent_to(test_server_url(server), (RgHttpOptions){0},
		(RgHttpRequest){.method = "GET", .max_tries = 3});
	g_assert_true(sent.ok);
	g_assert_cmpint(sent.reply.status, ==, 500);
	g_assert_cmpuint(sent.reply.tries, ==, 3);
	g_assert_cmpuint(test_server_count(server), ==, 3);
	assert_body(&sent, "<html>oops</html>");
}

static void note_longest(
	void *data, const char *what, unsigned n, unsigned wait_ms, const char *why)
{
	unsigned *longest_ms = data;
	*longest_ms = MAX(*longest_ms, wait_ms);
}

static void back_off_towards_loopback_is_as_short_as_asked(void)
{
	unsigned longest_ms = 0;
	g_autofree char *status = g_strdup("500 Internal Server Error");
	g_autoptr(TestServer) server = test_server_new(say_status, status);
	g_auto(Sent) sent = sent_to(test_server_url(server),
		(RgHttpOptions){.on_retry = note_longest,
			.on_retry_data = &longest_ms,
			.loopback_backoff_ms = 2},
		(RgHttpRequest){0});
	g_assert_cmpuint(sent.reply.tries, ==, 6);
	g_assert_cmpuint(longest_ms, <=, 2);
}

static void requests_that_leave_the_machine_are_remembered(void)
{
	g_autofree char *status = g_strdup("200 OK");
	g_autoptr(TestServer) server = test_server_new(say_status, status);
	g_auto(Sent) sent = sent_to(
		test_server_url(server), (RgHttpOptions){.call_ms = 100}, (RgHttpRequest){0});
	g_assert_true(rg_http_is_local(sent.http));
	/* of this machine, too, but not by its name */
	const RgHttpRequest other = {.url = "http://0.0.0.0:1/", .method = "GET", .max_tries = 1};
	g_autoptr(RgDiags) diags = rg_diags_new();
	rg_http_reply_clear(&sent.reply);
	g_assert_false(rg_http_send(sent.http, &other, &sent.reply, diags));
	g_assert_false(rg_http_is_local(sent.http));
}

static RgHttpVerdict retry_oops(void *data, int status, const char *body, size_t len)
{
	g_assert_cmpint(status, ==, 400);
	g_assert_true(memmem(body, len, "oops", 4) != NULL);
	return RG_HTTP_TRANSIENT;
}

static void the_callers_classifier_decides(void)
{
	g_autofree char *status = g_strdup("400 Bad Request");
	g_autoptr(TestServer) server = test_server_new(say_status, status);
	g_auto(Sent) sent = sent_to(test_server_url(server), (RgHttpOptions){0},
		(RgHttpRequest){.classify = retry_oops, .max_tries = 2});
	g_assert_true(sent.ok);
	g_assert_cmpuint(test_server_count(server), ==, 2);
}

static bool break_off(int fd, unsigned n, const char *request, void *data)
{
	const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<half>";
	if (data && n > 0)
		test_say(fd, "200 OK", "", "whole");
	else
		test_write(fd, half, strlen(half));
	return data && n > 0;
}

static void broken_answers_are_asked_for_again(void)
{
	int heals = 1;
	g_autoptr(TestServer) server = test_server_new(break_off, &heals);
	g_auto(Sent) sent =
		sent_to(test_server_url(server), (RgHttpOptions){0}, (RgHttpRequest){0});
	g_assert_true(sent.ok);
	assert_body(&sent, "whole");
	g_assert_cmpuint(sent.reply.tries, ==, 2);

	g_autoptr(TestServer) broken = test_server_new(break_off, NULL);
	g_auto(Sent) failed = sent_to(
		test_server_url(broken), (RgHttpOptions){0}, (RgHttpRequest){.max_tries = 2});
	g_assert_false(failed.ok);
	g_assert_cmpstr(sent_diag(&failed)->code, ==, "http.bad-reply");
	g_assert_cmpuint(failed.reply.tries, ==, 2);
	g_assert_null(failed.reply.body);
	g_assert_cmpstr(sent_diag(&failed)->detail, ==, "TestCall, 2 tries");
}

static void a_wrong_endpoint_fails_soon_and_clearly(void)
{
	int64_t start_ms = rg_clock_monotonic_ms();
	g_auto(Sent) sent = sent_to("http://user:pw@127.0.0.1:1/?key=v", (RgHttpOptions){0},
		(RgHttpRequest){.reading = true});
	g_assert_cmpint(rg_clock_monotonic_ms() - start_ms, <, 60000);
	g_assert_cmpstr(sent_diag(&sent)->code, ==, "http.connect");
	g_assert_cmpstr(sent_diag(&sent)->summary, ==,
		"cannot reach http://127.0.0.1:1/: connection refused");
	g_assert_cmpstr(sent_diag(&sent)->detail, ==, "TestCall, 3 tries");
	g_assert_nonnull(strstr(sent_diag(&sent)->hint, "endpoint"));
	g_auto(Sent) nowhere = sent_to("http://no-such-host.invalid/", (RgHttpOptions){0},
		(RgHttpRequest){.max_tries = 1});
	g_assert_cmpstr(sent_diag(&nowhere)->code, ==, "http.connect");
	g_assert_nonnull(strstr(sent_diag(&nowhere)->summary, "no-such-host.invalid"));
	static const char *const unusable[] = {
		"ftp://127.0.0.1/", "file:///etc/passwd", "nonsense url"};
	for (size_t i = 0; i < G_N_ELEMENTS(unusable); i++) {
		g_auto(Sent) bad = sent_to(unusable[i], (RgHttpOptions){0}, (RgHttpRequest){0});
		g_assert_cmpstr(sent_diag(&bad)->code, ==, "http.connect");
		g_assert_nonnull(strstr(sent_diag(&bad)->detail, "1 try"));
	}
}

static bool stay_silent(int fd, unsigned n, const char *request, void *data)
{
	char byte;
	return read(fd, &byte, 1) > 0; /* until the client disconnects */
}

static void silence_ends_at_the_timeout(void)
{
	g_autoptr(TestServer) server = test_server_new(stay_silent, NULL);
	int64_t start_ms = rg_clock_monotonic_ms();
	g_auto(Sent) sent = sent_to(test_server_url(server), (RgHttpOptions){0},
		(RgHttpRequest){.timeout_ms = 300, .max_tries = 1});
	g_assert_cmpint(rg_clock_monotonic_ms() - start_ms, <, 60000);
	g_assert_cmpstr(sent_diag(&sent)->code, ==, "http.timeout");
}

/* True once the clock has passed the given moment. */
static bool is_late(void *data)
{
	return rg_clock_monotonic_ms() > *(int64_t *)data;
}

static void assert_canceled(TestAnswer answer, void *data, unsigned requests)
{
	g_autoptr(TestServer) server = test_server_new(answer, data);
	int64_t start_ms = rg_clock_monotonic_ms(), end_ms = start_ms + 300;
	if (requests == 0)
		end_ms = 0;
	g_auto(Sent) sent = sent_to(test_server_url(server),
		(RgHttpOptions){.canceled = is_late, .canceled_data = &end_ms}, (RgHttpRequest){0});
	g_assert_cmpint(rg_clock_monotonic_ms() - start_ms, <, 60000);
	g_assert_cmpstr(sent_diag(&sent)->code, ==, "provider.canceled");
	g_assert_cmpuint(test_server_count(server), ==, requests);
	g_assert_false(rg_http_sleep(sent.http, 10));
}

static bool be_busy_long(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, "429 Too Many", "Retry-After: 100\r\n", "");
	return true;
}

static bool ask_for_days(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, "503 Slow Down", "Retry-After: 999999\r\n", "busy");
	return true;
}

static void a_wait_beyond_the_call_fails_at_once(void)
{
	g_autoptr(TestServer) server = test_server_new(ask_for_days, NULL);
	int64_t start_ms = rg_clock_monotonic_ms();
	g_auto(Sent) sent =
		sent_to(test_server_url(server), (RgHttpOptions){0}, (RgHttpRequest){0});
	g_assert_cmpint(rg_clock_monotonic_ms() - start_ms, <, 60000);
	g_assert_cmpuint(test_server_count(server), ==, 1);
	g_assert_cmpstr(sent_diag(&sent)->code, ==, "http.timeout");
	g_assert_nonnull(strstr(sent_diag(&sent)->summary, "asks to wait 999999 s"));
	g_assert_nonnull(strstr(sent_diag(&sent)->summary, "a call may take 300 s"));
}

/* A byte now and then keeps a connection alive; the call's time limit applies nevertheless. */
static bool drip(int fd, unsigned n, const char *request, void *data)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n";
	bool ok = write(fd, head, strlen(head)) > 0;
	for (int i = 0; ok && i < 10000; i++) {
		ok = send(fd, "x", 1, MSG_NOSIGNAL) == 1;
		g_usleep(20 * 1000);
	}
	return false;
}

static void the_tries_of_a_call_share_its_time(void)
{
	g_autoptr(TestServer) server = test_server_new(drip, NULL);
	int64_t start_ms = rg_clock_monotonic_ms();
	g_auto(Sent) sent = sent_to(test_server_url(server),
		(RgHttpOptions){.call_ms = 400, .loopback_backoff_ms = 1},
		(RgHttpRequest){.timeout_ms = 150});
	g_assert_cmpint(rg_clock_monotonic_ms() - start_ms, <, 60000);
	g_assert_cmpuint(sent.reply.tries, >=, 1);
	g_assert_cmpuint(sent.reply.tries, <=, 4);
	g_assert_cmpstr(sent_diag(&sent)->code, ==, "http.timeout");
}

static void a_cancel_ends_transfers_and_waits(void)
{
	assert_canceled(stay_silent, NULL, 1);
	assert_canceled(be_busy_long, NULL, 1);
	assert_canceled(be_busy_long, NULL, 0);
}

static void a_reading_transport_lets_no_change_through(void)
{
	g_autoptr(TestServer) server = test_server_new(busy_once, NULL);
	g_auto(Sent) sent = sent_to(
		test_server_url(server), (RgHttpOptions){.read_only = true}, (RgHttpRequest){0});
	g_assert_cmpstr(sent_diag(&sent)->code, ==, "provider.read-only");
	g_assert_cmpuint(test_server_count(server), ==, 0);
	g_auto(Sent) reading = sent_to(test_server_url(server), (RgHttpOptions){.read_only = true},
		(RgHttpRequest){.reading = true, .max_tries = 1});
	g_assert_true(reading.ok);
	uint64_t requests, mutating;
	rg_http_counts(reading.http, &requests, &mutating);
	g_assert_cmpuint(requests, ==, 1);
	g_assert_cmpuint(mutating, ==, 0);
}

static bool flood_body(int fd, unsigned n, const char *request, void *data)
{
	const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
	g_autofree char *block = g_strnfill(1024 * 1024, 'x');
	test_write(fd, head, strlen(head));
	for (int i = 0; i <= RG_CAP_HTTP_BODY / (1024 * 1024); i++)
		test_write(fd, block, 1024 * 1024);
	return false;
}

static bool flood_headers(int fd, unsigned n, const char *request, void *data)
{
	g_autofree char *value = g_strnfill(16 * 1024, 'x');
	test_write(fd, "HTTP/1.1 200 OK\r\n", 17);
	for (int i = 0; i < 100; i++) {
		g_autofree char *line = g_strdup_printf("X-Long-%d: %s\r\n", i, value);
		test_write(fd, line, strlen(line));
	}
	return false;
}

static void floods_are_cut_at_the_cap(void)
{
	g_autoptr(TestServer) server = test_server_new(flood_body, NULL);
	g_auto(Sent) sent =
		sent_to(test_server_url(server), (RgHttpOptions){0}, (RgHttpRequest){0});
	g_assert_cmpstr(sent_diag(&sent)->code, ==, "http.bad-reply");
	g_assert_nonnull(strstr(sent_diag(&sent)->summary, "over 64 MiB"));
	g_assert_cmpuint(test_server_count(server), ==, 1);
	g_autoptr(TestServer) headers = test_server_new(flood_headers, NULL);
	g_auto(Sent) other = sent_to(
		test_server_url(headers), (RgHttpOptions){0}, (RgHttpRequest){.max_tries = 1});
	g_assert_cmpstr(sent_diag(&other)->code, ==, "http.bad-reply");
}

#define TOKEN "session-token-0123456789"
#define RAY_TOKEN "ray-token-abcdefgh"

static bool tell_secrets(int fd, unsigned n, const char *request, void *data)
{
	g_autofree char *base64 = g_base64_encode((const guchar *)"x" RAY_TOKEN, 19);
	g_autofree char *body = g_strdup_printf(
		"<r><userData><value>H4sIunknown</value></userData><a>%s</a>\xff%0*d</r>", base64,
		70000, 7);
	test_say(fd, n == 0 ? "500 Oops" : "200 OK", "Set-Cookie: monster\r\nX-Plain: yes\r\n",
		body);
	return true;
}

static void assert_no_secret(const char *trace)
{
	static const char *const secrets[] = {TOKEN, RAY_TOKEN, "SECRETSECRET", "H4sI", "monster",
		"bearer-key", "Signature=", "cmF5LXRva2", "vaulted", "planted"};
	for (size_t i = 0; i < G_N_ELEMENTS(secrets); i++) {
		if (strstr(trace, secrets[i]))
			g_error("the trace shows %s", secrets[i]);
	}
}

static void send_secrets(const char *url, const char *path)
{
	json_auto_t *auth = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", "aws_sigv4",
		"region", "us-east-1", "service", "ec2", "access_key", "AKIDEXAMPLE", "secret_key",
		"SECRETSECRET", "session_token", TOKEN);
	const char *headers[] = {
		"Content-Type: text/x", "authorization: bearer-key", "X-Vault: vaulted", NULL};
	const char body[] = "Action=RunInstances&UserData=H4sIgzipped%3D&Tag=" TOKEN
			    "&LaunchSpecification.UserData=H4sI2&ClientToken=t1";
	g_autofree char *full = g_strconcat(url, "/?UserData=H4sI3&x=" RAY_TOKEN, NULL);
	json_auto_t *secrets = json_pack("{s:[s], s:[s], s:[s]}", "names", "UserData", "headers",
		"x-vault", "pointers", "/data/*");
	g_auto(Sent) sent = sent_to(full, (RgHttpOptions){.trace_path = path, .secrets = secrets},
		(RgHttpRequest){
			.body = body, .body_len = strlen(body), .auth = auth, .headers = headers});
	g_assert_true(sent.ok);
	const char json[] = "{\"kind\": \"Secret\", \"data\": {\"a\": \"planted\"}}";
	g_auto(Sent) other = sent_to(url, (RgHttpOptions){.trace_path = path, .secrets = secrets},
		(RgHttpRequest){.body = json, .body_len = strlen(json)});
	g_assert_true(other.ok);
}

static void the_trace_is_complete_and_holds_no_secret(void)
{
	rg_redact_add(RAY_TOKEN, strlen(RAY_TOKEN));
	g_autoptr(TestServer) server = test_server_new(tell_secrets, NULL);
	g_autofree char *dir = g_dir_make_tmp("rg-http-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "trace", NULL);
	send_secrets(test_server_url(server), path);
	send_secrets(test_server_url(server), path); /* appends */
	struct stat info;
	g_assert_cmpint(stat(path, &info), ==, 0);
	g_assert_cmpint(info.st_mode & 0777, ==, 0600);
	g_autofree char *trace = NULL;
	g_assert_true(g_file_get_contents(path, &trace, NULL, NULL));
	assert_no_secret(trace);
	g_auto(GStrv) lines = g_strsplit(trace, "\n", -1);
	g_assert_cmpuint(g_strv_length(lines), ==, 6); /* two tries, three, and the empty end */
	json_auto_t *line = json_loads(lines[0], 0, NULL);
	g_assert_cmpint(rg_json_int(line, "status", 0), ==, 500);
	g_assert_cmpint(rg_json_int(line, "try", 0), ==, 1);
	g_assert_cmpstr(rg_json_str(line, "what", ""), ==, "TestCall");
	g_assert_cmpstr(rg_json_str(line, "request_body", ""), ==,
		"Action=RunInstances&UserData=[redacted]&Tag=[redacted]"
		"&LaunchSpecification.UserData=[redacted]&ClientToken=t1");
	const json_t *headers = json_object_get(line, "reply_headers");
	g_assert_cmpstr(rg_json_str(headers, "x-plain", ""), ==, "yes");
	g_assert_cmpstr(rg_json_str(headers, "set-cookie", ""), ==, "[redacted]");
	g_assert_cmpuint(strlen(rg_json_str(line, "reply_body", "")), <, 66000);
	g_assert_true(g_str_has_suffix(rg_json_str(line, "reply_body", ""), " bytes more]"));
	g_assert_cmpint(unlink(path), ==, 0);
	g_assert_cmpint(rmdir(dir), ==, 0);
}

static void an_unwritable_trace_is_refused(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgHttpOptions options = {.trace_path = "/nonexistent/trace"};
	g_assert_null(rg_http_open(&options, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "usage.bad-argument");
}

typedef struct {
	RgHttp *http;
	const char *url;
	_Atomic unsigned *fine;
} Worker;

static void *send_many(void *data)
{
	Worker *worker = data;
	g_autoptr(RgDiags) diags = rg_diags_new();
	for (int i = 0; i < 20; i++) {
		RgHttpRequest request = {
			.method = "POST", .url = worker->url, .body = "x=1", .body_len = 3};
		RgHttpReply reply;
		if (rg_http_send(worker->http, &request, &reply, diags) && reply.status == 200)
			atomic_fetch_add(worker->fine, 1);
		rg_http_reply_clear(&reply);
	}
	return NULL;
}

static bool say_fine(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, "200 OK", "", "fine");
	return true;
}

static void threads_share_a_transport_and_its_rate(void)
{
	g_autoptr(TestServer) server = test_server_new(say_fine, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *dir = g_dir_make_tmp("rg-http-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "trace", NULL);
	RgHttpOptions options = {.requests_per_s = 200, .burst = 10, .trace_path = path};
	RgHttp *http = rg_http_open(&options, diags);
	_Atomic unsigned fine = 0;
	Worker worker = {http, test_server_url(server), &fine};
	pthread_t threads[8];
	int64_t start_ms = rg_clock_monotonic_ms();
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, send_many, &worker), ==, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	int64_t took_ms = rg_clock_monotonic_ms() - start_ms;
	send_many(&worker); /* the main thread's handle is freed by close */
	rg_http_close(http);
	g_assert_cmpuint(atomic_load(&fine), ==, 180);
	g_assert_cmpint(took_ms, >=, (160 - 10) * 1000 / 200 - 20);
	g_autofree char *trace = NULL;
	g_assert_true(g_file_get_contents(path, &trace, NULL, NULL));
	g_auto(GStrv) lines = g_strsplit(trace, "\n", -1);
	g_assert_cmpuint(g_strv_length(lines), ==, 181);
	for (int i = 0; i < 180; i++) {
		json_auto_t *line = json_loads(lines[i], 0, NULL);
		g_assert_nonnull(line);
	}
	unlink(path);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http/throttled waits as long as told", throttled_waits_as_long_as_told);
	g_test_add_func("/http/final answers are handed over at once",
		final_answers_are_handed_over_at_once);
	g_test_add_func("/http/HEAD waits for no body", head_waits_for_no_body);
	g_test_add_func("/http/tries end and the last answer is kept",
		tries_end_and_the_last_answer_is_kept);
	g_test_add_func("/http/back-off towards loopback is as short as asked",
		back_off_towards_loopback_is_as_short_as_asked);
	g_test_add_func("/http/requests-that-leave-the-machine",
		requests_that_leave_the_machine_are_remembered);
	g_test_add_func("/http/the caller's classifier decides", the_callers_classifier_decides);
	g_test_add_func(
		"/http/broken answers are asked for again", broken_answers_are_asked_for_again);
	g_test_add_func("/http/a wrong endpoint fails soon and clearly",
		a_wrong_endpoint_fails_soon_and_clearly);
	g_test_add_func("/http/silence ends at the time-out", silence_ends_at_the_timeout);
	g_test_add_func(
		"/http/a wait beyond the call fails at once", a_wait_beyond_the_call_fails_at_once);
	g_test_add_func(
		"/http/the tries of a call share its time", the_tries_of_a_call_share_its_time);
	g_test_add_func(
		"/http/a cancel ends transfers and waits", a_cancel_ends_transfers_and_waits);
	g_test_add_func("/http/a reading transport lets no change through",
		a_reading_transport_lets_no_change_through);
	g_test_add_func("/http/floods are cut at the cap", floods_are_cut_at_the_cap);
	g_test_add_func("/http/the trace is complete and holds no secret",
		the_trace_is_complete_and_holds_no_secret);
	g_test_add_func("/http/an unwritable trace is refused", an_unwritable_trace_is_refused);
	g_test_add_func("/http/threads share a transport and its rate",
		threads_share_a_transport_and_its_rate);
	return g_test_run();
}
