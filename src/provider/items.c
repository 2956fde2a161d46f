/* create, ready, update, remove: one result per item, verified. An id that the module reported is
 * never discarded, whatever else is wrong with its result: the resource may cost money. */
#include "provider/internal.h"

#include <string.h>
#include "base/caps.h"

#define ID_MAX 1024

typedef struct {
	const char *verb;
	const RgKind *kind;
	GHashTable *asked; /* address -> RgItemResult* */
	GHashTable *given; /* addresses that have a result */
	GHashTable *ids;   /* done in this call */
} Items;

static const struct {
	const char *name;
	RgOutcome outcome;
} outcomes[] = {
	{"done", RG_OUTCOME_DONE},
	{"failed", RG_OUTCOME_FAILED},
	{"pending", RG_OUTCOME_PENDING},
	{"queued", RG_OUTCOME_PENDING},
	{"unsupported", RG_OUTCOME_UNSUPPORTED},
};

static void item_free(gpointer data)
{
	RgItemResult *result = data;
	json_decref(result->attributes);
	json_decref(result->changed);
	g_free(result->address);
	g_free(result->id);
	g_free(result->operation);
	g_free(result->text);
	g_free(result->code);
	g_free(result->message);
	g_free(result->hint);
	g_free(result->request_id);
	g_free(result->attribute);
	g_free(result);
}

static bool may_be_pending(const Items *items)
{
	return g_str_equal(items->verb, "ready") ||
	       (g_str_equal(items->verb, "update") && items->kind->update_timeout_s) ||
	       (g_str_equal(items->verb, "remove") && items->kind->remove_timeout_s);
}

static bool find_outcome(const Items *items, const char *name, RgOutcome *outcome)
{
	for (size_t i = 0; name && i < G_N_ELEMENTS(outcomes); i++) {
		*outcome = outcomes[i].outcome;
		if (g_str_equal(outcomes[i].name, name))
			return *outcome == RG_OUTCOME_PENDING
				       ? may_be_pending(items)
				       : *outcome != RG_OUTCOME_UNSUPPORTED ||
						 g_str_equal(items->verb, "update");
	}
	return false;
}

static char *dup_text(const json_t *item, const char *key)
{
	return rg_text_clean(json_string_value(json_object_get(item, key)));
}

bool rg_provider_id_is_sound(const char *id)
{
	if (!id || *id == '\0' || strlen(id) > ID_MAX)
		return false;
	for (const char *at = id; *at != '\0'; at++) {
		if (g_ascii_iscntrl(*at))
			return false;
	}
	return true;
}

static void read_failure(RgCall *call, const Items *items, const json_t *item, RgItemResult *result)
{
	bool known;
	const char *class_ = json_string_value(json_object_get(item, "class"));
	result->class_ = rg_class_find(class_, &known);
	if (result->class_ == RG_CLASS_OK)
		result->class_ = RG_CLASS_UNKNOWN;
	/* An unknown word proves nothing, and an item of a create with an id was created. */
	result->definite = known && rg_json_bool(item, "definite", false);
	if (result->definite && result->id && g_str_equal(items->verb, "create")) {
		rg_call_bad(call, "%s is reported as not created, but has an id", result->address);
		result->definite = false;
	}
	result->message = dup_text(item, "message");
	result->hint = dup_text(item, "hint");
	result->code = dup_text(item, "code");
	result->request_id = dup_text(item, "request_id");
	result->attribute = dup_text(item, "attribute");
}

static void read_id(RgCall *call, const Items *items, const json_t *item, RgItemResult *result)
{
	const char *id = json_string_value(json_object_get(item, "id"));
	if (!id || !*id)
		return;
	if (!rg_provider_id_is_sound(id))
		rg_call_bad(call, "the id of %s has control characters", result->address);
	else if (g_hash_table_contains(items->ids, id))
		rg_call_bad(
			call, "the id of %s was also returned for another item", result->address);
	else
		result->id = g_strdup(id);
	if (result->id)
		g_hash_table_add(items->ids, result->id);
}

/* Invalid attributes are dropped; the rest, and above all the id, is kept. */
static void read_attributes(
	RgCall *call, const Items *items, const json_t *item, RgItemResult *result)
{
	json_t *attributes = json_object_get(item, "attributes");
	if (!json_is_object(attributes))
		return;
	rg_attributes_verify(call, items->kind, attributes, result->address);
	result->attributes = json_incref(attributes);
}

