/* The host's services for a module: http, env, files, helpers, sleep, cancel. The module reports
 * results as notes. */
#include "provider/provider.h"

#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "http_server.h"
#include "scripted.h"

#define DONE "['result', 'done', {'complete': true}]"

static void drop(void *data, RgResource *resource)
{
	rg_resource_free(resource);
}

static bool list(Scripted *scripted)
{
	return rg_provider_list(scripted->provider, &scripted_nodes, drop, NULL, scripted->diags);
}

/* Opens with one list step made of `actions` (may hold %s for `text`). */
G_GNUC_PRINTF(1, 2)
static Scripted *open_listing(const char *actions, ...)
{
	va_list args;
	va_start(args, actions);
	g_autofree char *step = g_strdup_vprintf(actions, args);
	va_end(args);
	g_autofree char *script = g_strdup_printf("{'list': [[%s, " DONE "]]}", step);
	return scripted_open(script, true);
}

static const char *note(const Scripted *scripted, size_t n)
{
	g_assert_cmpuint(n, <, rg_diags_count(scripted->diags));
	return rg_diags_get(scripted->diags, n)->summary;
}

static bool answer_by_path(int fd, unsigned n, const char *request, void *data)
{
	if (strstr(request, "/denied"))
		test_say(fd, "403 Forbidden", "", "no");
	else if (strstr(request, "/broken"))
		test_say(fd, "500 Internal Server Error", "", "<html>");
	else if (strstr(request, "/cut"))
		return false;
	else
		test_say(fd, "200 OK", "", "hello");
	return true;
}

static void test_brings_answers_back(void)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	g_autoptr(Scripted) scripted =
		open_listing("['http', 'GET', '%s/x', true]", test_server_url(server));
	g_assert_true(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "http 0 status 200 body hello");
	g_assert_cmpuint(test_server_count(server), ==, 1);
}

/* Whether a list of `n` requests that bring nothing is given up: each for another page, or always
 * for the same one. */
static bool gives_up(unsigned n, bool same, const char *pause)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	g_autoptr(GString) script = g_string_new("{'list': [[");
	for (unsigned i = 0; i < n; i++)
		g_string_append_printf(script, "%s['http', 'GET', '%s/x?%u', true], ", pause,
			test_server_url(server), same ? 0 : i);
	g_string_append(script, "['status', -1]]]}");
	g_autoptr(Scripted) scripted = scripted_open(script->str, true);
	g_assert_false(list(scripted));
	g_assert_cmpuint(test_server_count(server), ==, n);
	bool found = false;
	for (size_t i = 0; i < rg_diags_count(scripted->diags); i++)
		found |= g_str_equal(rg_diags_get(scripted->diags, i)->code, "http.bad-reply");
	return found;
}

static void test_gives_up_a_list_that_repeats_itself(void)
{
	g_assert_false(gives_up(201, true, ""));
	g_assert_true(gives_up(202, true, ""));
	g_assert_true(gives_up(202, true, "['sleep', 1], "));
	g_assert_false(gives_up(300, false, ""));
}

#define REMOVAL "{'kind': 'scripted.node', 'items': [{'address': 'scripted.node.p[0]', 'id': 'i'}]}"

/* The same question 300 times, each after a pause. */
static void test_waits_for_a_change_as_long_as_the_module_does(void)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	g_autoptr(GString) questions = g_string_new(NULL);
	for (unsigned i = 0; i < 300; i++)
		g_string_append_printf(questions, "['sleep', 1], ['http', 'GET', '%s/x', true], ",
			test_server_url(server));
	g_autofree char *script = g_strdup_printf(
		"{'remove': [[%s['result', 'item', {'address': 'scripted.node.p[0]', 'outcome': "
		"'done'}]]]}",
		questions->str);
	g_autoptr(Scripted) scripted = scripted_open(script, true);
	json_auto_t *input = scripted_json(REMOVAL);
	g_autoptr(GPtrArray) results =
		rg_provider_remove(scripted->provider, input, scripted->diags);
	g_assert_cmpint(((RgItemResult *)results->pdata[0])->outcome, ==, RG_OUTCOME_DONE);
	g_assert_cmpuint(test_server_count(server), ==, 300);
}

typedef struct {
	pthread_mutex_t lock;
	pthread_cond_t full;
	int waiting;
} Gate;

