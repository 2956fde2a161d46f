/* Access tokens of OAuth 2.0 (RFC 6749): a form sent to a token endpoint, and its answer. Intended
 * as the source of a lease (lease.h). */
#pragma once
#include "common/talk.h"

/* The fields of a token request; new references. More may be added ("resource"). */
json_t *mod_oauth_client_credentials(const char *id, const char *secret, const char *scope);
/* RFC 7523: a signed statement (jwt.h) instead of a secret. */
json_t *mod_oauth_jwt_bearer(const char *assertion);
json_t *mod_oauth_refresh(const char *id, const char *secret, const char *refresh_token);

/* Sends the fields as a form, with `connection` as in struct rgp_http_req (NULL: none). *auth: the
 * ABI's `auth` object as text, g_free; *expires_s: Unix second, 0 = unknown. All secrets are
 * registered with the host. RGP_FAIL after a diagnostic. */
rgp_status mod_oauth_request(const ModTalk *talk, const char *url, const char *connection,
	const json_t *fields, char **auth, int64_t *expires_s);
/* The same with one more header, such as that of the client; NULL: none. */
rgp_status mod_oauth_request_as(const ModTalk *talk, const char *url, const char *connection,
	const char *client, const json_t *fields, char **auth, int64_t *expires_s);
/* "Authorization: Basic ...", of a client that is not named in the fields (RFC 6749,
 * section 2.3.1). g_free. */
char *mod_oauth_basic(const ModTalk *talk, const char *id, const char *secret);
/* The same as mod_oauth_request from an answer that was obtained in another way, such as from a
 * metadata service. `source` is for the diagnostic. */
rgp_status mod_oauth_read(const ModTalk *talk, const char *source, struct rgp_bytes answer,
	char **auth, int64_t *expires_s);
