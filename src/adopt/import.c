/* `import`, and `imports` of a spec: existing resources, and their addresses in the spec. They are
 * read by their ids and compared with the spec; the resulting records go into the snapshot in
 * memory, from which the plan is made. Only reading calls: apply writes the marks like any other
 * attribute after the record, so that no resource ever carries our marks without a record. */
#include "adopt/internal.h"

typedef struct {
	Rebuild rebuild;
	const RgImport *imports;
	size_t n;
	GHashTable *read; /* "kind id" -> RgResource* */
} Importing;

static bool G_GNUC_PRINTF(4, 5) import_refuse(const Importing *importing, const RgImport *import,
	const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(importing->rebuild.diags, "import.refused", "%s", text);
	rg_diag_address(diag, import->address, NULL);
	if (import->origin)
		rg_diag_at(
			diag, rg_cluster_source(importing->rebuild.pass->cluster, import->origin));
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
static bool check_request(const Importing *importing, size_t i)
{
	const RgPass *pass = importing->rebuild.pass;
	const RgImport *import = &importing->imports[i];
	g_autofree char *kind = kind_of(import);
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	if (!kind || !rg_schema_kind(schema, kind) || g_str_equal(kind, RG_SECRET_KIND))
		return import_refuse(importing, import,
			"an address is KIND.NAME or KIND.NAME[INDEX]",
			"\"%s\" is not an address of provider %s", import->address,
			rg_provider_name(pass->provider));
	const RgResource *recorded =
		rg_resource_set_find(pass->snapshot->recorded, import->address);
	if (recorded && recorded->presence == RG_PENDING)
		return import_refuse(importing, import, "`raygpu apply` resolves it",
			"an interrupted creation of %s is still open", import->address);
	if (recorded)
		return import_refuse(importing, import, "`raygpu state rm` forgets that record",
			"%s is already recorded, as %s", import->address, recorded->id);
	/* if two records had the same resource, one would remove it while the other needs it */
	g_autofree char *holder = rg_store_find_holder(importing->rebuild.session->store,
		pass->cluster->provider.name, pass->cluster->provider.region, kind, import->id,
		importing->rebuild.diags);
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
	Importing *importing = data;
	g_hash_table_replace(importing->read, key_of(resource->kind, resource->id), resource);
}

/* {kind: [id]} of them. */
static json_t *ids_by_kind(const Importing *importing)
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
static bool read_all(Importing *importing)
{
	RgPass *pass = importing->rebuild.pass;
	GStrv all = rg_schema_kinds(rg_provider_get_schema(pass->provider));
	json_auto_t *known = ids_by_kind(importing);
	for (size_t k = 0; all[k]; k++) {
		const char *const kinds[] = {all[k], NULL};
		const RgListing listing = {
			.kinds = kinds, .cluster = pass->cluster->name, .known = known};
		if (json_object_get(known, all[k]) &&
			!rg_provider_list(pass->provider, &listing, take_read, importing,
				importing->rebuild.diags))
			return false;
	}
	return true;
}

/* What the cloud reports about it. */
static const RgResource *check_read(const Importing *importing, const RgImport *import)
{
	const RgPass *pass = importing->rebuild.pass;
	g_autofree char *kind = kind_of(import), *key = key_of(kind, import->id);
	const RgResource *read = g_hash_table_lookup(importing->read, key);
	g_autofree char *hint = g_strdup_printf("check the kind, the %s and the account",
		rg_schema_words(rg_provider_get_schema(pass->provider))->region);
	if (!read)
		import_refuse(importing, import, hint, "there is no %s \"%s\" in %s", kind,
			import->id,
			rg_place_name(
				pass->cluster->provider.name, pass->cluster->provider.region));
	else if (read->presence != RG_PRESENT)
		import_refuse(importing, import, NULL, "%s is %s: there is nothing left to import",
			import->id, read->status && *read->status ? read->status : "gone");
	else if (read->lineage && g_strcmp0(read->lineage, pass->snapshot->lineage) != 0)
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

static bool find_all(Importing *importing)
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
			rg_resource_set_add(importing->rebuild.found, found_new(import, read));
	}
	return ok;
}

