/* What preflights share: findings, what could not be asked, what a plan adds to a quota. */
#pragma once
#include "common/talk.h"

typedef struct {
	const char *severity; /* "error", "warning", "note" */
	int32_t class_;
	const json_t *create; /* under whose line of the spec; NULL: none, or that of `address` */
	const char *address;
	const char *attribute, *detail, *hint, *code, *origin, *request_id; /* may be NULL */
	json_t *limit; /* the ABI's; borrowed, may be NULL */
} ModFinding;

/* Of one preflight. */
typedef struct {
	const ModTalk *talk;
	unsigned errors;    /* found so far */
	GString *unchecked; /* a line each; NULL: none so far. mod_findings_end frees it */
	rgp_status status;  /* of what was handed over */
} ModFindings;

rgp_status mod_give_finding(const ModTalk *talk, const ModFinding *finding, const char *message);
void mod_find_out(ModFindings *findings, const ModFinding *finding, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
/* This stays unchecked, because `request` had no answer. */
void mod_find_nothing(
	ModFindings *findings, const char *about, const char *request, const ModFailure *failure);
/* The end: one note names what stays unchecked, unless the status is another than RGP_OK; `hint`:
 * how to get it checked. */
rgp_status mod_findings_end(ModFindings *findings, const char *hint);

/* "train", "head": the pool that a create is of. */
const char *mod_pool_of(const json_t *create);

/* What the plan adds to one quota. */
typedef struct {
	json_int_t wanted, largest;
	const json_t *create; /* the one that adds the most */
	GString *parts;	      /* what each adds: "16 for train, 8 for head"; NULL: none so far */
} ModSum;

/* `separator`: between the parts. */
void mod_sum_add(ModSum *sum, const json_t *create, json_int_t amount, const char *separator,
	const char *format, ...) G_GNUC_PRINTF(5, 6);
void mod_sum_clear(ModSum *sum);
