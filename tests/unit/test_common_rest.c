/* Tokens and REST requests of modules, from a module's call through the real host and transport to
 * servers on loopback. Only the clock is the test's: it advances by hours on demand. */
#include <string.h>
#include "common/oauth.h"
#include "common/rest.h"
#include "http_server.h"
#include "provider/provider.h"

/* ---- a module whose call `account` is the test's own function */

static void (*body_of_call)(const ModTalk *talk);
static const struct rgp_host *real_host;
static int64_t passed_s;

static int64_t later(struct rgp_call *call)
{
	return real_host->now(call) + passed_s;
}

static rgp_status call_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return host->result(call, "schema",
		mod_bytes("{\"format\":1,\"provider\":\"rest\",\"boot\":{\"by\":\"nothing\"},"
			  "\"limits\":{"
			  "\"requests_per_s\":1000,\"burst\":1000},\"kinds\":{\"rest.thing\":{"
			  "\"version\":1,\"batch\":{\"create\":1,\"update\":1,\"remove\":1},"
			  "\"attributes\":{}}}}"));
}

static rgp_status call_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **inst)
{
	*inst = NULL;
	return RGP_OK;
}

static void call_close(struct rgp_inst *inst)
{
}

static rgp_status call_account(struct rgp_inst *inst, const struct rgp_host *host,
	struct rgp_call *call, const struct rgp_args *args)
{
	struct rgp_host shifted = *host;
	const ModTalk talk = {.host = &shifted, .call = call};
	real_host = host;
	shifted.now = later;
	body_of_call(&talk);
	return host->result(call, "account", mod_bytes("{\"id\": \"test\"}"));
}

static const struct rgp_provider table = {
	.size = sizeof table,
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.flags = RGP_PARALLEL,
	.name = "rest",
	.version = "1",
	.schema = call_schema,
	.open = call_open,
	.close = call_close,
	.resolve = call_account,
	.lower = call_account,
	.list = call_account,
	.create = call_account,
	.remove = call_account,
	.account = call_account,
};

static const struct rgp_provider *entry(void)
{
	return &table;
}

static const RgBuiltinProvider builtins[] = {{"rest", entry, NULL}, {NULL, NULL, NULL}};

static const char *no_env(const char *name)
{
	return NULL;
}

/* Runs `body` inside a call of the module; returns the module's diagnostics, one summary per
 * line. */
static char *run_in_call(void (*body)(const ModTalk *talk))
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgProviderHostOptions options = {.builtins = builtins, .env = no_env, .home = "/"};
	RgHttpOptions transport = {.user_agent = "test"};
	RgProviderHost *host = rg_provider_host_new(&options);
	RgProvider *provider = rg_provider_open(host, "rest", "here", NULL, &transport, diags);
	if (!provider)
		g_error("%s", rg_diags_get(diags, 0)->summary);
	g_auto(RgAccount) account = {0};
	GString *said = g_string_new(NULL);
	body_of_call = body;
	rg_provider_account(provider, &account, diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_string_append_printf(said, "%s\n", rg_diags_get(diags, i)->summary);
	rg_provider_close(provider);
	rg_provider_host_free(host);
	return g_string_free(said, FALSE);
}

/* ---- servers */

static TestServer *tokens, *api, *stranger;
static int64_t token_lives_s;

/* token-1, token-2, ... */
static bool answer_token(int fd, unsigned n, const char *request, void *data)
{
	g_autofree char *text = g_strdup_printf("{\"access_token\": \"token-%u\", \"token_type\": "
						"\"Bearer\", \"expires_in\": %" G_GINT64_FORMAT "}",
		n + 1, token_lives_s);
	test_say(fd, "200 OK", "Content-Type: application/json\r\n", text);
	return true;
}

static bool refuse_token(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, "400 Bad Request", "",
		"{\"error\": \"invalid_grant\", \"error_description\": \"the account is gone\"}");
	return true;
}

