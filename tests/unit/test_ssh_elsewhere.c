/* Hosts of Ansible's inventory and of Terraform's outputs. */
#include "ssh/elsewhere.h"
#include <string.h>

static json_t *json_of(const char *text)
{
	g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(json, JSON_DECODE_ANY, &error);
	if (!value)
		g_error("%s: %s", text, error.text);
	return value;
}

static void assert_items(SshItems items, const char *expected)
{
	json_auto_t *wanted = json_of(expected);
	g_autofree char *text = json_dumps(items.items, JSON_SORT_KEYS);
	g_assert_cmpstr(items.problem, ==, NULL);
	if (!json_equal(items.items, wanted))
		g_error("%s is not %s", text, expected);
	ssh_items_clear(&items);
}

static void assert_problem(SshItems items, const char *expected)
{
	g_assert_cmpstr(items.problem, ==, expected);
	ssh_items_clear(&items);
}

static SshItems ansible(const char *text, const char *group)
{
	g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
	return ssh_ansible_read((struct rgp_bytes){json, strlen(json)}, group);
}

static SshItems terraform(const char *text)
{
	g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
	return ssh_terraform_read((struct rgp_bytes){json, strlen(json)}, "gpu");
}

static void variables_of_ansible_are_settings(void)
{
	assert_items(ansible("{'_meta': {'hostvars': {'a': {'ansible_host': '10.0.0.1',"
			     " 'ansible_port': '22', 'ansible_user': 'ops', 'raygpu_gpus': 'T4:1',"
			     " 'raygpu_rack': 7, 'raygpu_cpus': '8', 'raygpu_memory': '64GiB',"
			     " 'raygpu_usd_per_hour': 2, 'raygpu_labels': {'x': 'y'}, 'other': [],"
			     " 'ansible_ssh_common_args': '-o ProxyJump=u@gate:22'}}},"
			     " 'all': {'children': ['g']}, 'g': {'hosts': ['a', 'b']}}",
			     "all"),
		"[{'name': 'a', 'address': '10.0.0.1', 'port': 22, 'user': 'ops', 'gpus': 'T4:1',"
		" 'rack': '7', 'cpus': 8, 'memory': '64GiB', 'usd_per_hour': 2,"
		" 'labels': {'x': 'y'}, 'proxy_jump': 'u@gate:22'},"
		" {'name': 'b', 'address': 'b'}]");
}

static void groups_of_ansible_have_children(void)
{
	static const char groups[] =
		"{'all': {'children': ['g', 'h']}, 'g': {'hosts': ['a'], 'children': ['h']},"
		" 'h': {'hosts': ['a', 'b'], 'children': ['g', 'none']}, 'i': {'hosts': ['c']},"
		" '_meta': {'hostvars': {'c': {'ansible_connection': 'local'}}}}";
	assert_items(ansible(groups, "all"),
		"[{'name': 'a', 'address': 'a'}, {'name': 'b', 'address': 'b'}]");
	assert_items(ansible(groups, "h"),
		"[{'name': 'a', 'address': 'a'}, {'name': 'b', 'address': 'b'}]");
	assert_problem(ansible(groups, "i"), "its group \"i\" has no hosts");
	assert_problem(ansible(groups, "j"), "it has no group \"j\"");
}

