/* Private to src/objects. */
#pragma once
#include "objects/objects.h"

/* The parts of a URL, without its query; parameters: {name: value}. */
typedef struct {
	char *scheme, *place;
	json_t *parameters;
} ObjectsUrl;
void objects_url_clear(ObjectsUrl *url);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ObjectsUrl, objects_url_clear)

/* transport.c */
/* The transport of a store: reads only if the handle only reads. */
RgHttpOptions objects_http(const RgObjectsHost *host, const RgRemoteOpen *how);
/* What went wrong with a request to the store, under the codes of states; takes all of `why`. */
void objects_explain(const char *shown, bool writes, RgDiags *why, RgDiags *diags);

/* modules.c */
RgObjects *objects_open_module(RgObjectsHost *host, const char *provider, const ObjectsUrl *url,
	const RgRemoteOpen *how, RgDiags *diags);
/* terraform.c */
RgObjects *objects_open_http(
	const RgObjectsHost *host, const ObjectsUrl *url, const RgRemoteOpen *how, RgDiags *diags);
