/* Secrets of the state, sealed: {"$sealed": text} instead of a value of raygpu.secret's outputs, or
 * instead of the whole input of an open creation. Where a value belongs is bound to it, so it opens
 * nowhere else. */
#include "state/sealed.h"
#include <string.h>

#define MARK "$sealed"
#define UNSEALED_HINT                                                                              \
	"`raygpu state rekey` seals them, earlier copies and backups keep them; if they were "     \
	"sealed before, someone has replaced them: raygpu-state(5), SEALED SECRETS"

bool sealed_is_secret(const char *address)
{
	return g_str_has_prefix(address, RG_SECRET_KIND ".");
}

const char *sealed_text(const json_t *value)
{
	return json_object_size(value) == 1 ? rg_json_str(value, MARK, NULL) : NULL;
}

static json_t *sealed_new(const char *text)
{
	return json_pack("{s:s}", MARK, text);
}

static char *bound_new(const SealPlace *place, const char *what, const char *name, const char *key)
{
	json_auto_t *parts = json_pack("[s, s, s, s, s, s]", "raygpu state", place->lineage,
		place->cluster, what, name, key);
	return rg_json_canonical(parts);
}

char *sealed_bound_output(const SealPlace *place, const char *address, const char *key)
{
	return bound_new(place, "outputs", address, key);
}

/* Row numbers change when a state moves; tokens are never used twice. */
char *sealed_bound_input(const SealPlace *place, const char *token)
{
	return bound_new(place, "input", token, "");
}

void seal_place_clear(SealPlace *place)
{
	g_free(place->lineage);
	g_free(place->cluster);
	*place = (SealPlace){0};
}

bool seal_place_read(RgStore *store, int64_t cluster, SealPlace *place, RgDiags *diags)
{
	Sql q = sql_with(
		store, "SELECT lineage, name FROM clusters WHERE id = ?1", diags, INT(cluster));
	if (sql_next(&q)) {
		place->lineage = g_strdup(sql_column_text(&q, 0));
		place->cluster = g_strdup(sql_column_text(&q, 1));
	}
	return sql_ok(&q) && (place->cluster || sql_corrupt(store, "a cluster is missing", diags));
}

/* ---- opening */

RgSealResult sealed_open(
	const RgStore *store, const char *text, const char *bound, json_t **value, RgDiags *diags)
{
	char *opened = NULL;
	RgSealResult result = rg_seal_open(store->keys, text, bound, &opened);
	if (result == RG_SEAL_OPENED) {
		g_autoptr(RgDiags) unused = rg_diags_new(); /* it would quote the secret */
		*value = rg_json_parse(opened, strlen(opened), "a value", "state.corrupt", unused);
		rg_secret_wipe(opened);
		if (!*value)
			result = RG_SEAL_DAMAGED;
	}
	if (result == RG_SEAL_DAMAGED)
		sql_corrupt(store,
			"a sealed secret is not what was written, or it belongs elsewhere", diags);
	return result;
}

static void note_shut(Unsealer *unsealer, const char *text)
{
	if (unsealer->shut++ == 0)
		unsealer->id = rg_seal_id(text);
}

bool unseal_outputs(Unsealer *unsealer, const char *address, json_t *outputs)
{
	const char *key;
	void *next;
	json_t *value;
	json_object_foreach_safe (outputs, next, key, value) {
		const char *text = sealed_text(value);
		unsealer->clear += !text;
		if (!text)
			continue;
		json_t *opened = NULL;
		g_autofree char *bound = sealed_bound_output(&unsealer->place, address, key);
		RgSealResult result =
			sealed_open(unsealer->store, text, bound, &opened, unsealer->diags);
		if (result == RG_SEAL_DAMAGED)
			return false;
		if (result == RG_SEAL_NO_KEY)
			note_shut(unsealer, text);
		if (opened)
			json_object_set_new(outputs, key, opened);
	}
	return true;
}

bool unseal_input(Unsealer *unsealer, const char *token, json_t **input)
{
	json_auto_t *was = *input;
	const char *text = sealed_text(was);
	unsealer->clear += !text;
	*input = text ? json_object() : json_incref(was);
	if (!text)
		return true;
	json_t *opened = NULL;
	g_autofree char *bound = sealed_bound_input(&unsealer->place, token);
	RgSealResult result = sealed_open(unsealer->store, text, bound, &opened, unsealer->diags);
	if (result == RG_SEAL_NO_KEY)
		note_shut(unsealer, text);
	if (opened) {
		json_decref(*input);
		*input = opened;
	}
	return result != RG_SEAL_DAMAGED;
}

/* ---- sealing */

json_t *sealed_value(const RgStore *store, const json_t *value, const char *bound)
{
	char *text = rg_json_canonical(value);
	g_autofree char *sealed = rg_seal(store->keys, text, bound);
	rg_secret_wipe(text);
	return sealed_new(sealed);
}

static bool is_sealed(RgStore *store, int64_t cluster, char **id, RgDiags *diags)
{
	/* In JSON text, a quote of a value is escaped: this is a key. */
	Sql q = sql_with(store,
		"SELECT substr(outputs, instr(outputs, '{\"" MARK "\":\"') + 12, 16) FROM resources"
		" WHERE cluster = ?1 AND address >= '" RG_SECRET_KIND ".' AND address <"
		" '" RG_SECRET_KIND "/' AND instr(outputs, '{\"" MARK "\":\"') > 0"
		" UNION ALL SELECT substr(input, 13, 16) FROM journal"
		" WHERE cluster = ?1 AND substr(input, 1, 12) = '{\"" MARK "\":\"'",
		diags, INT(cluster));
	*id = sql_next(&q) ? g_strdup(sql_column_text(&q, 0)) : NULL;
	return sql_ok(&q);
}

