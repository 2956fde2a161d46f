/* account: the account that the credentials belong to. */
#pragma once
#include "aws/aws.h"

rgp_status aws_account(const AwsCall *call, const json_t *input);
