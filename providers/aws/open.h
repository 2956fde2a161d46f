/* open and close of the module's table: an instance's settings. */
#pragma once
#include "aws/aws.h"

rgp_status aws_open(const struct rgp_host *host, struct rgp_call *call, const struct rgp_args *args,
	struct rgp_inst **out);
void aws_close(struct rgp_inst *inst);