/* Answers only when three requests have arrived. */
static bool answer_three_at_once(int fd, unsigned n, const char *request, void *data)
{
	Gate *gate = data;
	pthread_mutex_lock(&gate->lock);
	gate->waiting++;
	pthread_cond_broadcast(&gate->full);
	while (gate->waiting < 3)
		pthread_cond_wait(&gate->full, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
	return answer_by_path(fd, n, request, NULL);
}

static void test_sends_requests_side_by_side(void)
{
	Gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
	g_autoptr(TestServer) server = test_server_new(answer_three_at_once, &gate);
	const char *url = test_server_url(server);
	g_autoptr(Scripted) scripted =
		open_listing("['all', '%s/x', '%s/broken', '%s/denied']", url, url, url);
	/* the module reports that its list is complete, but one of its requests was refused */
	g_assert_false(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "all 0: 200 hello 500 <html> 403 no");
	g_assert_cmpstr(rg_diags_get(scripted->diags, 1)->code, ==, "provider.bad-result");
}

static void test_a_request_without_an_answer_fails_the_lot(void)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	const char *url = test_server_url(server);
	g_autoptr(Scripted) scripted = open_listing("['all', '%s/x', '%s/cut']", url, url);
	g_assert_false(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "all -1: 200 hello 0");
}

static void test_the_requests_side_by_side_are_counted(void)
{
	g_autoptr(GString) action = g_string_new("['all'");
	for (int i = 0; i < 65; i++)
		g_string_append(action, ", 'http://127.0.0.1:1/'");
	g_string_append_c(action, ']');
	g_autoptr(Scripted) scripted = open_listing("%s", action->str);
	g_assert_false(list(scripted));
	scripted_assert_diag(scripted->diags, 0, "provider.bad-result",
		"module scripted returned a bad result from list: it sent 65 requests at once: 1 "
		"to 64 "
		"are allowed");
}

static const struct {
	const char *parts, *wrong;
} strange[] = {
	{"{'type': 'digest'}", "auth"},
	{"{'type': 'bearer'}", "auth"},
	{"{'type': 'bearer', 'token': 5}", "auth"},
	{"{'type': 'basic', 'user': 'u', 'password': 'p', 'realm': 'x'}", "auth"},
	{"{'type': 'none'}, {'insecure': 'true'}", "connection"},
	{"{'type': 'none'}, {'ca_pem': 1}", "connection"},
};

static void test_refuses_authentication_that_it_does_not_know(void)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(strange); i++) {
		g_autoptr(Scripted) scripted = open_listing("['http', 'GET', '%s/x', true, %s]",
			test_server_url(server), strange[i].parts);
		g_assert_false(list(scripted));
		g_autofree char *reason = g_strdup_printf(
			"\"%s\" of a request is not what the ABI describes", strange[i].wrong);
		g_assert_nonnull(strstr(note(scripted, 0), reason));
	}
	g_assert_cmpuint(test_server_count(server), ==, 0);
	g_autoptr(Scripted) known = open_listing(
		"['http', 'GET', '%s/x', true, {'type': 'basic', 'user': 'u', 'password': 'p'}]",
		test_server_url(server));
	g_assert_true(list(known));
}

/* gone_for_denied: a list that is "complete" after a refusal would make everything absent. */
static void test_does_not_believe_a_list_after_a_refused_request(void)
{
	static const struct {
		const char *path, *number;
	} rows[] = {{"denied", "403"}, {"broken", "500"}, {"cut", "0"}};
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(Scripted) scripted = open_listing(
			"['http', 'GET', '%s/%s', true]", test_server_url(server), rows[i].path);
		g_autofree char *reason =
			g_strdup_printf("module scripted returned a bad result from "
					"list: it reports \"complete\", but "
					"the last request was refused (%s)",
				rows[i].number);
		g_assert_false(list(scripted));
		scripted_assert_diag(scripted->diags, 1, "provider.bad-result", reason);
	}
}

static void test_believes_a_list_when_a_refused_request_was_made_good(void)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	g_autoptr(Scripted) scripted =
		open_listing("['http', 'GET', '%s/denied', true], ['http', 'GET', '%s/x', true]",
			test_server_url(server), test_server_url(server));
	g_assert_true(list(scripted));
}

