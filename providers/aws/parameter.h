/* Images by name: the current value of an SSM parameter, such as the newest image that AWS
 * publishes under a path. Part of resolve; the result is pinned, so that it changes only with the
 * spec. */
#pragma once
#include "aws/aws.h"

#define AWS_PARAMETER_PREFIX "ssm:"

typedef struct {
	const char *name, *origin; /* of the spec's value */
} AwsParameter;

/* The image ids of the parameters (AwsParameter*), stored under their names in `ids`. Requested
 * concurrently. RGP_FAIL after diagnostics. */
rgp_status aws_parameters_read(const AwsCall *call, const GPtrArray *parameters, json_t *ids);
