#include "base/clock.h"
#include "state/internal.h"
#include <string.h>

bool resource_find_id(RgStore *store, int64_t cluster, const char *address, bool *found, char **id,
	RgDiags *diags)
{
	Sql q = sql_with(store,
		"SELECT cloud_id FROM resources WHERE cluster = ?1 AND address = ?2", diags,
		INT(cluster), TEXT(address));
	*found = false;
	*id = NULL;
	if (sql_next(&q)) {
		*found = true;
		*id = g_strdup(sql_column_text(&q, 0));
	}
	return sql_ok(&q);
}

static bool resource_delete(RgStore *store, int64_t cluster, const char *address, LifetimeEnd end,
	bool *found, RgDiags *diags)
{
	unsigned char attrs[HASH_BYTES] = {0};
	g_autofree char *id = NULL;
	int64_t generation = 0, row = 0;
	Sql q = sql_with(store,
		"DELETE FROM resources WHERE cluster = ?1 AND address = ?2"
		" RETURNING cloud_id, attrs, generation, id",
		diags, INT(cluster), TEXT(address));
	*found = sql_next(&q);
	if (*found) {
		id = g_strdup(sql_column_text(&q, 0));
		sql_column_hash(&q, 1, attrs);
		generation = sql_column_int(&q, 2);
		row = sql_column_int(&q, 3);
	}
	if (!sql_run(&q))
		return false;
	if (!*found)
		return true;
	bool tombstone = id && end != END_FORGOTTEN;
	return lifetime_end(store, row, end, diags) &&
	       identity_raise(store, cluster, address, generation + 1, 0, diags) &&
	       (!tombstone || sql_do(store,
				      "INSERT OR REPLACE INTO tombstones (cluster, id, removed_s) "
				      "VALUES (?1, ?2, ?3)",
				      diags, INT(cluster), TEXT(id), INT(rg_clock_now_s()))) &&
	       blob_drop(store, attrs, diags);
}

bool resource_gone(RgStore *store, int64_t cluster, const char *address, const char *id,
	bool *found, RgDiags *diags)
{
	g_autofree char *recorded = NULL;
	if (!resource_find_id(store, cluster, address, found, &recorded, diags))
		return false;
	if (!*found || g_strcmp0(recorded, id) == 0)
		return resource_delete(store, cluster, address, END_GONE, found, diags);
	RgDiag *diag = rg_diags_error(diags, "state.moved",
		"%s is recorded as %s, which was neither removed nor found missing", address,
		recorded ? recorded : "?");
	rg_diag_address(diag, address, NULL);
	rg_diag_hint(diag, "plan again");
	return false;
}

bool resource_insert(RgStore *store, int64_t cluster, const RgResource *resource,
	const unsigned char *attrs, const char *ownership, RgDiags *diags)
{
	json_auto_t *depends_on = NULL;
	for (guint i = 0; resource->depends_on && resource->depends_on[i]; i++) {
		if (!depends_on)
			depends_on = json_array();
		json_array_append_new(depends_on, json_string(resource->depends_on[i]));
	}
	json_auto_t *outputs = NULL;
	if (!seal_outputs(store, cluster, resource->address, rg_resource_outputs(resource),
		    &outputs, diags))
		return false;
	Sql q = sql_with(store,
		"INSERT INTO resources (cluster, address, kind, name, idx, pool, cloud_id,"
		" ownership, attrs, outputs, depends_on, origin, pin, generation, created_s,"
		" updated_s, marked, joined, id) VALUES (?1, ?2, ?3, ?4, nullif(?5, -1), ?6, ?7, "
		"?8, "
		"?9,"
		" ?10, ?11, ?12, ?13, ?14, ?15, ?15, ?16, ?17, ?18)",
		diags, INT(cluster), TEXT(resource->address), TEXT(resource->kind),
		TEXT(resource->name), INT(resource->index), TEXT(resource->group),
		TEXT(resource->id), TEXT(ownership), HASH(attrs), JSON(outputs), JSON(depends_on),
		TEXT(resource->origin), JSON(resource->pin), INT(resource->generation),
		INT(rg_clock_now_s()),
		TEXT(resource->mismarked ? resource->marked_as
			: resource->id	 ? resource->address
					 : NULL),
		JSON(resource->joined), new_row_id(store));
	return sql_run(&q) &&
	       lifetime_begin(
		       store, cluster, sqlite3_last_insert_rowid(store->db), resource, diags) &&
	       (!resource->id ||
		       sql_do(store, "DELETE FROM tombstones WHERE cluster = ?1 AND id = ?2", diags,
			       INT(cluster), TEXT(resource->id))) &&
	       identity_raise(
		       store, cluster, resource->address, resource->generation + 1, 0, diags);
}

