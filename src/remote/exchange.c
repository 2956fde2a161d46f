/* Statements to the server and rows back, in the binary format. */
#include "remote/postgres.h"
#include "base/clock.h"
#include <poll.h>
#include <string.h>

#define SILENCE_MS 60000
#define CANCELED_MS 4000 /* a CI runner kills 10 s after a cancel */

static void set_message(RgRemote *pg, const char *sqlstate, const char *text)
{
	g_strlcpy(pg->sqlstate, sqlstate ? sqlstate : "", sizeof(pg->sqlstate));
	g_free(pg->message);
	pg->message = g_strndup(text ? text : "", text ? strcspn(text, "\n") : 0);
	g_strstrip(pg->message);
}

RgCell pg_bind_int(int64_t value)
{
	return (RgCell){.type = RG_CELL_INT, .number = value};
}

RgCell pg_bind_text(const char *text)
{
	return (RgCell){.type = text ? RG_CELL_TEXT : RG_CELL_NULL,
		.bytes = (char *)(uintptr_t)text,
		.len = text ? strlen(text) : 0};
}

typedef struct {
	Oid *types;
	const char **values;
	int *lengths, *formats;
	int64_t *numbers;
} Bound;

static int64_t to_wire(int64_t number)
{
	return (int64_t)GUINT64_TO_BE((guint64)number);
}

/* Of a text or a blob: an empty one is not a NULL of SQL. */
static const char *bytes_of(const RgCell *cell)
{
	if (cell->type == RG_CELL_NULL)
		return NULL;
	return cell->bytes ? cell->bytes : "";
}

static Bound bound_new(const RgCell *cells, guint n)
{
	static const Oid types[] = {
		[RG_CELL_NULL] = 0,
		[RG_CELL_INT] = PG_INT8,
		[RG_CELL_TEXT] = PG_TEXT,
		[RG_CELL_BLOB] = PG_BYTEA,
	};
	Bound bound = {g_new0(Oid, n + 1), g_new0(const char *, n + 1), g_new0(int, n + 1),
		g_new0(int, n + 1), g_new0(int64_t, n + 1)};
	for (guint i = 0; i < n; i++) {
		const RgCell *cell = &cells[i];
		bound.types[i] = types[cell->type];
		bound.formats[i] = 1;
		bound.numbers[i] = to_wire(cell->number);
		bool is_int = cell->type == RG_CELL_INT;
		bound.values[i] = is_int ? (const char *)&bound.numbers[i] : bytes_of(cell);
		bound.lengths[i] = is_int ? 8 : (int)cell->len;
	}
	return bound;
}

static void bound_free(Bound *bound)
{
	g_free(bound->types);
	g_free(bound->values);
	g_free(bound->lengths);
	g_free(bound->formats);
	g_free(bound->numbers);
}

void pg_send_plain(RgRemote *pg, const char *text, const RgCell *cells, guint n)
{
	if (!pg->conn)
		return; /* pg_sync says so */
	Bound bound = bound_new(cells, n);
	PQsendQueryParams(
		pg->conn, text, (int)n, bound.types, bound.values, bound.lengths, bound.formats, 1);
	bound_free(&bound);
}

void pg_send(RgRemote *pg, const char *text, const RgCell *cells, guint n)
{
	g_auto(GStrv) parts = g_strsplit(text, "%s", -1);
	g_autofree char *whole = g_strjoinv(pg->quoted, parts);
	pg_send_plain(pg, whole, cells, n);
}

static bool has_waited(const RgRemote *pg)
{
	int64_t waited = rg_clock_monotonic_ms() - pg->moment;
	return waited > SILENCE_MS || (waited > CANCELED_MS && pg->canceled(pg->data));
}

/* false: the connection is gone. */
static bool wait_for_server(RgRemote *pg)
{
	int left = PQflush(pg->conn);
	struct pollfd fd = {
		.fd = PQsocket(pg->conn), .events = (short)(left > 0 ? POLLIN | POLLOUT : POLLIN)};
	if (left < 0 || fd.fd < 0)
		return false;
	if (poll(&fd, 1, 500) > 0) {
		pg->moment = rg_clock_monotonic_ms();
		return !(fd.revents & (POLLIN | POLLERR | POLLHUP)) || PQconsumeInput(pg->conn);
	}
	if (!has_waited(pg))
		return true;
	set_message(pg, "", "the server did not answer in time");
	return false;
}

/* NULL between the answers of two statements; *lost when the connection is gone. */
static PGresult *next_result(RgRemote *pg, bool *lost)
{
	while (PQisBusy(pg->conn)) {
		if (!wait_for_server(pg)) {
			*lost = true;
			return NULL;
		}
	}
	return PQgetResult(pg->conn);
}