static rgp_status get_token(const ModTalk *talk, const void *data, char **value, int64_t *expires_s)
{
	g_autofree char *url = g_strconcat(test_server_url(tokens), "/token", NULL);
	json_auto_t *fields = mod_oauth_client_credentials("id", "a secret", "all of it");
	return mod_oauth_request(talk, url, NULL, fields, value, expires_s);
}

static const ModLeaseSource source = {get_token, NULL, "the test's tokens"};
static const char *const codes[] = {"/error/details/0/code", "/error/code", NULL};
static const char *const messages[] = {"/error/message", NULL};
static ModErrors *errors;
static ModRest rest;

static void set_up(TestAnswer token_answer, TestAnswer api_answer)
{
	token_lives_s = 3600;
	passed_s = 0;
	tokens = test_server_new(token_answer, NULL);
	api = test_server_new(api_answer, NULL);
	stranger = test_server_new(api_answer, NULL);
	errors = mod_errors_new("code,class,attribute,hint\n"
				"SkuNotAvailable,capacity,size,take another, or wait\n"
				"TooManyRequests,throttled,,\nNotFound,gone,,\n",
		NULL);
	rest = (ModRest){.cloud = "Testcloud",
		.base = test_server_url(api),
		.lease = mod_lease_new(&source),
		.errors = errors,
		.codes = codes,
		.messages = messages,
		.request_id = "x-request-id"};
}

static void tear_down(void)
{
	mod_lease_free(rest.lease);
	mod_errors_free(errors);
	test_server_free(tokens);
	test_server_free(api);
	test_server_free(stranger);
}

static bool was_sent(TestServer *server, unsigned n, const char *text)
{
	g_autofree char *request = test_server_request(server, n);
	return strstr(request, text) != NULL;
}

static void send_get(const ModTalk *talk, const char *url, ModRestAnswer *answer)
{
	const ModRestRequest request = {
		.what = "Get", .method = "GET", .url = url, .reading = true};
	g_assert_cmpint(mod_rest_send(talk, &rest, &request, answer), ==, RGP_OK);
}

/* ---- tests */

static bool say_fine(int fd, unsigned n, const char *request, void *data)
{
	test_say(fd, "200 OK", "X-Request-Id: r-7\r\n", "{\"fine\": true}");
	return true;
}

static void ask_for_hours(const ModTalk *talk)
{
	g_auto(ModRestAnswer) answer = {0};
	send_get(talk, "a", &answer);
	g_assert_true(json_is_true(json_object_get(answer.body, "fine")));
	g_assert_cmpstr(answer.failure.request_id, ==, "r-7");
	passed_s += 3200; /* 400 s are left */
	send_get(talk, "/b?c=d", &answer);
	g_assert_cmpuint(test_server_count(tokens), ==, 1);
	passed_s += 150; /* 250 s are left */
	send_get(talk, "c", &answer);
}

static void test_a_token_is_renewed_ahead_of_its_end(void)
{
	set_up(answer_token, say_fine);
	g_autofree char *said = run_in_call(ask_for_hours);
	g_assert_cmpstr(said, ==, "");
	g_assert_cmpuint(test_server_count(tokens), ==, 2);
	g_assert_true(was_sent(tokens, 0,
		"grant_type=client_credentials&client_id=id&client_secret=a%20secret&scope=all%"
		"20of%20it"));
	g_assert_true(was_sent(api, 0, "GET /a HTTP/1.1"));
	g_assert_true(was_sent(api, 1, "GET /b?c=d HTTP/1.1"));
	g_assert_true(was_sent(api, 1, "Authorization: Bearer token-1\r\n"));
	g_assert_true(was_sent(api, 2, "Authorization: Bearer token-2\r\n"));
	tear_down();
}

static bool want_second_token(int fd, unsigned n, const char *request, void *data)
{
	if (strstr(request, "Bearer token-2\r\n") && !strstr(request, "/never"))
		test_say(fd, "200 OK", "", "{}");
	else
		test_say(fd, "401 Unauthorized", "", "{\"error\": {\"code\": \"ExpiredToken\"}}");
	return true;
}

