/* Signed JSON Web Tokens (RFC 7515, RFC 7519) with RS256, the algorithm of service accounts and of
 * client certificates. Pure: no host, any thread. */
#pragma once
#include <jansson.h>
#include "raygpu/provider.h"

/* The token: header and claims as compact JSON in the order of their members, signed with an RSA
 * key in PEM (PKCS#8 or PKCS#1). The header needs "alg": "RS256". NULL and *problem, a sentence
 * that contains nothing of the key, if it cannot be created. g_free both. */
char *mod_jwt_sign(
	const json_t *header, const json_t *claims, struct rgp_bytes key_pem, char **problem);
