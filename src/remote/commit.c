/* Writing: a transaction of the copy is one transaction here, sent in one round trip. It starts
 * with its guards: each cluster still has the serial that the copy has, and this connection its
 * lock. */
#include "remote/postgres.h"
#include <string.h>

#define PARAMETERS_MAX 60000 /* the protocol: 65535 */
#define ROWS_MAX 500
#define TRIES 3

/* Division by zero: the only way to refuse in plain SQL. */
#define UNLESS_HELD                                                                                \
	" EXISTS (SELECT 1 FROM %s.locks WHERE cluster = $1 AND token = $2) AND EXISTS (SELECT 1"  \
	" FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"         \
	" AND granted AND classid::bigint = $3 AND (objsubid = 2 OR objid::bigint = $4))"

static void send_guard(RgRemote *pg, const RgGuard *guard)
{
	guint64 key = (guint64)pg_lock_key(pg, guard->name);
	const char *token = g_hash_table_lookup(pg->locks, guard->name);
	const RgCell cells[] = {pg_bind_text(guard->name), pg_bind_text(token ? token : ""),
		pg_bind_int((int64_t)(key >> 32)), pg_bind_int((int64_t)(key & 0xffffffff)),
		pg_bind_int(guard->id), pg_bind_int(guard->before)};
	if (guard->before == 0) /* the row of "state": see pg_mark_moved */
		pg_send(pg,
			"SELECT 1 / count(*) FROM (SELECT 1 FROM %s.state WHERE moved_to IS NULL"
			" AND" UNLESS_HELD " FOR SHARE) AS held",
			cells, 4);
	else
		pg_send(pg,
			"SELECT 1 / count(*) FROM (SELECT 1 FROM %s.clusters WHERE id = $5"
			" AND serial = $6 AND" UNLESS_HELD " FOR UPDATE) AS held",
			cells, G_N_ELEMENTS(cells));
}

/* ---- rows */

typedef struct {
	GString *text;
	GArray *cells; /* RgCell, borrowed */
} Statement;

static void statement_start(Statement *statement, const char *text)
{
	g_string_assign(statement->text, text);
	g_array_set_size(statement->cells, 0);
}

/* NULL is written as such: it needs no type. */
static void add_value(Statement *statement, const RgCell *cell)
{
	if (cell->type == RG_CELL_NULL) {
		g_string_append(statement->text, "NULL");
		return;
	}
	g_array_append_val(statement->cells, *cell);
	g_string_append_printf(statement->text, "$%u", statement->cells->len);
}

static void add_keys(Statement *statement, const RgShape *shape, const RgCell *cells)
{
	for (guint i = 0; i < shape->keys->len; i++) {
		guint key = g_array_index(shape->keys, guint, i);
		g_string_append_printf(statement->text, "%s\"%s\" = ", i == 0 ? " WHERE " : " AND ",
			shape->columns[key]);
		add_value(statement, &cells[key]);
	}
}

static void send_statement(RgRemote *pg, const Statement *statement)
{
	pg_send_plain(pg, statement->text->str,
		(const RgCell *)(gconstpointer)statement->cells->data, statement->cells->len);
}

static void send_delete(RgRemote *pg, Statement *statement, const RgRowChange *change)
{
	statement_start(statement, "DELETE FROM ");
	g_string_append_printf(statement->text, "%s.%s", pg->quoted, change->shape->name);
	add_keys(statement, change->shape, change->before);
	send_statement(pg, statement);
}

static bool same(const RgCell *a, const RgCell *b)
{
	return a->type == b->type && a->number == b->number && a->len == b->len &&
	       (a->len == 0 || memcmp(a->bytes, b->bytes, a->len) == 0);
}

/* Only what differs. */
static void send_update(RgRemote *pg, Statement *statement, const RgRowChange *change)
{
	const RgShape *shape = change->shape;
	bool any = false;
	statement_start(statement, "UPDATE ");
	g_string_append_printf(statement->text, "%s.%s SET ", pg->quoted, shape->name);
	for (guint i = 0; i < shape->n; i++) {
		if (same(&change->before[i], &change->after[i]))
			continue;
		g_string_append_printf(
			statement->text, "%s\"%s\" = ", any ? ", " : "", shape->columns[i]);
		add_value(statement, &change->after[i]);
		any = true;
	}
	add_keys(statement, shape, change->after);
	if (any)
		send_statement(pg, statement);
}

static void start_insert(const RgRemote *pg, Statement *statement, const RgShape *shape)
{
	g_autofree char *columns = g_strjoinv("\", \"", shape->columns);
	statement_start(statement, "INSERT INTO ");
	g_string_append_printf(
		statement->text, "%s.%s (\"%s\") VALUES ", pg->quoted, shape->name, columns);
}

static void add_row(Statement *statement, const RgRowChange *change, guint row)
{
	g_string_append(statement->text, row == 0 ? "(" : ", (");
	for (guint i = 0; i < change->shape->n; i++) {
		if (i > 0)
			g_string_append(statement->text, ", ");
		add_value(statement, &change->after[i]);
	}
	g_string_append_c(statement->text, ')');
}

