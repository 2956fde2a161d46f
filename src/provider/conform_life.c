/* A cluster's life: everything is created, created again with the same tokens, listed, found,
 * removed and removed again. What was created is removed even if a step fails. */
#include <string.h>
#include "base/clock.h"
#include "provider/conform_internal.h"
#include "resource/expr.h"
#include "resource/graph.h"

#define NO_SUCH_ID "raygpu-check-no-such-id"

static bool is_makeable(const RgConform *c, const RgResource *resource)
{
	g_auto(GStrv) needed = rg_resource_dependencies(resource);
	for (size_t i = 0; needed && needed[i]; i++) {
		if (!rg_conform_find(c, needed[i]))
			return false;
	}
	return !rg_conform_find(c, resource->address);
}

/* The next batch: one resource, or the members of a pool that may be sent in one call. */
static GPtrArray *next_batch(const RgConform *c)
{
	GPtrArray *batch = g_ptr_array_new();
	const RgSchema *schema = rg_provider_get_schema(c->provider);
	rg_resource_foreach (resource, c->desired) {
		const RgResource *first = batch->len > 0 ? batch->pdata[0] : NULL;
		bool joins =
			!first ||
			(first->index >= 0 && first->kind == resource->kind &&
				first->name == resource->name &&
				json_equal(first->attrs, resource->attrs) &&
				batch->len < rg_schema_kind(schema, first->kind)->batch_create);
		if (joins && is_makeable(c, resource))
			g_ptr_array_add(batch, resource);
	}
	return batch;
}

static json_t *create_input(RgConform *c, const GPtrArray *batch, const char *token, RgDiags *diags)
{
	const RgResource *first = batch->pdata[0];
	json_t *items = json_array();
	json_t *attributes = rg_expr_resolve(first->attrs, rg_conform_look_up, c, diags);
	g_autoptr(GString) indexes = g_string_new(NULL);
	for (guint i = 0; i < batch->len; i++) {
		const RgResource *one = batch->pdata[i];
		json_array_append_new(
			items, json_pack("{s:s, s:o}", "address", one->address, "index",
				       one->index < 0 ? json_null() : json_integer(one->index)));
		if (one->index >= 0)
			g_string_append_printf(
				indexes, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", one->index);
	}
	return json_pack("{s:s, s:s, s:i, s:{s:s, s:s, s:s?, s:s, s:n, s:s, s:{s:s}}, s:o, s:o?}",
		"kind", first->kind, "token", token, "min_count", 1, "marks", "cluster",
		"raygpu-check", "lineage", c->lineage, "pool", first->group, "indexes",
		indexes->str, "commit", "run", "raygpu-check", "labels", "made-by", "raygpu-check",
		"items", items, "attributes", attributes);
}

static const RgItemResult *find_bad(const GPtrArray *results)
{
	rg_ptr_foreach (const RgItemResult, result, results) {
		if (result->outcome != RG_OUTCOME_DONE)
			return result;
	}
	return NULL;
}

static void keep_made(
	RgConform *c, const GPtrArray *batch, const GPtrArray *results, const char *token)
{
	for (guint i = 0; i < results->len; i++) {
		const RgItemResult *result = results->pdata[i];
		if (!result->id)
			continue;
		RgConformMade *made = g_new0(RgConformMade, 1);
		made->wanted = batch->pdata[i];
		made->id = g_strdup(result->id);
		made->token = g_strdup(token);
		made->outputs = json_object();
		if (result->attributes)
			json_object_update(made->outputs, result->attributes);
		g_ptr_array_add(c->made, made);
	}
}

static bool is_repeated(const GPtrArray *first, const GPtrArray *second)
{
	for (guint i = 0; i < first->len; i++) {
		const RgItemResult *a = first->pdata[i], *b = second->pdata[i];
		if (g_strcmp0(a->id, b->id) != 0)
			return false;
	}
	return true;
}

/* Waits until all of the batch are ready and keeps what they report; NULL on success, else the
 * reason. */
static char *wait_ready(RgConform *c, const GPtrArray *batch)
{
	const RgResource *first = batch->pdata[0];
	json_auto_t *items = json_array();
	for (guint i = 0; i < batch->len; i++)
		json_array_append_new(items,
			rg_conform_item(
				c, rg_conform_find(c, ((RgResource *)batch->pdata[i])->address)));
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GPtrArray) results =
		rg_conform_call(c, rg_provider_ready, first->kind, items, diags);
	const RgItemResult *bad = find_bad(results);
	if (!bad)
		return NULL;
	if (bad->queued) {
		g_autofree char *step = g_strdup_printf(
			"ready %s: queued, and the message says where", first->kind);
		c->queued = true;
		rg_conform_tell(c, step, bad->message && *bad->message,
			"plans and apply could not say what it waits for", NULL);
		return NULL;
	}
	return g_strdup_printf("%s: %s", bad->address,
		bad->outcome == RG_OUTCOME_PENDING ? "it is still pending" : bad->message);
}

