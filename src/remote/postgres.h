/* PostgreSQL as a store. Private to this folder; the only header that includes libpq-fe.h. A
 * connection is in pipeline mode all the time: statements are sent without waiting, and pg_sync
 * waits for all their answers, one round trip. Statements between two pg_sync are one transaction,
 * unless one of them is BEGIN. */
#pragma once
#include "remote/common.h"
#include <libpq-fe.h>

/* As catalog/pg_type.dat has them. */
#define PG_BYTEA 17
#define PG_INT8 20
#define PG_TEXT 25

typedef enum { PG_DONE, PG_REFUSED, PG_LOST } PgOutcome;

/* In the place of an SQLSTATE: the reader of a row refused it. */
#define PG_ROW_REFUSED "XXXXX"

struct RgRemote {
	PGconn *conn;
	char *dsn;    /* the URL as libpq takes it */
	char *shown;  /* for messages */
	char *schema; /* its name */
	char *quoted; /* as an SQL identifier */
	bool writes, loopback, unverified;
	char *sslmode, *rootcert; /* in addition to the URL's; NULL: as the URL says */
	GHashTable *locks;	  /* char* cluster -> char* token in its row of "locks" */
	bool (*canceled)(void *data);
	void (*away)(void *data, unsigned left_s);
	void *data;
	char sqlstate[6]; /* of what went wrong last, "" if the server did not answer */
	char *message;
	int64_t moment; /* monotonic: when it last heard from the server */
	unsigned owed;	/* answers to pg_post, which come before all others */
};

/* connect.c */
RgRemote *pg_open(const RgRemoteOpen *how, RgDiags *diags);
void pg_close(RgRemote *pg);
bool pg_connect(RgRemote *pg); /* message and sqlstate on false */

/* reconnect.c: until the server is there again and the locks are ours as before, for half a minute
 * at most. */
bool pg_reconnect(RgRemote *pg, RgDiags *diags);

/* exchange.c. `text` has %s where the schema belongs. */
void pg_send(RgRemote *pg, const char *text, const RgCell *cells, guint n);
/* Text without %s. */
void pg_send_plain(RgRemote *pg, const char *text, const RgCell *cells, guint n);
typedef bool (*PgRows)(void *data, guint statement, const PGresult *rows);
/* `rows` is called for each statement that returns rows, with its number; false: it is refused. */
PgOutcome pg_sync(RgRemote *pg, PgRows rows, void *data);
/* Nobody waits for the answers, nor needs to know them. */
void pg_post(RgRemote *pg);
/* A single integer; *found false without a row. */
PgOutcome pg_sync_int(RgRemote *pg, bool *found, int64_t *value);
RgCell pg_cell(const PGresult *rows, int row, int column); /* borrowed */
int64_t pg_int(const PGresult *rows, int row, int column);
RgCell pg_bind_int(int64_t value);
RgCell pg_bind_text(const char *text); /* borrowed */

/* errors.c: what went wrong, under the code that fits; returns false. */
bool pg_error(const RgRemote *pg, RgDiags *diags);

/* tables.c */
bool pg_tables(RgRemote *pg, int64_t *version, char **moved_to, RgDiags *diags);
bool pg_migrate(RgRemote *pg, int64_t version, RgDiags *diags);
bool pg_mark_moved(RgRemote *pg, const char *to, RgDiags *diags);

/* load.c */
bool pg_begin(RgRemote *pg, const char *cluster, RgRemoteSeen seen, void *data, RgDiags *diags);
bool pg_load(RgRemote *pg, int64_t cluster, const RgShape *const *shapes, size_t n, unsigned parts,
	RgRemoteRow row, void *data, RgDiags *diags);
void pg_end(RgRemote *pg);

/* commit.c */
bool pg_ids(RgRemote *pg, int64_t *first, RgDiags *diags);
bool pg_commit(RgRemote *pg, const RgCommit *commit, bool *unknown, RgDiags *diags);

/* lock_take.c */
RgLockResult pg_lock(RgRemote *pg, const char *cluster, const RgHolder *holder, RgDiags *diags);

/* lock.c */
PgOutcome pg_lock_try(RgRemote *pg, const char *cluster, bool *taken);
/* All of this connection's locks of the cluster. */
void pg_lock_release(RgRemote *pg, const char *cluster);
void pg_holder(RgRemote *pg, const char *cluster, void (*told)(void *data, const RgHolder *holder),
	void *data);
bool pg_look(RgRemote *pg, const char *cluster, RgHolderSeen seen, void *data, bool *known,
	RgDiags *diags);
void pg_unlock(RgRemote *pg, const char *cluster);
int64_t pg_lock_key(const RgRemote *pg, const char *cluster);
/* After a reconnect: takes the lock again; PG_REFUSED: someone else had it. */
PgOutcome pg_lock_again(RgRemote *pg, const char *cluster, const char *token);
