#include "command.h"
#include <stdlib.h>

bool context_open_session(Context *context, RgStoreMode mode)
{
	context_open_providers(context);
	if (!context->store)
		context->store = context_open_state(context, mode, context->diags);
	if (!context->store)
		return false;
	RgSession *session = &context->session;
	session->providers = context->providers;
	session->store = context->store;
	session->state_path = context_state_path(context);
	session->state_admits = context->state_admits;
	session->allow_endpoints = getenv("RAYGPU_ALLOW_ENDPOINTS");
	session->allow_profiles = getenv("RAYGPU_ALLOW_PROFILES");
	session->settle_ms = 30000;
	session->progress = status_progress;
	session->waiting = status_waiting;
	session->progress_data = context;
	session->http = context_http(context);
	session->http.read_only = mode == RG_STORE_READ;
	session->http.canceled = signals_cut_requests;
	return true;
}

bool context_has_cluster(Context *context, const char *name)
{
	g_auto(GStrv) known = rg_store_clusters(context->store, context->diags);
	if (!known)
		return false;
	if (g_strv_contains((const char *const *)known, name))
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "state.no-such-cluster",
		"the state \"%s\" has no cluster %s", context_state_path(context), name);
	g_autofree char *list = g_strjoinv(", ", known);
	if (*list)
		rg_diag_hint(diag, "it has %s", list);
	else
		rg_diag_hint(
			diag, "it is empty; --state FILE or RAYGPU_STATE selects another state");
	return false;
}

char *context_one_cluster(Context *context)
{
	if (context->cluster)
		return context_has_cluster(context, context->cluster) ? g_strdup(context->cluster)
								      : NULL;
	g_auto(GStrv) names = rg_store_clusters(context->store, context->diags);
	if (!names)
		return NULL;
	if (g_strv_length(names) == 1)
		return g_strdup(names[0]);
	g_autofree char *list = g_strjoinv(", ", names);
	RgDiag *diag =
		names[0] ? rg_diags_error(context->diags, "usage.missing-argument",
				   "the state has several clusters: %s", list)
			 : rg_diags_error(context->diags, "state.no-such-cluster",
				   "the state \"%s\" has no cluster", context_state_path(context));
	rg_diag_hint(diag, names[0] ? "select one with --cluster NAME"
				    : "check that it is the right file; --state FILE or "
				      "RAYGPU_STATE selects another");
	return NULL;
}
