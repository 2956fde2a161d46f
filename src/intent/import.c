/* `import`, and `imports` of a spec: existing resources, and their addresses in the spec. They are
 * read by their ids and compared with the spec; the resulting records go into the snapshot in
 * memory, from which the plan is made. Only reading calls: apply writes the marks like any other
 * attribute after the record, so that no resource ever carries our marks without a record. */
#include "intent/found_internal.h"

static bool G_GNUC_PRINTF(4, 5) import_refuse(const RgImporting *importing, const RgImport *import,
	const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(importing->found.diags, "import.refused", "%s", text);
	rg_diag_address(diag, import->address, NULL);
	if (import->origin)
		rg_diag_at(diag, rg_cluster_source(importing->found.cluster, import->origin));
	if (hint)
		rg_diag_hint(diag, "%s", hint);
	return false;
}

static char *key_of(const char *kind, const char *id)
{
	return g_strconcat(kind, " ", id, NULL);
}

static char *kind_of(const RgImport *import)
{
	g_autofree char *name = NULL;
	char *kind = NULL;
	int64_t index;
	return rg_address_parse(import->address, &kind, &name, &index) ? kind : NULL;
}

/* Checks that do not need the cloud. */
static bool check_request(const RgImporting *importing, size_t i)
{
	const RgFound *all = &importing->found;
	const RgImport *import = &importing->imports[i];
	g_autofree char *kind = kind_of(import);
	const RgSchema *schema = rg_provider_get_schema(all->provider);
	if (!kind || !rg_schema_kind(schema, kind) || g_str_equal(kind, RG_SECRET_KIND))
		return import_refuse(importing, import,
			"an address is KIND.NAME or KIND.NAME[INDEX]",
			"\"%s\" is not an address of provider %s", import->address,
			rg_provider_name(all->provider));
	const RgResource *recorded = rg_resource_set_find(all->snapshot->recorded, import->address);
	if (recorded && recorded->presence == RG_PENDING)
		return import_refuse(importing, import, "`raygpu apply` resolves it",
			"an interrupted creation of %s is still open", import->address);
	if (recorded)
		return import_refuse(importing, import, "`raygpu state rm` forgets that record",
			"%s is already recorded, as %s", import->address, recorded->id);
	/* if two records had the same resource, one would remove it while the other needs it */
	g_autofree char *holder =
		rg_store_find_holder(importing->store, all->cluster->provider.name,
			all->cluster->provider.region, kind, import->id, importing->found.diags);
	if (holder)
		return import_refuse(importing, import,
			"`raygpu state mv` changes the address of a record, `raygpu state rm` "
			"forgets it",
			"%s is already recorded, as %s", import->id, holder);
	for (size_t k = 0; k < i; k++) {
		const RgImport *other = &importing->imports[k];
		if (g_str_equal(other->address, import->address) ||
			g_str_equal(other->id, import->id))
			return import_refuse(importing, import, NULL, "%s %s is given twice",
				import->address, import->id);
	}
	return true;
}

static void take_read(void *data, RgResource *resource)
{
	RgImporting *importing = data;
	g_hash_table_replace(importing->read, key_of(resource->kind, resource->id), resource);
}

/* {kind: [id]} of them. */
static json_t *ids_by_kind(const RgImporting *importing)
{
	json_t *known = json_object();
	for (size_t i = 0; i < importing->n; i++) {
		g_autofree char *kind = kind_of(&importing->imports[i]);
		json_t *ids = json_object_get(known, kind);
		if (!ids)
			json_object_set_new(known, kind, ids = json_array());
		json_array_append_new(ids, json_string(importing->imports[i].id));
	}
	return known;
}

/* One read per kind. */
static bool read_all(RgImporting *importing)
{
	RgFound *all = &importing->found;
	GStrv every = rg_schema_kinds(rg_provider_get_schema(all->provider));
	json_auto_t *known = ids_by_kind(importing);
	for (size_t k = 0; every[k]; k++) {
		const char *const kinds[] = {every[k], NULL};
		const RgListing listing = {
			.kinds = kinds, .cluster = all->cluster->name, .known = known};
		if (json_object_get(known, every[k]) &&
			!rg_provider_list(all->provider, &listing, take_read, importing,
				importing->found.diags))
			return false;
	}
	return true;
}