static bool make_batch(RgConform *c, const GPtrArray *batch)
{
	const RgResource *first = batch->pdata[0];
	char token[33];
	rg_conform_make_token(token);
	g_autoptr(RgDiags) diags = rg_diags_new(), twice = rg_diags_new();
	json_auto_t *input = create_input(c, batch, token, diags);
	g_autofree char *name = g_strdup_printf(
		"create %s%s", first->kind, batch->len > 1 ? ", two in one call" : "");
	g_autofree char *step = g_strconcat(name, ", the same token: the same resources", NULL);
	if (rg_diags_has_errors(diags))
		return rg_conform_tell(c, name, false, NULL, diags);
	g_autoptr(GPtrArray) results = rg_provider_create(c->provider, input, diags);
	keep_made(c, batch, results, token);
	const RgItemResult *bad = find_bad(results);
	if (!rg_conform_tell(
		    c, name, !bad && !rg_diags_has_errors(diags), bad ? bad->message : NULL, diags))
		return false;
	g_autoptr(GPtrArray) again = rg_provider_create(c->provider, input, twice);
	rg_conform_tell(c, step, is_repeated(results, again),
		"the second answer has other ids: a lost answer would create resources twice",
		twice);
	g_autofree char *why = wait_ready(c, batch);
	g_autofree char *ready = g_strdup_printf("ready %s", first->kind);
	return rg_conform_tell(c, ready, !why, why, NULL);
}

static bool make_all(RgConform *c)
{
	for (;;) {
		g_autoptr(GPtrArray) batch = next_batch(c);
		if (batch->len == 0)
			break;
		if (!make_batch(c, batch))
			return false;
		if (c->queued) {
			rg_conform_skip(c, "create everything", "a resource waits in a queue");
			return true;
		}
	}
	bool all = c->made->len == rg_resource_set_size(c->desired);
	return all || rg_conform_tell(c, "create everything", false,
			      "some resources wait for others that are never created", NULL);
}

/* What a plan made now would call drift; NULL if there is none. */
static char *find_drift(const RgConform *c, const RgConformMade *made, const RgResource *seen)
{
	const RgKind *kind =
		rg_schema_kind(rg_provider_get_schema(c->provider), made->wanted->kind);
	rg_json_foreach_member (name, wanted, made->wanted->attrs) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		json_auto_t *value = rg_attribute_cut(
			attribute, json_object_get(seen->attrs, name), wanted, NULL);
		bool compared = !attribute->unreadable && !attribute->create_only &&
				!attribute->ignore_drift && !attribute->set &&
				!rg_expr_has_refs(wanted) && !json_is_null(wanted);
		if (compared && !json_equal(value, wanted))
			return g_strdup_printf("%s of %s was created as requested, but list "
					       "reports another value: every plan would show drift",
				name, made->wanted->address);
	}
	return NULL;
}

static char *judge_seen(const RgConform *c, GHashTable *seen, const char *kind, bool addressed)
{
	rg_ptr_foreach (const RgConformMade, made, c->made) {
		if (!g_str_equal(made->wanted->kind, kind))
			continue;
		const RgResource *resource = g_hash_table_lookup(seen, made->id);
		if (!resource || resource->presence != RG_PRESENT)
			return g_strdup_printf(
				"%s (%s) is not reported", made->wanted->address, made->id);
		if (addressed && g_strcmp0(resource->address, made->wanted->address) != 0)
			return g_strdup_printf(
				"the ownership tags of %s name the address %s: the state "
				"could not be rebuilt",
				made->wanted->address,
				resource->address ? resource->address : "null");
		char *drift = addressed ? find_drift(c, made, resource) : NULL;
		if (drift)
			return drift;
	}
	return NULL;
}

/* What the cloud shows as queued says where; NULL if it does. */
static char *judge_queued(const RgConform *c, GHashTable *seen, const RgDiags *diags)
{
	for (guint i = 0; i < c->made->len && rg_diags_has_code(diags, "provider.queued"); i++) {
		const RgConformMade *made = c->made->pdata[i];
		const RgResource *resource = g_hash_table_lookup(seen, made->id);
		if (resource && !resource->status)
			return g_strdup_printf(
				"%s is queued, but has no \"status\" that says where",
				made->wanted->address);
	}
	return NULL;
}