static void no_such_resource(const char *cluster, const char *address, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.no-such-resource",
		"cluster \"%s\" has no record of %s", cluster, address);
	rg_diag_address(diag, address, NULL);
	rg_diag_hint(diag, "`raygpu state list` lists the records");
}

bool resource_find_attrs(RgStore *store, int64_t cluster, const char *address, unsigned char *hash,
	bool *found, RgDiags *diags)
{
	Sql q = sql_with(store, "SELECT attrs FROM resources WHERE cluster = ?1 AND address = ?2",
		diags, INT(cluster), TEXT(address));
	*found = sql_next(&q);
	if (*found)
		sql_column_hash(&q, 0, hash);
	return sql_ok(&q);
}

/* updated_s changes with every update, even within one second: saved plans compare it. */
static bool update(RgStore *store, int64_t cluster, const RgResource *news,
	const unsigned char *attrs, RgDiags *diags)
{
	json_auto_t *outputs = NULL;
	if (!seal_outputs(store, cluster, news->address, news->outputs_json, &outputs, diags))
		return false;
	return sql_do(store,
		"UPDATE resources SET attrs = coalesce(?3, attrs), outputs = coalesce(?4, outputs),"
		" pin = coalesce(?5, pin), updated_s = max(?6, updated_s + 1),"
		" marked = CASE WHEN ?3 IS NULL OR cloud_id IS NULL THEN marked ELSE address END,"
		" updating = CASE WHEN ?3 IS NULL THEN updating ELSE 0 END"
		" WHERE cluster = ?1 AND address = ?2",
		diags, INT(cluster), TEXT(news->address), HASH(attrs), JSON(outputs),
		JSON(news->pin), INT(rg_clock_now_s()));
}

static bool resource_renew(
	RgStore *store, int64_t cluster, const RgResource *news, bool *found, RgDiags *diags)
{
	unsigned char old[HASH_BYTES], now[HASH_BYTES];
	if (!resource_find_attrs(store, cluster, news->address, old, found, diags))
		return false;
	if (!*found)
		return true;
	if (news->attrs && !blob_put(store, news->attrs, now, diags))
		return false;
	if (!update(store, cluster, news, news->attrs ? now : NULL, diags))
		return false;
	if (!lifetime_reprice(store, cluster, news->address, news->pin, diags))
		return false;
	bool changed = news->attrs && memcmp(old, now, HASH_BYTES) != 0;
	return !changed || blob_drop(store, old, diags);
}

static bool record_one(
	RgStore *store, const char *cluster, int64_t id, const RgRecordNews *news, RgDiags *diags)
{
	bool found = false;
	const RgResource values = {.address = (char *)(uintptr_t)news->address,
		.attrs = rg_json_unconst(news->attrs),
		.outputs_json = rg_json_unconst(news->outputs),
		.pin = rg_json_unconst(news->pin)};
	bool ok = resource_renew(store, id, &values, &found, diags);
	if (ok && !found)
		no_such_resource(cluster, news->address, diags);
	return ok && found &&
	       (!news->attrs || run_note(store, id, news->address, "update", "done", diags));
}

bool rg_store_record_many(
	RgStore *store, const char *cluster, const RgRecordNews *news, size_t n, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = true;
	for (size_t i = 0; i < n && ok; i++)
		ok = record_one(store, cluster, id, &news[i], diags);
	return tx_end(store, ok, diags);
}

