#include "ssh/inventory.h"
#include <string.h>
#include "common/talk.h"
#include "ssh/figures.h"

#define RACK "default"

static void host_free(gpointer data)
{
	SshHost *host = data;
	if (!host)
		return;
	g_free(host->name);
	g_free(host->address);
	g_free(host->internal_address);
	g_free(host->user);
	g_free(host->proxy_jump);
	g_free(host->rack);
	g_free(host->shape);
	json_decref(host->labels);
	g_free(host->origin);
	g_free(host);
}

/* The item's own, else that of all hosts. */
static const json_t *setting(const json_t *config, const json_t *item, const char *name)
{
	const json_t *own = json_object_get(item, name);
	return own ? own : json_object_get(config, name);
}

static char *text_or(const json_t *value, const char *otherwise)
{
	const char *text = json_string_value(value);
	return g_strdup(text ? text : otherwise);
}

/* Of a host that is not in the spec, the setting that leads to it. */
static char *origin_of(const json_t *item, size_t place)
{
	const char *origin = mod_str(item, "origin");
	return *origin ? g_strdup(origin) : g_strdup_printf("/provider/hosts/%zu", place);
}

static SshHost *host_new(
	const json_t *config, const json_t *item, size_t place, const char *address)
{
	SshHost *host = g_new0(SshHost, 1);
	host->address = g_strdup(address);
	host->name = text_or(json_object_get(item, "name"), address);
	host->internal_address = text_or(json_object_get(item, "internal_address"), "");
	host->proxy_jump = text_or(json_object_get(item, "proxy_jump"), "");
	host->rack = text_or(json_object_get(item, "rack"), RACK);
	host->shape = ssh_shape_of(json_string_value(json_object_get(item, "gpus")));
	host->user = text_or(setting(config, item, "user"), "");
	host->port = (unsigned)json_integer_value(setting(config, item, "port"));
	host->cpus = mod_int(item, "cpus");
	host->memory_mib = ssh_memory_mib_of(json_string_value(json_object_get(item, "memory")));
	host->microusd_hour = ssh_microusd_of(json_object_get(item, "usd_per_hour"));
	host->labels = json_deep_copy(json_object_get(item, "labels"));
	host->is_elsewhere = json_object_get(item, "origin") != NULL;
	host->origin = origin_of(item, place);
	return host;
}

/* What an item names once cannot belong to several hosts. */
static const char *once_of(const json_t *item)
{
	return json_object_get(item, "name")		   ? "name"
	       : json_object_get(item, "internal_address") ? "internal_address"
							   : NULL;
}

static bool add_item(SshInventory *inventory, const json_t *config, const json_t *item,
	size_t place, char **problem)
{
	const char *text = mod_str(item, "address"), *once = once_of(item);
	g_autoptr(GPtrArray) addresses = ssh_range_expand(text);
	if (!addresses)
		*problem = g_strdup_printf(
			"\"%s\" is not a range: write it as gpu[01-16].example.org", text);
	else if (addresses->len > 1 && once)
		*problem = g_strdup_printf("%s is that of one host, but \"%s\" stands for %u", once,
			text, addresses->len);
	else if (addresses->len > SSH_HOSTS_MAX - inventory->all->len)
		*problem = g_strdup_printf("the inventory has more than %d hosts", SSH_HOSTS_MAX);
	for (guint i = 0; !*problem && i < addresses->len; i++) {
		SshHost *host = host_new(config, item, place, addresses->pdata[i]);
		g_ptr_array_add(inventory->all, host);
		if (!g_hash_table_insert(inventory->by_name, host->name, host))
			*problem =
				g_strdup_printf("the inventory has two hosts \"%s\"", host->name);
	}
	return !*problem;
}

SshInventory *ssh_inventory_new(const json_t *config, char **problem, char **origin)
{
	SshInventory *inventory = g_new0(SshInventory, 1);
	const json_t *items = json_object_get(config, "hosts");
	inventory->all = g_ptr_array_new_with_free_func(host_free);
	inventory->by_name = g_hash_table_new(g_str_hash, g_str_equal);
	*problem = NULL;
	for (size_t i = 0; i < json_array_size(items); i++) {
		if (add_item(inventory, config, json_array_get(items, i), i, problem))
			continue;
		*origin = origin_of(json_array_get(items, i), i);
		ssh_inventory_free(inventory);
		return NULL;
	}
	return inventory;
}

void ssh_inventory_free(SshInventory *inventory)
{
	if (!inventory)
		return;
	g_hash_table_unref(inventory->by_name);
	g_ptr_array_unref(inventory->all);
	g_free(inventory);
}

const SshHost *ssh_inventory_find(const SshInventory *inventory, const char *name)
{
	return g_hash_table_lookup(inventory->by_name, name);
}
