/* `imports`: resources that exist become records of the cluster, in the snapshot that is planned
 * from, and in the state when the plan is carried out. src/adopt reads them (RgSession.import). */
#include "pipeline/internal.h"

static RgDiag *imports_refuse(
	const RgPass *pass, const RgSpecImport *entry, RgDiags *diags, const char *summary)
{
	RgDiag *diag = rg_diags_error(diags, "import.refused", "%s", summary);
	rg_diag_address(diag, entry->address, NULL);
	return rg_diag_at(diag, rg_cluster_source(pass->cluster, entry->origin));
}

static void note_pending(const RgPass *pass, const RgSpecImport *entry, RgDiags *diags)
{
	RgDiag *diag = rg_diags_note(diags, "plan.imports",
		"%s is not recorded yet: `raygpu apply` imports %s", entry->address, entry->id);
	rg_diag_address(diag, entry->address, NULL);
	rg_diag_at(diag, rg_cluster_source(pass->cluster, entry->origin));
}

bool pass_find_imports(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const GPtrArray *entries = pass->cluster->imports;
	for (guint i = 0; i < entries->len; i++) {
		RgSpecImport *entry = entries->pdata[i];
		const RgResource *record =
			rg_resource_set_find(pass->snapshot->recorded, entry->address);
		if (record && g_strcmp0(record->id, entry->id) == 0) {
			once_note_import(pass->cluster, entry, diags);
			continue;
		}
		if (session->diff.looking && !record)
			note_pending(pass, entry, diags);
		if (!pass->importing)
			pass->importing = g_ptr_array_new();
		g_ptr_array_add(pass->importing, entry);
	}
	if (!pass->importing || session->import || session->diff.looking)
		return true;
	imports_refuse(pass, pass->importing->pdata[0], diags, "this program cannot import");
	return false;
}

GHashTable *pass_awaited(const RgSession *session, const RgPass *pass)
{
	if (!session->diff.looking || !pass->importing)
		return NULL;
	GHashTable *awaited = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < pass->importing->len; i++) {
		const RgSpecImport *entry = pass->importing->pdata[i];
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

static const RgSpecImport *entry_of(const RgPass *pass, const char *address)
{
	for (guint i = 0; pass->importing && i < pass->importing->len; i++) {
		const RgSpecImport *entry = pass->importing->pdata[i];
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

static json_t *import_json(const RgPass *pass, const RgResource *record)
{
	const RgSpecImport *entry = entry_of(pass, record->address);
	json_t *import = json_object();
	rg_json_set_str(import, "id", record->id);
	if (entry && entry->as_is)
		json_object_set_new(import, "as_is", json_true());
	if (entry)
		json_object_set_new(import, "source",
			source_json(rg_cluster_source(pass->cluster, entry->origin)));
	if (!is_secret_known(record))
		json_object_set_new(import, "record", record_json(record));
	return import;
}

void pass_describe_imports(RgPass *pass)
{
	if (!pass->imported)
		return;
	json_decref(pass->imports);
	pass->imports = json_object();
	for (guint i = 0; i < pass->imported->len; i++) {
		const RgResource *record = pass->imported->pdata[i];
		json_object_set_new(pass->imports, record->address, import_json(pass, record));
	}
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
	RgSession *session, const RgPlan *plan, const RgPlanChange *change, RgDiags *diags)
{
	const char *id = rg_json_str(change->import, "id", NULL);
	g_autofree char *holder = id ? rg_store_find_holder(session->store, plan->provider,
					       plan->region, change->kind, id, diags)
				     : NULL;
	if (!holder)
		return true;
	RgDiag *diag = rg_diags_error(diags, "plan.stale",
		"Saved plan is stale: %s was recorded as %s since it was created", id, holder);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_hint(diag, "create a new plan");
	return false;
}

bool pass_import_saved(RgSession *session, RgPass *pass, const RgPlan *plan, RgDiags *diags)
{
	for (guint i = 0; i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (!change->import)
			continue;
		if (!check_holder(session, plan, change, diags))
			return false;
		if (!pass->imported)
			pass->imported = g_ptr_array_new();
		RgResource *record = record_new(change);
		/* rg_plan_check_fresh reports a row that is there by now */
		if (rg_resource_set_find(pass->snapshot->recorded, change->address))
			rg_resource_free(record);
		else if (rg_resource_set_add(pass->snapshot->recorded, record))
			g_ptr_array_add(pass->imported, record);
	}
	return true;
}

/* ---- when the plan is carried out */

bool pass_store_imports(RgSession *session, const RgPass *pass, RgDiags *diags)
{
	return !pass->imported ||
	       rg_store_import(session->store, pass->plan->cluster, pass->imported, diags);
}
