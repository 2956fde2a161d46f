#include "sim/core/knobs.h"
#include "base/json.h"
#include "sim/core/cloud.h"
#include "sim/core/console.h"

#define DAY_MS (24 * 3600 * 1000LL)

typedef bool (*Check)(const json_t *value);

static bool is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0 &&
	       json_integer_value(value) <= 1000 * 1000;
}

static bool is_map_of(const json_t *value, Check check)
{
	rg_json_foreach_member (key, member, value) {
		if (!check(member))
			return false;
	}
	return json_is_object(value);
}

static bool is_counts(const json_t *value)
{
	return is_map_of(value, is_count);
}

static bool is_capacity(const json_t *value)
{
	return is_map_of(value, is_counts);
}

static bool is_amount(const json_t *value)
{
	return json_is_number(value) && json_number_value(value) >= 0 &&
	       json_number_value(value) <= 1e6;
}

static bool is_bucket(const json_t *value)
{
	return json_array_size(value) == 2 && is_amount(json_array_get(value, 0)) &&
	       is_amount(json_array_get(value, 1));
}

static bool is_buckets(const json_t *value)
{
	return is_map_of(value, is_bucket);
}

static bool is_prices(const json_t *value)
{
	return is_map_of(value, is_amount);
}

static bool is_text(const json_t *value)
{
	return json_is_string(value);
}

bool rg_sim_knob_is_texts(const json_t *value)
{
	return is_map_of(value, is_text);
}

bool rg_sim_knob_is_path(const json_t *value)
{
	const char *path = json_string_value(value);
	return path && (!*path || g_path_is_absolute(path));
}

bool rg_sim_knob_is_words(const json_t *value)
{
	rg_json_foreach (entry, value) {
		if (!json_is_string(entry))
			return false;
	}
	return json_is_array(value);
}

static const RgSimKnob own_knobs[] = {
	{"boot_ms", 200, 0, DAY_MS},
	{"shutdown_ms", 200, 0, DAY_MS},
	{"join_ms", 0, 0, DAY_MS},		   /* from running to being a member of Ray */
	{"terminated_ms", 3600 * 1000, 0, DAY_MS}, /* how long a terminated machine is shown */
	{"consistency_ms", 0, 0, DAY_MS},
	{"latency_ms", 0, 0, 600 * 1000},
	{"latency_jitter_ms", 0, 0, 600 * 1000},
	{"page_size", 0, 0, 1000 * 1000}, /* 0: no limit */
	{"clock_offset_s", 0, -10 * DAY_MS, 10 * DAY_MS},
	{"throttle", 0, 0, 1},
	{"verify", 1, 0, 1}, /* 0: only the form of credentials is checked */
	{"page_before_filter", 0, 0, 1},
	{"empty_first_page", 0, 0, 1},
	{"latency_by_action", .check = is_counts, .json = "{}", .form = "an object {action: ms}"},
	{"node_faults", .check = rg_sim_are_node_faults, .json = "[]",
		.form = "a list of {how: fail, retry, hang, silent, impaired, scheduled or "
			"no-capacity, type, count, step, reason, gpu, event}"},
	{"capacity", .check = is_capacity, .json = "{}", .form = "an object {type: {zone: count}}"},
	{"quotas", .check = is_counts, .json = "{}", .form = "an object {quota code: count}"},
	{"buckets", .check = is_buckets, .json = "{}",
		.form = "an object {bucket: [size, tokens a second]}"},
	{"spot_prices", .check = is_prices, .json = "{}", .form = "an object {type: USD an hour}"},
	{NULL},
};

/* Iterates over all knobs, the engine's first: *cloud starts at -1, *at at 0. NULL at the end. */
static const RgSimKnob *next_knob(const RgSimCloud *const *clouds, int *cloud, unsigned *at)
{
	for (;;) {
		const RgSimKnob *list = *cloud < 0 ? own_knobs : clouds[*cloud]->knobs;
		if (list && list[*at].name)
			return &list[(*at)++];
		*at = 0;
		if (!clouds[++*cloud])
			return NULL;
	}
}

json_t *rg_sim_knobs_new(const RgSimCloud *const *clouds)
{
	json_t *knobs = json_object();
	int cloud = -1;
	const RgSimKnob *knob;
	for (unsigned at = 0; (knob = next_knob(clouds, &cloud, &at));)
		json_object_set_new(knobs, knob->name,
			knob->check ? json_loads(knob->json, JSON_DECODE_ANY, NULL)
				    : json_integer(knob->initial));
	return knobs;
}

/* Each key of `quotas` is a quota of some cloud. */
static bool are_quotas(const RgSimCloud *const *clouds, const json_t *quotas)
{
	rg_json_foreach_member (code, unused, quotas) {
		bool known = false;
		for (int i = 0; !known && clouds[i]; i++)
			known = clouds[i]->is_quota && clouds[i]->is_quota(code);
		if (!known)
			return false;
	}
	return true;
}

/* The value as stored; NULL and *problem if it is not valid for the knob. */
static json_t *read_value(
	const RgSimCloud *const *clouds, const RgSimKnob *knob, const json_t *given, char **problem)
{
	if (knob->check) {
		if (knob->check(given) &&
			(!g_str_equal(knob->name, "quotas") || are_quotas(clouds, given)))
			return json_incref(rg_json_unconst(given));
		*problem = g_strdup_printf("%s must be %s", knob->name, knob->form);
		return NULL;
	}
	json_int_t number =
		json_is_boolean(given) ? json_is_true(given) : json_integer_value(given);
	if ((json_is_integer(given) || json_is_boolean(given)) && number >= knob->min &&
		number <= knob->max)
		return json_integer(number);
	*problem = g_strdup_printf("%s must be a whole number from %" G_GINT64_FORMAT
				   " to %" G_GINT64_FORMAT,
		knob->name, knob->min, knob->max);
	return NULL;
}

static const RgSimKnob *find_knob(const RgSimCloud *const *clouds, const char *name)
{
	int cloud = -1;
	unsigned at = 0;
	const RgSimKnob *knob;
	while ((knob = next_knob(clouds, &cloud, &at)) && !g_str_equal(knob->name, name))
		;
	return knob;
}

json_t *rg_sim_knobs_change(
	const RgSimCloud *const *clouds, const json_t *knobs, const json_t *changes, char **problem)
{
	json_auto_t *next = json_copy(rg_json_unconst(knobs));
	if (!json_is_object(changes))
		*problem = g_strdup("knobs must be a JSON object");
	rg_json_foreach_member (name, given, changes) {
		const RgSimKnob *knob = find_knob(clouds, name);
		json_t *value = knob ? read_value(clouds, knob, given, problem) : NULL;
		if (!knob)
			*problem = g_strdup_printf("there is no knob %s", name);
		if (!value)
			return NULL;
		json_object_set_new(next, name, value);
	}
	return *problem ? NULL : g_steal_pointer(&next);
}

gint64 rg_sim_knobs_capacity(const json_t *knobs, const char *type, const char *market,
	const char *zone, bool *of_market)
{
	const json_t *capacity = json_object_get(knobs, "capacity");
	g_autofree char *both = g_strconcat(type, ":", market, NULL);
	const json_t *zones = json_object_get(capacity, both);
	*of_market = zones != NULL;
	if (!zones)
		zones = json_object_get(capacity, type);
	if (!zones)
		zones = json_object_get(capacity, "*");
	return rg_json_int(zones, zone, rg_json_int(zones, "*", -1));
}

bool rg_sim_knobs_lists(const json_t *list, const char *word)
{
	return rg_json_has_text(list, word) || rg_json_has_text(list, "*");
}
