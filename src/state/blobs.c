#include "state/internal.h"

/* The name of a blob is the SHA-256 of its canonical text, so equal attributes are one row. */
bool blob_put(RgStore *store, const json_t *value, unsigned char *hash, RgDiags *diags)
{
	g_autofree char *text = rg_json_canonical(value);
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	gsize len = HASH_BYTES;
	g_checksum_update(sum, (const guchar *)text, -1);
	g_checksum_get_digest(sum, hash, &len);
	Sql q = sql_new(store,
		"INSERT INTO blobs (sha256, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING", diags);
	sql_hash(&q, hash);
	sql_text(&q, text);
	return sql_run(&q);
}

bool blob_drop(RgStore *store, const unsigned char *hash, RgDiags *diags)
{
	Sql q = sql_new(store,
		"DELETE FROM blobs WHERE sha256 = ?1"
		" AND NOT EXISTS (SELECT 1 FROM resources WHERE attrs = ?1)"
		" AND NOT EXISTS (SELECT 1 FROM journal_members WHERE attrs = ?1)",
		diags);
	sql_hash(&q, hash);
	return sql_run(&q);
}