static void test_does_not_believe_a_removal_after_a_refused_request(void)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	g_autofree char *script = g_strdup_printf(
		"{'remove': [[['http', 'POST', '%s/denied', false], ['result', 'item', {'address': "
		"'scripted.node.p[0]', 'outcome': 'done'}]]]}",
		test_server_url(server));
	g_autoptr(Scripted) scripted = scripted_open(script, true);
	json_auto_t *input = scripted_json(REMOVAL);
	g_autoptr(GPtrArray) results =
		rg_provider_remove(scripted->provider, input, scripted->diags);
	const RgItemResult *result = g_ptr_array_index(results, 0);
	g_assert_cmpint(result->outcome, ==, RG_OUTCOME_FAILED);
	g_assert_cmpint(result->class_, ==, RG_CLASS_DENIED);
	scripted_assert_diag(scripted->diags, 1, "provider.bad-result",
		"module scripted returned a bad result from remove: scripted.node.p[0] is reported "
		"as "
		"removed, but the last request was refused (403)");
}

static void test_tells_why_there_was_no_answer(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'list': [[['http', 'GET', 'http://127.0.0.1:1/', true], ['status', -1]]]}", true);
	g_assert_false(list(scripted));
	size_t n = rg_diags_count(scripted->diags);
	g_assert_cmpuint(n, ==, 2);
	g_assert_cmpstr(rg_diags_get(scripted->diags, 1)->code, ==, "http.connect");
}

static void test_without_network_says_so(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'list': [[['http', 'GET', 'http://127.0.0.1:1/', true], ['status', -1]]]}",
		false);
	g_assert_false(list(scripted));
	scripted_assert_diag(scripted->diags, 1, "http.module",
		"list needs the network, but this command does not use it");
}

static void test_reads_the_environment_that_cmd_gives(void)
{
	g_autoptr(Scripted) scripted = open_listing("['env', 'SCRIPTED'], ['env', 'HOME']");
	g_assert_true(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "a value");
	g_assert_cmpstr(note(scripted, 1), ==, "(unset)");
}

static void test_reads_regular_files_up_to_the_cap(void)
{
	g_autofree char *dir = g_dir_make_tmp("services-XXXXXX", NULL);
	g_autofree char *small = g_build_filename(dir, "small", NULL);
	g_autofree char *large = g_build_filename(dir, "large", NULL);
	g_autofree char *pipe = g_build_filename(dir, "pipe", NULL);
	g_autofree char *bytes = g_malloc0(16 * 1024 * 1024 + 1);
	g_assert_true(g_file_set_contents(small, "text", -1, NULL));
	g_assert_true(g_file_set_contents(large, bytes, 16 * 1024 * 1024 + 1, NULL));
	g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
	g_autoptr(Scripted) scripted = open_listing("['read', '%s'], ['read', '%s'], ['read', "
						    "'%s'], ['read', '%s'], ['read', 'small'], "
						    "['read', '~/nothing']",
		small, large, pipe, dir);
	g_assert_true(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "read 0 length 4: text");
	for (size_t i = 1; i < 6; i++)
		g_assert_cmpstr(note(scripted, i), ==, "read -1 length 0:");
	g_unlink(small);
	g_unlink(large);
	g_unlink(pipe);
	g_rmdir(dir);
}

static void test_runs_helpers_without_a_shell(void)
{
	g_autoptr(Scripted) scripted = open_listing(
		"['exec', 'echo', '$HOME;', 'x'], ['exec', '/bin/false'], ['exec', '/no/such'], "
		"['exec', 'sh', '-c', 'cat; echo end'], ['exec', 'sh', '-c', 'read -r pid name "
		"state "
		"parent group session rest </proc/$$/stat; echo $((session == $$))']");
	g_assert_true(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "exec 0 length 9: $HOME; x");
	g_assert_cmpstr(note(scripted, 1), ==, "exec -1 length 0:");
	g_assert_cmpstr(note(scripted, 2), ==, "exec -1 length 0:");
	g_assert_cmpstr(note(scripted, 3), ==, "exec 0 length 4: end");
	/* a session of its own: it can ask nothing of a terminal */
	g_assert_cmpstr(note(scripted, 4), ==, "exec 0 length 2: 1");
}

