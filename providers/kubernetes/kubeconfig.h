/* Which cluster, user and namespace: kubeconfig files in kubectl's order, or the pod that raygpu
 * runs in. */
#pragma once
#include "common/talk.h"

/* Members are owned. */
typedef struct {
	char *server;	 /* "https://127.0.0.1:6443/prefix" */
	char *namespace; /* of the spec, the context, the pod, or "default" */
	char *source;	 /* for messages: "the context eks of ~/.kube/config" */
	json_t *cluster; /* {"certificate-authority", "proxy-url", ...}; files with their folder */
	json_t *user;	 /* {"token", "exec", ...}; {}: none */
	char *user_name;
	char *context;	    /* NULL: in-cluster */
	json_t *connection; /* of struct rgp_http_req: what the cluster's entry says */
} KubeConfig;

void kube_config_clear(KubeConfig *config);

/* `settings`: the spec's provider mapping (kubeconfig, context, namespace). RGP_FAIL after a
 * diagnostic. */
rgp_status kube_config_find(const ModTalk *talk, const json_t *settings, KubeConfig *config);
/* A fault of the configuration: class denied; RGP_FAIL. */
rgp_status kube_config_refuse(const ModTalk *talk, const KubeConfig *config, const char *hint,
	const char *format, ...) G_GNUC_PRINTF(4, 5);
/* A PEM text of an entry: the base64 of NAME-data, else the file NAME. NULL with RGP_OK: neither is
 * there. g_free. */
rgp_status kube_config_pem(const ModTalk *talk, const KubeConfig *config, const json_t *entry,
	const char *name, char **pem);