static void refuse_unread(
	const RgImporting *importing, const RgImport *import, const RgResource *read)
{
	g_autofree char *why = rg_resource_unread(read, import->id);
	import_refuse(importing, import,
		import->origin ? "try again when it can be read; if it is lost, remove the entry"
			       : "try again when it can be read",
		"%s", why);
}

/* What the cloud reports about it. */
static const RgResource *check_read(const RgImporting *importing, const RgImport *import)
{
	const RgFound *all = &importing->found;
	g_autofree char *kind = kind_of(import), *key = key_of(kind, import->id);
	const RgResource *read = g_hash_table_lookup(importing->read, key);
	g_autofree char *hint = g_strdup_printf("check the kind, the %s and the account",
		rg_schema_words(rg_provider_get_schema(all->provider))->region);
	if (!read)
		import_refuse(importing, import, hint, "there is no %s \"%s\" in %s", kind,
			import->id,
			rg_place_name(all->cluster->provider.name, all->cluster->provider.region));
	else if (read->presence == RG_UNKNOWN)
		refuse_unread(importing, import, read);
	else if (read->presence != RG_PRESENT)
		import_refuse(importing, import, NULL, "%s is %s: there is nothing left to import",
			import->id, read->status && *read->status ? read->status : "gone");
	else if (read->lineage && g_strcmp0(read->lineage, all->snapshot->lineage) != 0)
		import_refuse(importing, import,
			"use that state, or run `raygpu state rm` there and remove the tag",
			"%s belongs to another state: it has the lineage %s", import->id,
			read->lineage);
	else
		return read;
	return NULL;
}

/* As if its marks contained the requested address. */
static RgResource *found_new(const RgImport *import, const RgResource *read)
{
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	rg_address_parse(import->address, &kind, &name, &index);
	RgResource *found = rg_resource_new(kind, name, index);
	found->id = g_strdup(read->id);
	found->attrs = json_incref(read->attrs);
	found->lineage = g_strdup(read->lineage);
	const char *told = read->lineage ? read->address : NULL;
	found->mismarked = g_strcmp0(told, import->address) != 0;
	if (found->mismarked)
		found->marked_as = g_strdup(told);
	return found;
}

bool rg_importing_read(RgImporting *importing)
{
	bool ok = true;
	for (size_t i = 0; i < importing->n; i++)
		ok = check_request(importing, i) && ok;
	if (!ok || !read_all(importing))
		return false;
	for (size_t i = 0; i < importing->n; i++) {
		const RgImport *import = &importing->imports[i];
		const RgResource *read = check_read(importing, import);
		ok = read && ok;
		if (read)
			rg_resource_set_add(importing->found.found, found_new(import, read));
	}
	return ok;
}

static bool check_wanted(const RgImporting *importing)
{
	bool ok = true;
	for (size_t i = 0; i < importing->n; i++) {
		const RgImport *import = &importing->imports[i];
		if (!rg_resource_set_find(importing->found.desired, import->address))
			ok = import_refuse(importing, import,
				"add it to the spec first; `raygpu plan` on an empty state "
				"shows "
				"all addresses of a spec",
				"the spec has no %s", import->address);
	}
	return ok;
}

/* Records go into the snapshot when all exist: each may refer to others. */
static GPtrArray *add_records(RgFound *all)
{
	RgResourceSet *recorded = all->snapshot->recorded;
	GPtrArray *records = g_ptr_array_new();
	rg_resource_foreach (found, all->found) {
		RgResource *record = rg_found_record(
			all, found, rg_resource_set_find(all->desired, found->address));
		record->ownership = g_intern_static_string("adopted");
		g_ptr_array_add(records, record);
	}
	if (!rg_resource_set_find(recorded, RG_SECRET_RAY_TOKEN) && all->token) {
		RgResource *secret = rg_found_secret(all);
		if (secret)
			g_ptr_array_add(records, secret);
	}
	for (guint i = 0; i < records->len; i++)
		rg_resource_set_add(recorded, records->pdata[i]);
	return records;
}

