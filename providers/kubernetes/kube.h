/* Inside the Kubernetes module: an opened instance, which is
 * immutable except for `lease`, and for what the lock guards. */
#pragma once
#include <pthread.h>
#include "common/calls.h"
#include "common/rest.h"
#include "kubernetes/login.h"

struct rgp_inst {
	json_t *settings; /* the spec's provider mapping without name and region */
	KubeConfig config;
	KubeLogin login;
	ModErrors *errors;
	ModLease *lease;
	GStrv headers;
	ModRest rest;
	pthread_mutex_t lock;
	json_t *seen; /* under the lock: RayClusters and their pods as `list` read them (seen.c) */
	json_t *groups; /* under the lock: {"ray.io": ["v1", ...]}; NULL: not known yet */
};

typedef ModCall KubeCall;

/* Without network and plug-ins. */
rgp_status kube_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **out);
void kube_close(struct rgp_inst *inst);
