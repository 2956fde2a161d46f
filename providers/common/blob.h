/* Stores of raygpu's state in buckets (raygpu/provider.h, blob_get): what their modules share. A
 * place is BUCKET/PREFIX of the URL; objects are named relative to it. */
#pragma once
#include "common/calls.h"

typedef struct {
	char *bucket, *prefix; /* "" or ends with a slash */
} ModBucket;

void mod_bucket_clear(ModBucket *bucket);
/* From open's "store"; `form`: how its URL is written, for the hint. False after a diagnostic. */
bool mod_bucket_open(const ModTalk *talk, const json_t *store, const char *form, ModBucket *bucket);
/* A wrong part of the URL: a diagnostic; false. Steals `summary`. */
bool mod_bucket_refuse(const ModTalk *talk, const char *hint, char *summary);
/* The whole key of an object; g_free. */
char *mod_bucket_key(const ModBucket *bucket, const char *name);
/* Adds the name of a key of the place to a page's names. */
void mod_bucket_add_name(const ModBucket *bucket, const char *key, json_t *names);
/* The bucket keeps no old versions: a note. */
void mod_bucket_note(const ModTalk *talk, const char *summary, const char *hint);

/* blob_get's results: the content and its version, with times of the answer's headers. */
rgp_status mod_give_blob(const ModTalk *talk, const json_t *headers, const char *version,
	int64_t skew_s, struct rgp_bytes content);
/* blob_put's: none, if the condition does not hold. */
rgp_status mod_give_version(const ModTalk *talk, const char *version);

/* The four calls of the table from MODULE_blob_get, _put, _delete and _list. Only of an instance
 * that was opened for a state: its member `store`. */
#define MOD_BLOB_CALLS(module)                                                                     \
	static rgp_status blob_put(const ModCall *call, const struct rgp_args *args, void *unused) \
	{                                                                                          \
		(void)unused;                                                                      \
		return call->inst->store ? module##_blob_put(call, args) : RGP_UNSUPPORTED;        \
	}                                                                                          \
	static rgp_status blob_run(                                                                \
		const ModCall *call, const struct rgp_args *args, ModWholeFn run)                  \
	{                                                                                          \
		return call->inst->store ? mod_call_whole(call, args, run) : RGP_UNSUPPORTED;      \
	}                                                                                          \
	MOD_CALL(blob_get, blob_run, module##_blob_get)                                            \
	MOD_CALL(blob_put, blob_put, NULL)                                                         \
	MOD_CALL(blob_delete, blob_run, module##_blob_delete)                                      \
	MOD_CALL(blob_list, blob_run, module##_blob_list)
/* The members of the module's table. */
#define MOD_BLOB_TABLE                                                                             \
	.blob_get = call_blob_get, .blob_put = call_blob_put, .blob_delete = call_blob_delete,     \
	.blob_list = call_blob_list