static void test_tells_how_each_of_many_programs_ended(void)
{
	g_autoptr(Scripted) scripted =
		open_listing("['exec_all', 'printf out; printf err >&2; exit 3', 'kill -9 $$', "
			     "'printf fine']");
	g_assert_true(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "0: 3 [out] [err]");
	g_assert_cmpstr(note(scripted, 1), ==, "0: 137 [] []");
	g_assert_cmpstr(note(scripted, 2), ==, "0: 0 [fine] []");
}

/* The first waits for what the second writes: one after the other, both would time out. */
static void test_runs_many_programs_at_the_same_time(void)
{
	g_autofree char *dir = g_dir_make_tmp("exec-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "pipe", NULL);
	g_assert_cmpint(mkfifo(path, 0600), ==, 0);
	g_autoptr(Scripted) scripted = open_listing(
		"['exec_all', 'cat %s', 'printf met >%s', 'printf late >&2; sleep 60']", path,
		path);
	g_assert_true(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "-1: 0 [met] []");
	g_assert_cmpstr(note(scripted, 1), ==, "-1: 0 [] []");
	g_assert_cmpstr(note(scripted, 2), ==, "-1: -1 [] [late]");
	g_unlink(path);
	g_rmdir(dir);
}

static void test_more_programs_than_run_at_a_time_all_end(void)
{
	g_autoptr(GString) script = g_string_new("['exec_all'");
	for (int i = 0; i < 70; i++)
		g_string_append_printf(script, ", 'printf %d'", i);
	g_string_append(script, "]");
	g_autoptr(Scripted) scripted = open_listing("%s", script->str);
	g_assert_true(list(scripted));
	for (size_t i = 0; i < 70; i++) {
		g_autofree char *text = g_strdup_printf("0: 0 [%zu] []", i);
		g_assert_cmpstr(note(scripted, i), ==, text);
	}
}

static void test_helpers_get_variables_and_input(void)
{
	g_autoptr(Scripted) scripted = open_listing(
		"['run', true, ['WHO=raygpu', 'EMPTY=', 'EQUATION=a=b'], 'one\\ntwo', 'sh', "
		"'-c', 'echo $WHO,$EMPTY,$EQUATION,${HOME:+home}; cat'], "
		"['run', true, [], '', 'sh', '-c', 'echo ${WHO:-nobody}; cat /dev/stdin']");
	g_assert_true(list(scripted));
	g_assert_cmpstr(note(scripted, 0), ==, "exec 0 length 24: raygpu,,a=b,home one two");
	g_assert_cmpstr(note(scripted, 1), ==, "exec 0 length 7: nobody");
}

/* drift reads: a program that may change something runs only in calls that may. */
static void test_reading_calls_run_only_programs_that_read(void)
{
	static const char run[] = "['run', false, [], '', 'touch', '%s'], ";
	g_autofree char *dir = g_dir_make_tmp("exec-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "touched", NULL);
	g_autofree char *action = g_strdup_printf(run, path);
	g_autofree char *script =
		g_strdup_printf("{'list': [[%s" DONE "]], 'create': [[%s['result', 'item', "
				"{'address': 'scripted.node.a', 'outcome': "
				"'done', 'id': 'i'}]]]}",
			action, action);
	g_autoptr(Scripted) scripted = scripted_open(script, true);
	g_assert_false(list(scripted));
	scripted_assert_diag(scripted->diags, 0, "provider.bad-result",
		"module scripted returned a bad result from list: it ran \"touch\", which is not "
		"marked as reading, in list");
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	json_auto_t *input = json_pack(
		"{s:s, s:[{s:s}]}", "kind", "scripted.node", "items", "address", "scripted.node.a");
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GPtrArray) results = rg_provider_create(scripted->provider, input, diags);
	g_assert_cmpint(((RgItemResult *)results->pdata[0])->outcome, ==, RG_OUTCOME_DONE);
	g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
	g_unlink(path);
	g_rmdir(dir);
}

static void test_ends_helpers_that_take_too_long_or_say_too_much(void)
{
	g_autoptr(Scripted) scripted = open_listing(
		"['exec', 'sleep', '600'], ['exec', 'sh', '-c', 'sleep 600 & echo left'], "
		"['exec', 'head', '-c', '1048577', '/dev/zero'], ['exec', 'head', '-c', "
		"'1048576', '/dev/zero']");
	int64_t begin_ms = rg_clock_monotonic_ms();
	g_assert_true(list(scripted));
	g_assert_cmpint(rg_clock_monotonic_ms() - begin_ms, <, 60000);
	for (size_t i = 0; i < 3; i++)
		g_assert_cmpstr(note(scripted, i), ==, "exec -1 length 0:");
	g_assert_cmpstr(note(scripted, 3), ==, "exec 0 length 1048576:");
}

static void test_tells_why_a_helper_failed_when_the_call_fails(void)
{
	g_autoptr(Scripted) scripted =
		scripted_open("{'list': [[['exec', 'sh', '-c', 'echo no login >&2; exit 3'], "
			      "['diag', {'class': 3, "
			      "'summary': 'no credentials'}], ['status', -1]]]}",
			true);
	g_assert_false(list(scripted));
	scripted_assert_diag(scripted->diags, 1, "provider.denied", "no credentials");
	scripted_assert_diag(scripted->diags, 2, "provider.credentials",
		"the helper \"sh\" ended with status 3");
	g_assert_cmpstr(rg_diags_get(scripted->diags, 2)->detail, ==, "no login");
}

/* ignores_cancel: waits and requests end at once, so even a module that never checks returns. */
static void test_a_module_that_ignores_a_cancel_gets_nowhere(void)
{
	g_autoptr(TestServer) server = test_server_new(answer_by_path, NULL);
	g_autoptr(Scripted) scripted =
		open_listing("['sleep', 200000], ['http', 'GET', '%s/x', true], ['exec', 'sleep', "
			     "'200'], ['sleep', 200000]",
			test_server_url(server));
	g_atomic_int_set(&scripted->canceled, 1);
	int64_t begin_ms = rg_clock_monotonic_ms();
	g_assert_false(list(scripted));
	g_assert_cmpint(rg_clock_monotonic_ms() - begin_ms, <, 60000);
	g_assert_cmpuint(test_server_count(server), ==, 0);
	g_assert_cmpstr(note(scripted, 0), ==, "http -5 status 0 body");
	g_assert_cmpstr(note(scripted, 1), ==, "exec -5 length 0:");
	g_assert_false(rg_provider_sleep(scripted->provider, 5000));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *sentence;
		void (*test)(void);
	} tests[] = {
		{"brings answers back", test_brings_answers_back},
		{"gives up a list that repeats itself", test_gives_up_a_list_that_repeats_itself},
		{"waits for a change as long as the module does",
			test_waits_for_a_change_as_long_as_the_module_does},
		{"sends requests side by side", test_sends_requests_side_by_side},
		{"a request without an answer fails the lot",
			test_a_request_without_an_answer_fails_the_lot},
		{"the requests side by side are counted",
			test_the_requests_side_by_side_are_counted},
		{"refuses authentication that it does not know",
			test_refuses_authentication_that_it_does_not_know},
		{"does not believe a list after a refused request",
			test_does_not_believe_a_list_after_a_refused_request},
		{"believes a list when a refused request was made good",
			test_believes_a_list_when_a_refused_request_was_made_good},
		{"does not believe a removal after a refused request",
			test_does_not_believe_a_removal_after_a_refused_request},
		{"tells why there was no answer", test_tells_why_there_was_no_answer},
		{"without network says so", test_without_network_says_so},
		{"reads the environment that cmd gives", test_reads_the_environment_that_cmd_gives},
		{"reads regular files up to the cap", test_reads_regular_files_up_to_the_cap},
		{"runs helpers without a shell", test_runs_helpers_without_a_shell},
		{"tells how each of many programs ended",
			test_tells_how_each_of_many_programs_ended},
		{"runs many programs at the same time", test_runs_many_programs_at_the_same_time},
		{"more programs than run at a time all end",
			test_more_programs_than_run_at_a_time_all_end},
		{"helpers get variables and input", test_helpers_get_variables_and_input},
		{"reading calls run only programs that read",
			test_reading_calls_run_only_programs_that_read},
		{"ends helpers that take too long or say too much",
			test_ends_helpers_that_take_too_long_or_say_too_much},
		{"tells why a helper failed when the call fails",
			test_tells_why_a_helper_failed_when_the_call_fails},
		{"a module that ignores a cancel gets nowhere",
			test_a_module_that_ignores_a_cancel_gets_nowhere},
	};
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strconcat("/provider/services/", tests[i].sentence, NULL);
		g_test_add_func(path, tests[i].test);
	}
	return g_test_run();
}
