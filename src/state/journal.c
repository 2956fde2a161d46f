#include "base/clock.h"
#include "state/internal.h"
#include <string.h>

static RgDiag *moved(const char *address, RgDiags *diags, const char *why)
{
	RgDiag *diag = rg_diags_error(diags, "state.moved", "%s %s", address, why);
	rg_diag_address(diag, address, NULL);
	return rg_diag_hint(diag, "plan again");
}

/* Attributes of a batch are usually one object: hashed once. */
typedef struct {
	const json_t *attrs;
	unsigned char hash[HASH_BYTES];
} LastBlob;

static bool check_identity(
	RgStore *store, int64_t cluster, const char *address, const json_t *member, RgDiags *diags)
{
	int64_t generation, attempt;
	if (!identity_read(store, cluster, address, &generation, &attempt, diags))
		return false;
	int64_t wanted = rg_json_int(member, "generation", 0);
	if (wanted > generation ||
		(wanted == generation && rg_json_int(member, "attempt", 0) >= attempt))
		return true;
	moved(address, diags, "was created by another run in the meantime");
	return false;
}

static bool check_not_open(RgStore *store, int64_t cluster, const char *address, RgDiags *diags)
{
	Sql q = sql_with(store,
		"SELECT journal FROM journal_members WHERE cluster = ?1 AND address = ?2", diags,
		INT(cluster), TEXT(address));
	bool open = sql_next(&q);
	if (!sql_ok(&q))
		return false;
	if (open)
		moved(address, diags, "is being created by an open journal row already");
	return !open;
}

static bool insert_member(RgStore *store, int64_t cluster, int64_t row, size_t place,
	const json_t *member, const LastBlob *blob, RgDiags *diags)
{
	json_auto_t *body = json_copy(rg_json_unconst(member));
	json_object_del(body, "attrs");
	json_object_del(body, "gone");
	return sql_do(store,
		"INSERT INTO journal_members (cluster, address, journal, place, generation,"
		" attempt, attrs, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		diags, INT(cluster), TEXT(rg_json_str(member, "address", NULL)), INT(row),
		INT((int64_t)place), INT(rg_json_int(member, "generation", 0)),
		INT(rg_json_int(member, "attempt", 0)), HASH(blob->hash), JSON(body));
}

/* A record at the address must be of a resource that the cloud no longer has (decide.md row 7): its
 * id becomes a tombstone, because an address has only one resource. */
static bool add_member(RgStore *store, int64_t cluster, int64_t row, size_t place,
	const json_t *member, LastBlob *blob, RgDiags *diags)
{
	const char *address = rg_json_str(member, "address", NULL);
	const json_t *attrs = json_object_get(member, "attrs");
	bool found;
	g_assert(address && attrs);
	if (!check_not_open(store, cluster, address, diags) ||
		!check_identity(store, cluster, address, member, diags) ||
		!resource_gone(
			store, cluster, address, rg_json_str(member, "gone", NULL), &found, diags))
		return false;
	if (attrs != blob->attrs) {
		if (!blob_put(store, attrs, blob->hash, diags))
			return false;
		blob->attrs = attrs;
	}
	return insert_member(store, cluster, row, place, member, blob, diags);
}

bool rg_store_journal_open(RgStore *store, const char *cluster, const RgJournalRow *row,
	int64_t *row_id, RgDiags *diags)
{
	g_assert(json_array_size(row->members) > 0);
	int64_t cluster_id, id = 0;
	LastBlob blob = {0};
	json_auto_t *input = NULL;
	if (!tx_begin_cluster(store, cluster, &cluster_id, diags))
		return false;
	if (!seal_input(store, cluster_id, row->token, row->input, &input, diags))
		return tx_end(store, false, diags);
	Sql q = sql_with(store,
		"INSERT INTO journal (cluster, run, kind, token, input, started_s, id)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
		diags, INT(cluster_id), TEXT(row->run), TEXT(row->kind), TEXT(row->token),
		JSON(input), INT(row->started_s != 0 ? row->started_s : rg_clock_now_s()),
		new_row_id(store));
	bool ok = sql_first_int(q, &id);
	for (size_t i = 0; ok && i < json_array_size(row->members); i++)
		ok = add_member(
			store, cluster_id, id, i, json_array_get(row->members, i), &blob, diags);
	if (!tx_end(store, ok, diags))
		return false;
	*row_id = id;
	return true;
}

/* An open member, removed from its row. */
typedef struct {
	int64_t generation, attempt;
	unsigned char attrs[HASH_BYTES];
	json_t *body;
} Member;

