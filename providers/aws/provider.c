/* The module's table: the calls of the host (common/calls.h) and their functions. */
#include "aws/account.h"
#include "aws/data.h"
#include "aws/kinds.h"
#include "aws/open.h"
#include "aws/permissions.h"
#include "aws/reservation.h"
#include "aws/s3.h"

static const ModKind *const kinds[] = {&aws_group_kind.kind, &aws_interface_kind.kind,
	&aws_instance_kind.kind, &aws_placement_kind.kind, NULL};

MOD_SCHEMA(aws)

static rgp_status create(const AwsCall *call, const ModKind *kind, const json_t *input)
{
	return aws_kind(kind)->create(call, input);
}

static rgp_status remove_items(const AwsCall *call, const ModKind *kind, const json_t *input)
{
	return aws_kind(kind)->remove(call, json_object_get(input, "items"));
}

MOD_CALL(resolve, mod_call_whole, aws_resolve)
MOD_CALL(lower, mod_call_whole, aws_lower)
MOD_CALL(list, mod_call_list, kinds, aws_list)
MOD_CALL(create, mod_call_create, kinds, create)
MOD_CALL(remove, mod_call_remove, kinds, remove_items)
MOD_CALL(update, mod_call_update, kinds, aws_update)
MOD_CALL(ready, mod_call_of_kind, kinds, aws_ready)
MOD_CALL(find, mod_call_of_kind, kinds, aws_find)
MOD_CALL(reveal, mod_call_of_kind, kinds, aws_reveal)
MOD_CALL(preflight, mod_call_whole, aws_preflight)
MOD_CALL(account, mod_call_whole, aws_account)
MOD_CALL(console, mod_call_of_kind, kinds, aws_console)
MOD_CALL(health, mod_call_of_kind, kinds, aws_health)
MOD_CALL(permissions, mod_call_whole, aws_permissions)
MOD_CALL(blocks, mod_call_whole, aws_blocks)

MOD_BLOB_CALLS(aws)

static const struct rgp_provider provider = {
	MOD_TABLE("aws"),
	.open = aws_open,
	.close = aws_close,
	.reveal = call_reveal,
	.console = call_console,
	.health = call_health,
	.blocks = call_blocks,
	MOD_BLOB_TABLE,
	.account = call_account,
	.permissions = call_permissions,
};

#ifdef RGP_STATIC
RGP_ENTRY(aws);
#endif
RGP_ENTRY(aws)
{
	return &provider;
}
