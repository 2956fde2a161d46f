/* Inside the GCP module: an opened instance, and the data of one call. The instance is immutable
 * except for `lease`, and for `project`, which the metadata server may have to supply. */
#pragma once
#include <pthread.h>
#include "common/calls.h"
#include "common/lease.h"
#include "common/rest.h"

struct GcpStore;

struct rgp_inst {
	char *region;
	json_t *config; /* the spec's provider mapping without name and region */
	char *base;	/* "https://compute.googleapis.com/compute/v1/" */
	char *connection;
	char *key_path;	    /* the credentials file; NULL: none, use the metadata server */
	json_t *key;	    /* its content; NULL: it is missing or invalid */
	char *key_fault;    /* why it can't be used; NULL: it can */
	char *universe;	    /* "googleapis.com" */
	char *user_project; /* the header X-Goog-User-Project, or NULL */
	const char *headers[2];
	ModErrors *errors;
	ModLease *lease; /* empty before the first request (credentials.c) */
	ModRest rest;
	char *resources_base; /* "https://cloudresourcemanager.googleapis.com/"; NULL: not asked */
	ModRest resources;
	struct GcpStore *store; /* gcs.h: opened for a state; else NULL */
	pthread_mutex_t lock;
	char *project;		    /* under the lock; NULL: not known yet */
	const char *project_source; /* where it is from, for messages */
};

typedef ModCall GcpCall;

/* gcloud's name for the URL of the Cloud Resource Manager API. */
#define GCP_RESOURCES_ENV "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER"

/* Kinds of this module. */
#define GCP_FIREWALL "gcp.firewall"
#define GCP_ADDRESS "gcp.address"
#define GCP_POLICY "gcp.resource_policy"
#define GCP_INSTANCE "gcp.instance"
#define GCP_HEAD_ADDRESS GCP_ADDRESS ".head"

/* The project that everything is in, borrowed; NULL after a diagnostic (project.c). */
const char *gcp_project(const GcpCall *call);
/* Once, when the instance is opened: the project of the spec, the environment or the credentials.
 */
void gcp_project_find(const ModTalk *talk, struct rgp_inst *inst);
