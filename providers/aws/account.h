/* account: whose resources the credentials reach. */
#pragma once
#include "aws/aws.h"

rgp_status aws_account(const AwsCall *call, const json_t *input);
