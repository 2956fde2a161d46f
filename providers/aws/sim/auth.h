/* Who asks, and the temporary credentials that STS hands out. Of those nothing is stored: the
 * session token says whose they are and until when, under a mark that only this world's seed makes,
 * and the secret follows from the token. So they hold across a restart with the same world. */
#pragma once
#include "sim/core/call.h"

typedef struct {
	char *access_key; /* "ASIA..." */
	char *secret;
	char *token;
	char *arn; /* who they stand for */
	gint64 expires_s;
} Ec2Session;

/* Checks the Authorization header of Signature Version 4: form, scope, clock, access key, session
 * token and, unless the knob `verify` is 0, the signature over the request as it was sent. Each
 * service names the same refusals differently. Sets call->place_name, the region of the
 * credential's scope, and call->caller, an ARN; false and an error on the call otherwise. A request
 * that carries its own proof may come unsigned: no caller then, and the first region. */
bool ec2_auth_check(RgSimCall *call, bool unsigned_allowed);

/* New credentials for the ARN, `lifetime_s` from now. */
void ec2_session_mint(RgSim *sim, const char *arn, gint64 lifetime_s, Ec2Session *session);
void ec2_session_clear(Ec2Session *session);
/* What only this world's seed makes of the text; g_free. */
char *ec2_session_mark(const RgSim *sim, const char *purpose, const char *text);

/* sso.c: requests of the sign-in portal and of OIDC, which carry no signature. */
bool ec2_sso_claims(const RgSimRequest *request);
json_t *ec2_sso_params(const RgSimRequest *request, char **problem);
