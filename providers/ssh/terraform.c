/* Hosts of an output of Terraform: a list of addresses, or of objects with the members of `hosts`;
 * or a map, whose keys are their names. */
#include "ssh/elsewhere.h"

/* `terraform output -json`, `terraform show -json`, a state (Terraform's "JSON Output Format", and
 * its state of version 4). */
static const json_t *outputs_of(const json_t *file)
{
	const json_t *of_state = json_object_get(file, "outputs");
	const json_t *of_values = json_object_get(json_object_get(file, "values"), "outputs");
	return of_values					 ? of_values
	       : of_state && !json_object_get(of_state, "value") ? of_state
								 : file;
}

/* An object has null where a member is not set. */
static json_t *item_of(const json_t *value, const char *key)
{
	json_t *item = json_is_string(value) ? json_pack("{s:O}", "address", value) : json_object();
	mod_foreach_member (name, member, value)
		if (!json_is_null(member))
			json_object_set(item, name, member);
	if (key && !json_object_get(item, "name"))
		json_object_set_new(item, "name", json_string(key));
	return item;
}

static void add(SshItems *items, const json_t *value, const char *key)
{
	json_t *item = item_of(value, key);
	g_autofree char *of = g_strdup_printf("host %zu", json_array_size(items->items) + 1);
	if (!items->problem)
		items->problem = ssh_item_check(items->rules, item, of);
	json_array_append_new(items->items, item);
}

static void add_all(SshItems *items, const json_t *value)
{
	mod_foreach (host, value)
		add(items, host, NULL);
	mod_foreach_member (key, one, value)
		add(items, one, key);
}

SshItems ssh_terraform_read(struct rgp_bytes text, const char *output)
{
	SshItems items = {.items = json_array(), .rules = ssh_item_rules()};
	json_auto_t *file = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *named = json_object_get(outputs_of(file), output);
	const json_t *value = json_object_get(named, "value");
	if (!json_is_object(file))
		items.problem = g_strdup("it is not JSON: write it with `terraform output -json`");
	else if (!value)
		items.problem = g_strdup_printf("it has no output \"%s\"", output);
	else if (json_is_true(json_object_get(named, "sensitive"))) /* messages quote hosts */
		items.problem = g_strdup_printf(
			"its output \"%s\" is sensitive, which hosts are not", output);
	else if (!json_is_array(value) && !json_is_object(value))
		items.problem = g_strdup_printf(
			"the output \"%s\" is neither a list nor a map of hosts", output);
	else
		add_all(&items, value);
	if (!items.problem && !json_array_size(items.items))
		items.problem = g_strdup_printf("its output \"%s\" has no hosts", output);
	return items;
}
