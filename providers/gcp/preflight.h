/* preflight: what Compute Engine reports in advance about the nodes that a plan creates. The
 * answers of all questions are there when a check runs (preflight.c); what could not be asked is
 * one note. */
#pragma once
#include "common/preflight.h"
#include "gcp/kinds.h"

enum { GCP_REGION, GCP_PROJECT, GCP_ROUTERS, GCP_SUBNETWORK, GCP_QUESTIONS };

typedef struct {
	const GcpCall *call;
	const json_t *creates;
	const json_t *closed; /* the first of nodes without a public address; NULL: none */
	json_t *answers[GCP_QUESTIONS]; /* NULL: unknown */
	ModFindings findings;
} GcpPreflight;

/* GPUs, vCPUs, disks, external addresses and instances (preflight_quota.c). */
void gcp_check_quotas(GcpPreflight *preflight);
