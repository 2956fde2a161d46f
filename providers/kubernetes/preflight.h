/* Dry runs. */
#pragma once
#include "common/preflight.h"
#include "kubernetes/calls.h"

#define KUBE_DRY_QUERY "fieldManager=" KUBE_MANAGER "&fieldValidation=Strict&dryRun=All"

/* One dry run: of what, and what was sent. */
typedef struct {
	const KubeCall *call;
	const char *kind, *address; /* of the change */
	const json_t *body;
	bool creates;
	const char *severity; /* of findings about a failure; kube_dry_judge sets it */
} KubeDryRun;

/* dry_run.c */
/* Findings about an answer. */
rgp_status kube_dry_judge(const KubeDryRun *run, const json_t *input, const ModRestAnswer *answer);
/* A copy with a placeholder for each expression. A new reference. */
json_t *kube_without_expressions(const json_t *value);

/* preflight_update.c: the updates of a preflight, and groups that are added to an existing
 * RayCluster. */
rgp_status kube_dry_updates(const KubeCall *call, const json_t *input);
/* preflight_nodes.c: what the change of a kubernetes.gpu_nodes ends. */
rgp_status kube_warn_of_cuts(const KubeCall *call, const json_t *input, const json_t *change);
/* update.c: the server-side apply of an update as a dry run. *body: what was sent. */
rgp_status kube_update_try(const KubeCall *call, const char *kind, const json_t *item,
	json_t **body, ModRestAnswer *answer);
