/* How the simulator behaves: set by command-line options, changed at run time through the control
 * endpoint. One object {name: value} in RgSim; raygpu-sim(1) explains each knob. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct RgSimCloud;

/* A knob is a whole number within bounds, or a JSON value that passes a check. */
typedef struct {
	const char *name;
	gint64 initial, min, max;
	bool (*check)(const json_t *value); /* NULL: a number */
	const char *json;		    /* its initial value */
	const char *form;		    /* what the check expects, for messages */
} RgSimKnob;

/* Initial values of the engine's knobs and the clouds'. */
json_t *rg_sim_knobs_new(const struct RgSimCloud *const *clouds);
/* The knobs with the changed members. All or nothing: NULL and *problem (g_free) for an unknown
 * name, a wrong type or a value out of range. */
json_t *rg_sim_knobs_change(const struct RgSimCloud *const *clouds, const json_t *knobs,
	const json_t *changes, char **problem);

/* Machines of the type that fit in the zone at all; -1 when unlimited. On that market alone where
 * the knob names "TYPE:MARKET"; *of_market says so. */
gint64 rg_sim_knobs_capacity(const json_t *knobs, const char *type, const char *market,
	const char *zone, bool *of_market);
/* Does the list have the word, or "*"? */
bool rg_sim_knobs_lists(const json_t *list, const char *word);

/* Checks for the clouds' knobs: "" or an absolute path; a list of texts; {name: text}. */
bool rg_sim_knob_is_path(const json_t *value);
bool rg_sim_knob_is_words(const json_t *value);
bool rg_sim_knob_is_texts(const json_t *value);