/* What the cloud did not take over: names that update accepts, each once. */
static void read_changed(RgCall *call, const Items *items, const json_t *item, RgItemResult *result)
{
	const json_t *changed = json_object_get(item, "changed");
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	rg_json_foreach (name, changed) {
		const char *text = json_string_value(name);
		const RgAttribute *attribute = text ? rg_kind_attribute(items->kind, text) : NULL;
		if (!text || !g_hash_table_add(seen, (char *)(uintptr_t)text))
			continue;
		if (!attribute || attribute->computed || attribute->force_new) {
			g_autofree char *shown = rg_text_clean(text);
			rg_call_bad(call,
				"\"%s\" in \"changed\" of %s is not an attribute of %s that can be "
				"changed in place",
				shown, result->address, items->kind->name);
			continue;
		}
		if (!result->changed)
			result->changed = json_array();
		json_array_append(result->changed, rg_json_unconst(name));
	}
}

/* The module returns only those of which there is something to say. */
static bool tells_exceptions(const Items *items)
{
	return g_str_equal(items->verb, "health") || g_str_equal(items->verb, "changing");
}

/* Only the end of it is of interest: what was printed last. */
static void read_text(const json_t *item, RgItemResult *result)
{
	const char *text = json_string_value(json_object_get(item, "text"));
	if (!text)
		return;
	size_t len = strlen(text), skipped = len > RG_CAP_CONSOLE ? len - RG_CAP_CONSOLE : 0;
	while (skipped && (text[skipped] & 0xc0) == 0x80)
		skipped++; /* not the middle of a character */
	result->stale = rg_json_bool(item, "stale", false);
	result->text = g_strdup(text + skipped);
}

static void read_item(RgCall *call, const Items *items, const json_t *item, RgItemResult *result)
{
	const char *outcome = json_string_value(json_object_get(item, "outcome"));
	read_id(call, items, item, result);
	read_attributes(call, items, item, result);
	const char *operation = rg_json_str(item, "operation", "");
	result->operation = *operation ? g_strdup(operation) : NULL;
	result->queued = g_strcmp0(outcome, "queued") == 0;
	if (result->queued && g_str_equal(items->verb, "create"))
		outcome = "done"; /* ready finds out the rest */
	if (!find_outcome(items, outcome, &result->outcome)) {
		if (result->outcome == RG_OUTCOME_PENDING && !g_str_equal(items->verb, "create"))
			rg_call_bad(call, "%s is pending, but %s has no %s_timeout_s",
				result->address, items->kind->name, items->verb);
		result->outcome = RG_OUTCOME_FAILED;
		result->class_ = RG_CLASS_UNKNOWN;
		return;
	}
	if (result->outcome == RG_OUTCOME_FAILED) {
		read_failure(call, items, item, result);
		return;
	}
	if (result->outcome == RG_OUTCOME_PENDING || result->queued) {
		result->message = dup_text(item, "message");
		result->code = dup_text(item, "code");
	}
	result->class_ = RG_CLASS_OK;
	if (g_str_equal(items->verb, "ready") && result->outcome == RG_OUTCOME_DONE)
		read_changed(call, items, item, result);
	if (g_str_equal(items->verb, "console") || tells_exceptions(items))
		read_text(item, result);
	if (g_str_equal(items->verb, "create") && !result->id) {
		result->outcome = RG_OUTCOME_FAILED;
		result->class_ = RG_CLASS_UNKNOWN;
	}
}

static void take_item(RgCall *call, const char *slot, json_t *value)
{
	const Items *items = call->data;
	const char *address = json_string_value(json_object_get(value, "address"));
	RgItemResult *result = address ? g_hash_table_lookup(items->asked, address) : NULL;
	if (!result) {
		g_autofree char *name = rg_text_clean(address ? address : "no address");
		rg_call_bad(call, "an item for \"%s\", which was not requested", name);
	} else if (!g_hash_table_add(items->given, result->address)) {
		rg_call_bad(call, "\"%s\" was returned twice", result->address);
	} else {
		read_item(call, items, value, result);
	}
}

static GPtrArray *new_results(const json_t *input, GHashTable *asked)
{
	GPtrArray *results = g_ptr_array_new_with_free_func(item_free);
	rg_json_foreach (item, json_object_get(input, "items")) {
		RgItemResult *result = g_new0(RgItemResult, 1);
		result->address = g_strdup(rg_json_str(item, "address", ""));
		result->outcome = RG_OUTCOME_FAILED;
		result->class_ = RG_CLASS_UNKNOWN;
		g_hash_table_insert(asked, result->address, result);
		g_ptr_array_add(results, result);
	}
	return results;
}

