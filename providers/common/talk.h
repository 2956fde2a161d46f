/* What every provider module needs to communicate with its host: input as JSON, results and
 * failures of items, diagnostics, waiting. Between a module's code and raygpu/provider.h; keeps
 * nothing between calls. A ModTalk is on the stack of one call and is used only by its thread. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include "raygpu/provider.h"

/* jansson's functions do not accept const: use this for a value that they only read, or whose count
 * they raise. */
static inline json_t *mod_unconst(const json_t *value)
{
	return (json_t *)(uintptr_t)value;
}

/* Loops over lists, as in src/base/each.h: mod_foreach (item, list) over a JSON array,
 * mod_foreach_member (name, value, object) over a JSON object,
 * mod_ptr_foreach (const Quota, quota, quotas) over a GPtrArray. */
#define mod_foreach(item, list)                                                                    \
	for (json_t *item = json_array_get(list, 0), *item##_at = NULL; item;                      \
		item##_at = GSIZE_TO_POINTER(GPOINTER_TO_SIZE(item##_at) + 1),                     \
		    item = json_array_get(list, GPOINTER_TO_SIZE(item##_at)))
#define mod_foreach_member(name, value, object)                                                    \
	for (const char *name = json_object_iter_key(json_object_iter(mod_unconst(object))),       \
			*name##_on = "";                                                           \
		name##_on; name##_on = NULL)                                                       \
		for (json_t * value; name && (value = json_object_iter_value(                      \
						      json_object_key_to_iter(name))) != NULL;     \
			name = json_object_iter_key(json_object_iter_next(                         \
				mod_unconst(object), json_object_key_to_iter(name))))
#define mod_ptr_foreach(type, item, array)                                                         \
	for (type *item##_at = NULL, *item;                                                        \
		GPOINTER_TO_SIZE(item##_at) < (array)->len &&                                      \
		(item = (array)->pdata[GPOINTER_TO_SIZE(item##_at)], true);                        \
		item##_at = GSIZE_TO_POINTER(GPOINTER_TO_SIZE(item##_at) + 1))

typedef struct {
	const struct rgp_host *host;
	struct rgp_call *call;
	bool quiet;	    /* reports go only to the log: the call continues */
	const char *origin; /* where in the spec an invalid value of the call is, or NULL */
} ModTalk;

/* Why something failed. Strings are owned; attribute and hint are borrowed from data that lives as
 * long as the module. class_ RGP_CLASS_OK = no failure. */
typedef struct {
	int32_t class_;
	bool definite; /* the cloud certainly did nothing */
	char *code, *message, *request_id;
	const char *attribute, *hint; /* may be NULL */
} ModFailure;

void mod_failure_clear(ModFailure *failure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ModFailure, mod_failure_clear)
/* Replaces the contents of `failure`. */
void mod_failure_set(ModFailure *failure, int32_t class_, const char *code, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
void mod_failure_copy(ModFailure *to, const ModFailure *from);
/* The ABI's name for a class: "capacity". */
const char *mod_class_name(int32_t class_);
/* The class of a name; RGP_CLASS_UNKNOWN for any other word. */
int32_t mod_class_parse(const char *name);

/* The call's input as a JSON object, a new reference; NULL after a diagnostic. */
json_t *mod_input(const ModTalk *talk, const struct rgp_args *args);
/* Member look-ups; "" or 0 if absent or of another type. Borrowed. */
const char *mod_str(const json_t *object, const char *key);
int64_t mod_int(const json_t *object, const char *key);
/* Is the text in the list? Are all members of the list texts? */
bool mod_has_text(const json_t *list, const char *text);
bool mod_are_texts(const json_t *list);
struct rgp_bytes mod_bytes(const char *text);
/* Compares the texts of two pointers by bytes: for g_ptr_array_sort. */
int mod_compare_texts(gconstpointer a, gconstpointer b);

/* Passes a value to the host; RGP_FAIL if the host refuses it. Steals `value`. */
rgp_status mod_give(const ModTalk *talk, const char *slot, json_t *value);
/* The end of list and find: everything was reported. */
rgp_status mod_give_complete(const ModTalk *talk);
/* One item's "done" or "pending"; id may be NULL; steals `attributes`, which may be NULL. */
rgp_status mod_give_item(const ModTalk *talk, const char *address, const char *outcome,
	const char *id, json_t *attributes);
/* The cloud refuses for now: `why` is shown if the host's time expires. */
rgp_status mod_give_pending(
	const ModTalk *talk, const char *address, const char *id, const ModFailure *why);
rgp_status mod_give_failed(
	const ModTalk *talk, const char *address, const char *id, const ModFailure *failure);

/* A diagnostic of the whole call. `what` starts the summary ("EC2 refused DescribeVpcs"). */
void mod_report(const ModTalk *talk, const ModFailure *failure, const char *what);
/* With a JSON pointer to its place in the spec; NULL or "" = none. */
void mod_report_origin(const ModTalk *talk, int32_t class_, const char *origin, const char *summary,
	const char *hint);
/* A warning: the call continues. `origin`: as above. */
void mod_report_warning(
	const ModTalk *talk, const char *origin, const char *summary, const char *hint);
void mod_report_text(const ModTalk *talk, int32_t class_, const char *summary, const char *detail,
	const char *hint);

/* Waits that double, from 250 ms up to 8 s, until `limit_s` seconds have passed. */
typedef struct {
	uint32_t next_ms;
	int64_t deadline_s;
} ModBackoff;

ModBackoff mod_backoff_start(const ModTalk *talk, int64_t limit_s);
/* RGP_OK: slept, try again; RGP_FAIL: the time is over; RGP_CANCELED. */
rgp_status mod_backoff_wait(const ModTalk *talk, ModBackoff *backoff);
