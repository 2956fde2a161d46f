#include "base/clock.h"
#include "base/log.h"
#include "resource/nodes.h"
#include "state/sealed.h"
#include <string.h>

/* One load: values that many rows share are parsed once and also shared in memory. */
typedef struct {
	RgStore *store;
	RgSnapshot *snapshot;
	int64_t cluster;
	GHashTable *blobs; /* SHA-256 -> json_t* */
	Unsealer unsealer;
	GHashTable *texts; /* JSON text (pins, dependencies) -> json_t* */
	RgDiags *diags;
} Loader;

static guint hash_digest(gconstpointer key)
{
	guint value;
	memcpy(&value, key, sizeof(value));
	return value;
}

static gboolean equal_digest(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, HASH_BYTES) == 0;
}

/* A new reference to the single object with this hash. */
static json_t *shared_blob(Loader *loader, Sql *q, int column)
{
	unsigned char hash[HASH_BYTES];
	sql_column_hash(q, column, hash);
	json_t *value = g_hash_table_lookup(loader->blobs, hash);
	if (value)
		return json_incref(value);
	if (!blob_get(loader->store, hash, &value, loader->diags))
		return NULL;
	g_hash_table_insert(loader->blobs, g_memdup2(hash, HASH_BYTES), value);
	return json_incref(value);
}

/* The same for a column of JSON text that repeats; false if it is not JSON. */
static bool shared_json(Loader *loader, Sql *q, int column, json_t **value)
{
	const char *text = sql_column_text(q, column);
	*value = text ? g_hash_table_lookup(loader->texts, text) : NULL;
	if (!text || *value) {
		json_incref(*value);
		return true;
	}
	g_autofree char *key = g_strdup(text);
	if (!sql_column_json(q, column, value))
		return false;
	g_hash_table_insert(loader->texts, g_steal_pointer(&key), json_incref(*value));
	return true;
}

static const char *interned(const char *text)
{
	return text ? g_intern_string(text) : NULL;
}

static bool add_record(Loader *loader, RgResource *resource)
{
	return rg_resource_set_add(loader->snapshot->recorded, resource) ||
	       sql_corrupt(loader->store, "an address is recorded twice", loader->diags);
}

#define RESOURCE_COLUMNS                                                                           \
	"kind, name, coalesce(idx, -1), pool, cloud_id, attrs, outputs, depends_on, origin, pin,"  \
	" generation, created_s, updated_s, leaving, protect, ownership, marked,"                  \
	" updating, joined"

/* Most are parsed only if they are asked for. */
static bool read_outputs(Loader *loader, Sql *q, RgResource *resource)
{
	if (!sealed_is_secret(resource->address)) {
		resource->outputs_text = g_strdup(sql_column_text(q, 6));
		return true;
	}
	return sql_column_json(q, 6, &resource->outputs_json) &&
	       unseal_outputs(&loader->unsealer, resource->address, resource->outputs_json);
}

static bool read_resource(Loader *loader, Sql *q)
{
	json_auto_t *depends_on = NULL;
	g_autoptr(RgResource) resource =
		rg_resource_new(sql_column_text(q, 0), sql_column_text(q, 1), sql_column_int(q, 2));
	resource->presence = RG_PRESENT;
	resource->group = interned(sql_column_text(q, 3));
	resource->id = g_strdup(sql_column_text(q, 4));
	resource->attrs = shared_blob(loader, q, 5);
	if (!read_outputs(loader, q, resource) || !resource->attrs ||
		!shared_json(loader, q, 7, &depends_on) ||
		!shared_json(loader, q, 9, &resource->pin))
		return false;
	resource->depends_on = rg_json_texts(depends_on);
	resource->origin = interned(sql_column_text(q, 8));
	resource->generation = sql_column_int(q, 10);
	resource->created_s = sql_column_int(q, 11);
	resource->updated_s = sql_column_int(q, 12);
	resource->leaving = sql_column_int(q, 13) != 0;
	resource->protect = sql_column_int(q, 14) != 0;
	resource->ownership = interned(sql_column_text(q, 15));
	resource->mismarked =
		resource->id && g_strcmp0(sql_column_text(q, 16), resource->address) != 0;
	if (resource->mismarked)
		resource->marked_as = g_strdup(sql_column_text(q, 16));
	int64_t updating = sql_column_int(q, 17);
	resource->updating = updating != 0;
	resource->updates = updating > 1 ? (guint)(updating - 1) : 0;
	if (!shared_json(loader, q, 18, &resource->joined))
		return false;
	return add_record(loader, g_steal_pointer(&resource));
}

