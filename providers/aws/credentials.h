/* The credential chain: environment, then the shared credentials file, then the config file, by
 * way of the host. Looked for at the first request, so that calls without network need none. */
#pragma once
#include "aws/aws.h"

/* The JSON for rgp_http_req.auth, borrowed, good for the instance's life. NULL after a diagnostic
 * that says where was looked. Registers the secrets for redaction. */
const char *aws_credentials_get(const AwsCall *call);
