/* From the host's calls to a module's functions: the input is parsed, the kind looked up, what no
 * function can work with refused. A module writes its functions and one MOD_CALL per call. */
#pragma once
#include "common/talk.h"

/* The data of one call. */
typedef struct {
	ModTalk talk;
	struct rgp_inst *inst;
} ModCall;

/* What all modules' kinds have; the first member of a module's own struct of a kind. */
typedef struct {
	const char *name;	       /* "aws.instance" */
	const char *const *changeable; /* attributes that update can change; NULL-ended */
} ModKind;

typedef rgp_status (*ModWholeFn)(const ModCall *, const json_t *input);
typedef rgp_status (*ModKindFn)(const ModCall *, const ModKind *, const json_t *input);

/* The runners of MOD_CALL; `kinds` is NULL-ended. */
rgp_status mod_call_whole(const ModCall *call, const struct rgp_args *args, ModWholeFn whole);
rgp_status mod_call_of_kind(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn of_kind);
/* `list` reports the resources of one kind. */
rgp_status mod_call_list(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn list);
/* With at least one item and a token. */
rgp_status mod_call_create(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn create);
/* `update` gets the input of an update with the items that it can change: `changed` has only names
 * in the kind's `changeable`. The others are unsupported. */
rgp_status mod_call_update(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn update);
/* `remove` gets at least one item. */
rgp_status mod_call_remove(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn remove);

/* MOD_CALL(list, mod_call_list, kinds, aws_list) defines call_list for the module's table. */
#define MOD_CALL(name, run, ...)                                                                   \
	static rgp_status call_##name(struct rgp_inst *inst, const struct rgp_host *host,          \
		struct rgp_call *call, const struct rgp_args *args)                                \
	{                                                                                          \
		const ModCall opened = {{host, call}, inst};                                       \
		return run(&opened, args, __VA_ARGS__);                                            \
	}

/* The members of a module's table that all modules have. */
#define MOD_TABLE(word)                                                                            \
	.size = sizeof(struct rgp_provider), .abi_major = RGP_ABI_MAJOR,                           \
	.abi_minor = RGP_ABI_MINOR, .flags = RGP_PARALLEL, .name = (word),                         \
	.version = RAYGPU_VERSION, .schema = call_schema, .resolve = call_resolve,                 \
	.lower = call_lower, .list = call_list, .create = call_create, .remove = call_remove,      \
	.update = call_update, .ready = call_ready, .find = call_find, .preflight = call_preflight

/* Does the item of an update change this attribute? */
bool mod_is_changed(const json_t *item, const char *attribute);
/* raygpu no longer manages what the item of an update names: its marks and its lease go, and
 * nothing else changes. */
bool mod_is_release(const json_t *item);
/* The same failure for every item. */
rgp_status mod_fail_items(const ModCall *call, const json_t *items, const ModFailure *failure);
/* A finding about the spec's value at `origin` (a JSON pointer, NULL or "": none); RGP_FAIL. */
rgp_status mod_refuse(const ModCall *call, const char *origin, const char *hint, const char *format,
	...) G_GNUC_PRINTF(4, 5);