static bool take_member(
	RgStore *store, int64_t row, const char *address, Member *member, RgDiags *diags)
{
	Sql q = sql_with(store,
		"DELETE FROM journal_members WHERE journal = ?1 AND address = ?2"
		" RETURNING generation, attempt, attrs, body",
		diags, INT(row), TEXT(address));
	bool found = sql_next(&q), ok = true;
	if (found) {
		member->generation = sql_column_int(&q, 0);
		member->attempt = sql_column_int(&q, 1);
		sql_column_hash(&q, 2, member->attrs);
		ok = sql_column_json(&q, 3, &member->body);
	}
	if (!sql_run(&q) || !ok)
		return false;
	if (!found)
		moved(address, diags, "is not an open member of its journal row");
	return found;
}

static bool settle_created(RgStore *store, int64_t cluster, const Member *member,
	const RgMemberOutcome *outcome, RgDiags *diags)
{
	g_autofree char *kind = NULL, *name = NULL;
	int64_t index;
	if (!outcome->id || !rg_address_parse(outcome->address, &kind, &name, &index)) {
		RgDiag *diag = rg_diags_error(diags, "provider.bad-result",
			"%s was created, but no id was given", outcome->address);
		rg_diag_address(diag, outcome->address, NULL);
		rg_diag_hint(diag, "its creation remains open: `raygpu apply` searches for it by "
				   "its ownership tags; this is a bug in the provider module");
		return false;
	}
	g_autoptr(RgResource) resource = rg_resource_new(kind, name, index);
	const json_t *body = member->body;
	resource->group = rg_json_str(body, "group", NULL);
	resource->origin = rg_json_str(body, "origin", NULL);
	resource->id = g_strdup(outcome->id);
	resource->outputs_json = json_incref(rg_json_unconst(outcome->outputs));
	resource->depends_on = rg_json_texts(json_object_get(body, "depends_on"));
	json_t *pin = json_object_get(body, "pin");
	resource->pin = json_is_null(pin) ? NULL : json_incref(pin);
	resource->joined = resource->pin ? json_object() : NULL; /* only nodes have a pin */
	resource->generation = member->generation;
	return resource_insert(store, cluster, resource, member->attrs, "created", diags);
}

static bool settle_one(RgStore *store, int64_t cluster, int64_t row, const RgMemberOutcome *outcome,
	RgDiags *diags)
{
	Member member = {0};
	bool ok = take_member(store, row, outcome->address, &member, diags);
	if (ok && outcome->created)
		ok = settle_created(store, cluster, &member, outcome, diags);
	else if (ok)
		ok = identity_raise(store, cluster, outcome->address, member.generation,
			     member.attempt + 1, diags) &&
		     blob_drop(store, member.attrs, diags);
	ok = ok && run_note_node(store, cluster, outcome->address, "create",
			   outcome->created ? "done" : "failed",
			   json_object_get(member.body, "pin"), diags);
	json_decref(member.body);
	return ok;
}

static bool check_row(RgStore *store, int64_t cluster, int64_t row, RgDiags *diags)
{
	Sql q = sql_with(store, "SELECT 1 FROM journal WHERE id = ?1 AND cluster = ?2", diags,
		INT(row), INT(cluster));
	bool found = sql_next(&q);
	if (!sql_ok(&q))
		return false;
	if (!found)
		rg_diag_hint(rg_diags_error(diags, "state.moved",
				     "journal row %" G_GINT64_FORMAT " is no longer open", row),
			"plan again");
	return found;
}

bool rg_store_journal_settle(RgStore *store, const char *cluster, int64_t row_id,
	const RgMemberOutcome *outcomes, size_t n, RgDiags *diags)
{
	int64_t id;
	if (!tx_begin_cluster(store, cluster, &id, diags))
		return false;
	bool ok = check_row(store, id, row_id, diags);
	for (size_t i = 0; ok && i < n; i++)
		ok = settle_one(store, id, row_id, &outcomes[i], diags);
	/* the input contains secrets: it is deleted (overwritten, secure_delete) with the last open
	 * member */
	ok = ok && sql_do(store,
			   "DELETE FROM journal WHERE id = ?1"
			   " AND NOT EXISTS (SELECT 1 FROM journal_members WHERE journal = ?1)",
			   diags, INT(row_id));
	return tx_end(store, ok, diags);
}

void rg_journal_row_free(RgJournalRow *row)
{
	if (!row)
		return;
	g_free(row->run);
	g_free(row->kind);
	g_free(row->token);
	json_decref(row->input);
	json_decref(row->members);
	g_free(row);
}
