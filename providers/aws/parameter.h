/* Images by name: what an SSM parameter says today, such as the newest image that AWS publishes
 * under a path. Part of resolve; the answer is pinned, so that it moves only with the spec. */
#pragma once
#include "aws/aws.h"

#define AWS_PARAMETER_PREFIX "ssm:"

typedef struct {
	const char *name, *origin; /* of the spec's value */
} AwsParameter;

/* The image ids that the parameters (AwsParameter*) hold, under their names in `ids`. They are
 * asked for side by side. RGP_FAIL after diagnostics. */
rgp_status aws_parameters_read(const AwsCall *call, const GPtrArray *parameters, json_t *ids);
