#include "ssh/claim.h"
#include <string.h>
#include "common/talk.h"

#define ID_DIGITS 8

char *ssh_id_of(const SshHost *host, const char *token)
{
	return g_strdup_printf("%s/%.*s", host->name, ID_DIGITS, token);
}

bool ssh_is_id(const char *id)
{
	const char *slash = strrchr(id, '/');
	return slash && strlen(slash + 1) == ID_DIGITS;
}

char *ssh_id_host(const char *id)
{
	const char *slash = strrchr(id, '/');
	return slash ? g_strndup(id, (gsize)(slash - id)) : g_strdup(id);
}

const SshHost *ssh_host_of_id(const SshInventory *inventory, const char *id)
{
	g_autofree char *name = ssh_id_host(id);
	return ssh_inventory_find(inventory, name);
}

char *ssh_id_absent(const SshInventory *inventory, const char *id)
{
	g_autofree char *name = ssh_id_host(id);
	return ssh_inventory_find(inventory, name)
		       ? NULL
		       : g_strdup_printf(
				 "%s is not in the inventory: add it again to release it", name);
}

const char *ssh_claim_text(const json_t *answer, const char *key)
{
	g_autofree char *name = g_strconcat("claim.", key, NULL);
	return mod_str(answer, name);
}

bool ssh_is_claimed(const json_t *answer)
{
	return json_object_get(answer, "claim") != NULL;
}

bool ssh_claim_is_sound(const json_t *answer, const SshHost *host)
{
	const char *token = ssh_claim_text(answer, "token");
	g_autofree char *id = ssh_id_of(host, token);
	return strlen(token) >= ID_DIGITS && g_str_equal(ssh_claim_text(answer, "id"), id) &&
	       *ssh_claim_text(answer, "cluster") && *ssh_claim_text(answer, "address");
}

bool ssh_is_claim_of(const json_t *answer, const char *token, const char *address)
{
	return g_str_equal(ssh_claim_text(answer, "token"), token) &&
	       g_str_equal(ssh_claim_text(answer, "address"), address);
}

bool ssh_is_unfinished(const json_t *answer)
{
	return g_str_equal(mod_str(answer, "service"), "unfinished");
}

bool ssh_service_runs(const json_t *answer)
{
	const char *service = mod_str(answer, "service");
	return g_str_equal(service, "active") || g_str_equal(service, "activating");
}
