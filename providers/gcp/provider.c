/* The module's table: the calls of the host (common/calls.h) and their functions. */
#include "gcp/data.h"
#include "gcp/gcs.h"
#include "gcp/kinds.h"
#include "gcp/open.h"

static const ModKind *const kinds[] = {&gcp_firewall_kind.kind, &gcp_address_kind.kind,
	&gcp_policy_kind.kind, &gcp_instance_kind.kind, NULL};

MOD_SCHEMA(gcp)

static rgp_status create(const GcpCall *call, const ModKind *kind, const json_t *input)
{
	return gcp_kind(kind)->create(call, gcp_kind(kind), input);
}

static rgp_status update(const GcpCall *call, const ModKind *kind, const json_t *input)
{
	return gcp_kind(kind)->update(call, gcp_kind(kind), json_object_get(input, "items"));
}

static rgp_status remove_items(const GcpCall *call, const ModKind *kind, const json_t *input)
{
	return gcp_kind(kind)->remove(call, gcp_kind(kind), json_object_get(input, "items"));
}

MOD_CALL(resolve, mod_call_whole, gcp_resolve)
MOD_CALL(lower, mod_call_whole, gcp_lower)
MOD_CALL(list, mod_call_list, kinds, gcp_list)
MOD_CALL(create, mod_call_create, kinds, create)
MOD_CALL(remove, mod_call_remove, kinds, remove_items)
MOD_CALL(update, mod_call_update, kinds, update)
MOD_CALL(ready, mod_call_of_kind, kinds, gcp_ready)
MOD_CALL(find, mod_call_of_kind, kinds, gcp_find)
MOD_CALL(reveal, mod_call_of_kind, kinds, gcp_reveal)
MOD_CALL(preflight, mod_call_whole, gcp_preflight)
MOD_CALL(account, mod_call_whole, gcp_account)
MOD_CALL(console, mod_call_of_kind, kinds, gcp_console)
MOD_CALL(changing, mod_call_of_kind, kinds, gcp_changing)
MOD_CALL(permissions, mod_call_whole, gcp_permissions)

MOD_BLOB_CALLS(gcp)

static const struct rgp_provider provider = {
	MOD_TABLE("gcp"),
	.open = gcp_open,
	.close = gcp_close,
	.reveal = call_reveal,
	.console = call_console,
	MOD_BLOB_TABLE,
	.account = call_account,
	.permissions = call_permissions,
	.changing = call_changing,
};

#ifdef RGP_STATIC
RGP_ENTRY(gcp);
#endif
RGP_ENTRY(gcp)
{
	return &provider;
}