static bool check_wanted(const Importing *importing)
{
	bool ok = true;
	for (size_t i = 0; i < importing->n; i++) {
		const RgImport *import = &importing->imports[i];
		if (!rg_resource_set_find(importing->rebuild.pass->desired, import->address))
			ok = import_refuse(importing, import,
				"add it to the spec first; `raygpu plan` on an empty state "
				"shows "
				"all addresses of a spec",
				"the spec has no %s", import->address);
	}
	return ok;
}

/* Records go into the snapshot when all exist: each may refer to others. */
static GPtrArray *add_records(Rebuild *rebuild)
{
	RgResourceSet *recorded = rebuild->pass->snapshot->recorded;
	GPtrArray *records = g_ptr_array_new();
	for (size_t i = 0; i < rg_resource_set_size(rebuild->found); i++) {
		const RgResource *found = rg_resource_set_get(rebuild->found, i);
		RgResource *record = rebuild_record(rebuild, found,
			rg_resource_set_find(rebuild->pass->desired, found->address));
		record->ownership = g_intern_static_string("adopted");
		g_ptr_array_add(records, record);
	}
	if (!rg_resource_set_find(recorded, RG_SECRET_RAY_TOKEN) && rebuild->token) {
		RgResource *secret = found_secret(rebuild);
		if (secret)
			g_ptr_array_add(records, secret);
	}
	for (guint i = 0; i < records->len; i++)
		rg_resource_set_add(recorded, records->pdata[i]);
	return records;
}

static void note_untold(const Rebuild *rebuild)
{
	if (rebuild->untold)
		rg_diags_note(rebuild->diags, "state.not-told", "%s is recorded as in the spec",
			g_hash_table_size(rebuild->kept)
				? "the user data that it booted with, and what the cloud does not "
				  "report (disks),"
				: "what the cloud does not report (disks, for example)");
}

/* The account is asked, the provider is open. */
static GPtrArray *find_records(Importing *importing)
{
	Rebuild *rebuild = &importing->rebuild;
	RgPass *pass = rebuild->pass;
	if (!find_all(importing) || !found_fit(rebuild) || !check_wanted(importing) ||
		!found_reveal(rebuild))
		return NULL;
	/* the token that joins new nodes to the running ones: recorded, else from our user data */
	const RgResource *secret =
		rg_resource_set_find(pass->snapshot->recorded, RG_SECRET_RAY_TOKEN);
	rebuild->token =
		g_strdup(rg_json_str(secret ? rg_resource_outputs(secret) : NULL, "value", NULL));
	if (!rebuild->token)
		found_token(rebuild);
	GPtrArray *records = add_records(rebuild);
	note_untold(rebuild);
	if (!pass->snapshot->lineage)
		pass->snapshot->lineage = g_strdup(RG_NO_LINEAGE);
	return records;
}

static GPtrArray *find_and_plan(Importing *importing)
{
	RgSession *session = importing->rebuild.session;
	RgPass *pass = importing->rebuild.pass;
	RgDiags *diags = importing->rebuild.diags;
	if (!rg_pass_settle(session, pass, diags) || !rg_pass_open(session, pass, diags) ||
		rg_snapshot_refuse_sealed(pass->snapshot, "the import", diags))
		return NULL;
	rg_pass_ask_account(pass);
	g_autoptr(GPtrArray) records = find_records(importing);
	return records && rg_pass_make_plan(session, pass, diags) ? g_steal_pointer(&records)
								  : NULL;
}

