/* The module's instance and the calls of the host; provider.c looks them up. */
#pragma once
#include "common/calls.h"
#include "ssh/inventory.h"

#define SSH_NODE "ssh.node"

struct rgp_inst {
	json_t *config;	     /* the spec's settings; immutable after open */
	SshInventory *hosts; /* of them */
	char *sockets;	     /* folder of shared connections; NULL: there are none */
	GMutex asking;	     /* one probe at a time */
	GMutex lock;	     /* of what follows */
	GHashTable *seen;    /* probe.c: what hosts answered */
	guint changes;	     /* begun or ended so far */
};

rgp_status ssh_open(const struct rgp_host *host, struct rgp_call *call, const struct rgp_args *args,
	struct rgp_inst **out);
void ssh_close(struct rgp_inst *inst);

rgp_status ssh_resolve(const ModCall *call, const json_t *input);
rgp_status ssh_lower(const ModCall *call, const json_t *input);
rgp_status ssh_list(const ModCall *call, const json_t *input);
rgp_status ssh_find(const ModCall *call, const json_t *input);
rgp_status ssh_create(const ModCall *call, const json_t *input);
rgp_status ssh_ready(const ModCall *call, const json_t *input);
rgp_status ssh_update(const ModCall *call, const struct rgp_args *args);
rgp_status ssh_remove(const ModCall *call, const json_t *input);
rgp_status ssh_preflight(const ModCall *call, const json_t *input);
rgp_status ssh_reveal(const ModCall *call, const json_t *input);
rgp_status ssh_console(const ModCall *call, const json_t *input);
