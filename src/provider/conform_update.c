/* Changes in place: they are done, listed, and independent per item. */
#include <string.h>
#include "base/clock.h"
#include "provider/conform_internal.h"
#include "resource/expr.h"

/* A map that can be changed in place, such as tags; NULL if the kind has none. */
static const char *find_changeable(const RgKind *kind, const json_t *attributes)
{
	rg_json_foreach_member (name, value, attributes) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		if (g_str_equal(attribute->type, "map") && !attribute->force_new &&
			!attribute->create_only)
			return name;
	}
	return NULL;
}

static bool is_told(RgConform *c, const RgConformMade *made, const char *name, json_t *value)
{
	bool read;
	json_auto_t *seen = rg_conform_see(c, made, &read);
	const RgKind *kind =
		rg_schema_kind(rg_provider_get_schema(c->provider), made->wanted->kind);
	const RgAttribute *attribute = rg_kind_attribute(kind, name);
	json_auto_t *part = rg_attribute_cut(attribute, json_object_get(seen, name), value, NULL);
	return rg_attribute_equal(attribute, part, value);
}

/* The update requested of the resource: `wanted`, in which `changed` differs from the current
 * value. */
static json_t *item(RgConform *c, const RgConformMade *made, json_t *wanted, const char *changed)
{
	json_t *one = rg_conform_item(c, made);
	json_object_set(one, "attributes", wanted);
	json_object_set_new(one, "changed", json_pack("[s]", changed));
	return one;
}

/* One call changes the existing resource, and the missing one fails by itself: otherwise a node
 * that disappeared would block the update of a whole pool. */
static void check_missing(RgConform *c, const RgConformMade *made, const char *name)
{
	const char *kind = made->wanted->kind;
	g_autofree char *step =
		g_strdup_printf("update %s in one call with an id that does not exist", kind);
	g_autofree char *missing = g_strdup(made->id); /* of the same form; no resource has it */
	char *last = missing + strlen(missing) - 1;
	*last = *last == '0' ? '1' : '0';
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *wanted = rg_expr_resolve(made->wanted->attrs, rg_conform_look_up, c, diags);
	json_t *there = item(c, made, wanted, name), *gone_item = json_deep_copy(there);
	rg_json_set_str(gone_item, "address", "raygpu-check.missing");
	rg_json_set_str(gone_item, "id", missing);
	json_auto_t *items = json_pack("[o, o]", there, gone_item);
	g_autoptr(GPtrArray) results = rg_conform_call(c, rg_provider_update, kind, items, diags);
	const RgItemResult *real = results->pdata[0], *gone = results->pdata[1];
	g_autofree char *why = NULL;
	if (real->outcome != RG_OUTCOME_DONE)
		why = g_strdup_printf("%s, which exists, was not changed: %s",
			made->wanted->address, real->message ? real->message : "");
	else if (gone->outcome == RG_OUTCOME_DONE)
		why = g_strdup_printf(
			"it reports that it changed %s, which does not exist", missing);
	rg_conform_tell(c, step, !why, why, NULL);
}

/* What the cloud did not take over is updated, and then it has it. */
static void check_in_use(RgConform *c, const RgConformMade *made)
{
	const char *kind = made->wanted->kind;
	g_autofree char *step =
		g_strdup_printf("ready %s in use, and update of what is missing", kind);
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *one = rg_conform_item(c, made);
	json_object_set_new(one, "in_use", json_true());
	json_auto_t *items = json_pack("[O]", one);
	g_autoptr(GPtrArray) looked = rg_conform_call(c, rg_provider_ready, kind, items, diags);
	const RgItemResult *result = looked->pdata[0];
	g_autoptr(GPtrArray) updated = NULL;
	if (result->outcome == RG_OUTCOME_DONE && result->changed) {
		json_object_set_new(one, "attributes",
			rg_expr_resolve(made->wanted->attrs, rg_conform_look_up, c, diags));
		json_object_set(one, "changed", result->changed);
		updated = rg_conform_call(c, rg_provider_update, kind, items, diags);
		result = updated->pdata[0];
	}
	rg_conform_tell(c, step, result->outcome == RG_OUTCOME_DONE, result->message, diags);
}

