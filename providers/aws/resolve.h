/* resolve: what the spec names and what it leaves open -> facts, by reading calls: images and
 * where instance types are offered (resolve.c), the network (network.c). A finding names the line
 * of the spec that it is about. */
#pragma once
#include "aws/ec2.h"

/* One reading request of resolve. All of them go out side by side: a plan waits for the longest. */
typedef struct {
	Ec2Pages pages;	 /* first: an array of questions is one of these */
	json_t *records; /* of the answer */
} AwsQuestion;

/* Adds a question, owned by the array; steals params. `origin` must live as long. */
AwsQuestion *aws_ask(GPtrArray *questions, const char *action, const AwsShape *shape,
	json_t *params, const char *origin);

/* What is asked about the network; members are NULL where nothing is. */
typedef struct {
	AwsQuestion *vpcs, *subnets, *groups;
} AwsNetwork;
void aws_network_ask(const AwsCall *call, GPtrArray *questions, AwsNetwork *network);
/* Sets "zones" and "module" of facts: the spec's own network, checked, or the region's default one.
 */
rgp_status aws_network_take(const AwsCall *call, const AwsNetwork *network, json_t *facts);

/* A finding about the spec's value at `origin` (a JSON pointer, NULL or "": none); RGP_FAIL. */
rgp_status aws_refuse(const AwsCall *call, const char *origin, const char *hint, const char *format,
	...) G_GNUC_PRINTF(4, 5);
