/* The module's table: the calls of the host. */
#include "kubernetes/calls.h"
#include "kubernetes/data.h"
#include "kubernetes/lower.h"

MOD_SCHEMA(kube)

static rgp_status lower(const ModCall *call, const json_t *input)
{
	return kube_lower(&call->talk, input);
}

static rgp_status export(const ModCall *call, const json_t *input)
{
	return kube_export(&call->talk, input);
}

MOD_CALL(export, mod_call_whole, export)
MOD_CALL(resolve, mod_call_whole, kube_resolve)
MOD_CALL(lower, mod_call_whole, lower)
MOD_CALL(list, mod_call_whole, kube_list)
MOD_CALL(create, mod_call_whole, kube_create)
MOD_CALL(remove, mod_call_whole, kube_remove)
MOD_CALL(update, mod_call_whole, kube_update)
MOD_CALL(ready, mod_call_whole, kube_ready)
MOD_CALL(reveal, mod_call_whole, kube_reveal)
MOD_CALL(console, mod_call_whole, kube_console)
MOD_CALL(find, mod_call_whole, kube_find)
MOD_CALL(preflight, mod_call_whole, kube_preflight)
MOD_CALL(account, mod_call_whole, kube_account)
MOD_CALL(health, mod_call_whole, kube_health)
MOD_CALL(permissions, mod_call_whole, kube_permissions)

static const struct rgp_provider provider = {
	MOD_TABLE("kubernetes"),
	.open = kube_open,
	.close = kube_close,
	.reveal = call_reveal,
	.health = call_health,
	.console = call_console,
	.export_form = call_export,
	.account = call_account,
	.permissions = call_permissions,
};

#ifdef RGP_STATIC
RGP_ENTRY(kubernetes);
#endif
RGP_ENTRY(kubernetes)
{
	return &provider;
}
