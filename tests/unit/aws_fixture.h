/* Shared by tests of the AWS module's calls: an open instance against a scripted server, and
 * helpers for requests and results. One fixture per test, one thread. */
#pragma once
#include "aws_host.h"
#include "aws_server.h"

typedef struct {
	AwsServer *server;
	struct rgp_call *call;
	struct rgp_inst *inst;
	const struct rgp_provider *aws;
} AwsFixture;

void aws_fixture_set_up(AwsFixture *f, gconstpointer data);
/* Also checks that all prepared answers were used. */
void aws_fixture_tear_down(AwsFixture *f, gconstpointer data);

/* A field of the n-th request; NULL if it does not exist. */
void aws_expect_field(AwsFixture *f, unsigned n, const char *name, const char *value);
/* The item returned for the address. */
void aws_expect_item(AwsFixture *f, const char *address, const char *outcome, const char *class_);
bool aws_is_definite(AwsFixture *f, const char *address);
/* "" if absent. */
const char *aws_text_of(const json_t *object, const char *key);

/* An <item> of instancesSet; g_free. */
char *aws_instance_xml(const char *id, int place, const char *state, const char *more);
/* An answer of RunInstances or DescribeInstances with these items. */
void aws_say_instances(AwsFixture *f, const char *action, const char *items, const char *after);

#define AWS_MARKS                                                                                  \
	"<tagSet><item><key>raygpu:kind</key><value>aws.instance</value></item>"                   \
	"<item><key>raygpu:name</key><value>train</value></item>"                                  \
	"<item><key>raygpu:indexes</key><value>2-3,7</value></item>"                               \
	"<item><key>raygpu:token</key><value>tok</value></item>"                                   \
	"<item><key>raygpu:cluster</key><value>c</value></item>"                                   \
	"<item><key>raygpu:lineage</key><value>lin</value></item>"                                 \
	"<item><key>aws:x</key><value>y</value></item>"                                            \
	"<item><key>team</key><value>ml</value></item></tagSet>"
