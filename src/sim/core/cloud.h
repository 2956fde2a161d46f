/* What a simulated cloud gives to the engine: one struct in the table of cmd/raygpu-sim. README.md
 * beside this file says how to write one. The engine calls all but `claims`
 * under its lock. */
#pragma once
#include "sim/core/call.h"
#include "sim/core/knobs.h"
#include "sim/core/scenario.h"
#include "sim/core/sim.h"

/* A kind of documents: a table in each place. */
typedef struct {
	const char *table; /* its name in the world file */
	const char *id_member;
} RgSimKind;

struct RgSimCloud {
	const char *name;
	const char *section; /* its member of the world file: {place: {table: [document]}} */
	const RgSimKind *kinds;
	unsigned n_kinds;
	const RgSimKnob *knobs; /* beside the engine's own; ends with a NULL name. NULL: none */

	/* The facts that it starts from, read once. Both NULL: none. */
	void *(*data_new)(void);
	void (*data_free)(void *data);

	/* Places: regions, projects, namespaces. */
	bool (*has_place)(const void *data, const char *name);
	/* Before each use of a place: adds what it has from the start, if that is missing. May be
	 * NULL. */
	void (*seed)(RgSimPlace *place);
	/* Frees place->own. May be NULL. */
	void (*place_clear)(RgSimPlace *place);
	/* What rg_sim_plan announced is due now; the document is still as it was announced. May be
	 * NULL. */
	void (*due)(RgSimPlace *place, unsigned kind, const char *id, const char *what);

	/* A request's way. `claims`: is it one of this cloud's? Clouds are asked in order. */
	bool (*claims)(const RgSimRequest *request);
	/* Reads the request into the call (service, params, dry_run), checks who asks (caller) and
	 * where (place_name), finds the action. False after rg_sim_fail; then the call has an
	 * action only if the caller was known and let in. */
	bool (*admit)(RgSimCall *call);
	/* Checks the parameters, before the action runs in its place. May be NULL. */
	bool (*check)(RgSimCall *call);
	/* Writes status, headers and body of call->reply: of call->body, or of the error in
	 * call->code. */
	void (*answer)(const RgSimCall *call);

	/* What scenarios and the control endpoint can do to it. Each may be NULL. */
	bool (*is_quota)(const char *code); /* is it a key of the knob `quotas`? */
	/* Announces the end of spot machines of the place that the rule means; counts it down and
	 * appends their ids to `hit`. */
	void (*reclaim)(RgSimPlace *place, RgSimReclaim *rule, json_t *hit);
	/* `instance_types` of a scenario: false and *problem (g_free) when they are none; adds them
	 * to the facts, or forgets all that were added (NULL). */
	bool (*types_check)(const void *data, const json_t *types, char **problem);
	void (*types_add)(void *data, const json_t *types);
};
