/* Where document stores keep their objects: small files with versions, and conditions for writing
 * them. Nothing here knows a state, or a cloud. */
#pragma once
#include "remote/remote.h"

/* CONFLICT: a put's condition does not hold. FAILED has diagnostics. */
typedef enum {
	RG_OBJECT_DONE,
	RG_OBJECT_ABSENT,
	RG_OBJECT_CONFLICT,
	RG_OBJECT_FAILED
} RgObjectResult;

typedef struct {
	GBytes *content;
	char *version;
	int64_t age_s; /* since it was written, by the store's own clock; -1: unknown */
} RgObject;
void rg_object_clear(RgObject *object);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RgObject, rg_object_clear)

/* This boot of this machine (g_free), which is in a lock's JSON; another machine or container has
 * others. NULL: unknown. */
char *rg_object_machine(void);
/* The lock's process was on this machine and has ended. */
bool rg_object_holder_is_dead(const json_t *lock);

/* Names are relative: parts of [A-Za-z0-9._~-] with slashes between. A read sees every write that
 * was answered before it. Any thread, except close;
 * of a store with a lock of its own, one thread. */
typedef struct RgObjects RgObjects;
struct RgObjects {
	unsigned renew_ms; /* for tests: how often a lock is renewed; 0: as usual */
	void (*close)(RgObjects *objects);
	RgObjectResult (*get)(
		RgObjects *objects, const char *name, RgObject *object, RgDiags *diags);
	/* `version` NULL: it must not exist; else it still has this version. *written: the new
	 * version (g_free). After a lost answer, CONFLICT may mean that it was done. */
	RgObjectResult (*put)(RgObjects *objects, const char *name, GBytes *content,
		const char *version, char **written, RgDiags *diags);
	bool (*remove)(RgObjects *objects, const char *name, RgDiags *diags);
	/* Appends all names that begin with `prefix` (char*), in no order. `advise`: what is not
	 * advisable about the place goes to the diagnostics, as notes. */
	bool (*list)(RgObjects *objects, const char *prefix, bool advise, GPtrArray *names,
		RgDiags *diags);
	/* A lock of the store's own, of all that it keeps; NULL: locks are objects. CONFLICT: it is
	 * held; then `holder`, if it is known, is what the holder gave (a new reference). */
	RgObjectResult (*lock)(
		RgObjects *objects, const json_t *mine, json_t **holder, RgDiags *diags);
	bool (*unlock)(RgObjects *objects, const json_t *mine, RgDiags *diags);
};

struct RgObjectStores {
	/* NULL and diagnostics; state.unknown-store: nobody serves the URL's scheme. */
	RgObjects *(*open)(void *data, const RgRemoteOpen *how, RgDiags *diags);
	void *data;
};
