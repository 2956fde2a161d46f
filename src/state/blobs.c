#include "state/internal.h"
#include <string.h>

static void hash_text(const char *text, unsigned char *hash)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	gsize len = HASH_BYTES;
	g_checksum_update(sum, (const guchar *)text, -1);
	g_checksum_get_digest(sum, hash, &len);
}

/* A blob is named by the SHA-256 of its canonical text, so equal attributes are one row. */
bool blob_put(RgStore *store, const json_t *value, unsigned char *hash, RgDiags *diags)
{
	g_autofree char *text = rg_json_canonical(value);
	hash_text(text, hash);
	return sql_do(store,
		"INSERT INTO blobs (sha256, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING", diags,
		HASH(hash), TEXT(text));
}

static bool check_text(Sql *q, int column, const unsigned char *hash)
{
	unsigned char found[HASH_BYTES];
	const char *text = sql_column_text(q, column);
	hash_text(text ? text : "", found);
	return memcmp(found, hash, HASH_BYTES) == 0 ||
	       sql_corrupt(q->store, "attributes of a resource are not what was written", q->diags);
}

bool blob_get(RgStore *store, const unsigned char *hash, json_t **value, RgDiags *diags)
{
	Sql q = sql_with(store, "SELECT bytes FROM blobs WHERE sha256 = ?1", diags, HASH(hash));
	bool found = sql_next(&q);
	bool ok = !found || (check_text(&q, 0, hash) && sql_column_json(&q, 0, value));
	if (!sql_ok(&q) || !ok)
		return false;
	return found || sql_corrupt(store, "attributes of a resource are missing", diags);
}

bool blobs_check(RgStore *store, RgDiags *diags)
{
	Sql q = sql_new(store, "SELECT sha256, bytes FROM blobs", diags);
	bool ok = true;
	while (ok && sql_next(&q)) {
		unsigned char hash[HASH_BYTES];
		sql_column_hash(&q, 0, hash);
		ok = check_text(&q, 1, hash);
	}
	return sql_ok(&q) && ok;
}

bool blob_drop(RgStore *store, const unsigned char *hash, RgDiags *diags)
{
	return sql_do(store,
		"DELETE FROM blobs WHERE sha256 = ?1"
		" AND NOT EXISTS (SELECT 1 FROM resources WHERE attrs = ?1)"
		" AND NOT EXISTS (SELECT 1 FROM journal_members WHERE attrs = ?1)",
		diags, HASH(hash));
}

bool blobs_purge(RgStore *store, RgDiags *diags)
{
	Sql q = sql_new(store,
		"DELETE FROM blobs WHERE NOT EXISTS (SELECT 1 FROM resources WHERE attrs = sha256)"
		" AND NOT EXISTS (SELECT 1 FROM journal_members WHERE attrs = sha256)",
		diags);
	return sql_run(&q);
}
