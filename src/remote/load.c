/* Reading: one consistent view, all tables of a cluster in one round trip. */
#include "remote/postgres.h"
#include <string.h>

typedef struct {
	RgRemoteSeen seen;
	void *data;
} Clusters;

static bool take_clusters(void *data, guint statement, const PGresult *rows)
{
	const Clusters *clusters = data;
	for (int i = 0; i < PQntuples(rows); i++) {
		g_autofree char *name =
			g_strndup(PQgetvalue(rows, i, 1), (gsize)PQgetlength(rows, i, 1));
		clusters->seen(clusters->data, pg_int(rows, i, 0), name, pg_int(rows, i, 2));
	}
	return true;
}

static PgOutcome begin(RgRemote *pg, Clusters *clusters)
{
	pg_send_plain(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", NULL, 0);
	pg_send(pg, "SELECT id, name, serial FROM %s.clusters ORDER BY name", NULL, 0);
	return pg_sync(pg, take_clusters, clusters);
}

bool pg_begin(RgRemote *pg, const char *cluster, RgRemoteSeen seen, void *data, RgDiags *diags)
{
	Clusters clusters = {seen, data};
	PgOutcome outcome = begin(pg, &clusters);
	if (outcome == PG_LOST) {
		if (!pg_reconnect(pg, diags))
			return false;
		outcome = begin(pg, &clusters);
	}
	return outcome == PG_DONE || pg_error(pg, diags);
}

/* Rows of a table that belong to a part, NULL: none do. */
typedef struct {
	const char *table, *live, *history;
} Where;

static const Where wheres[] = {
	{"clusters", "id = $1", NULL},
	{"lifetimes", "cluster = $1 AND resource IS NOT NULL", "cluster = $1 AND resource IS NULL"},
	{"runs", "cluster = $1 AND outcome IS NULL", "cluster = $1 AND outcome IS NOT NULL"},
	{"run_changes", NULL, "run IN (SELECT seq FROM %s.runs WHERE cluster = $1)"},
	{NULL, "cluster = $1", NULL},
};

static const Where *where_of(const char *table)
{
	const Where *where = wheres;
	while (where->table && !g_str_equal(where->table, table))
		where++;
	return where;
}

static void send_select(RgRemote *pg, const RgShape *shape, const char *where, int64_t cluster)
{
	g_autofree char *columns = g_strjoinv("\", \"", shape->columns);
	g_autofree char *text =
		g_strdup_printf("SELECT \"%s\" FROM %%s.%s WHERE %s", columns, shape->name, where);
	const RgCell cell = pg_bind_int(cluster);
	pg_send(pg, text, &cell, 1);
}

typedef struct {
	const RgShape **shapes; /* of each statement */
	RgRemoteRow row;
	void *data;
} Rows;

static bool take_rows(void *data, guint statement, const PGresult *result)
{
	const Rows *rows = data;
	const RgShape *shape = rows->shapes[statement];
	g_autofree RgCell *cells = g_new0(RgCell, shape->n);
	for (int i = 0; i < PQntuples(result); i++) {
		for (guint k = 0; k < shape->n; k++)
			cells[k] = pg_cell(result, i, (int)k);
		if (!rows->row(rows->data, shape, cells))
			return false;
	}
	return true;
}

bool pg_load(RgRemote *pg, int64_t cluster, const RgShape *const *shapes, size_t n, unsigned parts,
	RgRemoteRow row, void *data, RgDiags *diags)
{
	g_autofree const RgShape **sent = g_new0(const RgShape *, 2 * n);
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		const Where *where = where_of(shapes[i]->name);
		const char *const conditions[] = {parts & RG_PART_LIVE ? where->live : NULL,
			parts & RG_PART_HISTORY ? where->history : NULL};
		for (size_t k = 0; k < 2; k++) {
			if (!conditions[k])
				continue;
			send_select(pg, shapes[i], conditions[k], cluster);
			sent[count++] = shapes[i];
		}
	}
	Rows rows = {sent, row, data};
	return pg_sync(pg, take_rows, &rows) == PG_DONE || pg_error(pg, diags);
}

void pg_end(RgRemote *pg)
{
	pg_send_plain(pg, "COMMIT", NULL, 0);
	pg_post(pg);
}