/* Who has sealed a state does not want secrets in it that are not. */
static bool refuse_clear(RgStore *store, int64_t cluster, RgDiags *diags)
{
	g_autofree char *id = NULL;
	if (!is_sealed(store, cluster, &id, diags))
		return false;
	if (!id)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.sealed",
		"the state \"%s\" is sealed with the key %s, and a secret would be written without "
		"a key",
		store->shown, id);
	rg_diag_hint(diag, SEALED_HINT);
	return false;
}

static json_t *seal_members(
	const RgStore *store, const SealPlace *place, const char *address, const json_t *outputs)
{
	json_t *all = json_object();
	rg_json_foreach_member (key, value, outputs) {
		g_autofree char *bound = sealed_bound_output(place, address, key);
		json_object_set_new(all, key,
			sealed_text(value) ? json_incref(value)
					   : sealed_value(store, value, bound));
	}
	return all;
}

static bool has_clear(const json_t *outputs)
{
	rg_json_foreach_member (key, value, outputs) {
		if (!sealed_text(value))
			return true;
	}
	return false;
}

bool seal_outputs(RgStore *store, int64_t cluster, const char *address, const json_t *outputs,
	json_t **written, RgDiags *diags)
{
	*written = json_incref(rg_json_unconst(outputs));
	if (!sealed_is_secret(address) || !has_clear(outputs))
		return true;
	if (!rg_keys_id(store->keys))
		return refuse_clear(store, cluster, diags);
	g_auto(SealPlace) place = {0};
	if (!seal_place_read(store, cluster, &place, diags))
		return false;
	json_decref(*written);
	*written = seal_members(store, &place, address, outputs);
	return true;
}

bool seal_input(RgStore *store, int64_t cluster, const char *token, const json_t *input,
	json_t **written, RgDiags *diags)
{
	*written = NULL;
	if (!rg_keys_id(store->keys)) {
		*written = json_incref(rg_json_unconst(input));
		return refuse_clear(store, cluster, diags);
	}
	g_auto(SealPlace) place = {0};
	if (!seal_place_read(store, cluster, &place, diags))
		return false;
	g_autofree char *bound = sealed_bound_input(&place, token);
	*written = sealed_value(store, input, bound);
	return true;
}

/* ---- what people read */

void rg_store_set_keys(RgStore *store, const RgKeys *keys)
{
	store->keys = keys;
}

/* What is missing: any key, or the right one. */
void sealed_explain(RgDiag *diag, const RgStore *store, const char *id)
{
	g_autofree char *given = rg_keys_ids(store->keys);
	if (*given)
		rg_diag_detail(diag, "sealed with the key %s; given: %s", id ? id : "?", given);
	else
		rg_diag_detail(diag, "sealed with the key %s; no key is given", id ? id : "?");
	rg_diag_hint(diag, SEALED_HINT);
}

static void tell_shut(const Unsealer *unsealer)
{
	bool wrong = unsealer->store->keys && *unsealer->id;
	RgDiag *diag = (wrong ? rg_diags_warning : rg_diags_note)(unsealer->diags, "state.sealed",
		"%zu secret%s of cluster %s can't be read or shown: %s", unsealer->shut,
		unsealer->shut == 1 ? "" : "s", unsealer->place.cluster,
		wrong ? "the key is another one" : "no key is given");
	sealed_explain(diag, unsealer->store, unsealer->id);
}

static void tell_clear(const Unsealer *unsealer)
{
	RgDiag *diag = rg_diags_note(unsealer->diags, "state.unsealed",
		"%zu secret%s of cluster %s %s not sealed, although a key is given",
		unsealer->clear, unsealer->clear == 1 ? "" : "s", unsealer->place.cluster,
		unsealer->clear == 1 ? "is" : "are");
	rg_diag_hint(diag, UNSEALED_HINT);
}

void unseal_end(Unsealer *unsealer)
{
	RgStore *store = unsealer->store;
	const char *cluster = unsealer->place.cluster;
	if (!store->told)
		store->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	bool clear = unsealer->clear > 0 && rg_keys_id(store->keys);
	if ((unsealer->shut > 0 || clear) && g_hash_table_add(store->told, g_strdup(cluster))) {
		if (unsealer->shut > 0)
			tell_shut(unsealer);
		if (clear)
			tell_clear(unsealer);
	}
}

bool rg_snapshot_refuse_sealed(const RgSnapshot *snapshot, const char *what, RgDiags *diags)
{
	if (!snapshot->sealed)
		return false;
	RgDiag *diag = rg_diags_error(diags, "state.sealed",
		"%s needs secrets of cluster %s that are sealed with the key %s", what,
		snapshot->cluster, snapshot->sealed);
	rg_diag_hint(diag, SEALED_HINT);
	return true;
}

bool rg_snapshot_refuse_secrets(const RgSnapshot *snapshot, const char *what, RgDiags *diags)
{
	if (rg_snapshot_refuse_sealed(snapshot, what, diags))
		return true;
	if (!snapshot->clear)
		return false;
	RgDiag *diag = rg_diags_error(diags, "state.unsealed",
		"%s needs secrets of cluster %s, of which %zu %s not sealed although a key is "
		"given",
		what, snapshot->cluster, snapshot->clear, snapshot->clear == 1 ? "is" : "are");
	rg_diag_hint(diag, UNSEALED_HINT);
	return true;
}
