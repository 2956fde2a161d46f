/* Claims: what a host answers about the node that has it, and ids of nodes. Pure. */
#pragma once
#include "ssh/inventory.h"

#define SSH_CLAIM_FILE "/var/lib/raygpu/claims/node" /* host.sh */

/* HOST/DIGITS, with the token's first digits: the next node of the host is another one. g_free. */
char *ssh_id_of(const SshHost *host, const char *token);
/* What has another form is the id of no node. */
bool ssh_is_id(const char *id);
/* The name of its host; g_free. */
char *ssh_id_host(const char *id);
/* NULL: the inventory no longer has it. */
const SshHost *ssh_host_of_id(const SshInventory *inventory, const char *id);
/* That it has not, as a message; NULL: it has it. g_free */
char *ssh_id_absent(const SshInventory *inventory, const char *id);

/* Of the answer of a host; borrowed. "" if no node has it, or the file does not say it. */
const char *ssh_claim_text(const json_t *answer, const char *key);
bool ssh_is_claimed(const json_t *answer);
/* Is the claim one that raygpu wrote, for this host? */
bool ssh_claim_is_sound(const json_t *answer, const SshHost *host);
/* Does the node of this create have the host? */
bool ssh_is_claim_of(const json_t *answer, const char *token, const char *address);
/* What made it was cut off before the node could boot. */
bool ssh_is_unfinished(const json_t *answer);
/* It starts again by itself: systemd says "activating" meanwhile. */
bool ssh_service_runs(const json_t *answer);
