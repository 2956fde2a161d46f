/* The attributes of a node and what a create or update of it passes to the host. */
#pragma once
#include "ssh/remote.h"

/* All that the host shows; only what it answered. A new reference. */
json_t *ssh_node_observed(const SshRun *run);
/* The computed ones, after a change. */
json_t *ssh_node_computed(const SshRun *run);
/* The variables of host.sh for the node with this id. */
void ssh_node_set_id(SshRun *run, const char *id);
/* And for one that boots. */
void ssh_node_set_boot(SshRun *run, const json_t *attributes);