static bool load_resources(Loader *loader)
{
	Sql q = sql_with(loader->store,
		"SELECT " RESOURCE_COLUMNS " FROM resources NOT INDEXED WHERE cluster = ?1",
		loader->diags, INT(loader->cluster));
	bool ok = true;
	while (ok && sql_next(&q))
		ok = read_resource(loader, &q);
	return sql_ok(&q) && ok;
}

static bool add_pending(Loader *loader, const RgJournalRow *row, const json_t *member)
{
	g_autofree char *kind = NULL, *name = NULL;
	const char *address = rg_json_str(member, "address", "");
	int64_t index;
	if (!rg_address_parse(address, &kind, &name, &index)) {
		g_autofree char *what =
			g_strdup_printf("\"%s\" in its journal is not an address", address);
		return sql_corrupt(loader->store, what, loader->diags);
	}
	RgResource *resource = rg_resource_new(kind, name, index);
	json_t *pin = json_object_get(member, "pin");
	resource->presence = RG_PENDING;
	resource->group = interned(rg_json_str(member, "group", NULL));
	resource->origin = interned(rg_json_str(member, "origin", NULL));
	resource->attrs = json_incref(json_object_get(member, "attrs"));
	resource->depends_on = rg_json_texts(json_object_get(member, "depends_on"));
	resource->pin = json_is_null(pin) ? NULL : json_incref(pin);
	resource->generation = rg_json_int(member, "generation", 0);
	resource->created_s = resource->updated_s = row->started_s;
	resource->run = g_strdup(row->run);
	resource->token = g_strdup(row->token);
	return add_record(loader, resource);
}

/* Settled members are deleted from the table: the remaining ones are open. */
static bool load_members(Loader *loader, RgJournalRow *row)
{
	Sql q = sql_with(loader->store,
		"SELECT attrs, body FROM journal_members WHERE journal = ?1 ORDER BY place",
		loader->diags, INT(row->id));
	bool ok = true;
	while (ok && sql_next(&q)) {
		json_t *member = NULL, *attrs = shared_blob(loader, &q, 0);
		ok = attrs && sql_column_json(&q, 1, &member);
		json_object_set_new(member, "attrs", attrs);
		ok = ok && add_pending(loader, row, member);
		json_array_append_new(row->members, member);
	}
	return sql_ok(&q) && ok;
}

static bool load_journal(Loader *loader)
{
	Sql q = sql_with(loader->store,
		"SELECT id, run, kind, token, input, started_s FROM journal WHERE cluster = ?1"
		" ORDER BY id",
		loader->diags, INT(loader->cluster));
	bool ok = true;
	while (ok && sql_next(&q)) {
		RgJournalRow *row = g_new0(RgJournalRow, 1);
		g_ptr_array_add(loader->snapshot->journal, row);
		row->id = sql_column_int(&q, 0);
		row->run = g_strdup(sql_column_text(&q, 1));
		row->kind = g_strdup(sql_column_text(&q, 2));
		row->token = g_strdup(sql_column_text(&q, 3));
		row->started_s = sql_column_int(&q, 5);
		row->members = json_array();
		ok = sql_column_json(&q, 4, &row->input) &&
		     unseal_input(&loader->unsealer, row->token, &row->input) &&
		     load_members(loader, row);
	}
	return sql_ok(&q) && ok;
}

static bool load_tombstones(Loader *loader)
{
	Sql q = sql_with(loader->store,
		"SELECT id, removed_s FROM tombstones WHERE cluster = ?1"
		" AND abs(?2 - removed_s) < ?3",
		loader->diags, INT(loader->cluster), INT(rg_clock_now_s()), INT(TOMBSTONE_S));
	while (sql_next(&q)) {
		int64_t removed_s = sql_column_int(&q, 1);
		g_hash_table_insert(loader->snapshot->tombstones, g_strdup(sql_column_text(&q, 0)),
			g_memdup2(&removed_s, sizeof(removed_s)));
	}
	return sql_ok(&q);
}

static bool load_hardware(Loader *loader)
{
	return hardware_load(
		loader->store, loader->cluster, loader->snapshot->hardware, loader->diags);
}

/* Its rows. */
static bool load_all(Loader *loader)
{
	RgSnapshot *snapshot = loader->snapshot;
	loader->unsealer = (Unsealer){.store = loader->store,
		.place = {snapshot->lineage, snapshot->cluster},
		.diags = loader->diags};
	bool ok = load_resources(loader) && load_journal(loader) && load_tombstones(loader) &&
		  load_hardware(loader);
	snapshot->sealed = loader->unsealer.id;
	snapshot->clear = rg_keys_id(loader->store->keys) ? loader->unsealer.clear : 0;
	if (ok)
		unseal_end(&loader->unsealer);
	return ok;
}

