/* The state out of the cloud's marks: what carries the cluster's name is read, fitted with what it
 * is as pins, and recorded as it is. Writes to the state alone, once, at the end. */
#include "pipeline/rebuild.h"
#include "base/redact.h"
#include <string.h>

/* ---- what carries the cluster's marks */

static void take_marked(void *data, RgResource *resource)
{
	GPtrArray *marked = data;
	if (resource->presence == RG_PRESENT)
		g_ptr_array_add(marked, resource);
	else
		rg_resource_free(resource);
}

/* A kind that not every API knows is left out with a warning: a plan that wants one reads it. */
static void warn_unread(Rebuild *rebuild, const RgKind *kind, const RgDiags *why)
{
	RgDiag *diag = rg_diags_warning(rebuild->diags, "state.not-told",
		"%s could not be read: what there is of it is left out", kind->name);
	if (rg_diags_count(why))
		rg_diag_detail(diag, "%s", rg_diags_get(why, 0)->summary);
	rg_diag_hint(diag, "if the cluster has one, make sure that it can be read and try again");
}

static bool read_marked(Rebuild *rebuild, GPtrArray *marked)
{
	RgPass *pass = rebuild->pass;
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	GStrv kinds = rg_schema_kinds(schema);
	for (size_t i = 0; kinds[i]; i++) {
		const RgKind *kind = rg_schema_kind(schema, kinds[i]);
		g_autoptr(RgDiags) diags = rg_diags_new();
		bool ok = rg_provider_list(pass->provider, kinds[i], pass->cluster->name, NULL,
			NULL, take_marked, marked, diags);
		if (!ok && kind->read_if_used)
			warn_unread(rebuild, kind, diags);
		else
			rg_diags_take_all(rebuild->diags, diags);
		if (!ok && !kind->read_if_used)
			return false;
	}
	return true;
}

/* The one lineage of all, or the one asked for. NULL and a diagnostic. */
static char *choose_lineage(Rebuild *rebuild, const GPtrArray *marked, const char *asked)
{
	g_autoptr(GPtrArray) lineages = g_ptr_array_new();
	const char *name = rebuild->pass->cluster->name;
	for (guint i = 0; i < marked->len; i++) {
		const RgResource *resource = marked->pdata[i];
		if (resource->lineage && (!asked || g_str_equal(asked, resource->lineage)) &&
			!g_ptr_array_find_with_equal_func(
				lineages, resource->lineage, g_str_equal, NULL))
			g_ptr_array_add(lineages, resource->lineage);
	}
	if (lineages->len == 1)
		return g_strdup(lineages->pdata[0]);
	if (!lineages->len) {
		RgDiag *diag = rg_diags_error(rebuild->diags, "state.no-marks",
			"nothing in %s carries the marks of cluster %s%s%s",
			rebuild->pass->cluster->provider.region, name, asked ? " and lineage " : "",
			asked ? asked : "");
		rg_diag_hint(diag, "is it the right region and account?");
		return NULL;
	}
	g_ptr_array_add(lineages, NULL);
	g_autofree char *list = g_strjoinv(", ", (char **)lineages->pdata);
	RgDiag *diag = rg_diags_error(rebuild->diags, "state.ambiguous",
		"several states have made a cluster %s: lineages %s", name, list);
	rg_diag_hint(diag, "say which is yours with --lineage");
	return NULL;
}

static void report_twice(Rebuild *rebuild, const RgResource *one, const RgResource *other)
{
	RgDiag *diag = rg_diags_error(rebuild->diags, "state.ambiguous",
		"both %s and %s are marked as %s", one->id, other->id, one->address);
	rg_diag_address(diag, one->address, NULL);
	rg_diag_hint(diag, "remove the one that is not in use by hand, then try again");
}

