/* AWS Signature Version 4 as a server computes it, from the request as it was sent:
 * docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 * Pure: auth.c decides who may ask and what a mismatch is called. */
#pragma once
#include <glib.h>
#include <stdbool.h>

typedef struct {
	const char *method;
	const char *path;    /* as sent, not decoded */
	const char *query;   /* after the "?", or "" */
	GHashTable *headers; /* lower-case name -> value; repeated ones joined by commas */
	const char *body;
	size_t body_length;
} RgSigv4Request;

/* The request in canonical form with the headers that `signed_headers` ("a;b;c") names. NULL when
 * one of them was not sent. g_free it. */
char *rg_sigv4_canonical(const RgSigv4Request *request, const char *signed_headers);
/* What is signed: algorithm, instant, scope ("20261121/us-east-1/ec2/aws4_request") and the
 * canonical request's digest. g_free it. */
char *rg_sigv4_string_to_sign(const char *amz_date, const char *scope, const char *canonical);
/* Lower-case hex of the signature. g_free it. */
char *rg_sigv4_signature(const char *secret, const char *scope, const char *string_to_sign);
