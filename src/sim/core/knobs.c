#include "sim/core/knobs.h"
#include <stddef.h>
#include <string.h>
#include "aws/sim/quota.h"
#include "sim/core/world.h"

#define DAY_MS (24 * 3600 * 1000LL)

typedef struct {
	const char *name;
	size_t offset;
	gint64 initial;
	gint64 min;
	gint64 max;
} Number;

static const Number numbers[] = {
	{"boot_ms", offsetof(RgSimKnobs, boot_ms), 200, 0, DAY_MS},
	{"shutdown_ms", offsetof(RgSimKnobs, shutdown_ms), 200, 0, DAY_MS},
	{"terminated_ms", offsetof(RgSimKnobs, terminated_ms), 3600 * 1000, 0, DAY_MS},
	{"consistency_ms", offsetof(RgSimKnobs, consistency_ms), 0, 0, DAY_MS},
	{"latency_ms", offsetof(RgSimKnobs, latency_ms), 0, 0, 600 * 1000},
	{"latency_jitter_ms", offsetof(RgSimKnobs, latency_jitter_ms), 0, 0, 600 * 1000},
	{"page_size", offsetof(RgSimKnobs, page_size), 0, 0, 1000 * 1000},
	{"clock_offset_s", offsetof(RgSimKnobs, clock_offset_s), 0, -10 * DAY_MS, 10 * DAY_MS},
	{"throttle", offsetof(RgSimKnobs, throttle), 0, 0, 1},
	{"verify", offsetof(RgSimKnobs, verify), 1, 0, 1},
	{"page_before_filter", offsetof(RgSimKnobs, page_before_filter), 0, 0, 1},
};

typedef bool (*Check)(const json_t *value);

static bool is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0 &&
	       json_integer_value(value) <= 1000 * 1000;
}

static bool is_map_of(const json_t *value, Check check)
{
	const char *key;
	json_t *member;
	if (!json_is_object(value))
		return false;
	json_object_foreach ((json_t *)(guintptr)value, key, member) {
		if (!check(member))
			return false;
	}
	return true;
}

static bool is_counts(const json_t *value)
{
	return is_map_of(value, is_count);
}

static bool is_capacity(const json_t *value)
{
	return is_map_of(value, is_counts);
}

static bool is_words(const json_t *value)
{
	size_t i;
	json_t *entry;
	json_array_foreach ((json_t *)(guintptr)value, i, entry) {
		if (!json_is_string(entry))
			return false;
	}
	return json_is_array(value);
}

