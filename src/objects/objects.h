/* Places for the objects of document stores (remote/objects.h): those that provider modules keep,
 * under the URL schemes of their schemas, and servers of Terraform's HTTP protocol. */
#pragma once
#include "provider/provider.h"
#include "remote/objects.h"

typedef struct {
	RgProviderHost *providers;
	RgHttpOptions http; /* read_only and canceled are set here */
	const char *(*env)(const char *name);
	unsigned loopback_lease_ms; /* RgObjects.renew_ms if the endpoint is this machine */
} RgObjectsHost;

/* `host` must outlive the stores that are opened. */
RgObjectStores rg_object_stores(RgObjectsHost *host);
