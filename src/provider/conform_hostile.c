/* Input that raygpu never sends: the module must fail the call, or do nothing; it must not crash,
 * hang, return invalid data, or create anything. A crash ends the process: the caller runs the
 * script in a child and names the step. */
#include <string.h>
#include "provider/conform_internal.h"

static const char *const verbs[] = {"resolve", "lower", "list", "create", "ready", "update",
	"remove", "find", "members", "changing", "preflight"};

static const char *const inputs[] = {"", "[]", "{}", "null", "\"text\"",
	"{\"kind\":5,\"items\":{}}",
	"{\"kind\":\"no.such\",\"items\":[{\"address\":\"no.such.a\",\"id\":\"x\"}]}",
	"{\"items\":[null,5,{}],\"known\":[7,null],\"nodes\":[null,{\"indexes\":5}]}",
	"{\"kinds\":[5,null,\"no.such\"],\"known\":{\"no.such\":[7,null]}}", "{\"kinds\":{}}",
	"{\"creates\":[null,5,{\"addresses\":{},\"attributes\":[],\"count\":-1}]}",
	"{\"images\":[null,{}],\"instance_types\":[5],\"token\":7}",
	"{\"kind\":", "{\"nodes\":[{\"role\":\"worker\",\"indexes\":[-1,1e300,null]}]}"};

typedef struct {
	bool made; /* it reports that something was created */
} Sink;

static void swallow(RgCall *call, const char *slot, json_t *value)
{
	Sink *sink = call->data;
	const char *outcome = rg_json_str(value, "outcome", "");
	if (g_str_equal(slot, "item") && g_str_equal(outcome, "done") &&
		g_str_equal(call->verb, "create"))
		sink->made = true;
}

/* One call with these bytes, not allowed to change anything. NULL, or what is wrong (g_free). */
static char *try_input(RgConform *c, const char *verb, const char *input)
{
	RgProvider *provider = c->provider;
	unsigned flags;
	rgp_fn function = rg_call_function(provider->module->table, verb, &flags);
	g_autoptr(RgDiags) diags = rg_diags_new();
	Sink sink = {0};
	RgCall call = {.host = c->host,
		.module = provider->module,
		.schema = provider->module->schema,
		.http = provider->http,
		.verb = verb,
		.flags = g_str_equal(verb, "lower") ? 0 : RG_CALL_READS,
		.slot = swallow,
		.data = &sink,
		.diags = diags};
	struct rgp_args args = {.size = sizeof args, .input = {input, strlen(input)}};
	rg_call_begin(&call);
	rgp_status status = function(provider->inst, &rg_provider_services, call.handle, &args);
	rg_call_end(&call, status);
	rg_call_clear(&call);
	if (sink.made)
		return g_strdup_printf("it reports that it created something from %s", input);
	if (status < RGP_UNSUPPORTED || status > RGP_OK)
		return g_strdup_printf("it returned %d, which is not a status", (int)status);
	return NULL;
}

void rg_conform_hostile(RgConform *c)
{
	for (size_t v = 0; v < G_N_ELEMENTS(verbs); v++) {
		g_autofree char *step = g_strdup_printf("%s withstands invalid input", verbs[v]);
		g_autofree char *why = NULL;
		if (!rg_provider_offers(c->provider, verbs[v]))
			continue;
		c->options->told(c->options->data, step, RG_CONFORM_BEGIN, NULL);
		for (size_t i = 0; i < G_N_ELEMENTS(inputs) && !why; i++)
			why = try_input(c, verbs[v], inputs[i]);
		rg_conform_tell(c, step, !why, why, NULL);
	}
}
