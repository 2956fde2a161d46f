#include "sim/core/faults.h"
#include "sim/core/world.h"

void rg_sim_faults_clear(RgSimFaults *faults)
{
	g_clear_pointer(&faults->rules, json_decref);
}

/* jansson checks types and, strictly, names. */
static bool fault_check(const json_t *rule, char **problem)
{
	json_error_t error;
	int failed = json_unpack_ex(rg_json_unconst(rule), &error, JSON_VALIDATE_ONLY | JSON_STRICT,
		"{s?s, s?s, s?I, s?I, s?F, s?i, s?s, s?s, s?s, s?s, s?I, s?b, s?I}", "action",
		"when", "count", "skip", "probability", "status", "code", "message", "body",
		"content_type", "truncate", "close", "retry_after");
	const char *when = rg_json_str(rule, "when", "before");
	gint64 status = doc_int(rule, "status");
	if (failed)
		*problem = g_strdup_printf("not a fault: %s", error.text);
	else if (!g_str_equal(when, "before") && !g_str_equal(when, "after"))
		*problem = g_strdup("when must be \"before\" or \"after\"");
	else if (status && (status < 200 || status > 599))
		*problem = g_strdup("status must be an HTTP status from 200 to 599");
	return !*problem;
}

gint64 rg_sim_faults_add(RgSimFaults *faults, const json_t *rule, char **problem)
{
	if (!fault_check(rule, problem))
		return 0;
	json_t *fault = json_pack("{s:I, s:s, s:s, s:i, s:f, s:i, s:i, s:b, s:i}", "id",
		(json_int_t)++faults->last_id, "action", "*", "when", "before", "skip", 0,
		"probability", 1.0, "status", 0, "truncate", -1, "close", 0, "retry_after", -1);
	json_object_update(fault, rg_json_unconst(rule));
	gint64 count = rg_json_int(rule, "count", 1);
	json_object_del(fault, "count");
	json_object_set_new(fault, "left", json_integer(count > 0 ? count : -1));
	if (!faults->rules)
		faults->rules = json_array();
	json_array_append_new(faults->rules, fault);
	return faults->last_id;
}

static bool fault_catches(json_t *fault, const char *action, GRand *random)
{
	if (!g_pattern_match_simple(doc_str(fault, "action"), action))
		return false;
	gint64 skip = doc_int(fault, "skip");
	if (skip > 0) {
		json_object_set_new(fault, "skip", json_integer(skip - 1));
		return false;
	}
	double probability = json_number_value(json_object_get(fault, "probability"));
	return probability >= 1 || g_rand_double(random) < probability;
}

json_t *rg_sim_faults_take(RgSimFaults *faults, const char *action, GRand *random)
{
	rg_json_foreach_at (i, fault, faults->rules) {
		if (!fault_catches(fault, action, random))
			continue;
		gint64 left = doc_int(fault, "left");
		json_incref(fault);
		if (left > 0)
			json_object_set_new(fault, "left", json_integer(left - 1));
		if (left == 1)
			json_array_remove(faults->rules, i);
		return fault;
	}
	return NULL;
}

bool rg_sim_fault_is_late(const json_t *fault)
{
	return g_str_equal(doc_str(fault, "when"), "after");
}

bool rg_sim_fault_replaces(const json_t *fault)
{
	return !rg_sim_fault_is_late(fault) || doc_int(fault, "truncate") < 0 ||
	       doc_int(fault, "status") || json_object_get(fault, "code") ||
	       json_object_get(fault, "body");
}
