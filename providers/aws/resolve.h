/* resolve: what the spec names and what it leaves open -> facts, through reading calls: images and
 * where instance types are offered (resolve.c), the network (network.c). A finding refers to the
 * line of the spec that it concerns. */
#pragma once
#include "aws/ec2.h"

/* One reading request of resolve. All of them are sent concurrently: a plan waits for the
 * slowest. */
typedef struct {
	Ec2Pages pages;	 /* first member, so that an array of questions is an array of these */
	json_t *records; /* of the answer */
} AwsQuestion;

/* of DescribeInstanceTypeOfferings: records with instanceType and location */
extern const AwsShape aws_describe_offerings;

/* Adds a question, owned by the array; steals params. `origin` must live as long. */
AwsQuestion *aws_ask(GPtrArray *questions, const char *action, const AwsShape *shape,
	json_t *params, const char *origin);
void aws_question_free(gpointer question);

/* A question about instance types that no table has, NULL if none is requested; its answer into
 * "types" of facts. */
AwsQuestion *aws_types_ask(GPtrArray *questions, const json_t *wanted);
void aws_types_take(const AwsQuestion *question, const json_t *wanted, json_t *facts);

/* The queries about the network; members are NULL if not needed. */
typedef struct {
	AwsQuestion *vpcs, *subnets, *groups;
} AwsNetwork;
void aws_network_ask(const AwsCall *call, GPtrArray *questions, AwsNetwork *network);
/* Sets "zones", "zone_ids" and "module" of facts: the spec's own network, checked, or the region's
 * default one. */
rgp_status aws_network_take(const AwsCall *call, const AwsNetwork *network, json_t *facts);
