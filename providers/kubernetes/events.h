/* Events of objects, and their times. */
#pragma once
#include "kubernetes/objects.h"

/* Unix seconds of a time stamp of the API; 0: it is none. */
int64_t kube_time(const char *stamp);

/* The newest event of an object whose reason is one of `reasons` (NULL-ended), a new reference;
 * NULL: there is none, or the credentials may not list events. */
rgp_status kube_event_last(const KubeCall *call, const char *space, const char *name,
	const char *const *reasons, json_t **event);
