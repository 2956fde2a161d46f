/* The module's table: the calls of the host. */
#include "ssh/data.h"
#include "ssh/ssh.h"

MOD_SCHEMA(ssh)

static rgp_status update(const ModCall *call, const struct rgp_args *args, void *unused)
{
	(void)unused;
	return ssh_update(call, args);
}

MOD_CALL(resolve, mod_call_whole, ssh_resolve)
MOD_CALL(lower, mod_call_whole, ssh_lower)
MOD_CALL(list, mod_call_whole, ssh_list)
MOD_CALL(find, mod_call_whole, ssh_find)
MOD_CALL(create, mod_call_whole, ssh_create)
MOD_CALL(ready, mod_call_whole, ssh_ready)
MOD_CALL(update, update, NULL)
MOD_CALL(remove, mod_call_whole, ssh_remove)
MOD_CALL(preflight, mod_call_whole, ssh_preflight)
MOD_CALL(reveal, mod_call_whole, ssh_reveal)
MOD_CALL(console, mod_call_whole, ssh_console)

static const struct rgp_provider provider = {
	MOD_TABLE("ssh"),
	.open = ssh_open,
	.close = ssh_close,
	.reveal = call_reveal,
	.console = call_console,
};

#ifdef RGP_STATIC
RGP_ENTRY(ssh);
#endif
RGP_ENTRY(ssh)
{
	return &provider;
}