static bool load_cluster(Loader *loader)
{
	RgSnapshot *snapshot = loader->snapshot;
	Sql q = sql_with(loader->store,
		"SELECT id, lineage, serial, provider, region, config, facts, account FROM clusters"
		" WHERE name = ?1",
		loader->diags, TEXT(snapshot->cluster));
	bool ok = true;
	if (sql_next(&q)) {
		loader->cluster = sql_column_int(&q, 0);
		snapshot->lineage = g_strdup(sql_column_text(&q, 1));
		snapshot->serial = sql_column_int(&q, 2);
		snapshot->provider = g_strdup(sql_column_text(&q, 3));
		snapshot->region = g_strdup(sql_column_text(&q, 4));
		snapshot->account = g_strdup(sql_column_text(&q, 7));
		ok = sql_column_json(&q, 5, &snapshot->config) &&
		     sql_column_json(&q, 6, &snapshot->facts);
	}
	return sql_ok(&q) && ok;
}

void rg_snapshot_free(RgSnapshot *snapshot)
{
	if (!snapshot)
		return;
	g_free(snapshot->cluster);
	g_free(snapshot->lineage);
	g_free(snapshot->provider);
	g_free(snapshot->region);
	g_free(snapshot->account);
	g_free(snapshot->sealed);
	json_decref(snapshot->config);
	json_decref(snapshot->facts);
	json_decref(snapshot->hardware);
	rg_resource_set_free(snapshot->recorded);
	g_ptr_array_unref(snapshot->journal);
	g_hash_table_unref(snapshot->tombstones);
	g_free(snapshot);
}

RgSnapshot *rg_snapshot_new(const char *cluster)
{
	RgSnapshot *snapshot = g_new0(RgSnapshot, 1);
	snapshot->cluster = g_strdup(cluster);
	snapshot->recorded = rg_resource_set_new();
	snapshot->journal = g_ptr_array_new_with_free_func((GDestroyNotify)rg_journal_row_free);
	snapshot->tombstones = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	snapshot->hardware = json_array();
	return snapshot;
}

RgSnapshot *rg_store_load(RgStore *store, const char *cluster, RgDiags *diags)
{
	rg_log(RG_LOG_DEBUG, "loads the state of cluster %s", cluster);
	if (!copy_need(store, cluster, COPY_LIVE, diags) || !tx_begin_read(store, diags))
		return NULL;
	g_autoptr(RgSnapshot) snapshot = rg_snapshot_new(cluster);
	Loader loader = {.store = store, .snapshot = snapshot, .diags = diags};
	loader.blobs = g_hash_table_new_full(hash_digest, equal_digest, g_free, rg_json_unref);
	loader.texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rg_json_unref);
	bool ok = sums_check(store, SUMS_OF_CLUSTER, diags) && moved_check(store, cluster, diags) &&
		  load_cluster(&loader);
	if (ok && loader.cluster != 0)
		ok = load_all(&loader);
	tx_end_read(store);
	g_hash_table_unref(loader.blobs);
	g_hash_table_unref(loader.texts);
	return ok ? g_steal_pointer(&snapshot) : NULL;
}

void rg_pins_add(json_t *pins, const RgResource *resource)
{
	json_t *nodes = json_object_get(pins, "nodes");
	for (size_t i = 0; i < rg_nodes_pools(resource, NULL); i++) {
		const RgPoolNodes pool = rg_nodes_get(resource, i);
		json_t *pin = rg_json_unconst(pool.pin);
		if (pool.first < 0)
			json_object_set(nodes, "head", pin);
		/* for an elastic pool the first stands for all, even if none has to run */
		for (int64_t n = 0; pool.first >= 0 && n < MAX(pool.min, 1); n++) {
			g_autofree char *key =
				g_strdup_printf("%s/%" G_GINT64_FORMAT, pool.pool, pool.first + n);
			json_object_set(nodes, key, pin);
		}
	}
}

json_t *rg_snapshot_pins(const RgSnapshot *snapshot)
{
	json_t *pins = json_pack("{s:O?, s:{}}", "facts", snapshot->facts, "nodes");
	for (size_t i = 0; i < rg_resource_set_size(snapshot->recorded); i++)
		rg_pins_add(pins, rg_resource_set_get(snapshot->recorded, i));
	return pins;
}
