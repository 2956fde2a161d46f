/* Keys that expire: requested once, and again before they expire. tests/cli/aws/test_aws_keys.py
 * tests the rest of the chain with the whole program. */
#include "aws/credentials.h"
#include "aws/open.h"
#include "aws_host.h"
#include "aws_server.h"
#include <string.h>

typedef struct {
	AwsServer *server;
	struct rgp_call *call;
	struct rgp_inst *inst;
} Fixture;

static void set(Fixture *f, const char *name, const char *value)
{
	g_hash_table_insert(f->call->env, g_strdup(name), g_strdup(value));
}

static void set_up(Fixture *f, gconstpointer data)
{
	static const char config[] = "{\"region\": \"eu-west-1\", \"config\": {}}";
	const struct rgp_args args = {.size = sizeof args, .input = {config, strlen(config)}};
	f->server = aws_server_new();
	f->call = aws_test_call_new();
	g_autofree char *url = aws_server_url(f->server);
	g_autofree char *container = g_strconcat(url, "/keys", NULL);
	set(f, "AWS_CONTAINER_CREDENTIALS_FULL_URI", container);
	g_assert_cmpint(aws_open(&aws_test_host, f->call, &args, &f->inst), ==, RGP_OK);
}

static void tear_down(Fixture *f, gconstpointer data)
{
	g_assert_cmpuint(aws_server_left(f->server), ==, 0);
	aws_close(f->inst);
	aws_test_call_free(f->call);
	aws_server_free(f->server);
}

static void say_keys(Fixture *f, const char *key, int64_t lasts_s)
{
	g_autoptr(GDateTime) end = g_date_time_new_from_unix_utc(f->call->now_s + lasts_s);
	g_autofree char *until = g_date_time_format(end, "%Y-%m-%dT%H:%M:%SZ");
	g_autofree char *body = g_strdup_printf(
		"{\"AccessKeyId\": \"%s\", \"SecretAccessKey\": \"hush\", \"Token\": \"t\", "
		"\"Expiration\": \"%s\"}",
		key, until);
	aws_server_say(f->server, 200, body);
}

static void expect_key(Fixture *f, const char *service, const char *key)
{
	const AwsCall aws = {.talk = {.host = &aws_test_host, .call = f->call}, .inst = f->inst};
	g_autofree char *auth = aws_credentials_get(&aws, service);
	g_assert_nonnull(auth);
	json_auto_t *json = json_loads(auth, 0, NULL);
	g_assert_cmpstr(mod_str(json, "access_key"), ==, key);
	g_assert_cmpstr(mod_str(json, "service"), ==, service);
	g_assert_cmpstr(mod_str(json, "region"), ==, "eu-west-1");
	g_assert_cmpstr(mod_str(json, "session_token"), ==, "t");
}

static void test_renewal(Fixture *f, gconstpointer data)
{
	say_keys(f, "FIRST", 3600);
	expect_key(f, "ec2", "FIRST");
	expect_key(f, "ssm", "FIRST");
	f->call->now_s += 3299;
	expect_key(f, "ec2", "FIRST");
	g_assert_cmpuint(aws_server_count(f->server), ==, 1);
	f->call->now_s += 2;
	say_keys(f, "SECOND", 3600);
	expect_key(f, "ec2", "SECOND");
	g_assert_cmpuint(aws_server_count(f->server), ==, 2);
	g_assert_true(
		g_ptr_array_find_with_equal_func(f->call->secrets, "hush", g_str_equal, NULL));
}

/* The source of the keys is unavailable for a while: the current ones are used until they expire,
 * without an error in the call, and new ones are requested once a minute. */
static void test_failed_renewal(Fixture *f, gconstpointer data)
{
	say_keys(f, "FIRST", 3600);
	expect_key(f, "ec2", "FIRST");
	f->call->now_s += 3301;
	aws_server_say(f->server, 403, "{\"message\": \"not now\"}");
	expect_key(f, "ec2", "FIRST");
	g_assert_cmpuint(aws_server_count(f->server), ==, 2);
	g_assert_cmpuint(json_array_size(f->call->diags), ==, 0);
	f->call->now_s += 59;
	expect_key(f, "ec2", "FIRST");
	g_assert_cmpuint(aws_server_count(f->server), ==, 2);
	f->call->now_s += 2;
	aws_server_say(f->server, 200, "{}");
	expect_key(f, "ec2", "FIRST");
	f->call->now_s += 61;
	say_keys(f, "SECOND", 3600);
	expect_key(f, "ec2", "SECOND");
	/* expired: now it is an error */
	f->call->now_s += 3601;
	aws_server_say(f->server, 200, "{}");
	const AwsCall aws = {.talk = {.host = &aws_test_host, .call = f->call}, .inst = f->inst};
	g_assert_null(aws_credentials_get(&aws, "ec2"));
	g_assert_cmpuint(json_array_size(f->call->diags), ==, 1);
}

/* Keys that last less than the margin must not be requested with every request. */
static void test_short_lives(Fixture *f, gconstpointer data)
{
	say_keys(f, "FIRST", 120);
	expect_key(f, "ec2", "FIRST");
	f->call->now_s += 59;
	expect_key(f, "ec2", "FIRST");
	g_assert_cmpuint(aws_server_count(f->server), ==, 1);
	f->call->now_s += 2;
	say_keys(f, "SECOND", 30);
	expect_key(f, "ec2", "SECOND");
	f->call->now_s += 31; /* expired: immediately, whatever the interval */
	say_keys(f, "THIRD", 3600);
	expect_key(f, "ec2", "THIRD");
}

static void test_odd_documents(Fixture *f, gconstpointer data)
{
	static const char *const bodies[] = {"", "{}", "[1]", "not json", "{\"AccessKeyId\": 1}",
		"{\"AccessKeyId\": \"K\", \"SecretAccessKey\": \"\"}",
		"{\"AccessKeyId\": \"K\", \"SecretAccessKey\": \"s\", \"Expiration\": \"soon\"}"};
	const AwsCall aws = {.talk = {.host = &aws_test_host, .call = f->call}, .inst = f->inst};
	for (size_t i = 0; i < G_N_ELEMENTS(bodies); i++) {
		aws_test_call_reset(f->call);
		aws_server_say(f->server, 200, bodies[i]);
		g_assert_null(aws_credentials_get(&aws, "ec2"));
		g_assert_cmpuint(json_array_size(f->call->diags), ==, 1);
	}
}

#define ADD(path, fn) g_test_add("/aws/keys/" path, Fixture, NULL, set_up, fn, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("are-kept-and-renewed-before-they-end", test_renewal);
	ADD("that-hold-serve-on-when-there-are-no-new-ones", test_failed_renewal);
	ADD("of-short-life-are-not-asked-for-every-time", test_short_lives);
	ADD("odd-documents-are-refused", test_odd_documents);
	return g_test_run();
}
