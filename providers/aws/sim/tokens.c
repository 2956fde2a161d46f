#include "aws/sim/tokens.h"
#include <string.h>

#define MAX_TOKEN 64

static char *token_key(const RgSimCall *call, const char *zone)
{
	return g_strconcat(call->action->name, "/", zone, "/",
		rg_sim_param_str(call->params, "ClientToken"), NULL);
}

/* Everything but the token itself and what doesn't change the request's meaning. */
static char *fingerprint(const RgSimCall *call)
{
	json_auto_t *rest = json_copy((json_t *)(guintptr)call->params);
	json_object_del(rest, "Action");
	json_object_del(rest, "Version");
	json_object_del(rest, "ClientToken");
	json_object_del(rest, "DryRun");
	g_autofree char *text = json_dumps(rest, JSON_SORT_KEYS | JSON_COMPACT);
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

bool rg_sim_token_check(RgSimCall *call, const char *zone, const json_t **earlier)
{
	const char *token = rg_sim_param_str(call->params, "ClientToken");
	*earlier = NULL;
	if (!token || !*token)
		return true;
	if (strlen(token) > MAX_TOKEN || !g_str_is_ascii(token))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%s) for parameter clientToken is invalid. The length exceeds the "
			"maximum of %d ASCII characters.",
			token, MAX_TOKEN);
	g_autofree char *key = token_key(call, zone);
	const json_t *known = rg_sim_world_find(call->region, RG_SIM_TOKEN, key);
	if (!known)
		return true;
	g_autofree char *print = fingerprint(call);
	if (!g_str_equal(print, rg_sim_doc_str(known, "fingerprint")))
		return rg_sim_fail(call, 400, "IdempotentParameterMismatch",
			"Arguments on this idempotent request are inconsistent with arguments used "
			"in previous request(s).");
	*earlier = known;
	return true;
}

void rg_sim_token_store(RgSimCall *call, const char *zone, json_t *ids, json_t *answer)
{
	const char *token = rg_sim_param_str(call->params, "ClientToken");
	if (!token || !*token)
		return;
	g_autofree char *key = token_key(call, zone);
	g_autofree char *print = fingerprint(call);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:O}", "key", key, "action",
		call->action->name, "token", token, "fingerprint", print, "ids", ids);
	if (answer)
		json_object_set(doc, "answer", answer);
	rg_sim_world_put(call->world, call->region, RG_SIM_TOKEN, doc);
}
