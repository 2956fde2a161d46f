/* The hosts of a spec. */
#include "ssh/claim.h"
#include "ssh/inventory.h"

static SshInventory *read_hosts(const char *text, char **problem, char **origin)
{
	json_auto_t *config = json_loads(text, 0, NULL);
	g_assert_nonnull(config);
	return ssh_inventory_new(config, problem, origin);
}

static void assert_range(const char *text, const char *expected)
{
	g_autoptr(GPtrArray) names = ssh_range_expand(text);
	if (names)
		g_ptr_array_add(names, NULL);
	g_autofree char *all =
		names ? g_strjoinv(" ", (char **)names->pdata) : g_strdup("no range");
	g_assert_cmpstr(all, ==, expected);
}

static void a_range_stands_for_several(void)
{
	assert_range("gpu1.example.org", "gpu1.example.org");
	assert_range("gpu[08-11].example.org",
		"gpu08.example.org gpu09.example.org gpu10.example.org gpu11.example.org");
	assert_range("n[9-11]", "n9 n10 n11");
	assert_range("n[3-3]x", "n3x");
	assert_range("n[2-1]", "no range");
	assert_range("n[1-", "no range");
	assert_range("n[-2]", "no range");
	assert_range("n[1-2][3-4]", "no range");
	assert_range("n[1-999999]", "no range");
	assert_range("n[a-b]", "no range");
}

static void assert_shape(const char *gpus, const char *expected)
{
	g_autofree char *shape = ssh_shape_of(gpus);
	g_assert_cmpstr(shape, ==, expected);
}

static void a_short_name_is_the_model_that_a_pool_means(void)
{
	assert_shape(NULL, "cpu");
	assert_shape("A100:8", "A100-40GB:8");
	assert_shape("a100-80g:8", "A100-80GB:8");
	assert_shape("A100-80GB-PCIe:08", "A100-80GB-PCIe:8");
	assert_shape("nvidia-tesla-t4:1", "T4:1");
	assert_shape("B1000:8", "B1000:8");
}

static void items_have_the_settings_of_all(void)
{
	g_autofree char *problem = NULL, *origin = NULL;
	SshInventory *inventory = read_hosts(
		"{\"user\": \"ops\", \"port\": 2222, \"hosts\": [{\"address\": \"head\"},"
		"{\"address\": \"gpu[1-2]\", \"gpus\": \"A100-80GB:8\", \"rack\": \"r7\","
		" \"user\": \"root\", \"port\": 22}]}",
		&problem, &origin);
	g_assert_null(problem);
	g_assert_cmpuint(inventory->all->len, ==, 3);
	const SshHost *head = ssh_inventory_find(inventory, "head");
	const SshHost *second = ssh_inventory_find(inventory, "gpu2");
	g_assert_cmpstr(head->shape, ==, "cpu");
	g_assert_cmpstr(head->rack, ==, "default");
	g_assert_cmpstr(head->user, ==, "ops");
	g_assert_cmpuint(head->port, ==, 2222);
	g_assert_cmpstr(second->shape, ==, "A100-80GB:8");
	g_assert_cmpstr(second->rack, ==, "r7");
	g_assert_cmpstr(second->user, ==, "root");
	g_assert_cmpuint(second->port, ==, 22);
	g_assert_cmpstr(second->origin, ==, "/provider/hosts/1");
	g_assert_null(ssh_inventory_find(inventory, "gpu3"));
	ssh_inventory_free(inventory);
}

static void assert_refused(const char *text, const char *why, const char *where)
{
	g_autofree char *problem = NULL, *origin = NULL;
	g_assert_null(read_hosts(text, &problem, &origin));
	g_assert_cmpstr(problem, ==, why);
	g_assert_cmpstr(origin, ==, where);
}

static void what_is_ambiguous_is_refused(void)
{
	assert_refused("{\"hosts\": [{\"address\": \"a\"}, {\"address\": \"b\"}, {\"address\": "
		       "\"a\"}]}",
		"the inventory has two hosts \"a\"", "/provider/hosts/2");
	assert_refused("{\"hosts\": [{\"address\": \"gpu[4-1]\"}]}",
		"\"gpu[4-1]\" is not a range: write it as gpu[01-16].example.org",
		"/provider/hosts/0");
	assert_refused("{\"hosts\": [{\"address\": \"gpu[1-4]\", \"internal_address\": "
		       "\"10.0.0.1\"}]}",
		"internal_address is that of one host, but \"gpu[1-4]\" stands for 4",
		"/provider/hosts/0");
	assert_refused("{\"hosts\": [{\"address\": \"a[1-4096]\"}, {\"address\": \"b\"}]}",
		"the inventory has more than 4096 hosts", "/provider/hosts/1");
}

static void an_id_names_the_host_and_the_create(void)
{
	g_autofree char *problem = NULL, *origin = NULL;
	SshInventory *inventory = read_hosts(
		"{\"hosts\": [{\"address\": \"gpu01.example.org\"}]}", &problem, &origin);
	const SshHost *host = ssh_inventory_find(inventory, "gpu01.example.org");
	g_autofree char *id = ssh_id_of(host, "0123456789abcdef");
	g_autofree char *absent = ssh_id_absent(inventory, "gpu02.example.org/01234567");
	g_autofree char *name = ssh_id_host(id);
	g_assert_cmpstr(id, ==, "gpu01.example.org/01234567");
	g_assert_cmpstr(name, ==, "gpu01.example.org");
	g_assert_true(ssh_host_of_id(inventory, id) == host);
	g_assert_null(ssh_id_absent(inventory, id));
	g_assert_cmpstr(absent, ==,
		"gpu02.example.org is not in the inventory: add it again to release it");
	ssh_inventory_free(inventory);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ssh/inventory/range", a_range_stands_for_several);
	g_test_add_func("/ssh/inventory/shape", a_short_name_is_the_model_that_a_pool_means);
	g_test_add_func("/ssh/inventory/settings", items_have_the_settings_of_all);
	g_test_add_func("/ssh/inventory/refused", what_is_ambiguous_is_refused);
	g_test_add_func("/ssh/inventory/id", an_id_names_the_host_and_the_create);
	return g_test_run();
}