/* Moves what has the lineage and an address into the snapshot. */
static bool sort_out(Rebuild *rebuild, GPtrArray *marked, const char *lineage)
{
	bool ok = true;
	g_ptr_array_set_free_func(marked, NULL);
	for (guint i = 0; i < marked->len; i++) {
		RgResource *resource = marked->pdata[i];
		const RgResource *same =
			resource->address && g_strcmp0(resource->lineage, lineage) == 0
				? rg_resource_set_find(rebuild->found, resource->address)
				: NULL;
		if (same) {
			report_twice(rebuild, same, resource);
			ok = false;
		} else if (g_strcmp0(resource->lineage, lineage) == 0 && resource->address) {
			rg_resource_set_add(rebuild->found, resource);
			continue;
		} else if (g_strcmp0(resource->lineage, lineage) == 0) {
			rg_diags_warning(rebuild->diags, "state.not-told",
				"the marks of %s %s tell no address: it is left out",
				resource->kind, resource->id);
		}
		rg_resource_free(resource);
	}
	return ok;
}

/* ---- pins: what a node is decides what is wanted of it, as if it had been recorded */

static bool is_node(const Rebuild *rebuild, const RgResource *found)
{
	const RgSchema *schema = rg_provider_get_schema(rebuild->pass->provider);
	return rg_schema_kind(schema, found->kind)->node;
}

/* Kinds of nodes name these attributes so in every module. */
static void pin_observed(json_t *pin, const RgResource *found)
{
	static const char *const names[][2] = {{"instance_type", "instance_type"},
		{"zone", "availability_zone"}, {"zone", "zone"}, {"image_id", "image_id"}};
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		json_t *value = json_object_get(found->attrs, names[i][1]);
		if (json_is_string(value))
			json_object_set(pin, names[i][0], value);
	}
}

static void pin_nodes(Rebuild *rebuild)
{
	for (size_t i = 0; i < rg_resource_set_size(rebuild->found); i++) {
		RgResource *found = rg_resource_set_get(rebuild->found, i);
		if (!is_node(rebuild, found))
			continue;
		found->group = g_intern_string(found->name);
		found->pin = json_object();
		pin_observed(found->pin, found);
	}
}

static bool has_index(const json_t *indexes, int64_t index)
{
	size_t i;
	json_t *one;
	json_array_foreach (indexes, i, one) {
		if (json_integer_value(one) == index)
			return true;
	}
	return !json_is_array(indexes) && index < 0;
}

/* Image, accelerator and price of the fitted group that the node is in. An image that the spec
 * names itself is no pin: it would hide that the node has another. */
static void pin_fitted(RgResource *found, const json_t *node)
{
	static const char *const same[] = {"price_microusd_hour", "price_date", "price_quality"};
	const json_t *offer = json_object_get(node, "offer"),
		     *image = json_object_get(node, "image");
	const char *type = rg_json_str(found->pin, "instance_type", "");
	const char *key = rg_json_str(image, "key", "");
	if (!g_str_equal(key, rg_json_str(image, "id", "")))
		rg_json_set_str(found->pin, "image_key", key);
	if (!g_str_equal(type, rg_json_str(offer, "instance_type", "")))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(same); i++)
		json_object_set(found->pin, same[i], json_object_get(offer, same[i]));
	json_object_set(found->pin, "accelerator", json_object_get(offer, "gpu"));
	json_object_set(found->pin, "gpus", json_object_get(offer, "gpus"));
}

static void pin_from_fitted(Rebuild *rebuild)
{
	size_t n;
	const json_t *node;
	json_array_foreach (json_object_get(rebuild->pass->fitted, "nodes"), n, node) {
		const char *pool = rg_json_str(node, "pool", "");
		for (size_t i = 0; i < rg_resource_set_size(rebuild->found); i++) {
			RgResource *found = rg_resource_set_get(rebuild->found, i);
			if (found->pin && g_str_equal(found->name, pool) &&
				has_index(json_object_get(node, "indexes"), found->index))
				pin_fitted(found, node);
		}
	}
}