static void check_list(RgConform *c, const char *kind)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GHashTable) seen = rg_conform_seen_new();
	g_autofree char *step = g_strdup_printf("list %s: all, with address, as created", kind);
	bool ok = rg_conform_list(c, kind, NO_SUCH_ID, seen, diags);
	g_autofree char *why = ok ? judge_seen(c, seen, kind, true) : NULL;
	if (ok && !why)
		why = judge_queued(c, seen, diags);
	if (ok && !why && g_hash_table_contains(seen, NO_SUCH_ID))
		why = g_strdup("it reports an id that cannot exist");
	rg_conform_tell(c, step, ok && !why, why, diags);
}

/* What another state of the same cluster name must see of the resources created here: `lineage` is
 * that state's, NULL for a state without one. */
static char *judge_names(
	const RgConform *c, GHashTable *seen, const char *kind, const char *lineage)
{
	rg_ptr_foreach (const RgConformMade, made, c->made) {
		if (!g_str_equal(made->wanted->kind, kind))
			continue;
		const RgResource *resource = g_hash_table_lookup(seen, made->id);
		if (!resource)
			return g_strdup_printf("%s (%s) is missing: a cluster would be created "
					       "under a name that is taken",
				made->wanted->address, made->id);
		if (g_strcmp0(resource->lineage, c->lineage) != 0)
			return g_strdup_printf("the lineage of %s (%s) is %s instead of %s",
				made->wanted->address, made->id,
				resource->lineage ? resource->lineage : "null", c->lineage);
		if (lineage && resource->address)
			return g_strdup_printf("%s of another lineage has the address %s", made->id,
				resource->address);
		if (!lineage && g_strcmp0(resource->address, made->wanted->address) != 0)
			return g_strdup_printf("without a requested lineage, %s has no address: a "
					       "lost state could not be rebuilt",
				made->wanted->address);
	}
	return NULL;
}

static void check_names(RgConform *c, const char *kind)
{
	char other[33];
	rg_conform_make_token(other);
	const struct {
		const char *cluster, *lineage, *what;
	} states[] = {{"raygpu-check", other, "the cluster's name under another lineage"},
		{"raygpu-check", NULL, "the cluster's name without a requested lineage"},
		{"raygpu-check-2", c->lineage, "nothing of another cluster"}};
	for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(GHashTable) seen = rg_conform_seen_new();
		g_autofree char *step = g_strdup_printf("list %s: %s", kind, states[i].what);
		const char *const kinds[] = {kind, NULL};
		const RgListing listing = {
			.kinds = kinds, .cluster = states[i].cluster, .lineage = states[i].lineage};
		bool ok =
			rg_provider_list(c->provider, &listing, rg_conform_take_seen, seen, diags);
		g_autofree char *why = NULL;
		if (ok && i + 1 < G_N_ELEMENTS(states))
			why = judge_names(c, seen, kind, states[i].lineage);
		else if (ok && g_hash_table_size(seen) > 0)
			why = g_strdup("it lists resources with another cluster's name");
		rg_conform_tell(c, step, ok && !why, why, diags);
	}
}

static void take_kind(void *data, RgResource *resource)
{
	g_hash_table_add(data, g_strconcat(resource->kind, " ", resource->id, NULL));
	rg_resource_free(resource);
}

/* Kinds that the schema lists together are returned by one call, each page with one kind. */
static void check_listing(RgConform *c, GStrv kinds)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *names = g_strjoinv(", ", kinds);
	g_autofree char *step = g_strdup_printf("list %s in one call", names), *why = NULL;
	const RgListing listing = {.kinds = (const char *const *)kinds,
		.cluster = "raygpu-check",
		.lineage = c->lineage};
	bool ok = rg_provider_list(c->provider, &listing, take_kind, seen, diags);
	for (guint i = 0; ok && i < c->made->len && !why; i++) {
		const RgConformMade *made = c->made->pdata[i];
		g_autofree char *key = g_strconcat(made->wanted->kind, " ", made->id, NULL);
		if (g_strv_contains((const char *const *)kinds, made->wanted->kind) &&
			!g_hash_table_contains(seen, key))
			why = g_strdup_printf("%s is missing", made->wanted->address);
	}
	rg_conform_tell(c, step, ok && !why, why, diags);
}