static void ask_with_revoked_token(const ModTalk *talk)
{
	g_auto(ModRestAnswer) answer = {0};
	send_get(talk, "a", &answer);
	g_assert_cmpint(answer.failure.class_, ==, RGP_CLASS_OK);
	send_get(talk, "never", &answer);
	g_assert_cmpint(answer.failure.class_, ==, RGP_CLASS_DENIED);
}

static void test_a_refused_token_is_renewed_once(void)
{
	set_up(answer_token, want_second_token);
	g_free(run_in_call(ask_with_revoked_token));
	g_assert_cmpuint(test_server_count(api), ==, 4);
	g_assert_cmpuint(test_server_count(tokens), ==, 3);
	tear_down();
}

static void ask_without_token(const ModTalk *talk)
{
	g_auto(ModRestAnswer) answer = {0};
	const ModRestRequest request = {
		.what = "Get", .method = "GET", .url = "a", .reading = true};
	g_assert_cmpint(mod_rest_send(talk, &rest, &request, &answer), ==, RGP_FAIL);
}

static void test_a_refusal_of_the_token_endpoint_is_told(void)
{
	set_up(refuse_token, say_fine);
	g_autofree char *said = run_in_call(ask_without_token);
	g_assert_nonnull(strstr(said, "refused a token: invalid_grant: the account is gone"));
	g_assert_cmpuint(test_server_count(api), ==, 0);
	tear_down();
}

/* A renewal that fails while the old token is valid. */
static bool one_token_only(int fd, unsigned n, const char *request, void *data)
{
	return n ? refuse_token(fd, n, request, data) : answer_token(fd, n, request, data);
}

static void ask_near_the_end(const ModTalk *talk)
{
	g_auto(ModRestAnswer) answer = {0};
	send_get(talk, "a", &answer);
	passed_s += 3400;
	send_get(talk, "b", &answer);
	g_assert_cmpint(answer.failure.class_, ==, RGP_CLASS_OK);
}

static void test_a_valid_token_outlives_a_failed_renewal(void)
{
	set_up(one_token_only, say_fine);
	g_autofree char *said = run_in_call(ask_near_the_end);
	g_assert_cmpstr(said, ==, "");
	g_assert_true(was_sent(api, 1, "Authorization: Bearer token-1\r\n"));
	tear_down();
}

static const char *next_page;

static bool say_page(int fd, unsigned n, const char *request, void *data)
{
	g_autofree char *text =
		strstr(request, "GET /list HTTP") || strstr(request, "loop")
			? g_strdup_printf("{\"value\": [%u], \"nextLink\": \"%s\"}", n, next_page)
			: g_strdup_printf("{\"value\": [%u]}", n);
	test_say(fd, "200 OK", "", text);
	return true;
}

static json_t *pages;

static rgp_status take_page(void *data, const json_t *body)
{
	return json_array_extend(pages, json_object_get(body, "value")) == 0 ? RGP_OK : RGP_FAIL;
}

static rgp_status last_status;

static void list_pages(const ModTalk *talk)
{
	static const ModRestPaging links = {"/nextLink", NULL};
	const ModRestRequest request = {.what = "List", .method = "GET", .url = "list"};
	last_status = mod_rest_pages(talk, &rest, &request, &links, take_page, NULL);
}

static char *list_with_next(const char *next)
{
	pages = json_array();
	next_page = next;
	return run_in_call(list_pages);
}

static void test_pages_are_followed_to_the_end(void)
{
	set_up(answer_token, say_page);
	g_autofree char *next = g_strconcat(test_server_url(api), "/list?skip=1", NULL);
	g_free(list_with_next(next));
	g_assert_cmpint(last_status, ==, RGP_OK);
	g_assert_cmpuint(json_array_size(pages), ==, 2);
	g_assert_true(was_sent(api, 1, "GET /list?skip=1 HTTP/1.1"));
	json_decref(pages);
	tear_down();
}

