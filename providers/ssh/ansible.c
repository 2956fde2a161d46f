/* Hosts of Ansible's inventory, as `ansible-inventory --list` prints it: groups with hosts and
 * children, and the variables of each host, into which those of its groups are merged. */
#include "ssh/elsewhere.h"
#include <string.h>

#define OURS "raygpu_"

typedef struct {
	SshItems *items;
	const json_t *file, *vars; /* {HOST: {NAME: value}} */
	GHashTable *seen;	   /* groups and hosts, as "g:NAME" and "h:NAME" */
} AnsibleReading;

static bool is_first(const AnsibleReading *reading, char kind, const char *name)
{
	return g_hash_table_add(reading->seen, g_strdup_printf("%c:%s", kind, name));
}

/* The jump host of `-J HOST`, `-o ProxyJump=HOST` and nothing else; NULL: there is none. */
static char *jump_of(const char *arguments)
{
	g_auto(GStrv) words = NULL;
	if (!g_shell_parse_argv(arguments, NULL, &words, NULL))
		return NULL;
	g_autofree char *all = g_strjoinv(" ", words);
	static const char *const forms[] = {"-J ", "-J", "-o ProxyJump=", "-oProxyJump="};
	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
		if (g_str_has_prefix(all, forms[i]) && !strchr(all + strlen(forms[i]), ' '))
			return g_strdup(all + strlen(forms[i]));
	return NULL;
}

/* INI files have numbers where a text such as rack: 7 or port: "22" is meant. */
static json_t *plain(const char *name, json_t *value)
{
	bool number = g_str_equal(name, "port") || g_str_equal(name, "cpus");
	const char *text = json_string_value(value);
	if (number && text && *text && strspn(text, "0123456789") == strlen(text))
		return json_integer(g_ascii_strtoll(text, NULL, 10));
	if (!number && !g_str_equal(name, "usd_per_hour") && json_is_integer(value)) {
		g_autofree char *written =
			g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return json_string(written);
	}
	return json_incref(value);
}

static void set_plain(json_t *item, const char *name, json_t *value)
{
	if (value && !json_is_null(value))
		json_object_set_new(item, name, plain(name, value));
}

static void set_jump(SshItems *items, json_t *item, const json_t *vars, const char *host)
{
	const char *arguments = mod_str(vars, "ansible_ssh_common_args");
	if (!*arguments)
		return;
	g_autofree char *jump = jump_of(arguments);
	if (jump)
		json_object_set_new(item, "proxy_jump", json_string(jump));
	else if (!items->problem)
		items->problem = g_strdup_printf(
			"host %s: ansible_ssh_common_args may only be -J HOST or -o "
			"ProxyJump=HOST; set others in a file for provider.ssh_config",
			host);
}

/* Others, as localhost often is, are left out. */
static bool is_reached_by_ssh(const json_t *vars)
{
	const char *how = mod_str(vars, "ansible_connection");
	return !*how || g_str_equal(how, "ssh") || g_str_equal(how, "smart");
}

static void add_host(AnsibleReading *reading, const char *name)
{
	const json_t *vars = json_object_get(reading->vars, name);
	SshItems *items = reading->items;
	if (!is_first(reading, 'h', name) || !is_reached_by_ssh(vars))
		return;
	json_t *item = json_pack("{s:s, s:s}", "name", name, "address", name);
	set_plain(item, "address", json_object_get(vars, "ansible_host"));
	set_plain(item, "port", json_object_get(vars, "ansible_port"));
	set_plain(item, "user", json_object_get(vars, "ansible_user"));
	mod_foreach_member (key, value, vars)
		if (g_str_has_prefix(key, OURS))
			set_plain(item, key + strlen(OURS), value);
	if (!json_object_get(item, "proxy_jump"))
		set_jump(items, item, vars, name);
	g_autofree char *of = g_strdup_printf("host %.80s", name);
	if (!items->problem)
		items->problem = ssh_item_check(items->rules, item, of);
	json_array_append_new(items->items, item);
}

/* Groups may contain each other in a circle in what a program prints: each is read once. */
static void add_group(AnsibleReading *reading, const char *group)
{
	g_autoptr(GPtrArray) groups = g_ptr_array_new();
	g_ptr_array_add(groups, (gpointer)(uintptr_t)group);
	for (guint i = 0; i < groups->len; i++) {
		const json_t *of = json_object_get(reading->file, groups->pdata[i]);
		if (!is_first(reading, 'g', groups->pdata[i]))
			continue;
		mod_foreach (host, json_object_get(of, "hosts"))
			if (json_is_string(host))
				add_host(reading, json_string_value(host));
		mod_foreach (child, json_object_get(of, "children"))
			if (json_is_string(child))
				g_ptr_array_add(
					groups, (gpointer)(uintptr_t)json_string_value(child));
	}
}

SshItems ssh_ansible_read(struct rgp_bytes text, const char *group)
{
	SshItems items = {.items = json_array(), .rules = ssh_item_rules()};
	json_auto_t *file = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	AnsibleReading reading = {.items = &items,
		.file = file,
		.vars = json_object_get(json_object_get(file, "_meta"), "hostvars"),
		.seen = seen};
	if (!json_is_object(file))
		items.problem = g_strdup("`ansible-inventory --list` printed no JSON");
	else if (!json_is_object(json_object_get(file, group)))
		items.problem = g_strdup_printf("it has no group \"%s\"", group);
	else
		add_group(&reading, group);
	if (!items.problem && !json_array_size(items.items))
		items.problem = g_strdup_printf("its group \"%s\" has no hosts", group);
	return items;
}