/* Twice: the first tells by which key each pool's image was chosen, the second keeps the image. */
static bool fit_found(Rebuild *rebuild)
{
	RgPass *pass = rebuild->pass;
	pin_nodes(rebuild);
	if (!pass_fit(rebuild->session, pass, rebuild->diags))
		return false;
	pin_from_fitted(rebuild);
	pass->snapshot->facts = json_incref(pass->facts);
	g_clear_pointer(&pass->facts, json_decref);
	g_clear_pointer(&pass->fitted, json_decref);
	g_clear_pointer(&pass->desired, rg_resource_set_free);
	return pass_fit(rebuild->session, pass, rebuild->diags);
}

/* ---- what no list tells */

static bool has_unreadable(const RgKind *kind)
{
	GHashTableIter iter;
	gpointer attribute;
	g_hash_table_iter_init(&iter, kind->attributes);
	while (g_hash_table_iter_next(&iter, NULL, &attribute)) {
		if (((RgAttribute *)attribute)->unreadable)
			return true;
	}
	return false;
}

static json_t *reveal_input(const Rebuild *rebuild, const char *kind)
{
	json_t *items = json_array();
	for (size_t i = 0; i < rg_resource_set_size(rebuild->found); i++) {
		const RgResource *found = rg_resource_set_get(rebuild->found, i);
		if (g_str_equal(found->kind, kind))
			json_array_append_new(items, json_pack("{s:s, s:s}", "address",
							     found->address, "id", found->id));
	}
	return json_pack("{s:s, s:o}", "kind", kind, "items", items);
}

static bool take_revealed(Rebuild *rebuild, const RgItemResult *result)
{
	if (result->outcome == RG_OUTCOME_DONE) {
		g_hash_table_insert(rebuild->revealed, g_strdup(result->address),
			json_incref(result->attributes));
		return true;
	}
	RgDiag *diag = rg_diags_error(rebuild->diags, rg_class_code(result->class_),
		"could not read the user data of %s: %s", result->address,
		result->message ? result->message : "no reason given");
	rg_diag_address(diag, result->address, NULL);
	rg_diag_cloud(
		diag, rg_provider_name(rebuild->pass->provider), result->code, result->request_id);
	if (result->hint)
		rg_diag_hint(diag, "%s", result->hint);
	return false;
}

static bool reveal(Rebuild *rebuild)
{
	RgProvider *provider = rebuild->pass->provider;
	const RgSchema *schema = rg_provider_get_schema(provider);
	GStrv kinds = rg_schema_kinds(schema);
	bool ok = true;
	for (size_t i = 0; kinds[i] && rg_provider_offers(provider, "reveal"); i++) {
		if (!has_unreadable(rg_schema_kind(schema, kinds[i])))
			continue;
		g_autoptr(RgJson) input = reveal_input(rebuild, kinds[i]);
		g_autoptr(GPtrArray) results = rg_provider_reveal(provider, input, rebuild->diags);
		/* the first refusal says it for all */
		for (guint r = 0; ok && r < results->len; r++)
			ok = take_revealed(rebuild, results->pdata[r]);
	}
	return ok;
}

static void find_token(Rebuild *rebuild)
{
	const RgResourceSet *desired = rebuild->pass->desired;
	for (size_t i = 0; !rebuild->token && i < rg_resource_set_size(desired); i++) {
		const RgResource *wanted = rg_resource_set_get(desired, i);
		const json_t *revealed = g_hash_table_lookup(rebuild->revealed, wanted->address);
		if (revealed)
			rebuild->token = rebuild_find_token(wanted, revealed);
	}
	if (rebuild->token)
		rg_redact_add(rebuild->token, strlen(rebuild->token));
}

/* ---- records */

