/* A module built against the header of ABI 1.0 loads, lists and warns as on the day it was built.
 */
#include "provider/provider.h"

static void take(void *data, RgResource *resource)
{
	unsigned *count = data;
	(*count)++;
	g_assert_cmpstr(resource->address, ==, "frozen_1_0.thing.a");
	g_assert_cmpint(rg_json_int(resource->attrs, "size", 0), ==, 5);
	rg_resource_free(resource);
}

static void test_a_module_of_abi_1_0_still_works(void)
{
	char *directories[] = {g_strdup(MODULES_DIR), NULL};
	RgProviderHostOptions options = {.directories = directories};
	g_autoptr(RgProviderHost) host = rg_provider_host_new(&options);
	g_autoptr(RgDiags) diags = rg_diags_new();
	unsigned count = 0;
	g_free(directories[0]);
	g_autoptr(RgProvider) provider =
		rg_provider_open(host, "frozen_1_0", "r", NULL, NULL, diags);
	g_assert_nonnull(provider);
	g_assert_false(rg_provider_offers(provider, "update"));
	const char *const kinds[] = {"frozen_1_0.thing", NULL};
	const RgListing listing = {.kinds = kinds, .cluster = "c", .lineage = "l"};
	g_assert_true(rg_provider_list(provider, &listing, take, &count, diags));
	g_assert_cmpuint(count, ==, 1);
	g_assert_cmpuint(rg_diags_count(diags), ==, 1);
	g_assert_cmpstr(rg_diags_get(diags, 0)->summary, ==, "from 1.0");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/provider/frozen/a module of ABI 1.0 still works",
		test_a_module_of_abi_1_0_still_works);
	return g_test_run();
}
