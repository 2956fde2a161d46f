/* What a simulated cloud provides to the engine: one struct in the table of cmd/raygpu-sim.
 * README.md beside this file explains how to write one. The engine calls everything except `claims`
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
	const RgSimKnob *knobs; /* in addition to the engine's; ends with a NULL name; or NULL */

	/* The facts that it starts from, read once. Both NULL: none. */
	void *(*data_new)(void);
	void (*data_free)(void *data);

	/* Places: regions, projects, namespaces. */
	bool (*has_place)(const void *data, const char *name);
	/* Before each use of a place: adds its initial documents if they are missing. May be
	 * NULL. */
	void (*seed)(RgSimPlace *place);
	/* Frees place->own. May be NULL. */
	void (*place_clear)(RgSimPlace *place);
	/* What rg_sim_plan announced is due now; the document still has the announced state. May be
	 * NULL. */
	void (*due)(RgSimPlace *place, unsigned kind, const char *id, const char *what);

	/* The steps of a request. `claims`: does it belong to this cloud? Clouds are asked in
	 * order. */
	bool (*claims)(const RgSimRequest *request);
	/* Parses the request into the call (service, params, dry_run), determines the caller and
	 * the place (place_name), finds the action. False after rg_sim_fail; then the call has an
	 * action only if the caller was known and admitted. */
	bool (*admit)(RgSimCall *call);
	/* Checks the parameters before the action runs. May be NULL. */
	bool (*check)(RgSimCall *call);
	/* Writes status, headers and body of call->reply: from call->body, or from the error in
	 * call->code. */
	void (*answer)(const RgSimCall *call);

	/* What scenarios and the control endpoint can do to it. Each may be NULL. */
	bool (*is_quota)(const char *code); /* is it a key of the knob `quotas`? */
	/* Announces the end of spot machines of the place that match the rule; decrements its count
	 * and appends their ids to `hit`. */
	void (*reclaim)(RgSimPlace *place, RgSimReclaim *rule, json_t *hit);
	/* One of `instance_types` of a scenario: false and *problem (g_free) if it is invalid; adds
	 * it to the facts, or removes all added ones (NULL). */
	bool (*type_check)(const void *data, const char *name, const json_t *type, char **problem);
	void (*type_add)(void *data, const char *name, const json_t *type);
};
