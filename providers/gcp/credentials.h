/* Google credentials: access tokens from a file of Application Default Credentials or the metadata
 * server. Order and forms: cloud.google.com/docs/authentication/application-default-credentials,
 * google.aip.dev/auth (AIP-4110 to 4117). */
#pragma once
#include "gcp/gcp.h"

#define GCP_SCOPE "https://www.googleapis.com/auth/cloud-platform"
#define GCP_UNIVERSE "googleapis.com"
#define GCP_LOGIN_AGAIN "`gcloud auth application-default login` writes a file that can be used"

/* Finds and parses the file; a fault in it is reported by the first request, not here. */
void gcp_credentials_find(const ModTalk *talk, struct rgp_inst *inst);
ModLease *gcp_credentials_lease(const struct rgp_inst *inst);

/* A token's `auth` object and its end. */
typedef struct {
	char *auth;
	int64_t expires_s;
} GcpToken;

/* key.c */
/* Is this a URL of Google, in the universe of the credentials, or of this machine? Only such URLs
 * get assertions, secrets and subject tokens: a forged file names others. */
bool gcp_url_is_trusted(const char *url, const char *universe);
/* RGP_FAIL after a diagnostic about the credentials file. */
rgp_status gcp_key_refuse(const ModTalk *talk, const struct rgp_inst *inst, const char *hint,
	const char *format, ...) G_GNUC_PRINTF(4, 5);
/* The members that it must have; NULL-ended. */
rgp_status gcp_key_need(const ModTalk *talk, const struct rgp_inst *inst, const json_t *key,
	const char *const *names);
/* Checks the URL that `key` has in `member`; *url borrowed. */
rgp_status gcp_key_url(const ModTalk *talk, const struct rgp_inst *inst, const json_t *key,
	const char *member, const char **url);
/* The token of a service account that `token` may act as (iamcredentials.googleapis.com,
 * generateAccessToken); replaces `token`. */
rgp_status gcp_impersonate(const ModTalk *talk, const struct rgp_inst *inst, const char *url,
	const json_t *delegates, int64_t lifetime_s, GcpToken *token);
/* AIP-4117: a token of another identity provider, exchanged by STS (external.c). */
rgp_status gcp_token_external(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token);
/* external_account_authorized_user: who signed in by another identity provider (external.c). */
rgp_status gcp_token_authorized(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token);
/* metadata.c: the token and the project of the machine that we run on. RGP_FAIL after a
 * diagnostic. */
rgp_status gcp_token_metadata(const ModTalk *talk, const struct rgp_inst *inst, GcpToken *token);
/* *project: g_free; NULL: this is not a machine of Google's. */
rgp_status gcp_project_metadata(const ModTalk *talk, char **project);