typedef struct {
	PgOutcome outcome;
	guint statement;
	bool synced;
} Answers;

/* Of statements that nobody waited for (pg_post). */
static void skip_result(RgRemote *pg, PGresult *result)
{
	if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
		pg->owed--;
	PQclear(result);
}

static void take_result(RgRemote *pg, Answers *answers, PGresult *result, PgRows rows, void *data)
{
	ExecStatusType status = PQresultStatus(result);
	if (status == PGRES_PIPELINE_SYNC) {
		answers->synced = true;
	} else if (status == PGRES_TUPLES_OK && answers->outcome == PG_DONE) {
		if (rows && !rows(data, answers->statement, result)) {
			answers->outcome = PG_REFUSED;
			set_message(pg, PG_ROW_REFUSED, "");
		}
	} else if (status == PGRES_FATAL_ERROR && answers->outcome == PG_DONE) {
		const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
		answers->outcome = state ? PG_REFUSED : PG_LOST;
		set_message(pg, state,
			state ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY)
			      : PQerrorMessage(pg->conn));
	}
	if (status != PGRES_PIPELINE_SYNC)
		answers->statement++;
	PQclear(result);
}

/* Class 57P: the server shuts down, or an administrator ended the connection. */
static PgOutcome check_alive(RgRemote *pg, PgOutcome outcome)
{
	bool ending = g_str_has_prefix(pg->sqlstate, "57P") || g_str_has_prefix(pg->sqlstate, "08");
	if (outcome == PG_DONE ||
		(outcome == PG_REFUSED && !ending && PQstatus(pg->conn) == CONNECTION_OK))
		return outcome;
	PQfinish(pg->conn);
	pg->conn = NULL;
	return PG_LOST;
}

PgOutcome pg_sync(RgRemote *pg, PgRows rows, void *data)
{
	if (!pg->conn)
		return PG_LOST;
	Answers answers = {PG_DONE, 0, false};
	bool lost = false;
	unsigned empty = 0;
	pg->sqlstate[0] = '\0';
	pg->moment = rg_clock_monotonic_ms();
	if (!PQpipelineSync(pg->conn))
		lost = true;
	while (!lost && !answers.synced) {
		PGresult *result = next_result(pg, &lost);
		/* one NULL follows each statement: two of them mean that nothing more comes */
		empty = result ? 0 : empty + 1;
		if (result && pg->owed > 0)
			skip_result(pg, result);
		else if (result)
			take_result(pg, &answers, result, rows, data);
		else if (empty > 1)
			lost = true;
	}
	if (lost && answers.outcome != PG_REFUSED) {
		if (!pg->message || *pg->message == '\0' || PQstatus(pg->conn) != CONNECTION_OK)
			set_message(pg, "", PQerrorMessage(pg->conn));
		answers.outcome = PG_LOST;
	} else if (lost) {
		answers.outcome = PG_LOST;
	}
	return check_alive(pg, answers.outcome);
}

void pg_post(RgRemote *pg)
{
	if (!pg->conn || !PQpipelineSync(pg->conn))
		return;
	pg->owed++;
	PQflush(pg->conn);
}

typedef struct {
	bool found;
	int64_t value;
} First;

static bool take_first(void *data, guint statement, const PGresult *rows)
{
	First *first = data;
	if (PQntuples(rows) > 0 && !PQgetisnull(rows, 0, 0)) {
		first->found = true;
		first->value = pg_int(rows, 0, 0);
	}
	return true;
}

PgOutcome pg_sync_int(RgRemote *pg, bool *found, int64_t *value)
{
	First first = {false, 0};
	PgOutcome outcome = pg_sync(pg, take_first, &first);
	*found = first.found;
	*value = first.value;
	return outcome;
}

RgCell pg_cell(const PGresult *rows, int row, int column)
{
	if (PQgetisnull(rows, row, column))
		return (RgCell){.type = RG_CELL_NULL};
	if (PQftype(rows, column) == PG_INT8)
		return pg_bind_int(pg_int(rows, row, column));
	return (RgCell){.type = PQftype(rows, column) == PG_BYTEA ? RG_CELL_BLOB : RG_CELL_TEXT,
		.bytes = PQgetvalue(rows, row, column),
		.len = (size_t)PQgetlength(rows, row, column)};
}

int64_t pg_int(const PGresult *rows, int row, int column)
{
	guint64 bytes = 0;
	if (PQgetlength(rows, row, column) == (int)sizeof(bytes))
		memcpy(&bytes, PQgetvalue(rows, row, column), sizeof(bytes));
	return (int64_t)GUINT64_FROM_BE(bytes);
}
