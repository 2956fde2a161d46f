/* Kubernetes in raygpu-sim: not simulated, and a row in cmd/raygpu-sim's table that says so. */
#pragma once
#include "sim/core/cloud.h"

extern const RgSimCloud kubernetes_sim_cloud;