static void importing_init(Importing *importing, RgSession *session, RgPass *pass,
	const RgImport *imports, size_t n, RgDiags *diags)
{
	GHashTable *kept = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < n; i++)
		if (imports[i].keep)
			g_hash_table_add(kept, (gpointer)(uintptr_t)imports[i].address);
	*importing = (Importing){.rebuild = {.session = session,
					 .pass = pass,
					 .found = rg_resource_set_new(),
					 .kept = kept,
					 .revealed = g_hash_table_new_full(
						 g_str_hash, g_str_equal, g_free, rg_json_unref),
					 .diags = diags},
		.imports = imports,
		.n = n,
		.read = g_hash_table_new_full(
			g_str_hash, g_str_equal, g_free, (GDestroyNotify)rg_resource_free)};
}

static void importing_clear(Importing *importing)
{
	g_hash_table_unref(importing->read);
	g_hash_table_unref(importing->rebuild.kept);
	g_hash_table_unref(importing->rebuild.revealed);
	rg_resource_set_free(importing->rebuild.found);
	g_free(importing->rebuild.token);
}

GPtrArray *rg_adopt_import(
	RgSession *session, RgPass *pass, const RgImport *imports, size_t n, RgDiags *diags)
{
	Importing importing;
	importing_init(&importing, session, pass, imports, n, diags);
	GPtrArray *records = find_and_plan(&importing);
	importing_clear(&importing);
	return records;
}

/* ---- of the spec */

/* An address that is recorded with another id: the imported resource was replaced since if it no
 * longer exists, and then the entry has done its work. */
static bool check_replaced(
	RgSession *session, RgPass *pass, const RgImport *entries, size_t n, RgDiags *diags)
{
	Importing importing;
	importing_init(&importing, session, pass, entries, n, diags);
	bool ok = !n || read_all(&importing);
	for (size_t i = 0; i < n && ok; i++) {
		const RgImport *entry = &entries[i];
		g_autofree char *kind = kind_of(entry), *key = key_of(kind, entry->id);
		const RgResource *read = g_hash_table_lookup(importing.read, key);
		const char *id = rg_resource_set_find(pass->snapshot->recorded, entry->address)->id;
		if (read && read->presence == RG_PRESENT) {
			ok = import_refuse(&importing, entry,
				"give it an address that is free, or remove the entry",
				"%s cannot be imported as %s, which is recorded as %s", entry->id,
				entry->address, id ? id : "an open creation");
			continue;
		}
		RgDiag *diag = rg_diags_note(diags, "plan.imported",
			"%s is recorded as %s, and %s no longer exists: its entry of `imports` can "
			"be removed",
			entry->address, id ? id : "an open creation", entry->id);
		rg_diag_at(diag, rg_cluster_source(pass->cluster, entry->origin));
	}
	importing_clear(&importing);
	return ok;
}

static GArray *entries_of(const RgPass *pass, bool recorded)
{
	GArray *entries = g_array_new(FALSE, TRUE, sizeof(RgImport));
	for (guint i = 0; i < pass->importing->len; i++) {
		const RgSpecImport *from = pass->importing->pdata[i];
		const RgImport entry = {from->address, from->id, from->as_is, from->origin};
		bool there = rg_resource_set_find(pass->snapshot->recorded, from->address) != NULL;
		if (there == recorded)
			g_array_append_val(entries, entry);
	}
	return entries;
}

bool rg_adopt_imports(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_autoptr(GArray) replaced = entries_of(pass, true), fresh = entries_of(pass, false);
	Importing importing;
	/* in another account there is nothing to import, but that is not why */
	if (rg_snapshot_refuse_sealed(pass->snapshot, "the import", diags) ||
		!rg_pass_check_account(pass, false, diags) ||
		!check_replaced(session, pass, (const RgImport *)(void *)replaced->data,
			replaced->len, diags))
		return false;
	if (!fresh->len)
		return rg_pass_fit(session, pass, diags);
	importing_init(&importing, session, pass, (const RgImport *)(void *)fresh->data, fresh->len,
		diags);
	pass->imported = find_records(&importing);
	importing_clear(&importing);
	return pass->imported != NULL;
}
