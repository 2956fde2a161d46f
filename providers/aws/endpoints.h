/* Where a service is reached: the endpoint that the spec, the environment or the config file names,
 * else the partition's public endpoint, also FIPS and dual-stack. The order is botocore's
 * (ConfiguredEndpointProvider, 1.43). Reads files through the host; no network. */
#pragma once
#include "aws/keys.h"

typedef struct {
	const char *id;	  /* "sso_oidc": in [services NAME]; in capitals after AWS_ENDPOINT_URL_ */
	const char *host; /* first label of the public name: "oidc" */
	const char *setting; /* the spec's, "" if it has none */
	bool global;	     /* one endpoint a partition: IAM */
	const char *place;   /* of the setting, for messages; NULL: the spec's */
} AwsService;

/* Returns a URL that ends with a slash; g_free. `named` (may be NULL): it is not a public endpoint.
 * RGP_FAIL after a diagnostic. */
rgp_status aws_endpoint_find(const AwsChain *chain, const AwsService *service, const char *region,
	char **endpoint, bool *named);
/* The region that requests to a service with one endpoint a partition are signed for. */
const char *aws_endpoint_global_region(const char *region);
/* Whether an endpoint of a file in a repository may get signed requests: Amazon, this machine, or
 * what RAYGPU_ALLOW_ENDPOINTS lists. */
bool aws_endpoint_is_trusted(const ModTalk *talk, const char *url);
/* Whether the host is one of Amazon's. */
bool aws_endpoint_is_public(const char *url);
