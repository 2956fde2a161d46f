/* What an inventory says of its hosts in numbers, and how a host differs. */
#include "ssh/figures.h"

static SshInventory *read_hosts(const char *text)
{
	g_autofree char *problem = NULL, *origin = NULL;
	g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
	json_auto_t *config = json_loads(json, 0, NULL);
	SshInventory *inventory = ssh_inventory_new(config, &problem, &origin);
	g_assert_cmpstr(problem, ==, NULL);
	return inventory;
}

static void assert_figures(const char *hosts, const char *expected)
{
	SshInventory *inventory = read_hosts(hosts);
	g_autofree char *json = g_strdelimit(g_strdup(expected), "'", '"');
	json_auto_t *wanted = json_loads(json, 0, NULL), *figures = ssh_figures(inventory);
	g_autofree char *text = json_dumps(figures, JSON_SORT_KEYS);
	g_assert_nonnull(wanted);
	if (!json_equal(figures, wanted))
		g_error("%s is %s", hosts, text);
	ssh_inventory_free(inventory);
}

static void a_shape_has_what_each_of_its_hosts_has(void)
{
	assert_figures("{'hosts': [{'address': 'a', 'cpus': 8, 'memory': '1TiB'},"
		       " {'address': 'b', 'cpus': 4, 'memory': '512.5GiB'}]}",
		"{'cpu': {'vcpus': 4, 'memory_mib': 524800}}");
	assert_figures("{'hosts': [{'address': 'a', 'cpus': 8, 'memory': '64GiB'},"
		       " {'address': 'b', 'memory': '64GiB'}, {'address': 'c', 'cpus': 8},"
		       " {'address': 'g', 'gpus': 'T4:1', 'cpus': 16}]}",
		"{'cpu': {}, 'T4:1': {'vcpus': 16}}");
}

static void a_shape_costs_what_its_dearest_host_costs(void)
{
	assert_figures("{'hosts': [{'address': 'a', 'usd_per_hour': 0.1},"
		       " {'address': 'b[1-2]', 'usd_per_hour': 1.000001}, {'address': 'c',"
		       " 'usd_per_hour': 0}]}",
		"{'cpu': {'microusd_hour': 1000001, 'partly_priced': false}}");
	assert_figures("{'hosts': [{'address': 'a'}, {'address': 'b', 'usd_per_hour': 2}]}",
		"{'cpu': {'microusd_hour': 2000000, 'partly_priced': true}}");
	assert_figures("{'hosts': [{'address': 'a', 'usd_per_hour': 0}]}",
		"{'cpu': {'microusd_hour': 0, 'partly_priced': false}}");
}

static void assert_difference(
	const char *host, const char *cpus, const char *kib, const char *where, const char *said)
{
	g_autofree char *hosts = g_strdup_printf("{'hosts': [{'address': 'a', %s}]}", host);
	SshInventory *inventory = read_hosts(hosts);
	json_auto_t *answer = json_pack("{s:s, s:s}", "cpus", cpus, "memory_kib", kib);
	const char *key = NULL;
	g_autofree char *text =
		ssh_figures_differ(ssh_inventory_find(inventory, "a"), answer, &key);
	g_assert_cmpstr(text, ==, said);
	if (said)
		g_assert_cmpstr(key, ==, where);
	ssh_inventory_free(inventory);
}

/* 64 GiB are 67108864 KiB. */
static void a_host_that_shows_something_else_is_told(void)
{
	assert_difference("'cpus': 8, 'memory': '64GiB'", "8", "65536000", NULL, NULL);
	assert_difference("'cpus': 8", "4", "1", "cpus", "a has 4 CPUs, and 8 in the inventory");
	assert_difference("'memory': '64GiB'", "4", "33554432", "memory",
		"a has 32.0 GiB of memory, and 64 GiB in the inventory");
	assert_difference("'memory': '64GiB'", "4", "134217728", "memory",
		"a has 128.0 GiB of memory, and 64 GiB in the inventory");
	assert_difference("'rack': 'r1'", "4", "33554432", NULL, NULL);
	assert_difference("'cpus': 8, 'memory': '64GiB'", "many", "", NULL, NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ssh/figures/shape", a_shape_has_what_each_of_its_hosts_has);
	g_test_add_func("/ssh/figures/price", a_shape_costs_what_its_dearest_host_costs);
	g_test_add_func("/ssh/figures/differs", a_host_that_shows_something_else_is_told);
	return g_test_run();
}