static void add_secret(Rebuild *rebuild, RgResourceSet *records)
{
	const RgResource *wanted =
		rg_resource_set_find(rebuild->pass->desired, RG_SECRET_RAY_TOKEN);
	if (!wanted)
		return;
	RgResource *secret = rg_resource_new(wanted->kind, wanted->name, wanted->index);
	secret->attrs = json_incref(wanted->attrs);
	secret->outputs = json_object();
	rg_json_set_str(secret->outputs, "value", rebuild->token);
	rg_resource_set_add(records, secret);
	if (rebuild->token)
		return;
	RgDiag *diag = rg_diags_warning(rebuild->diags, "state.not-told",
		"the Ray token of the running nodes could not be read back");
	rg_diag_address(diag, RG_SECRET_RAY_TOKEN, NULL);
	rg_diag_hint(diag,
		"nodes that run are not touched, but no node can be added before `raygpu "
		"apply --replace " RG_SECRET_RAY_TOKEN "` has given all of them a new one");
}

static RgResourceSet *make_records(Rebuild *rebuild)
{
	RgResourceSet *records = rg_resource_set_new();
	for (size_t i = 0; i < rg_resource_set_size(rebuild->found); i++) {
		const RgResource *found = rg_resource_set_get(rebuild->found, i);
		rg_resource_set_add(records,
			rebuild_record(rebuild, found,
				rg_resource_set_find(rebuild->pass->desired, found->address)));
	}
	add_secret(rebuild, records);
	if (rebuild->untold)
		rg_diags_note(rebuild->diags, "state.not-told",
			"what the cloud doesn't tell back (disks, for one) is recorded as the spec "
			"has it now");
	return records;
}

static bool store_records(Rebuild *rebuild)
{
	const RgPass *pass = rebuild->pass;
	g_autoptr(RgResourceSet) records = make_records(rebuild);
	const RgRebuilt rebuilt = {.cluster = pass->cluster->name,
		.lineage = pass->snapshot->lineage,
		.provider = pass->cluster->provider.name,
		.region = pass->cluster->provider.region,
		.config = pass->cluster->provider.config,
		.facts = pass->facts,
		.resources = records,
		.desired = pass->desired};
	return rg_store_rebuild(rebuild->session->store, &rebuilt, rebuild->diags);
}

static bool is_free(const RgSession *session, const RgSnapshot *snapshot, RgDiags *diags)
{
	if (!snapshot->lineage)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.not-empty",
		"the state \"%s\" has cluster %s already", session->state_path, snapshot->cluster);
	rg_diag_hint(diag,
		"rebuilding is for a state that was lost; name another file with --state "
		"to compare");
	return false;
}

static bool run(Rebuild *rebuild, const char *spec_path, const char *asked)
{
	RgPass *pass = rebuild->pass;
	RgDiags *diags = rebuild->diags;
	g_autoptr(GPtrArray) marked =
		g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
	pass->cluster = rg_spec_load_file(spec_path, diags);
	if (pass->cluster && pass_check_settings(rebuild->session->providers, pass->cluster, diags))
		pass->snapshot = rg_store_load(rebuild->session->store, pass->cluster->name, diags);
	if (!pass->snapshot || !is_free(rebuild->session, pass->snapshot, diags))
		return false;
	const RgProviderRef *place = &pass->cluster->provider;
	if (!pass_open_provider(
		    rebuild->session, pass, place->name, place->region, place->config, diags) ||
		!read_marked(rebuild, marked))
		return false;
	rebuild->found = pass->snapshot->recorded;
	pass->snapshot->lineage = choose_lineage(rebuild, marked, asked);
	if (!pass->snapshot->lineage || !sort_out(rebuild, marked, pass->snapshot->lineage) ||
		!fit_found(rebuild) || !reveal(rebuild))
		return false;
	find_token(rebuild);
	return store_records(rebuild);
}

RgPass *rg_pipeline_rebuild(
	RgSession *session, const char *spec_path, const char *lineage, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	g_autoptr(GHashTable) revealed =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
	Rebuild rebuild = {.session = session, .pass = pass, .revealed = revealed, .diags = diags};
	bool ok = run(&rebuild, spec_path, lineage);
	g_free(rebuild.token);
	return ok ? g_steal_pointer(&pass) : NULL;
}
