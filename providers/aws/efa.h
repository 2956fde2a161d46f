/* EFA (Elastic Fabric Adapter): the interfaces of a node that has them, for RunInstances, and their
 * form in DescribeInstances. Their number is in the fitted document; the first network card that
 * supports them is data (efa.csv: types whose first card is not 0, see README.md). Pure; any
 * thread. */
#pragma once
#include "aws/aws.h"

/* NetworkInterface.N of a worker whose `efa_interfaces` is above 0; a new reference. */
json_t *aws_efa_interfaces(const json_t *attributes);
/* The number of interfaces of such a node of the type: more than one excludes a public address. */
json_int_t aws_efa_count(const char *instance_type, json_int_t efa);
/* Whether an interface in a record of DescribeInstances is one, and how many the record has. */
bool aws_efa_is(const json_t *interface);
json_int_t aws_efa_seen(const json_t *record);
