/* Temporary credentials, as STS hands them out. Nothing of them is stored: the session token says
 * whose they are and until when, under a mark that only this world's seed makes, and the secret
 * follows from the token. So they hold across a restart with the same world. */
#pragma once
#include "sim/core/world.h"

typedef struct {
	char *access_key; /* "ASIA..." */
	char *secret;
	char *token;
	char *arn; /* who they stand for */
	gint64 expires_s;
} RgSimSession;

/* New credentials for the ARN, `lifetime_s` from the world's now. */
void rg_sim_session_mint(
	RgSimWorld *world, const char *arn, gint64 lifetime_s, RgSimSession *session);
/* Reads a token that this world made for this access key; false when it didn't. */
bool rg_sim_session_read(
	const RgSimWorld *world, const char *access_key, const char *token, RgSimSession *session);
void rg_sim_session_clear(RgSimSession *session);
