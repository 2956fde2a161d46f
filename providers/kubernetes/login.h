/* The credentials of a kubeconfig's user: client certificates, tokens, exec plug-ins. */
#pragma once
#include "common/lease.h"
#include "kubernetes/kubeconfig.h"

/* Immutable; lives as long as the lease. */
typedef struct {
	const KubeConfig *config;
	json_t *certificate; /* {"cert_pem", "key_pem"} of the entry; {}: none */
} KubeLogin;

/* Checks the user's entry and reads its certificate; runs no plug-in. RGP_FAIL after a diagnostic.
 */
rgp_status kube_login_check(const ModTalk *talk, KubeLogin *login);
/* Headers for `as`, `as-groups`, `as-uid` and `as-user-extra`, NULL-ended after `first`; NULL after
 * a diagnostic. g_strfreev. */
GStrv kube_login_headers(const ModTalk *talk, const KubeConfig *config);
/* Which credentials these are, for people: context, user, and the plug-in that gives them. g_free.
 */
char *kube_login_acting(const KubeConfig *config);
/* The lease's value is {"auth", "connection"} (ModRest). */
ModLeaseSource kube_login_source(const KubeLogin *login);