static void what_ansible_says_is_checked(void)
{
	static const struct {
		const char *vars, *why;
	} rows[] = {
		{"'ansible_host': '-oProxyCommand=x'",
			"host a: address is \"-oProxyCommand=x\", not a host name or address, with "
			"at most one range such as gpu[01-16].example.org"},
		{"'ansible_user': '{{ me }}'", "host a: user is \"{{ me }}\", not a user name"},
		{"'ansible_port': 70000", "host a: port cannot be 70000"},
		{"'ansible_port': true", "host a: port cannot be true"},
		{"'raygpu_usd_per_hour': -1", "host a: usd_per_hour cannot be -1"},
		{"'raygpu_labels': {'x': ' '}", "host a: labels cannot be {\"x\": \" \"}"},
		{"'raygpu_rack': 'a\\u001b[1m'",
			"host a: rack is \"a\\u001B[1m\", not up to 63 letters, digits, dots, "
			"hyphens and underscores"},
		{"'raygpu_gpu': 'T4:1'",
			"host a has \"gpu\", which is none of address, name, internal_address, "
			"gpus, cpus, "
			"memory, usd_per_hour, labels, rack, user, port, proxy_jump"},
		{"'raygpu_origin': '/x'",
			"host a has \"origin\", which is none of address, name, internal_address, "
			"gpus, "
			"cpus, "
			"memory, usd_per_hour, labels, rack, user, port, proxy_jump"},
		{"'ansible_ssh_common_args': '-J a -o ForwardAgent=yes'",
			"host a: ansible_ssh_common_args may only be -J HOST or -o ProxyJump=HOST; "
			"set others in a file for provider.ssh_config"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *text = g_strdup_printf(
			"{'_meta': {'hostvars': {'a': {%s}}}, 'all': {'hosts': ['a']}}",
			rows[i].vars);
		assert_problem(ansible(text, "all"), rows[i].why);
	}
	assert_problem(ansible("[]", "all"), "`ansible-inventory --list` printed no JSON");
	assert_problem(ansible("{'all'", "all"), "`ansible-inventory --list` printed no JSON");
}

static void an_output_of_terraform_lists_hosts(void)
{
	static const char one[] = "[{'address': '10.0.0.1'}]";
	assert_items(terraform("{'gpu': {'sensitive': false, 'value': ['10.0.0.1']}}"), one);
	assert_items(terraform("{'version': 4, 'outputs': {'gpu': {'value': ['10.0.0.1']}}}"), one);
	assert_items(terraform("{'values': {'outputs': {'gpu': {'value': [{'address': '10.0.0.1',"
			       " 'gpus': null}]}}}}"),
		one);
	assert_items(terraform("{'outputs': {'value': 3}, 'gpu': {'value': {'n1': '10.0.0.1',"
			       " 'n2': {'address': 'b', 'gpus': 'T4:1', 'name': 'c'}}}}"),
		"[{'address': '10.0.0.1', 'name': 'n1'},"
		" {'address': 'b', 'gpus': 'T4:1', 'name': 'c'}]");
}

static void what_terraform_says_is_checked(void)
{
	assert_problem(
		terraform("nothing"), "it is not JSON: write it with `terraform output -json`");
	assert_problem(terraform("{'other': {'value': []}}"), "it has no output \"gpu\"");
	assert_problem(terraform("{'gpu': {'value': 'a'}}"),
		"the output \"gpu\" is neither a list nor a map of hosts");
	assert_problem(terraform("{'gpu': {'value': []}}"), "its output \"gpu\" has no hosts");
	assert_problem(
		terraform("{'gpu': {'value': [{'gpus': 'T4:1'}]}}"), "host 1 has no address");
	assert_problem(terraform("{'gpu': {'value': ['a', 7]}}"), "host 2 has no address");
	assert_problem(terraform("{'gpu': {'value': [{'address': 7}]}}"),
		"host 1: address is 7, not a host name or address, with at most one range such as "
		"gpu[01-16].example.org");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ssh/elsewhere/ansible", variables_of_ansible_are_settings);
	g_test_add_func("/ssh/elsewhere/groups", groups_of_ansible_have_children);
	g_test_add_func("/ssh/elsewhere/ansible_checked", what_ansible_says_is_checked);
	g_test_add_func("/ssh/elsewhere/terraform", an_output_of_terraform_lists_hosts);
	g_test_add_func("/ssh/elsewhere/terraform_checked", what_terraform_says_is_checked);
	return g_test_run();
}
