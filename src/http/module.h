/* The interface between the program (load.c) and raygpu-http.so. The module has its own private
 * copy of src/base, so state that exists once per process (registered secrets, the log) comes
 * through RgHttpHost. Both come from one build; `version` and `size` only detect a mixed
 * installation. */
#pragma once
#include "base/log.h"
#include "http/http.h"

typedef struct {
	void (*redact_add)(const char *secret, size_t len);
	char *(*redact)(const char *text, size_t len);
	RgLogLevel (*log_level)(void);
	void (*log)(RgLogLevel level, const char *format, ...) G_GNUC_PRINTF(2, 3);
} RgHttpHost;

typedef struct {
	size_t size;
	const char *version;
	RgHttp *(*open)(const RgHttpOptions *options, const RgHttpHost *host, RgDiags *diags);
	void (*close)(RgHttp *http);
	bool (*send)(
		RgHttp *http, const RgHttpRequest *request, RgHttpReply *reply, RgDiags *diags);
	bool (*sleep)(RgHttp *http, unsigned ms);
	void (*counts)(RgHttp *http, uint64_t *requests, uint64_t *mutating);
	bool (*is_local)(RgHttp *http);
	const char *(*library)(void);
} RgHttpModule;

/* What load.c sees of a transport; the module's own struct begins with it. */
struct RgHttp {
	const RgHttpModule *module;
};

/* The only symbol that the module exports; returns its RgHttpModule. */
#define RG_HTTP_SYMBOL "raygpu_http_module"
const void *raygpu_http_module(void);
