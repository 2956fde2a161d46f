/* The parts of the kind aws.instance: what a DescribeInstances record says (instance_read.c) and
 * the calls that make and change instances (instance.c, instance_create.c). */
#pragma once
#include "aws/kinds.h"

extern const AwsShape aws_describe_instances, aws_run_instances;

void aws_instance_read(const json_t *record, AwsSeen *seen);
void aws_instance_readiness(const AwsCall *call, const json_t *record, ModFailure *failure);
/* Terminated, or on the way there. */
bool aws_instance_is_gone(const json_t *record);
rgp_status aws_instance_create(const AwsCall *call, const json_t *input);
