#include "sim/core/faults.h"

struct RgSimFaults {
	GPtrArray *rules;
	gint64 last_id;
};

void rg_sim_fault_free(RgSimFault *fault)
{
	if (!fault)
		return;
	g_free(fault->action);
	g_free(fault->code);
	g_free(fault->message);
	g_free(fault->body);
	g_free(fault->content_type);
	g_free(fault);
}

static void free_rule(void *rule)
{
	rg_sim_fault_free(rule);
}

RgSimFaults *rg_sim_faults_new(void)
{
	RgSimFaults *faults = g_new0(RgSimFaults, 1);
	faults->rules = g_ptr_array_new_with_free_func(free_rule);
	return faults;
}

void rg_sim_faults_free(RgSimFaults *faults)
{
	if (!faults)
		return;
	g_ptr_array_unref(faults->rules);
	g_free(faults);
}

void rg_sim_faults_clear(RgSimFaults *faults)
{
	g_ptr_array_set_size(faults->rules, 0);
}

/* Unpacks what is there; jansson checks types and, by the "!", names. */
gint64 rg_sim_faults_add(RgSimFaults *faults, const json_t *rule, char **problem)
{
	const char *action = "*", *when = "before", *code = NULL, *message = NULL, *body = NULL,
		   *content_type = NULL;
	json_int_t count = 1, skip = 0, truncate = -1, retry_after = -1;
	int status = 0, close = 0;
	double probability = 1;
	json_error_t error;
	int unpacked = json_unpack_ex((json_t *)(guintptr)rule, &error, 0,
		"{s?s, s?s, s?I, s?I, s?F, s?i, s?s, s?s, s?s, s?s, s?I, s?b, s?I !}", "action",
		&action, "when", &when, "count", &count, "skip", &skip, "probability", &probability,
		"status", &status, "code", &code, "message", &message, "body", &body,
		"content_type", &content_type, "truncate", &truncate, "close", &close,
		"retry_after", &retry_after);
	bool after = g_str_equal(when, "after");
	if (unpacked < 0)
		*problem = g_strdup_printf("not a fault: %s", error.text);
	else if (!after && !g_str_equal(when, "before"))
		*problem = g_strdup("when is \"before\" or \"after\"");
	else if (status && (status < 200 || status > 599))
		*problem = g_strdup("status is an HTTP status from 200 to 599");
	if (*problem)
		return 0;
	RgSimFault *fault = g_new0(RgSimFault, 1);
	*fault = (RgSimFault){.id = ++faults->last_id,
		.action = g_strdup(action),
		.after = after,
		.left = count > 0 ? count : -1,
		.skip = skip,
		.probability = probability,
		.status = status,
		.code = g_strdup(code),
		.message = g_strdup(message),
		.body = g_strdup(body),
		.content_type = g_strdup(content_type),
		.truncate = truncate,
		.close = close,
		.retry_after_s = retry_after};
	g_ptr_array_add(faults->rules, fault);
	return fault->id;
}

json_t *rg_sim_faults_json(const RgSimFaults *faults)
{
	json_t *out = json_array();
	for (unsigned i = 0; i < faults->rules->len; i++) {
		const RgSimFault *fault = g_ptr_array_index(faults->rules, i);
		json_array_append_new(out,
			json_pack("{s:I, s:s, s:s, s:I, s:I, s:f, s:i, s:s*, s:b, s:I}", "id",
				(json_int_t)fault->id, "action", fault->action, "when",
				fault->after ? "after" : "before", "left", (json_int_t)fault->left,
				"skip", (json_int_t)fault->skip, "probability", fault->probability,
				"status", fault->status, "code", fault->code, "close", fault->close,
				"truncate", (json_int_t)fault->truncate));
	}
	return out;
}

static RgSimFault *fault_copy(const RgSimFault *from)
{
	RgSimFault *fault = g_new0(RgSimFault, 1);
	*fault = *from;
	fault->action = g_strdup(from->action);
	fault->code = g_strdup(from->code);
	fault->message = g_strdup(from->message);
	fault->body = g_strdup(from->body);
	fault->content_type = g_strdup(from->content_type);
	return fault;
}

static bool catches(RgSimFault *fault, const char *action, GRand *random)
{
	if (!g_pattern_match_simple(fault->action, action))
		return false;
	if (fault->skip > 0) {
		fault->skip--;
		return false;
	}
	return fault->probability >= 1 || g_rand_double(random) < fault->probability;
}

RgSimFault *rg_sim_faults_take(RgSimFaults *faults, const char *action, GRand *random)
{
	for (unsigned i = 0; i < faults->rules->len; i++) {
		RgSimFault *fault = g_ptr_array_index(faults->rules, i);
		if (!catches(fault, action, random))
			continue;
		RgSimFault *copy = fault_copy(fault);
		if (fault->left > 0 && --fault->left == 0)
			g_ptr_array_remove_index(faults->rules, i);
		return copy;
	}
	return NULL;
}

bool rg_sim_fault_replaces(const RgSimFault *fault)
{
	return !fault->after || fault->truncate < 0 || fault->status || fault->code || fault->body;
}
