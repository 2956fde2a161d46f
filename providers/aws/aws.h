/* Inside the AWS module: an opened instance, and the data of one call. The instance is immutable
 * except for `keys`, a lease that requests fill and renew. */
#pragma once
#include "aws/errors.h"
#include "common/calls.h"
#include "common/lease.h"

struct AwsStore;

struct rgp_inst {
	char *region, *endpoint; /* "https://ec2.us-east-1.amazonaws.com/" */
	char *sts_endpoint, *ssm_endpoint;
	char *quotas_endpoint, *iam_endpoint;
	char *account_endpoint; /* that of STS, or of the server that replaces EC2 (open.c) */
	char *profile;		/* named by the spec, or NULL */
	json_t *config;		/* the spec's provider mapping without name and region */
	char *connection;	/* JSON for rgp_http_req.connection, or NULL */
	struct AwsStore *store; /* s3.h: opened for a state; else NULL */
	ModErrors *errors;
	ModLease *keys; /* empty before the first request (credentials.c) */
};

typedef ModCall AwsCall;

/* Kinds of this module. */
#define AWS_GROUP "aws.security_group"
#define AWS_INTERFACE "aws.network_interface"
#define AWS_INSTANCE "aws.instance"
#define AWS_PLACEMENT "aws.placement_group"
/* The resource that carries the head's address: the meaning of boot's "@head". */
#define AWS_HEAD_INTERFACE AWS_INTERFACE ".head"
#define AWS_GROUP_ADDRESS AWS_GROUP ".nodes"
