/* Calls on one instance overlap only if the module allows it (RGP_PARALLEL). */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "abi/raygpu/provider.h"
#include "provider/provider.h"

#define THREADS 4
#define CALLS 5

static atomic_int running, most;

static rgp_status give(
	const struct rgp_host *host, struct rgp_call *call, const char *slot, const char *text)
{
	return host->result(call, slot, (struct rgp_bytes){text, strlen(text)});
}

#define SCHEMA(name)                                                                               \
	"{\"format\":1,\"provider\":\"" name "\",\"boot\":{\"by\":\"nothing\"},\"limits\":{"       \
	"\"requests_per_s\":1,\"burst\":1},\"kinds\":{\"" name ".thing\":{\"version\":1,"          \
	"\"batch\":{\"create\":1,\"update\":1,\"remove\":1},\"attributes\":{}}}}"

static rgp_status serial_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return give(host, call, "schema", SCHEMA("serial"));
}

static rgp_status parallel_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return give(host, call, "schema", SCHEMA("parallel"));
}

static rgp_status turn_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **inst)
{
	*inst = NULL;
	return RGP_OK;
}

static void turn_close(struct rgp_inst *inst)
{
}

/* Remembers how many of it ran at once. */
static rgp_status turn_call(struct rgp_inst *inst, const struct rgp_host *host,
	struct rgp_call *call, const struct rgp_args *args)
{
	int now = atomic_fetch_add(&running, 1) + 1, seen = atomic_load(&most);
	while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
		continue;
	g_usleep(20000);
	rgp_status status = give(host, call, "done", "{\"complete\":true}");
	atomic_fetch_sub(&running, 1);
	return status;
}

#define TABLE(table_name, table_flags, table_schema)                                               \
	{                                                                                          \
		.size = sizeof(struct rgp_provider), .abi_major = RGP_ABI_MAJOR,                   \
		.flags = (table_flags), .name = (table_name), .version = "1",                      \
		.schema = (table_schema), .open = turn_open, .close = turn_close,                  \
		.resolve = turn_call, .lower = turn_call, .list = turn_call, .create = turn_call,  \
		.remove = turn_call                                                                \
	}

static const struct rgp_provider serial = TABLE("serial", 0, serial_schema);
static const struct rgp_provider parallel = TABLE("parallel", RGP_PARALLEL, parallel_schema);

static const struct rgp_provider *serial_entry(void)
{
	return &serial;
}

static const struct rgp_provider *parallel_entry(void)
{
	return &parallel;
}

static const RgBuiltinProvider builtins[] = {
	{"serial", serial_entry, NULL}, {"parallel", parallel_entry, NULL}, {NULL, NULL, NULL}};

static void drop(void *data, RgResource *resource)
{
	rg_resource_free(resource);
}

static void *list_often(void *data)
{
	RgProvider *provider = data;
	g_autofree char *kind = g_strdup_printf("%s.thing", rg_provider_name(provider));
	const char *const kinds[] = {kind, NULL};
	const RgListing listing = {.kinds = kinds, .cluster = "c", .lineage = "l"};
	for (int i = 0; i < CALLS; i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_assert_true(rg_provider_list(provider, &listing, drop, NULL, diags));
	}
	return NULL;
}

/* The maximum number of calls that ran at once, over these instances in turn. */
static int run(RgProvider **providers, size_t n)
{
	pthread_t threads[THREADS];
	atomic_store(&most, 0);
	for (size_t i = 0; i < THREADS; i++)
		g_assert_cmpint(
			pthread_create(&threads[i], NULL, list_often, providers[i % n]), ==, 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	g_assert_cmpint(atomic_load(&running), ==, 0);
	return atomic_load(&most);
}

static void test_calls_take_turns_unless_the_module_is_parallel(void)
{
	RgProviderHostOptions options = {.builtins = builtins};
	g_autoptr(RgProviderHost) host = rg_provider_host_new(&options);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgProvider) one = rg_provider_open(host, "serial", "r", NULL, NULL, diags);
	g_autoptr(RgProvider) two = rg_provider_open(host, "serial", "r", NULL, NULL, diags);
	g_autoptr(RgProvider) many = rg_provider_open(host, "parallel", "r", NULL, NULL, diags);
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
	g_assert_cmpint(run(&one, 1), ==, 1);
	g_assert_cmpint(run(&many, 1), >, 1);
	/* The lock is the instance's, not the module's. */
	g_assert_cmpint(run((RgProvider *[]){one, two}, 2), ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/provider/turns/calls take turns unless the module is parallel",
		test_calls_take_turns_unless_the_module_is_parallel);
	return g_test_run();
}