static void test_a_link_to_another_server_never_gets_the_token(void)
{
	set_up(answer_token, say_page);
	g_autofree char *port = g_strconcat(test_server_url(stranger), "/list", NULL);
	g_autofree char *scheme =
		g_strconcat("//", test_server_url(stranger) + strlen("http://"), NULL);
	g_autofree char *user =
		g_strconcat("http://api@", test_server_url(api) + strlen("http://"), NULL);
	const char *const links[] = {port, scheme, user, "http://localhost/list", "list\\\\@x"};
	for (size_t i = 0; i < G_N_ELEMENTS(links); i++) {
		g_autofree char *said = list_with_next(links[i]);
		g_assert_cmpint(last_status, ==, RGP_FAIL);
		g_assert_nonnull(
			strstr(said, "List: an answer of Testcloud links to another server: "));
		g_assert_cmpuint(json_array_size(pages), ==, 1);
		json_decref(pages);
	}
	g_assert_cmpuint(test_server_count(stranger), ==, 0);
	g_assert_cmpuint(test_server_count(api), ==, G_N_ELEMENTS(links));
	tear_down();
}

static void test_a_list_that_turns_in_a_circle_fails(void)
{
	set_up(answer_token, say_page);
	g_autofree char *said = list_with_next("list?loop");
	g_assert_cmpint(last_status, ==, RGP_FAIL);
	g_assert_nonnull(strstr(said, "the list would never end"));
	json_decref(pages);
	tear_down();
}

static bool say_errors(int fd, unsigned n, const char *request, void *data)
{
	if (strstr(request, "/sku"))
		test_say(fd, "409 Conflict", "",
			"{\"error\": {\"code\": \"SkuNotAvailable\", \"message\": \"none left\"}}");
	else if (strstr(request, "/detail"))
		test_say(fd, "404 Not Found", "",
			"{\"error\": {\"code\": \"Other\", \"details\": [{\"code\": "
			"\"NotFound\"}]}}");
	else if (strstr(request, "/cut"))
		test_say(fd, "200 OK", "", "{\"value\": [");
	else
		test_say(fd, "403 Forbidden", "", "<html>a proxy</html>");
	return true;
}

static void ask_for_errors(const ModTalk *talk)
{
	static const struct {
		const char *url;
		int32_t class_;
		const char *code, *message;
		bool definite;
	} rows[] = {{"sku", RGP_CLASS_CAPACITY, "SkuNotAvailable", "none left", true},
		{"detail", RGP_CLASS_GONE, "NotFound", "NotFound", true},
		{"cut", RGP_CLASS_TRANSIENT, NULL,
			"the answer is truncated or not JSON: HTTP status 200, 11 bytes", false},
		{"proxy", RGP_CLASS_DENIED, NULL,
			"HTTP status 403 with an answer without an error message", false}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_auto(ModRestAnswer) answer = {0};
		send_get(talk, rows[i].url, &answer);
		g_assert_cmpint(answer.failure.class_, ==, rows[i].class_);
		g_assert_cmpstr(answer.failure.code, ==, rows[i].code);
		g_assert_cmpstr(answer.failure.message, ==, rows[i].message);
		g_assert_cmpint(answer.failure.definite, ==, rows[i].definite);
		if (i == 0)
			g_assert_cmpstr(answer.failure.hint, ==, "take another, or wait");
	}
}

static void test_errors_have_the_class_of_the_modules_table(void)
{
	set_up(answer_token, say_errors);
	g_free(run_in_call(ask_for_errors));
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func(
		"/common/lease/renewed-ahead-of-its-end", test_a_token_is_renewed_ahead_of_its_end);
	g_test_add_func(
		"/common/lease/renewed-once-after-401", test_a_refused_token_is_renewed_once);
	g_test_add_func("/common/lease/valid-token-outlives-a-failed-renewal",
		test_a_valid_token_outlives_a_failed_renewal);
	g_test_add_func("/common/oauth/refusal", test_a_refusal_of_the_token_endpoint_is_told);
	g_test_add_func("/common/rest/pages", test_pages_are_followed_to_the_end);
	g_test_add_func(
		"/common/rest/another-server", test_a_link_to_another_server_never_gets_the_token);
	g_test_add_func("/common/rest/circle", test_a_list_that_turns_in_a_circle_fails);
	g_test_add_func("/common/rest/errors", test_errors_have_the_class_of_the_modules_table);
	return g_test_run();
}
