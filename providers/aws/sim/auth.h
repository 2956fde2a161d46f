/* Authentication, and the temporary credentials that STS issues. None of them are stored: the
 * session token says whose they are and until when, signed with a value derived from this world's
 * seed, and the secret is derived from the token. So they stay valid across a restart with the same
 * world. */
#pragma once
#include "sim/core/call.h"

typedef struct {
	char *access_key; /* "ASIA..." */
	char *secret;
	char *token;
	char *arn; /* the identity that they stand for */
	gint64 expires_s;
} Ec2Session;

/* Checks the Authorization header of Signature Version 4: form, scope, clock, access key, session
 * token and, unless the knob `verify` is 0, the signature over the request as sent. Each service
 * uses different error codes. Sets call->place_name, the region of the credential's scope, and
 * call->caller, an ARN; otherwise false and an error on the call. A request that carries its own
 * proof may be unsigned: then it has no caller, and the first region. */
bool ec2_auth_check(RgSimCall *call, bool unsigned_allowed);

/* New credentials for the ARN, `lifetime_s` from now. */
void ec2_session_mint(RgSim *sim, const char *arn, gint64 lifetime_s, Ec2Session *session);
void ec2_session_clear(Ec2Session *session);
/* A value derived from the text and this world's seed; g_free. */
char *ec2_session_mark(const RgSim *sim, const char *purpose, const char *text);

/* sso.c: requests of the sign-in portal and of OIDC, which are not signed. */
bool ec2_sso_claims(const RgSimRequest *request);
json_t *ec2_sso_params(const RgSimRequest *request, char **problem);
