/* Images by name: what an SSM parameter says today, such as the newest image that AWS publishes
 * under a path. Part of resolve; the answer is pinned, so that it moves only with the spec. */
#pragma once
#include "aws/aws.h"

#define AWS_PARAMETER_PREFIX "ssm:"

/* *id: the image id (g_free) that the parameter `name` holds; `origin`: the spec's value. RGP_FAIL
 * after a diagnostic. One reading request. */
rgp_status aws_parameter_image(
	const AwsCall *call, const char *name, const char *origin, char **id);
