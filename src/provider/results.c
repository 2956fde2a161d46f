/* What modules return, and what becomes of it if that breaks a rule. Which results a call has, how
 * often, and their form: schemas/calls.schema.json. What a schema cannot say is checked where the
 * result is used. */
#include "provider/internal.h"

#include <string.h>
#include "base/log.h"

extern const struct rg_embedded rg_schemas[];

/* Of a wrong value, in a message. */
#define SHOWN_MAX 60
#define BAD_MAX 10

const char *rg_call_provider(const RgCall *call)
{
	return call->module->name;
}

void rg_call_bad(RgCall *call, const char *format, ...)
{
	/* A hostile module could fill the memory with messages. */
	if (call->bad_count++ >= BAD_MAX)
		return;
	va_list args;
	va_start(args, format);
	g_autofree char *raw = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *text = rg_text_clean(raw);
	RgDiag *diag = rg_diags_error(call->diags, "provider.bad-result",
		"module %s returned a bad result from %s: %s", rg_call_provider(call), call->verb,
		text);
	rg_diag_hint(diag,
		"this is a bug in the module, not in your spec: report it to the module's author");
	rg_diag_cloud(diag, rg_call_provider(call), NULL, NULL);
}

static const RgJsonSchema *calls_of(RgProviderHost *host)
{
	pthread_mutex_lock(&host->handles_lock);
	if (!host->calls) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		host->calls = rg_json_schema_embedded(rg_schemas, "calls.schema.json", diags);
	}
	pthread_mutex_unlock(&host->handles_lock);
	g_assert(host->calls != NULL);
	return host->calls;
}

static const json_t *row_of(const RgJsonSchema *calls, const char *verb)
{
	const json_t *rows = json_object_get(rg_json_schema_root(calls), "x-raygpu-calls");
	return json_object_get(rows, verb);
}

/* A value, or what kind it is of if it is long. */
static char *show_value(const json_t *value)
{
	if (json_is_object(value))
		return g_strdup("an object");
	if (json_is_array(value))
		return g_strdup("a list");
	g_autofree char *text = rg_json_canonical(value);
	return strlen(text) <= SHOWN_MAX ? g_steal_pointer(&text) : g_strdup("another");
}

/* The words of an enum, or of a type: "a", "b" or null. */
static char *show_choice(const json_t *rule)
{
	g_autoptr(GString) text = g_string_new(NULL);
	size_t n = json_is_array(rule) ? json_array_size(rule) : 1;
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_is_array(rule) ? json_array_get(rule, i) : rule;
		g_autofree char *word = rg_json_canonical(one);
		g_string_append_printf(text, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", word);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *show_fault(const RgSchemaFinding *finding)
{
	const char *keyword = finding->keyword;
	if (finding->name && g_str_has_suffix(keyword, "equired"))
		return g_strdup_printf("lacks \"%s\"", finding->name);
	if (finding->name)
		return g_strdup_printf("has \"%s\", which is not known", finding->name);
	g_autofree char *value = show_value(finding->value);
	g_autofree char *wanted = show_choice(finding->rule);
	if (g_str_equal(keyword, "type"))
		return g_strdup_printf("is %s, not of type %s", value, wanted);
	if (g_str_equal(keyword, "enum") || g_str_equal(keyword, "const"))
		return g_strdup_printf("is %s, not %s", value, wanted);
	return g_strdup_printf("is %s, against its %s of %s", value, keyword, wanted);
}

/* The address or id of the innermost object around the place that has one; NULL: none has. */
static const char *find_name(const json_t *root, const char *pointer)
{
	const json_t *at = root;
	const char *name = NULL;
	g_auto(GStrv) steps = g_strsplit(*pointer ? pointer : "/", "/", -1);
	for (size_t i = 0; at && steps[i]; i++) {
		if (i > 0)
			at = json_is_array(at)
				     ? json_array_get(at, g_ascii_strtoull(steps[i], NULL, 10))
				     : json_object_get(at, steps[i]);
		const char *own = rg_json_str(at, "address", rg_json_str(at, "id", NULL));
		name = own && *own ? own : name;
	}
	return name;
}

typedef struct {
	RgCall *call; /* NULL: the input of a call */
	const char *slot;
	const json_t *value;
	char *first; /* fault of the input */
	bool faulty;
} Fitting;

static void take_fault(const RgSchemaFinding *finding, void *data)
{
	Fitting *fitting = data;
	const struct rgp_provider *module = fitting->call ? fitting->call->module->table : NULL;
	/* a later minor version may have more members */
	if (module && module->abi_minor > RGP_ABI_MINOR &&
		g_str_equal(finding->keyword, "additionalProperties"))
		return;
	fitting->faulty = true;
	g_autofree char *fault = show_fault(finding);
	const char *name = find_name(fitting->value, finding->pointer);
	g_autofree char *text = g_strdup_printf("\"%s\"%s%s%s%s%s %s", fitting->slot,
		*finding->pointer ? " " : "", finding->pointer, name ? " of \"" : "",
		name ? name : "", name ? "\"" : "", fault);
	if (fitting->call)
		rg_call_bad(fitting->call, "%s", text);
	else if (!fitting->first)
		fitting->first = g_steal_pointer(&text);
}

/* False if it comes a second time and must not. */
static bool is_new(RgCall *call, const char *slot, const char *times)
{
	if (g_str_equal(times, "any"))
		return true;
	if (!call->given)
		call->given = json_object();
	if (json_object_get(call->given, slot)) {
		rg_call_bad(call, "\"%s\" was returned twice", slot);
		return false;
	}
	json_object_set_new(call->given, slot, json_true());
	return true;
}

bool rg_result_fits(RgCall *call, const char *slot, const json_t *value)
{
	const RgJsonSchema *calls = calls_of(call->host);
	const json_t *row =
		json_object_get(json_object_get(row_of(calls, call->verb), "results"), slot);
	if (!row) {
		rg_call_bad(call, "\"%s\" is not a result of it", slot);
		return false;
	}
	if (!is_new(call, slot, json_string_value(json_array_get(row, 1))))
		return false;
	Fitting fitting = {.call = call, .slot = slot, .value = value};
	rg_json_schema_check_def(
		calls, json_string_value(json_array_get(row, 0)), value, take_fault, &fitting);
	return !fitting.faulty;
}

void rg_results_are_all(RgCall *call)
{
	const json_t *row = row_of(calls_of(call->host), call->verb);
	rg_json_foreach_member (slot, form, json_object_get(row, "results")) {
		const char *times = json_string_value(json_array_get(form, 1));
		if (g_str_equal(times, "once") && !json_object_get(call->given, slot))
			rg_call_bad(call, "it returned without \"%s\"", slot);
	}
}

void rg_call_check_input(const RgCall *call, const json_t *input)
{
	if (!call->host->env || !call->host->env("RAYGPU_CHECK_CALLS"))
		return;
	const RgJsonSchema *calls = calls_of(call->host);
	const char *def = rg_json_str(row_of(calls, call->verb), "input", NULL);
	Fitting fitting = {.slot = call->verb, .value = input};
	if (def && !rg_json_schema_check_def(calls, def, input, take_fault, &fitting))
		g_error("the input of %s is not in calls.schema.json: %s", call->verb,
			fitting.first);
}
