/* `imports`: resources that exist become records of the cluster, in the snapshot that is planned
 * from, and in the state when the plan is carried out. import.c reads them. */
#include "intent/internal.h"
#include "state/move.h"

static void note_pending(const RgIntent *intent, const RgSpecImport *entry, RgDiags *diags)
{
	RgDiag *diag = rg_diags_note(diags, "plan.imports",
		"%s is not recorded yet: `raygpu apply` imports %s", entry->address, entry->id);
	rg_diag_address(diag, entry->address, NULL);
	rg_diag_at(diag, rg_cluster_source(intent->cluster, entry->origin));
}

GPtrArray *rg_intent_find_imports(const RgIntent *intent, RgDiags *diags)
{
	GPtrArray *importing = NULL;
	const GPtrArray *entries = intent->cluster->imports;
	rg_ptr_foreach (RgSpecImport, entry, entries) {
		const RgResource *record =
			rg_resource_set_find(intent->snapshot->recorded, entry->address);
		if (record && g_strcmp0(record->id, entry->id) == 0) {
			once_note_import(intent->cluster, entry, diags);
			continue;
		}
		if (intent->looking && !record)
			note_pending(intent, entry, diags);
		if (!importing)
			importing = g_ptr_array_new();
		g_ptr_array_add(importing, entry);
	}
	return importing;
}

GHashTable *rg_intent_awaited(const RgIntent *intent)
{
	if (!intent->looking || !intent->importing)
		return NULL;
	GHashTable *awaited = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rg_ptr_foreach (const RgSpecImport, entry, intent->importing) {
		g_autofree char *kind = NULL, *name = NULL;
		int64_t index;
		if (rg_address_parse(entry->address, &kind, &name, &index))
			g_hash_table_add(awaited, g_strconcat(kind, " ", entry->id, NULL));
	}
	return awaited;
}

/* ---- for the plan, and from a saved one */

static void put(json_t *object, const char *key, json_t *value)
{
	if (value)
		json_object_set_new(object, key, value);
}

static json_t *texts_json(GStrv texts)
{
	json_t *list = json_array();
	for (char **text = texts; text && *text; text++)
		json_array_append_new(list, json_string(*text));
	return list;
}

/* What a plan file needs to record it. */
static json_t *record_json(const RgResource *record)
{
	json_t *object = json_object();
	if (record->group)
		rg_json_set_str(object, "group", record->group);
	if (record->origin)
		rg_json_set_str(object, "origin", record->origin);
	json_object_set(object, "attrs", record->attrs);
	put(object, "outputs", json_incref(record->outputs_json));
	put(object, "pin", json_incref(record->pin));
	json_object_set_new(object, "depends_on", texts_json(record->depends_on));
	if (record->mismarked)
		rg_json_set_str(object, "marked_as", record->marked_as);
	return object;
}

static json_t *source_json(RgSource source)
{
	return json_pack("{s:s*, s:I, s:I}", "file", source.file, "line", (json_int_t)source.line,
		"column", (json_int_t)source.column);
}

static const RgSpecImport *entry_of(const RgIntent *intent, const char *address)
{
	for (guint i = 0; intent->importing && i < intent->importing->len; i++) {
		const RgSpecImport *entry = intent->importing->pdata[i];
		if (g_str_equal(entry->address, address))
			return entry;
	}
	return NULL;
}

/* A token that was read from a node is in no plan. */
static bool is_secret_known(const RgResource *record)
{
	return g_str_equal(record->kind, RG_SECRET_KIND) &&
	       rg_json_str(record->outputs_json, "value", NULL);
}

static json_t *import_json(const RgIntent *intent, const RgResource *record)
{
	const RgSpecImport *entry = entry_of(intent, record->address);
	json_t *import = json_object();
	rg_json_set_str(import, "id", record->id);
	if (entry && entry->as_is)
		json_object_set_new(import, "as_is", json_true());
	if (entry)
		json_object_set_new(import, "source",
			source_json(rg_cluster_source(intent->cluster, entry->origin)));
	if (!is_secret_known(record))
		json_object_set_new(import, "record", record_json(record));
	return import;
}

json_t *rg_intent_describe_imports(const RgIntent *intent)
{
	if (!intent->imported)
		return NULL;
	json_t *imports = json_object();
	rg_ptr_foreach (const RgResource, record, intent->imported)
		json_object_set_new(imports, record->address, import_json(intent, record));
	return imports;
}

static const char *interned(const json_t *object, const char *key)
{
	const char *text = rg_json_str(object, key, NULL);
	return text ? g_intern_string(text) : NULL;
}

static RgResource *record_new(const RgPlanChange *change)
{
	const json_t *from = json_object_get(change->import, "record");
	RgResource *record = rg_resource_new(change->kind, change->name, change->index);
	record->id = g_strdup(rg_json_str(change->import, "id", NULL));
	record->group = interned(from, "group");
	record->origin = interned(from, "origin");
	record->ownership = g_intern_static_string("adopted");
	record->attrs = json_incref(json_object_get(from, "attrs"));
	record->outputs_json = json_incref(json_object_get(from, "outputs"));
	record->pin = json_incref(json_object_get(from, "pin"));
	record->depends_on = rg_json_texts(json_object_get(from, "depends_on"));
	record->mismarked = json_object_get(from, "marked_as") != NULL;
	record->marked_as = g_strdup(rg_json_str(from, "marked_as", NULL));
	return record;
}

/* Another run may have recorded it since. */
static bool check_holder(
	RgStore *store, const RgPlan *plan, const RgPlanChange *change, RgDiags *diags)
{
	const char *id = rg_json_str(change->import, "id", NULL);
	g_autofree char *holder = id ? rg_store_find_holder(store, plan->provider, plan->region,
					       change->kind, id, diags)
				     : NULL;
	if (!holder)
		return true;
	RgDiag *diag = rg_diags_error(diags, "plan.stale",
		"Saved plan is stale: %s was recorded as %s since it was created", id, holder);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_hint(diag, "create a new plan");
	return false;
}

bool rg_intent_import_saved(const RgIntent *intent, RgStore *store, const RgPlan *plan,
	GPtrArray **imported, RgDiags *diags)
{
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		if (!change->import)
			continue;
		if (!check_holder(store, plan, change, diags))
			return false;
		if (!*imported)
			*imported = g_ptr_array_new();
		RgResource *record = record_new(change);
		/* rg_plan_check_fresh reports a row that is there by now */
		if (rg_resource_set_find(intent->snapshot->recorded, change->address))
			rg_resource_free(record);
		else if (rg_resource_set_add(intent->snapshot->recorded, record))
			g_ptr_array_add(*imported, record);
	}
	return true;
}

/* ---- when the plan is carried out */

bool rg_intent_store_imports(const RgIntent *intent, RgStore *store, RgDiags *diags)
{
	return !intent->imported ||
	       rg_store_import(store, intent->plan->cluster, intent->imported, diags);
}
