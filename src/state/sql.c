#include "state/internal.h"
#include <string.h>

#define CORRUPT_HINT                                                                               \
	"keep the file; restore a copy (PATH.vN.bak, a backup, the CI cache), or create a new "    \
	"one "                                                                                     \
	"with `raygpu state rebuild`; nothing was changed in the cloud"

void store_check_thread(const RgStore *store)
{
#ifndef NDEBUG
	g_assert(pthread_equal(store->owner, pthread_self()));
#endif
}

void store_check_writer(const RgStore *store, const char *cluster)
{
	store_check_thread(store);
#ifndef NDEBUG
	g_assert(store->mode == RG_STORE_WRITE);
	g_assert(!cluster || g_hash_table_contains(store->locked, cluster));
#endif
}

/* Statements live as long as the handle: a change needs no parsing after the first. */
static sqlite3_stmt *statement_get(RgStore *store, const char *text, int *rc)
{
	sqlite3_stmt *statement = g_hash_table_lookup(store->statements, text);
	*rc = SQLITE_OK;
	if (statement)
		return statement;
	*rc = sqlite3_prepare_v3(store->db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
	if (*rc == SQLITE_OK)
		g_hash_table_insert(store->statements, (void *)(uintptr_t)text, statement);
	return statement;
}

void sql_forget_statements(RgStore *store)
{
	g_hash_table_remove_all(store->statements);
}

Sql sql_new(RgStore *store, const char *text, RgDiags *diags)
{
	Sql q = {.store = store, .diags = diags};
	q.statement = statement_get(store, text, &q.rc);
	return q;
}

static int bind_text(Sql *q, const char *text)
{
	return sqlite3_bind_text(q->statement, q->bound, text, -1, SQLITE_STATIC);
}

static int bind_json(Sql *q, const json_t *value)
{
	char *text = value ? rg_json_canonical(value) : NULL;
	if (text) {
		if (!q->texts)
			q->texts = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(q->texts, text);
	}
	return bind_text(q, text);
}

static int bind_value(Sql *q, const SqlValue *value)
{
	q->bound++;
	switch (value->type) {
	case SQL_INT:
		return sqlite3_bind_int64(q->statement, q->bound, value->number);
	case SQL_TEXT:
		return bind_text(q, value->text);
	case SQL_JSON:
		return bind_json(q, value->json);
	case SQL_HASH:
		return sqlite3_bind_blob(
			q->statement, q->bound, value->hash, HASH_BYTES, SQLITE_STATIC);
	case SQL_END:
	default:
		return SQLITE_MISUSE;
	}
}

void sql_bind(Sql *q, const SqlValue *value)
{
	if (q->statement && q->rc == SQLITE_OK)
		q->rc = bind_value(q, value);
}

Sql sql_bound(RgStore *store, const char *text, RgDiags *diags, const SqlValue *values)
{
	Sql q = sql_new(store, text, diags);
	for (; values->type != SQL_END; values++)
		sql_bind(&q, values);
	return q;
}

bool sql_do_bound(RgStore *store, const char *text, RgDiags *diags, const SqlValue *values)
{
	Sql q = sql_bound(store, text, diags, values);
	return sql_run(&q);
}

bool sql_next(Sql *q)
{
	if (!q->statement || (q->rc != SQLITE_OK && q->rc != SQLITE_ROW))
		return false;
	q->rc = sqlite3_step(q->statement);
	return q->rc == SQLITE_ROW;
}

void sql_end(Sql *q)
{
	if (q->statement) {
		sqlite3_reset(q->statement);
		sqlite3_clear_bindings(q->statement);
		q->statement = NULL;
	}
	g_clear_pointer(&q->texts, g_ptr_array_unref);
}

bool sql_ok(Sql *q)
{
	bool ok = q->rc == SQLITE_OK || q->rc == SQLITE_ROW || q->rc == SQLITE_DONE;
	if (!ok)
		sql_error(q->store, q->rc, q->diags);
	sql_end(q);
	return ok;
}

bool sql_run(Sql *q)
{
	while (sql_next(q))
		;
	return sql_ok(q);
}

bool sql_first_int(Sql q, int64_t *value)
{
	if (sql_next(&q))
		*value = sql_column_int(&q, 0);
	return sql_run(&q);
}

const char *sql_column_text(Sql *q, int column)
{
	return (const char *)sqlite3_column_text(q->statement, column);
}

bool sql_column_is_null(Sql *q, int column)
{
	return sqlite3_column_type(q->statement, column) == SQLITE_NULL;
}

int64_t sql_column_int(Sql *q, int column)
{
	return sqlite3_column_int64(q->statement, column);
}

json_t *sql_column_number(Sql *q, int column)
{
	return sqlite3_column_type(q->statement, column) == SQLITE_NULL
		       ? json_null()
		       : json_integer(sql_column_int(q, column));
}

void sql_column_hash(Sql *q, int column, unsigned char *hash)
{
	const void *bytes = sqlite3_column_blob(q->statement, column);
	memset(hash, 0, HASH_BYTES);
	if (bytes && sqlite3_column_bytes(q->statement, column) == HASH_BYTES)
		memcpy(hash, bytes, HASH_BYTES);
}

bool sql_corrupt(const RgStore *store, const char *what, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "state.corrupt", "the state \"%s\" is damaged: %s", store->shown, what);
	rg_diag_hint(diag, CORRUPT_HINT);
	return false;
}