bool rg_store_record(RgStore *store, const char *cluster, const char *address, const json_t *attrs,
	const json_t *outputs, const json_t *pin, RgDiags *diags)
{
	const RgRecordNews news = {address, attrs, outputs, pin};
	return rg_store_record_many(store, cluster, &news, 1, diags);
}

bool resource_check_settled(RgStore *store, int64_t cluster, const char *address, RgDiags *diags)
{
	Sql q = sql_with(store, "SELECT 1 FROM journal_members WHERE cluster = ?1 AND address = ?2",
		diags, INT(cluster), TEXT(address));
	bool pending = sql_next(&q);
	if (!sql_ok(&q))
		return false;
	if (!pending)
		return true;
	RgDiag *diag = rg_diags_error(
		diags, "state.moved", "an interrupted creation of %s is still open", address);
	rg_diag_address(diag, address, NULL);
	rg_diag_hint(diag, "`raygpu apply` resolves it");
	return false;
}

bool resource_adopt(RgStore *store, int64_t cluster, const RgResource *resource, RgDiags *diags)
{
	unsigned char attrs[HASH_BYTES];
	json_auto_t *nothing = json_object();
	g_autofree char *id = NULL;
	bool found;
	if (!resource_check_settled(store, cluster, resource->address, diags) ||
		!resource_find_id(store, cluster, resource->address, &found, &id, diags))
		return false;
	if (found && g_strcmp0(id, resource->id) == 0)
		return resource_renew(store, cluster, resource, &found, diags);
	if (found) {
		RgDiag *diag = rg_diags_error(diags, "state.moved", "%s is already recorded, as %s",
			resource->address, id ? id : "?");
		rg_diag_address(diag, resource->address, NULL);
		rg_diag_hint(diag, "`raygpu state mv` changes its address, `raygpu "
				   "state rm` forgets it");
		return false;
	}
	return blob_put(store, resource->attrs ? resource->attrs : nothing, attrs, diags) &&
	       resource_insert(store, cluster, resource, attrs, "adopted", diags);
}

bool rg_store_adopt(RgStore *store, const char *cluster, const RgResource *resource, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = resource_adopt(store, id, resource, diags) &&
		  run_note(store, id, resource->address, "adopt", "done", diags);
	return tx_end(store, ok, diags);
}

/* `text` sets a mark of a resource, and updated_s: from now on views of it may be old. */
static bool set_marks(RgStore *store, const char *text, const char *cluster,
	const char *const *addresses, size_t n, int64_t mark, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = true;
	for (size_t i = 0; i < n && ok; i++)
		ok = sql_do(store, text, diags, INT(id), TEXT(addresses[i]), INT(mark),
			INT(rg_clock_now_s()));
	return tx_end(store, ok, diags);
}

bool rg_store_leaving(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	bool leaving, RgDiags *diags)
{
	return set_marks(store,
		"UPDATE resources SET leaving = ?3, updated_s = max(?4, updated_s + 1)"
		" WHERE cluster = ?1 AND address = ?2",
		cluster, addresses, n, leaving, diags);
}

/* The column is 0, or one more than the number of attributes: those of an earlier update, whose end
 * was not seen either, are added. */
bool rg_store_updating(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	guint updates, RgDiags *diags)
{
	return set_marks(store,
		"UPDATE resources SET updated_s = max(?4, updated_s + 1), updating ="
		" CASE WHEN updating = 1 OR ?3 = 0 THEN 1 ELSE max(updating, 1) + ?3 END"
		" WHERE cluster = ?1 AND address = ?2",
		cluster, addresses, n, updates, diags);
}

bool rg_store_not_updating(
	RgStore *store, const char *cluster, const char *const *addresses, size_t n, RgDiags *diags)
{
	return set_marks(store,
		"UPDATE resources SET updating = ?3, updated_s = max(?4, updated_s + 1)"
		" WHERE cluster = ?1 AND address = ?2",
		cluster, addresses, n, 0, diags);
}

