/* Amazon's EC2, STS and SSM, simulated: a row in cmd/raygpu-sim's table. */
#pragma once
#include "sim/core/cloud.h"

extern const RgSimCloud aws_sim_cloud;
