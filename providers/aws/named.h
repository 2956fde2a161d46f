/* Kinds whose create action takes no ClientToken: the name is derived from the host's token
 * instead, and a taken name whose marks carry our lineage and token is what a lost call made. */
#pragma once
#include "aws/kinds.h"

/* How many digits of the token stand in such a name. */
#define AWS_TOKEN_IN_NAME 8

/* The last thing that the filters show, a new reference; *record stays NULL without one. */
rgp_status aws_look_up(
	const AwsCall *call, const AwsKind *kind, const json_t *filters, json_t **record);

/* The name is taken: *id (g_free) is set and the failure cleared when what stands there is ours.
 * As lists lag behind, an invisible thing is looked for again. */
rgp_status aws_adopt(const AwsCall *call, const AwsKind *kind, const json_t *input,
	const json_t *filters, char **id, ModFailure *failure);
