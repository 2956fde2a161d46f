#include "aws_fixture.h"
#include <string.h>

const struct rgp_provider *raygpu_provider_v1_aws(void);

void aws_fixture_set_up(AwsFixture *f, gconstpointer data)
{
	f->server = aws_server_new();
	f->call = aws_test_call_new();
	f->aws = raygpu_provider_v1_aws();
	g_autofree char *url = aws_server_url(f->server);
	g_autofree char *config = g_strdup_printf(
		"{\"region\": \"us-east-1\", \"config\": {\"endpoint\": \"%s\"}}", url);
	const struct rgp_args args = {.size = sizeof args, .input = {config, strlen(config)}};
	g_hash_table_insert(f->call->env, g_strdup("AWS_ACCESS_KEY_ID"), g_strdup("AKID"));
	g_hash_table_insert(f->call->env, g_strdup("AWS_SECRET_ACCESS_KEY"), g_strdup("secret"));
	g_assert_cmpint(f->aws->open(&aws_test_host, f->call, &args, &f->inst), ==, RGP_OK);
}

void aws_fixture_tear_down(AwsFixture *f, gconstpointer data)
{
	g_assert_cmpuint(aws_server_left(f->server), ==, 0);
	f->aws->close(f->inst);
	aws_test_call_free(f->call);
	aws_server_free(f->server);
}

void aws_expect_field(AwsFixture *f, unsigned n, const char *name, const char *value)
{
	g_autofree char *field = aws_server_field(f->server, n, name);
	if (g_strcmp0(field, value)) {
		g_test_message("%s of request %u: %s", name, n, aws_server_form(f->server, n));
		g_assert_cmpstr(field, ==, value);
	}
}

const char *aws_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

void aws_expect_item(AwsFixture *f, const char *address, const char *outcome, const char *class_)
{
	const json_t *item = aws_test_item(f->call, address);
	g_assert_nonnull(item);
	g_assert_cmpstr(aws_text_of(item, "outcome"), ==, outcome);
	g_assert_cmpstr(aws_text_of(item, "class"), ==, class_);
}

bool aws_is_definite(AwsFixture *f, const char *address)
{
	return json_is_true(json_object_get(aws_test_item(f->call, address), "definite"));
}

char *aws_instance_xml(const char *id, int place, const char *state, const char *more)
{
	return g_strdup_printf(
		"<item><instanceId>%s</instanceId><amiLaunchIndex>%d</amiLaunchIndex>"
		"<instanceType>p3.2xlarge</instanceType><imageId>ami-1</imageId>"
		"<subnetId>subnet-1</subnetId><privateIpAddress>10.0.0.%d</privateIpAddress>"
		"<instanceState><name>%s</name></instanceState><launchTime>2026-01-01T00:00:00Z"
		"</launchTime><placement><availabilityZone>us-east-1a</availabilityZone></"
		"placement>"
		"<networkInterfaceSet><item><networkInterfaceId>eni-%d</networkInterfaceId>"
		"<groupSet><item><groupId>sg-1</groupId></item></groupSet></item>"
		"</networkInterfaceSet>%s</item>",
		id, place, place + 4, state, place, more);
}

void aws_say_instances(AwsFixture *f, const char *action, const char *items, const char *after)
{
	bool run = g_str_equal(action, "RunInstances");
	g_autofree char *inside = g_strdup_printf(run ? "<instancesSet>%s</instancesSet>%s"
						      : "<reservationSet><item><instancesSet>%s"
							"</instancesSet></item></reservationSet>%s",
		items, after);
	aws_server_say_ok(f->server, action, inside);
}
