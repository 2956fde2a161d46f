/* Kinds whose create action has no ClientToken: the name is derived from the host's token instead,
 * and a resource with that name whose marks carry our lineage and token is the result of a lost
 * call. */
#pragma once
#include "aws/kinds.h"

/* How many digits of the token such a name contains. */
#define AWS_TOKEN_IN_NAME 8

/* The last resource that the filters match, a new reference; *record stays NULL without one. */
rgp_status aws_look_up(
	const AwsCall *call, const AwsKind *kind, const json_t *filters, json_t **record);

/* The name is taken: if that resource is ours, sets *id (g_free) and clears the failure. Because
 * lists lag, it looks again for an invisible one. */
rgp_status aws_adopt(const AwsCall *call, const AwsKind *kind, const json_t *input,
	const json_t *filters, char **id, ModFailure *failure);
