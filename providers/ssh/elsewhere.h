/* Inventories that other programs keep: Ansible's, and an output of Terraform. What they say is
 * checked as the hosts of a spec are, and becomes such hosts. */
#pragma once
#include "common/talk.h"

/* What an inventory says that is read from elsewhere. */
typedef struct {
	json_t *items; /* as `hosts` of the spec; each has its "origin" in it */
	json_t *rules; /* of item.c */
	char *problem; /* the first; NULL: none */
} SshItems;

void ssh_items_clear(SshItems *items);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SshItems, ssh_items_clear)

/* The spec's settings with the hosts of `inventory` after those of `hosts`; a new reference. NULL:
 * reported. */
json_t *ssh_elsewhere_join(const ModTalk *talk, const json_t *config);

/* ansible.c: of the document that `ansible-inventory --list` prints, the hosts of the group. Pure.
 */
SshItems ssh_ansible_read(struct rgp_bytes text, const char *group);
/* terraform.c: of what `terraform output -json` or `terraform show -json` prints, or of a state.
 * Pure.
 */
SshItems ssh_terraform_read(struct rgp_bytes text, const char *output);
/* item.c: the rules of `hosts` in the schema; a new reference. */
json_t *ssh_item_rules(void);
/* What is wrong with an item by these rules; g_free, NULL: nothing. `of`: what names it, in
 * messages. */
char *ssh_item_check(const json_t *rules, const json_t *item, const char *of);
