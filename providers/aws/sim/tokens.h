/* ClientTokens. As EC2 documents it: the same token and parameters give the earlier result and do
 * nothing; other parameters give IdempotentParameterMismatch. Tokens hold for one action and
 * region, and for RunInstances with an explicit zone for that zone only ("zonal idempotency"):
 * docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html */
#pragma once
#include "sim/core/call.h"

/* Sets *earlier (borrowed) when the request repeats one that succeeded: {ids, answer?}; NULL when
 * it is new or has no token. False and an error on the call for a mismatch or a bad token. */
bool rg_sim_token_check(RgSimCall *call, const char *zone, const json_t **earlier);
/* Notes what the request made; nothing when it has no token. `answer` may be NULL. */
void rg_sim_token_store(RgSimCall *call, const char *zone, json_t *ids, json_t *answer);