/* New rows of a table go together. */
static void send_inserts(
	RgRemote *pg, Statement *statement, const GPtrArray *changes, const RgShape *shape)
{
	guint rows = 0, most = MIN(ROWS_MAX, PARAMETERS_MAX / shape->n);
	rg_ptr_foreach (const RgRowChange, change, changes) {
		if (change->shape != shape || change->before || !change->after)
			continue;
		if (rows == 0)
			start_insert(pg, statement, shape);
		add_row(statement, change, rows++);
		if (rows == most) {
			send_statement(pg, statement);
			rows = 0;
		}
	}
	if (rows > 0)
		send_statement(pg, statement);
}

static void send_all_inserts(RgRemote *pg, Statement *statement, const GPtrArray *changes)
{
	g_autoptr(GPtrArray) done = g_ptr_array_new();
	rg_ptr_foreach (const RgRowChange, change, changes) {
		if (g_ptr_array_find(done, change->shape, NULL))
			continue;
		g_ptr_array_add(done, (gpointer)(uintptr_t)change->shape);
		send_inserts(pg, statement, changes, change->shape);
	}
}

static PgOutcome send_commit(RgRemote *pg, const RgCommit *commit)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(RgCell));
	Statement statement = {text, cells};
	for (guint i = 0; i < commit->guards->len; i++)
		send_guard(pg, &g_array_index(commit->guards, RgGuard, i));
	rg_ptr_foreach (const RgRowChange, change, commit->changes) {
		if (!change->after)
			send_delete(pg, &statement, change);
		else if (change->before)
			send_update(pg, &statement, change);
	}
	send_all_inserts(pg, &statement, commit->changes);
	return pg_sync(pg, NULL, NULL);
}

/* ---- when the answer is lost */

typedef enum { FATE_DONE, FATE_NOT_DONE, FATE_OTHER } Fate;

static PgOutcome read_serial(RgRemote *pg, const RgGuard *guard, int64_t *serial)
{
	const RgCell id = pg_bind_int(guard->id);
	bool found;
	pg_send(pg, "SELECT serial FROM %s.clusters WHERE id = $1", &id, 1);
	return pg_sync_int(pg, &found, serial);
}

/* The locks are ours as before, so nobody else has written. */
static PgOutcome find_fate(RgRemote *pg, const RgCommit *commit, Fate *fate)
{
	const RgGuard *guard = &g_array_index(commit->guards, RgGuard, 0);
	int64_t serial = 0;
	PgOutcome outcome = read_serial(pg, guard, &serial);
	*fate = serial == guard->after	  ? FATE_DONE
		: serial == guard->before ? FATE_NOT_DONE
					  : FATE_OTHER;
	return outcome;
}

static bool refused(RgRemote *pg, const RgCommit *commit, RgDiags *diags)
{
	if (g_str_equal(pg->sqlstate, "22012"))
		return rg_remote_lost_lock(
			pg->shown, g_array_index(commit->guards, RgGuard, 0).name, diags);
	return pg_error(pg, diags);
}

static bool is_passing(const RgRemote *pg)
{
	return g_str_equal(pg->sqlstate, "40001") || g_str_equal(pg->sqlstate, "40P01");
}

bool pg_commit(RgRemote *pg, const RgCommit *commit, bool *unknown, RgDiags *diags)
{
	g_assert(commit->guards->len > 0);
	for (unsigned tries = 1;; tries++) {
		PgOutcome outcome = send_commit(pg, commit);
		Fate fate = FATE_NOT_DONE;
		if (outcome == PG_DONE)
			return true;
		if (outcome == PG_REFUSED && !(is_passing(pg) && tries < TRIES))
			return refused(pg, commit, diags);
		if (outcome == PG_REFUSED)
			continue;
		*unknown = true;
		if (!pg_reconnect(pg, diags))
			return false;
		if (find_fate(pg, commit, &fate) != PG_DONE || tries == TRIES)
			return pg_error(pg, diags);
		*unknown = false;
		if (fate == FATE_DONE)
			return true;
		if (fate == FATE_OTHER)
			return rg_remote_lost_lock(
				pg->shown, g_array_index(commit->guards, RgGuard, 0).name, diags);
	}
}

bool pg_ids(RgRemote *pg, int64_t *first, RgDiags *diags)
{
	g_autofree char *sequence = g_strconcat(pg->quoted, ".ids", NULL);
	const RgCell name = pg_bind_text(sequence);
	bool found = false;
	for (unsigned tries = 1;; tries++) {
		pg_send_plain(pg, "SELECT nextval($1::text::regclass)", &name, 1);
		PgOutcome outcome = pg_sync_int(pg, &found, first);
		if (outcome == PG_DONE)
			return true;
		if (outcome == PG_REFUSED || tries == TRIES)
			return pg_error(pg, diags);
		if (!pg_reconnect(pg, diags))
			return false;
	}
}