void rg_conform_in_use(RgConform *c, const RgConformMade *user)
{
	const RgKind *kind =
		rg_schema_kind(rg_provider_get_schema(c->provider), user->wanted->kind);
	rg_json_foreach_member (name, value, user->wanted->attrs) {
		const char *address = rg_json_str(value, "$ref", NULL);
		const RgConformMade *made = address ? rg_conform_find(c, address) : NULL;
		if (made && rg_kind_attribute(kind, name)->attaches)
			check_in_use(c, made);
	}
}

/* NULL if the cloud shows no change of the resource, within the time that it may take. */
static char *still_changing(RgConform *c, const RgConformMade *made)
{
	int64_t until = rg_clock_monotonic_ms() + c->options->wait_ms;
	json_auto_t *input = json_pack("{s:s, s:[{s:s, s:s}]}", "kind", made->wanted->kind, "items",
		"address", made->wanted->address, "id", made->id);
	for (;;) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(GPtrArray) results = rg_provider_changing(c->provider, input, diags);
		const RgItemResult *result = results->pdata[0];
		if (result->outcome != RG_OUTCOME_DONE)
			return g_strdup(result->message);
		if (!result->text)
			return NULL;
		if (rg_clock_monotonic_ms() >= until)
			return g_strdup_printf("it is still reported: %s", result->text);
		rg_provider_sleep(c->provider, RG_CONFORM_LOOK_MS);
	}
}

/* After an update that is done. */
static void check_changing(RgConform *c, const RgConformMade *made)
{
	const char *kind = made->wanted->kind;
	g_autofree char *step = g_strdup_printf("changing %s: an update that is done", kind);
	if (!rg_provider_changing_s(
		    c->provider, rg_schema_kind(rg_provider_get_schema(c->provider), kind)))
		return;
	g_autofree char *why = still_changing(c, made);
	rg_conform_tell(c, step, !why, why, NULL);
}

/* A change in place is done, and list reports it. */
void rg_conform_update(RgConform *c, const RgConformMade *made)
{
	const char *kind = made->wanted->kind;
	g_autofree char *step = g_strdup_printf("update %s in place, and list reports it", kind);
	const char *name = find_changeable(
		rg_schema_kind(rg_provider_get_schema(c->provider), kind), made->wanted->attrs);
	if (!rg_provider_offers(c->provider, "update") || !name) {
		rg_conform_skip(c, step, "it has no map that can be changed in place");
		return;
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *wanted = rg_expr_resolve(made->wanted->attrs, rg_conform_look_up, c, diags);
	json_auto_t *value = json_pack("{s:s}", "made-by", "someone-else");
	json_object_set(wanted, name, value);
	json_auto_t *items = json_pack("[o]", item(c, made, wanted, name));
	g_autoptr(GPtrArray) results = rg_conform_call(c, rg_provider_update, kind, items, diags);
	const RgItemResult *result = results->pdata[0];
	int64_t until = rg_clock_monotonic_ms() + c->options->wait_ms;
	bool done = result->outcome == RG_OUTCOME_DONE;
	bool told = done && is_told(c, made, name, value);
	while (done && !told && rg_clock_monotonic_ms() < until) {
		rg_provider_sleep(c->provider, RG_CONFORM_LOOK_MS);
		told = is_told(c, made, name, value);
	}
	g_autofree char *why = done ? g_strdup_printf("%s does not have the updated value", name)
				    : g_strdup(result->message ? result->message : "unsupported");
	rg_conform_tell(c, step, told, why, NULL);
	if (told) {
		check_missing(c, made, name);
		check_changing(c, made);
	}
}
