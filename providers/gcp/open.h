/* open and close of the module's table: an instance's settings. */
#pragma once
#include "gcp/gcp.h"

rgp_status gcp_open(const struct rgp_host *host, struct rgp_call *call, const struct rgp_args *args,
	struct rgp_inst **out);
void gcp_close(struct rgp_inst *inst);