static bool is_quotas(const json_t *value)
{
	const char *code;
	json_t *member;
	if (!is_counts(value))
		return false;
	json_object_foreach ((json_t *)(guintptr)value, code, member) {
		if (!rg_sim_quota_is_code(code))
			return false;
	}
	return true;
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

static bool is_texts(const json_t *value)
{
	return is_map_of(value, is_text);
}

static bool is_account(const json_t *value)
{
	const char *text = json_string_value(value);
	return text && strlen(text) == 12 && strspn(text, "0123456789") == 12;
}

typedef struct {
	const char *name;
	size_t offset;
	Check check;
	const char *form;
} Value;

static const Value values[] = {
	{"latency_by_action", offsetof(RgSimKnobs, latency_by_action), is_counts,
		"an object {action: ms}"},
	{"capacity", offsetof(RgSimKnobs, capacity), is_capacity,
		"an object {type: {zone: count}}"},
	{"quotas", offsetof(RgSimKnobs, quotas), is_quotas, "an object {quota code: vCPUs}"},
	{"buckets", offsetof(RgSimKnobs, buckets), is_buckets,
		"an object {bucket: [size, tokens a second]}"},
	{"spot_prices", offsetof(RgSimKnobs, spot_prices), is_prices,
		"an object {type: USD an hour}"},
	{"reject_access_keys", offsetof(RgSimKnobs, reject_access_keys), is_words,
		"a list of access key ids"},
	{"access_keys", offsetof(RgSimKnobs, access_keys), is_texts,
		"an object {access key id: secret}"},
	{"instance_profiles", offsetof(RgSimKnobs, instance_profiles), is_words, "a list of names"},
	{"roles", offsetof(RgSimKnobs, roles), is_words, "a list of ARNs"},
	{"parameters", offsetof(RgSimKnobs, parameters), is_texts, "an object {name: value}"},
	{"account", offsetof(RgSimKnobs, account), is_account, "12 digits"},
};

static gint64 *number_at(const RgSimKnobs *knobs, const Number *number)
{
	return (gint64 *)G_STRUCT_MEMBER_P((guintptr)knobs, number->offset);
}

static json_t **value_at(const RgSimKnobs *knobs, const Value *value)
{
	return (json_t **)G_STRUCT_MEMBER_P((guintptr)knobs, value->offset);
}

void rg_sim_knobs_init(RgSimKnobs *knobs)
{
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
		*number_at(knobs, &numbers[i]) = numbers[i].initial;
	knobs->latency_by_action = json_object();
	knobs->capacity = json_object();
	knobs->quotas = json_object();
	knobs->buckets = json_object();
	knobs->spot_prices = json_object();
	knobs->reject_access_keys = json_array();
	/* The pair of AWS's own signing examples. */
	knobs->access_keys =
		json_pack("{s:s}", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
	knobs->instance_profiles = json_pack("[s]", "*");
	knobs->roles = json_pack("[s]", "*");
	knobs->parameters = json_object();
	knobs->account = json_string(RG_SIM_ACCOUNT);
}

void rg_sim_knobs_clear(RgSimKnobs *knobs)
{
	for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
		g_clear_pointer(value_at(knobs, &values[i]), json_decref);
}

void rg_sim_knobs_copy(RgSimKnobs *to, const RgSimKnobs *from)
{
	*to = *from;
	for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
		json_incref(*value_at(to, &values[i]));
}

json_t *rg_sim_knobs_json(const RgSimKnobs *knobs)
{
	json_t *out = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
		json_object_set_new(
			out, numbers[i].name, json_integer(*number_at(knobs, &numbers[i])));
	for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
		json_object_set(out, values[i].name, *value_at(knobs, &values[i]));
	return out;
}

/* NULL when the name is no number's. */
static const Number *find_number(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
		if (g_str_equal(numbers[i].name, name))
			return &numbers[i];
	}
	return NULL;
}

static const Value *find_value(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
		if (g_str_equal(values[i].name, name))
			return &values[i];
	}
	return NULL;
}

static bool apply_one(RgSimKnobs *knobs, const char *name, json_t *given, char **problem)
{
	const Number *number = find_number(name);
	const Value *value = find_value(name);
	if (number) {
		json_int_t wanted =
			json_is_boolean(given) ? json_is_true(given) : json_integer_value(given);
		if (!(json_is_integer(given) || json_is_boolean(given)) || wanted < number->min ||
			wanted > number->max) {
			*problem = g_strdup_printf("%s is a whole number from %" G_GINT64_FORMAT
						   " to %" G_GINT64_FORMAT,
				name, number->min, number->max);
			return false;
		}
		*number_at(knobs, number) = wanted;
		return true;
	}
	if (!value) {
		*problem = g_strdup_printf("there is no knob called %s", name);
		return false;
	}
	if (!value->check(given)) {
		*problem = g_strdup_printf("%s is %s", name, value->form);
		return false;
	}
	json_decref(*value_at(knobs, value));
	*value_at(knobs, value) = json_incref(given);
	return true;
}

bool rg_sim_knobs_apply(RgSimKnobs *knobs, const json_t *changes, char **problem)
{
	if (!json_is_object(changes)) {
		*problem = g_strdup("knobs are given as a JSON object");
		return false;
	}
	RgSimKnobs next;
	rg_sim_knobs_copy(&next, knobs);
	const char *name;
	json_t *given;
	json_object_foreach ((json_t *)(guintptr)changes, name, given) {
		if (!apply_one(&next, name, given, problem)) {
			rg_sim_knobs_clear(&next);
			return false;
		}
	}
	rg_sim_knobs_clear(knobs);
	*knobs = next;
	return true;
}

gint64 rg_sim_knobs_capacity(const RgSimKnobs *knobs, const char *type, const char *zone)
{
	json_t *zones = json_object_get(knobs->capacity, type);
	if (!zones)
		zones = json_object_get(knobs->capacity, "*");
	json_t *count = json_object_get(zones, zone);
	if (!count)
		count = json_object_get(zones, "*");
	return count ? json_integer_value(count) : -1;
}

bool rg_sim_knobs_lists(const json_t *list, const char *word)
{
	size_t i;
	json_t *entry;
	json_array_foreach ((json_t *)(guintptr)list, i, entry) {
		if (g_str_equal(json_string_value(entry), word) ||
			g_str_equal(json_string_value(entry), "*"))
			return true;
	}
	return false;
}
