/* AWS Signature Version 4 as a server computes it, from the request as sent:
 * docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 * Pure: auth.c decides who is allowed and which error a mismatch is. */
#pragma once
#include "sim/core/call.h"

/* The request in canonical form with the headers that `signed_headers` ("a;b;c") names. NULL if one
 * of them was not sent. g_free it. */
char *ec2_sigv4_canonical(const RgSimRequest *request, const char *signed_headers);
/* The signed text: algorithm, time, scope ("20261121/us-east-1/ec2/aws4_request") and the canonical
 * request's digest. g_free it. */
char *ec2_sigv4_string_to_sign(const char *amz_date, const char *scope, const char *canonical);
/* Lower-case hex of the signature. g_free it. */
char *ec2_sigv4_signature(const char *secret, const char *scope, const char *string_to_sign);
