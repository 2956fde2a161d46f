/* permissions: the IAM policy that a task needs for one spec, from permissions.json. Pure. */
#pragma once
#include "aws/aws.h"

rgp_status aws_permissions(const AwsCall *call, const json_t *input);