static void note_untold(const RgFound *all)
{
	if (all->untold)
		rg_diags_note(all->diags, "state.not-told", "%s is recorded as in the spec",
			g_hash_table_size(all->kept)
				? "the user data that it booted with, and what the cloud does not "
				  "report (disks),"
				: "what the cloud does not report (disks, for example)");
}

GPtrArray *rg_importing_record(RgImporting *importing)
{
	RgFound *all = &importing->found;
	if (!check_wanted(importing) || !rg_found_reveal(all))
		return NULL;
	/* the token that joins new nodes to the running ones: recorded, else from our user data */
	const RgResource *secret =
		rg_resource_set_find(all->snapshot->recorded, RG_SECRET_RAY_TOKEN);
	all->token =
		g_strdup(rg_json_str(secret ? rg_resource_outputs(secret) : NULL, "value", NULL));
	if (!all->token)
		rg_found_find_token(all);
	GPtrArray *records = add_records(all);
	note_untold(all);
	if (!all->snapshot->lineage)
		all->snapshot->lineage = g_strdup(RG_NO_LINEAGE);
	return records;
}

void rg_importing_init(RgImporting *importing, const RgIntent *intent, RgStore *store,
	const RgImport *imports, size_t n, RgDiags *diags)
{
	GHashTable *kept = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < n; i++)
		if (imports[i].keep)
			g_hash_table_add(kept, (gpointer)(uintptr_t)imports[i].address);
	*importing = (RgImporting){.found = {.cluster = intent->cluster,
					   .snapshot = intent->snapshot,
					   .provider = intent->provider,
					   .found = rg_resource_set_new(),
					   .kept = kept,
					   .revealed = g_hash_table_new_full(
						   g_str_hash, g_str_equal, g_free, rg_json_unref),
					   .diags = diags},
		.imports = imports,
		.n = n,
		.store = store,
		.read = g_hash_table_new_full(
			g_str_hash, g_str_equal, g_free, (GDestroyNotify)rg_resource_free)};
}

void rg_importing_clear(RgImporting *importing)
{
	g_hash_table_unref(importing->read);
	g_hash_table_unref(importing->found.kept);
	g_hash_table_unref(importing->found.revealed);
	rg_resource_set_free(importing->found.found);
	g_free(importing->found.token);
}

/* ---- of the spec */

bool rg_importing_check_replaced(RgImporting *importing)
{
	const RgFound *all = &importing->found;
	bool ok = !importing->n || read_all(importing);
	for (size_t i = 0; i < importing->n && ok; i++) {
		const RgImport *entry = &importing->imports[i];
		g_autofree char *kind = kind_of(entry), *key = key_of(kind, entry->id);
		const RgResource *read = g_hash_table_lookup(importing->read, key);
		const char *id = rg_resource_set_find(all->snapshot->recorded, entry->address)->id;
		if (read && read->presence == RG_PRESENT) {
			ok = import_refuse(importing, entry,
				"give it an address that is free, or remove the entry",
				"%s cannot be imported as %s, which is recorded as %s", entry->id,
				entry->address, id ? id : "an open creation");
			continue;
		}
		if (read && read->presence == RG_UNKNOWN) {
			refuse_unread(importing, entry, read);
			ok = false;
			continue;
		}
		RgDiag *diag = rg_diags_note(all->diags, "plan.imported",
			"%s is recorded as %s, and %s no longer exists: its entry of `imports` can "
			"be removed",
			entry->address, id ? id : "an open creation", entry->id);
		rg_diag_at(diag, rg_cluster_source(all->cluster, entry->origin));
	}
	return ok;
}

GArray *rg_intent_entries(const RgIntent *intent, bool recorded)
{
	GArray *entries = g_array_new(FALSE, TRUE, sizeof(RgImport));
	rg_ptr_foreach (const RgSpecImport, from, intent->importing) {
		const RgImport entry = {from->address, from->id, from->as_is, from->origin};
		bool there =
			rg_resource_set_find(intent->snapshot->recorded, from->address) != NULL;
		if (there == recorded)
			g_array_append_val(entries, entry);
	}
	return entries;
}