static void check_lists(RgConform *c)
{
	const RgSchema *schema = rg_provider_get_schema(c->provider);
	const GPtrArray *listings = rg_schema_listings(schema);
	GStrv kinds = rg_schema_kinds(schema);
	for (size_t i = 0; kinds[i]; i++) {
		check_list(c, kinds[i]);
		check_names(c, kinds[i]);
	}
	for (guint i = 0; i < listings->len; i++) {
		GStrv together = listings->pdata[i];
		if (together[1])
			check_listing(c, together);
	}
}

static void check_find(RgConform *c, const RgConformMade *made)
{
	g_autofree char *step = g_strdup_printf("find %s by its token", made->wanted->address);
	if (!rg_provider_offers(c->provider, "find")) {
		rg_conform_skip(c, step, "the module does not implement find");
		return;
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GHashTable) seen = rg_conform_seen_new();
	json_auto_t *marks =
		json_pack("{s:s, s:s}", "cluster", "raygpu-check", "lineage", c->lineage);
	bool ok = rg_provider_find(c->provider, made->wanted->kind, made->token, marks,
		rg_conform_take_seen, seen, diags);
	rg_conform_tell(c, step, ok && g_hash_table_contains(seen, made->id),
		ok ? "it isn't among what find reports" : NULL, diags);
}

static bool remove_once(RgConform *c, const RgConformMade *made, const char *step)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *items = json_pack("[o]", rg_conform_item(c, made));
	g_autoptr(GPtrArray) results =
		rg_conform_call(c, rg_provider_remove, made->wanted->kind, items, diags);
	const RgItemResult *result = results->pdata[0];
	g_autofree char *why = g_strdup_printf("%s (%s): %s", made->wanted->address, made->id,
		result->outcome == RG_OUTCOME_PENDING ? "it is still pending"
		: result->message		      ? result->message
						      : "");
	return rg_conform_tell(c, step, result->outcome == RG_OUTCOME_DONE, why, NULL);
}

static bool is_present(RgConform *c, const RgConformMade *made)
{
	bool read;
	json_auto_t *seen = rg_conform_see(c, made, &read);
	return seen || !read;
}

/* Started and abandoned, as by an interrupted run: the next call comes without the operation. */
static bool begin_removal(RgConform *c, const RgConformMade *made)
{
	const RgKind *kind =
		rg_schema_kind(rg_provider_get_schema(c->provider), made->wanted->kind);
	if (!kind->remove_timeout_s)
		return false;
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *input =
		json_pack("{s:s, s:[o]}", "kind", kind->name, "items", rg_conform_item(c, made));
	g_autoptr(GPtrArray) results = rg_provider_remove(c->provider, input, diags);
	return ((RgItemResult *)results->pdata[0])->outcome == RG_OUTCOME_PENDING;
}

static void remove_all(RgConform *c)
{
	for (guint i = c->made->len; i > 0; i--) {
		const RgConformMade *made = g_ptr_array_index(c->made, i - 1);
		g_autofree char *name = g_strdup_printf("remove %s%s", made->wanted->address,
			begin_removal(c, made) ? ", which an interrupted run started" : "");
		g_autofree char *again =
			g_strdup_printf("remove %s again: gone is done", made->wanted->address);
		g_autofree char *gone =
			g_strdup_printf("list no longer reports %s", made->wanted->address);
		if (!remove_once(c, made, name))
			continue;
		remove_once(c, made, again);
		int64_t until = rg_clock_monotonic_ms() + c->options->wait_ms;
		while (is_present(c, made) && rg_clock_monotonic_ms() < until)
			rg_provider_sleep(c->provider, RG_CONFORM_LOOK_MS);
		rg_conform_tell(
			c, gone, !is_present(c, made), "it is still reported as present", NULL);
		rg_conform_no_members(c, made);
	}
}

void rg_conform_life(RgConform *c)
{
	if (make_all(c)) {
		for (guint i = 0; i < c->made->len; i++)
			rg_conform_in_use(c, c->made->pdata[i]);
		check_lists(c);
		for (guint i = 0; i < c->made->len; i++)
			rg_conform_members(c, c->made->pdata[i]);
		for (guint i = 0; i < c->made->len; i++)
			check_find(c, g_ptr_array_index(c->made, i));
		const RgConformMade *last =
			c->made->len > 0 ? c->made->pdata[c->made->len - 1] : NULL;
		if (last) {
			rg_conform_adopt(c, last);
			if (!c->queued)
				rg_conform_update(c, last);
		}
	}
	remove_all(c);
}
