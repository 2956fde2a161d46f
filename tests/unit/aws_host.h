/* A host for tests of provider modules: the callbacks of struct rgp_host over real HTTP (libcurl),
 * with a given environment, files and a clock that jumps instead of sleeping. One rgp_call per
 * test, one thread. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include "raygpu/provider.h"

struct rgp_call {
	GHashTable *env, *files; /* char * -> char * */
	json_t *given;		 /* [{"slot", "value"}] in the order of host->result */
	json_t *diags;		 /* [{"class", "summary", "detail", "hint", "code", "origin"}] */
	GPtrArray *secrets, *logs;
	GPtrArray *outputs; /* of exec */
	int64_t now_s;
	uint64_t slept_ms;
	unsigned cancel_after_sleeps; /* 0 = never */
	unsigned sleeps;
	bool sleeps_really; /* against a live server; otherwise only the clock advances */
	int64_t skew_s;	    /* the result of http */
	unsigned max_tries; /* of throttled and transient answers; 0 = 3 */
	GByteArray *body;
	GPtrArray *bodies; /* GBytes*: of concurrent requests */
};

extern const struct rgp_host aws_test_host;

struct rgp_call *aws_test_call_new(void);
void aws_test_call_free(struct rgp_call *call);
typedef struct rgp_call AwsTestCall;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AwsTestCall, aws_test_call_free)
/* Forgets results and diagnostics. */
void aws_test_call_reset(struct rgp_call *call);

/* Runs a call of the table with a JSON text (single quotes stand for double quotes). */
rgp_status aws_test_run(rgp_fn fn, struct rgp_inst *inst, struct rgp_call *call, const char *json);
/* The n-th value of a slot, borrowed; NULL if there are fewer. */
const json_t *aws_test_given(const struct rgp_call *call, const char *slot, size_t n);
/* The i-th resource of the n-th page with its shared members, as the host combines them.
 * json_decref. */
json_t *aws_test_resource(const struct rgp_call *call, size_t n, size_t i);
/* A text member of the n-th diagnostic, "" if absent. */
const char *aws_test_said(const struct rgp_call *call, size_t n, const char *member);
/* The item with this address, borrowed, NULL if there is none. */
const json_t *aws_test_item(const struct rgp_call *call, const char *address);