bool rg_store_joined(
	RgStore *store, const char *cluster, const RgJoined *joined, size_t n, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = true;
	for (size_t i = 0; i < n && ok; i++)
		ok = sql_do(store,
			     "UPDATE resources SET joined = ?3 WHERE cluster = ?1 AND address = ?2",
			     diags, INT(id), TEXT(joined[i].address), JSON(joined[i].what)) &&
		     hardware_clear(store, id, joined[i].address, diags);
	return tx_end(store, ok, diags);
}

/* Nobody has asked it to leave. */
static bool check_leaving(RgStore *store, int64_t cluster, const char *address, RgDiags *diags)
{
	Sql q = sql_with(store,
		"SELECT 1 FROM resources WHERE cluster = ?1 AND address = ?2 AND leaving = 0",
		diags, INT(cluster), TEXT(address));
	bool stays = sql_next(&q);
	if (!sql_ok(&q))
		return false;
	if (stays) {
		RgDiag *diag = rg_diags_error(diags, "state.moved",
			"%s is not being removed, so it cannot have been removed", address);
		rg_diag_address(diag, address, NULL);
		rg_diag_hint(diag, "plan again");
	}
	return !stays;
}

bool rg_store_removed(
	RgStore *store, const char *cluster, const char *const *addresses, size_t n, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = true, found;
	for (size_t i = 0; i < n && ok; i++)
		ok = check_leaving(store, id, addresses[i], diags) &&
		     resource_delete(store, id, addresses[i], END_REMOVED, &found, diags) &&
		     (!found || run_note(store, id, addresses[i], "delete", "done", diags));
	return tx_end(store, ok, diags);
}

bool rg_store_gone(
	RgStore *store, const char *cluster, const RgGone *gone, size_t n, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = true, found;
	for (size_t i = 0; i < n && ok; i++) {
		/* a secret is nowhere else */
		bool deleted = g_str_has_prefix(gone[i].address, RG_SECRET_KIND ".");
		ok = resource_gone(store, id, gone[i].address, gone[i].id, &found, diags) &&
		     (!found || run_note(store, id, gone[i].address, deleted ? "delete" : "forget",
					"done", diags));
	}
	return tx_end(store, ok, diags);
}

static bool put_secret(RgStore *store, int64_t cluster, const RgResource *secret, RgDiags *diags)
{
	unsigned char attrs[HASH_BYTES];
	bool found;
	if (!resource_renew(store, cluster, secret, &found, diags))
		return false;
	if (found)
		return true;
	int64_t attempt;
	RgResource fresh = *secret;
	return identity_read(store, cluster, secret->address, &fresh.generation, &attempt, diags) &&
	       blob_put(store, secret->attrs, attrs, diags) &&
	       resource_insert(store, cluster, &fresh, attrs, "created", diags);
}

bool rg_store_put_secret(RgStore *store, const char *cluster, const char *address,
	const json_t *attrs, const char *value, RgDiags *diags)
{
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index, id;
	bool is_address = rg_address_parse(address, &kind, &name, &index);
	g_assert(is_address);
	g_autoptr(RgResource) secret = rg_resource_new(kind, name, index);
	secret->attrs = attrs ? json_deep_copy(attrs) : json_object();
	secret->outputs_json = json_object();
	rg_json_set_str(secret->outputs_json, "value", value);
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = put_secret(store, id, secret, diags) &&
		  run_note(store, id, address, "create", "done", diags);
	return tx_end(store, ok, diags);
}

bool rg_store_forget(RgStore *store, const char *cluster, const char *address, RgDiags *diags)
{
	int64_t id;
	bool found = false;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = resource_check_settled(store, id, address, diags) &&
		  resource_delete(store, id, address, END_FORGOTTEN, &found, diags);
	if (ok && !found)
		no_such_resource(cluster, address, diags);
	ok = ok && found && run_note(store, id, address, "forget", "done", diags);
	return tx_end(store, ok, diags);
}