/* The parser's own message quotes the text, which may be a secret. */
bool sql_column_json(Sql *q, int column, json_t **value)
{
	const char *text = sql_column_text(q, column);
	*value = NULL;
	if (!text)
		return true;
	g_autoptr(RgDiags) unused = rg_diags_new();
	size_t len = (size_t)sqlite3_column_bytes(q->statement, column);
	*value = rg_json_parse(text, len, "a value", "state.corrupt", unused);
	return *value || sql_corrupt(q->store, "a value of it is not valid JSON", q->diags);
}

typedef struct {
	const char *code, *summary, *hint;
} Meaning;

static Meaning unusable(const RgStore *store, const char *why, const char *hint)
{
	return store->mode == RG_STORE_WRITE ? (Meaning){"state.unwritable", why, hint}
					     : (Meaning){"state.unreadable", why, hint};
}

static Meaning meaning_of(const RgStore *store, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOTADB:
		return (Meaning){"state.not-a-state", "is not a raygpu state",
			"select the right file with --state or RAYGPU_STATE"};
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return (Meaning){"state.locked", "is held by another program",
			"wait until it has ended, then run the command again"};
	case SQLITE_FULL:
		return unusable(store, "could not be written: no space left",
			"free some disk space and run the command again; your state is safe");
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return unusable(store,
			store->mode == RG_STORE_WRITE ? "could not be written"
						      : "could not be read",
			"the file and its folder must be writable (SQLite keeps its journal beside "
			"the file)");
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return unusable(store,
			store->mode == RG_STORE_WRITE ? "could not be written"
						      : "could not be read",
			"check the disk and the permissions of the file and its folder; nothing "
			"recorded is lost");
	case SQLITE_NOMEM:
		return unusable(store, "needs more memory than is available", NULL);
	default:
		return (Meaning){"state.corrupt", "is damaged", CORRUPT_HINT};
	}
}

void sql_error(RgStore *store, int rc, RgDiags *diags)
{
	Meaning meaning = meaning_of(store, rc);
	RgDiag *diag = rg_diags_error(
		diags, meaning.code, "the state \"%s\" %s", store->shown, meaning.summary);
	int extended = store->db ? sqlite3_extended_errcode(store->db) : rc;
	const char *text = store->db && (extended & 0xff) == (rc & 0xff) ? sqlite3_errmsg(store->db)
									 : sqlite3_errstr(rc);
	rg_diag_detail(diag, "SQLite: %s (%d)", text, extended);
	if (meaning.hint)
		rg_diag_hint(diag, "%s", meaning.hint);
}

int64_t sql_last_id(const RgStore *store)
{
	return sqlite3_last_insert_rowid(store->db);
}
