/* EFA (Elastic Fabric Adapter): the interfaces of a node that has them, for RunInstances, and what
 * DescribeInstances shows of them. How many is the fitted document's; which network card is the
 * first that takes them is data (efa.csv: types whose first card is not 0, see README.md). Pure;
 * any thread. */
#pragma once
#include "aws/aws.h"

/* NetworkInterface.N of a worker whose `efa_interfaces` is above 0; a new reference. */
json_t *aws_efa_interfaces(const json_t *attributes);
/* Interfaces that such a node of the type has: more than one can't be with a public address. */
json_int_t aws_efa_count(const char *instance_type, json_int_t efa);
/* Whether an interface of a record of DescribeInstances is one, and how many it has. */
bool aws_efa_is(const json_t *interface);
json_int_t aws_efa_seen(const json_t *record);
