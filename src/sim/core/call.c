#include "sim/core/call.h"
#include <string.h>

bool rg_sim_fail(RgSimCall *call, int status, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	call->status = status;
	g_free(call->code);
	call->code = g_strdup(code);
	g_free(call->message);
	call->message = g_steal_pointer(&message);
	return false;
}

bool rg_sim_fail_missing(RgSimCall *call, const char *parameter)
{
	return rg_sim_fail(call, 400, "MissingParameter",
		"The request must contain the parameter %s", parameter);
}

bool rg_sim_fail_value(RgSimCall *call, const char *parameter, const char *value)
{
	return rg_sim_fail(call, 400, "InvalidParameterValue",
		"Value (%s) for parameter %s is invalid.", value, parameter);
}

bool rg_sim_go(RgSimCall *call)
{
	if (!rg_sim_param_bool(call->params, "DryRun", false))
		return true;
	return rg_sim_fail(call, 412, "DryRunOperation",
		"Request would have succeeded, but DryRun flag is set.");
}

static bool fail_malformed(RgSimCall *call, RgSimKind kind, const char *id)
{
	const RgSimKindInfo *info = &rg_sim_kinds[kind];
	return rg_sim_fail(call, 400, info->malformed, "Invalid id: \"%s\" (expecting \"%s...\")",
		id, info->prefix);
}

json_t *rg_sim_call_find(RgSimCall *call, RgSimKind kind, const char *id)
{
	if (!rg_sim_kind_is_id(kind, id)) {
		fail_malformed(call, kind, id);
		return NULL;
	}
	json_t *doc = rg_sim_world_find(call->region, kind, id);
	if (!doc) {
		g_auto(GStrv) around = g_strsplit(rg_sim_kinds[kind].not_found_text, "%s", 2);
		rg_sim_fail(call, 400, rg_sim_kinds[kind].not_found, "%s%s%s", around[0], id,
			around[1]);
	}
	return doc;
}

GPtrArray *rg_sim_call_ids(RgSimCall *call, RgSimKind kind, const char *parameter)
{
	g_autoptr(GPtrArray) ids = rg_sim_param_texts(call->params, parameter);
	for (unsigned i = 0; i < ids->len; i++) {
		if (!rg_sim_call_find(call, kind, g_ptr_array_index(ids, i)))
			return NULL;
	}
	if (ids->len == 0) {
		rg_sim_fail_missing(call, parameter);
		return NULL;
	}
	return g_steal_pointer(&ids);
}
