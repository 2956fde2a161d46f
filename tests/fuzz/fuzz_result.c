/* The results of a provider module. The first byte of the input selects the call; each line after
 * it is a slot's name, a blank and the bytes of the result. The host's promises must hold whatever
 * the module returns: one result per item, in order, an id for everything that is done; pages only
 * of valid resources; and a call without a valid result has reported why. */
#include <string.h>
#include "abi/raygpu/provider.h"
#include "fuzz.h"
#include "provider/provider.h"

#define RUNS_A_HOST 2000 /* handles of calls are never reused, so they accumulate in a host */

static const char schema_json[] =
	"{\"format\":1,\"provider\":\"fuzz\","
	"\"boot\":{\"by\":\"nothing\"},\"limits\":{\"requests_per_s\":100,\"burst\":10},"
	"\"kinds\":{\"fuzz.node\":{\"version\":1,\"node\":true,"
	"\"batch\":{\"create\":10,\"update\":10,\"remove\":10},\"attributes\":{"
	"\"size\":{\"type\":\"string\",\"required\":true,\"force_new\":true},"
	"\"tags\":{\"type\":\"map\"},\"count\":{\"type\":\"integer\"},"
	"\"rules\":{\"type\":\"list\",\"set\":true},\"on\":{\"type\":\"boolean\"},"
	"\"shape\":{\"type\":\"object\"},\"ip\":{\"type\":\"string\",\"computed\":true}}}}}";

static struct {
	const char *text;
	size_t len;
} script;

static rgp_status play(struct rgp_inst *inst, const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args)
{
	const char *at = script.text, *end = script.text + script.len;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = stop ? stop : end;
		const char *blank = memchr(at, ' ', (size_t)(line_end - at));
		const char *value = blank ? blank + 1 : line_end;
		g_autofree char *slot = g_strndup(at, (size_t)((blank ? blank : line_end) - at));
		host->result(call, slot, (struct rgp_bytes){value, (size_t)(line_end - value)});
		at = line_end + 1;
	}
	return RGP_OK;
}

static rgp_status fuzz_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return host->result(call, "schema", (struct rgp_bytes){schema_json, strlen(schema_json)});
}

static rgp_status fuzz_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **inst)
{
	*inst = NULL;
	return RGP_OK;
}

static void fuzz_close(struct rgp_inst *inst)
{
}

static const struct rgp_provider table = {
	.size = sizeof table,
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.flags = RGP_PARALLEL,
	.name = "fuzz",
	.version = "1",
	.schema = fuzz_schema,
	.open = fuzz_open,
	.close = fuzz_close,
	.resolve = play,
	.lower = play,
	.list = play,
	.create = play,
	.remove = play,
	.update = play,
	.ready = play,
	.find = play,
};

static const struct rgp_provider *entry(void)
{
	return &table;
}

static const RgBuiltinProvider builtins[] = {{"fuzz", entry, NULL}, {NULL, NULL, NULL}};

static json_t *parse(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);
	g_assert_nonnull(value);
	return value;
}

typedef GPtrArray *(*ItemsFn)(RgProvider *, const json_t *, RgDiags *);

static void try_items(RgProvider *provider, ItemsFn call, bool creates)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *input =
		parse("{\"kind\":\"fuzz.node\",\"token\":\"0123456789abcdef0123456789abcdef\","
		      "\"min_count\":1,\"marks\":{},\"attributes\":{\"size\":\"s\"},\"items\":["
		      "{\"address\":\"fuzz.node.p[0]\",\"index\":0,\"id\":\"i0\"},"
		      "{\"address\":\"fuzz.node.p[1]\",\"index\":1,\"id\":\"i1\"}]}");
	g_autoptr(GPtrArray) results = call(provider, input, diags);
	g_assert_cmpuint(results->len, ==, 2);
	for (guint i = 0; i < results->len; i++) {
		const RgItemResult *result = g_ptr_array_index(results, i);
		const char *asked = i == 0 ? "fuzz.node.p[0]" : "fuzz.node.p[1]";
		g_assert_cmpstr(result->address, ==, asked);
		g_assert_true(!creates || result->outcome != RG_OUTCOME_DONE || result->id);
		g_assert_true(result->outcome != RG_OUTCOME_FAILED || result->message);
		g_assert_true(!result->definite || !result->id);
		g_assert_true(!result->message || g_utf8_validate(result->message, -1, NULL));
	}
}

static void take(void *data, RgResource *resource)
{
	g_assert_nonnull(resource->id);
	g_assert_cmpuint(strlen(resource->id), >, 0);
	g_assert_true(json_is_object(resource->attrs));
	rg_resource_free(resource);
}

static void try_pages(RgProvider *provider, bool find)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	static const char *const kinds[] = {"fuzz.node", NULL};
	json_auto_t *known = parse("{\"fuzz.node\":[\"i0\"]}");
	const RgListing listing = {.kinds = kinds, .cluster = "c", .lineage = "l", .known = known};
	json_auto_t *marks = parse("{\"cluster\":\"c\",\"lineage\":\"l\"}");
	bool ok = find ? rg_provider_find(provider, "fuzz.node", "t", marks, take, NULL, diags)
		       : rg_provider_list(provider, &listing, take, NULL, diags);
	g_assert_true(ok != rg_diags_has_errors(diags));
}

static void try_resolve(RgProvider *provider)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *wants =
		parse("{\"images\":[{\"key\":\"k\",\"image\":null,\"arch\":\"x86_64\"}],"
		      "\"network\":true,\"instance_types\":[\"a\"],\"zones\":[]}");
	json_auto_t *facts = rg_provider_resolve(provider, wants, diags);
	g_assert_true((facts != NULL) != rg_diags_has_errors(diags));
	g_assert_true(!facts || json_is_string(rg_json_at(facts, "/images/k/id")));
}

static void try_lower(RgProvider *provider)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *fitted = parse(
		"{\"ray\":{\"auth\":\"token\"},\"nodes\":[{\"pool\":\"p\",\"role\":\"worker\","
		"\"min\":0,\"max\":9}]}");
	g_autoptr(RgResourceSet) set = rg_provider_lower(provider, fitted, diags);
	g_assert_true((set != NULL) != rg_diags_has_errors(diags));
	for (size_t i = 0; set && i < rg_resource_set_size(set); i++) {
		RgResource *resource = rg_resource_set_get(set, i);
		g_assert_true(rg_resource_set_find(set, resource->address) == resource);
	}
}

static void choose(RgProvider *provider, uint8_t call)
{
	switch (call) {
	case 'c':
		try_items(provider, rg_provider_create, true);
		break;
	case 'r':
		try_items(provider, rg_provider_ready, false);
		break;
	case 'u':
		try_items(provider, rg_provider_update, false);
		break;
	case 'x':
		try_items(provider, rg_provider_remove, false);
		break;
	case 'l':
	case 'f':
		try_pages(provider, call == 'f');
		break;
	case 'v':
		try_resolve(provider);
		break;
	default:
		try_lower(provider);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static RgProviderHost *host;
	static RgProvider *provider;
	static unsigned runs;
	if (size == 0)
		return 0;
	if (!host) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		RgProviderHostOptions options = {.builtins = builtins};
		host = rg_provider_host_new(&options);
		provider = rg_provider_open(host, "fuzz", "r", NULL, NULL, diags);
		g_assert_nonnull(provider);
	}
	script.text = (const char *)data + 1;
	script.len = size - 1;
	choose(provider, data[0]);
	if (++runs % RUNS_A_HOST == 0) {
		rg_provider_close(provider);
		rg_provider_host_free(host);
		host = NULL;
	}
	return 0;
}
