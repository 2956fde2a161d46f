/* What every call of the module needs: results and failures for the host, requests to the cloud. */
#pragma once
#include <jansson.h>
#include <raygpu/provider.h>

struct rgp_inst {
	char *endpoint, *region, *authorization; /* the header line, secret */
};

/* One running call. */
typedef struct {
	const struct rgp_inst *inst;
	const struct rgp_host *host;
	struct rgp_call *call;
	json_t *input;
} Call;

typedef struct {
	int32_t class_;
	int definite; /* the cloud certainly did nothing */
	char code[64], message[256];
} Failure;

/* The ABI's name for a class. */
const char *class_name(int32_t class_);
/* The class of one of the cloud's error codes. */
int32_t class_of_code(const char *code);
/* A text member, "" if there is none. */
const char *str(const json_t *object, const char *key);
/* Ids go into URLs: a hostile answer must not lead to other paths. */
int is_word(const char *text);
/* Passes a value to the host and frees it. */
rgp_status give(const Call *c, const char *slot, json_t *value);
/* The call as a whole fails. */
rgp_status fail(const Call *c, const Failure *why, const char *hint);
void set_failure(Failure *why, int32_t class_, const char *code, const char *message);
/* An unsuccessful answer: {"error": {"code", "message"}}, or anything from a proxy. */
void read_failure(int32_t status, const json_t *reply, Failure *why);
/* One request. Returns the answer's JSON object, to be freed; or NULL and *why. The host retries
 * throttled and transient answers, keeps to the rate limit, and redacts. */
json_t *request(const Call *c, const char *what, const char *method, const char *path,
	const json_t *body, Failure *why);