/* Items without a result of their own get the failure of the whole call. */
static void fill_missing(
	const RgCall *call, const Items *items, bool ok, RgOutcome outcome, RgItemResult *result)
{
	if (g_hash_table_contains(items->given, result->address))
		return;
	result->outcome = outcome;
	if (outcome != RG_OUTCOME_FAILED)
		result->class_ = RG_CLASS_OK;
	else if (ok)
		result->message = g_strdup_printf(
			"module %s returned no result for it", rg_call_provider(call));
	else {
		result->class_ = call->class_;
		result->message = g_strdup(call->message);
		result->code = g_strdup(call->code);
		result->request_id = g_strdup(call->request_id);
	}
}

/* A failed item without a message gets the transport's. */
static void fill_message(const RgCall *call, RgItemResult *result)
{
	if (result->outcome != RG_OUTCOME_FAILED || (result->message && *result->message != '\0'))
		return;
	g_free(result->message);
	size_t n = rg_diags_count(call->reasons);
	result->message = g_strdup(
		n > 0 ? rg_diags_get(call->reasons, n - 1)->summary : "the module gave no reason");
}

/* "done" after a refused request is not believed for a removal: the resource may keep running and
 * costing money. */
static void doubt_removals(RgCall *call, GPtrArray *results)
{
	if (!rg_call_was_refused(call))
		return;
	rg_ptr_foreach (RgItemResult, result, results) {
		if (result->outcome != RG_OUTCOME_DONE)
			continue;
		rg_call_bad(call,
			"%s is reported as removed, but the last request was refused (%d)",
			result->address, call->last_status);
		result->outcome = RG_OUTCOME_FAILED;
		result->class_ = call->last;
	}
}

static void call_module(
	RgProvider *provider, const json_t *input, Items *items, GPtrArray *results, RgDiags *diags)
{
	RgCall call = {.slot = take_item, .data = items};
	bool ok = rg_call_make(&call, provider, items->verb, input, diags);
	/* if the module lacks the call, there is nothing to wait for, or no change can be made in
	 * place */
	bool lacks = call.status == RGP_UNSUPPORTED;
	bool well = ok && tells_exceptions(items);
	if (g_str_equal(items->verb, "changing"))
		well = well && !rg_call_was_refused(&call);
	RgOutcome missing = lacks && g_str_equal(items->verb, "ready")	  ? RG_OUTCOME_DONE
			    : well					  ? RG_OUTCOME_DONE
			    : lacks && g_str_equal(items->verb, "update") ? RG_OUTCOME_UNSUPPORTED
									  : RG_OUTCOME_FAILED;
	if (g_str_equal(items->verb, "remove"))
		doubt_removals(&call, results);
	for (guint i = 0; i < results->len; i++) {
		fill_missing(&call, items, ok, missing, g_ptr_array_index(results, i));
		fill_message(&call, g_ptr_array_index(results, i));
	}
	rg_call_clear(&call);
}

static void fail_all(GPtrArray *results, RgClass class_, const char *message)
{
	rg_ptr_foreach (RgItemResult, result, results) {
		result->class_ = class_;
		result->message = g_strdup(message);
	}
}

static GPtrArray *items_run(
	RgProvider *provider, const char *verb, const json_t *input, RgDiags *diags)
{
	g_autoptr(GHashTable) asked = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) given = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
	const char *kind = rg_json_str(input, "kind", "");
	Items items = {verb, rg_schema_kind(provider->module->schema, kind), asked, given, ids};
	GPtrArray *results = new_results(input, asked);
	if (!items.kind) {
		RgDiag *diag = rg_diags_error(diags, "provider.invalid",
			"module %s has no kind \"%s\"", provider->module->name, kind);
		rg_diag_hint(diag, "install the version of the module that created it");
		fail_all(results, RG_CLASS_INVALID, diag->summary);
		return results;
	}
	call_module(provider, input, &items, results, diags);
	return results;
}

GPtrArray *rg_provider_create(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "create", input, diags);
}

GPtrArray *rg_provider_ready(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "ready", input, diags);
}

GPtrArray *rg_provider_update(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "update", input, diags);
}

GPtrArray *rg_provider_remove(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "remove", input, diags);
}

GPtrArray *rg_provider_reveal(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "reveal", input, diags);
}

GPtrArray *rg_provider_console(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "console", input, diags);
}

GPtrArray *rg_provider_health(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "health", input, diags);
}

GPtrArray *rg_provider_changing(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	return items_run(provider, "changing", input, diags);
}
