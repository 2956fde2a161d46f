/* The credential chain, in the order of AWS's SDKs: environment, the profile's role, web identity,
 * the profile's other sources, container, instance metadata; all through the host. Searched at the
 * first request, so that calls without network need none, and again before the keys expire. */
#pragma once
#include "aws/keys.h"

/* For inst->keys. */
ModLease *aws_credentials_lease(struct rgp_inst *inst);

/* The JSON for rgp_http_req.auth, for requests to `service` ("ec2"); g_free. NULL after a
 * diagnostic that lists where it looked, or if canceled. Any thread. */
char *aws_credentials_get(const AwsCall *call, const char *service);
/* The same for a service whose requests are signed for another region than the instance's; NULL:
 * for that. */
char *aws_credentials_get_for(const AwsCall *call, const char *service, const char *region);
/* Where they were found, in words; "" if there are none. g_free. */
char *aws_credentials_from(const AwsCall *call);
