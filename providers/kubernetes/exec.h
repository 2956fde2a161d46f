/* Credential plug-ins of kubeconfig files (kubernetes.io/docs/reference/config-api/
 * client-authentication.v1). */
#pragma once
#include "kubernetes/kubeconfig.h"

/* Checks the entry `exec` without running it. RGP_FAIL after a diagnostic. */
rgp_status kube_exec_check(const ModTalk *talk, const KubeConfig *config);
/* Runs it. *status: the member of its answer, a new reference; *expires_s: Unix second, 0: unknown.
 * RGP_FAIL after a diagnostic. */
rgp_status kube_exec_run(
	const ModTalk *talk, const KubeConfig *config, json_t **status, int64_t *expires_s);
