#include "remote/postgres.h"
#include <string.h>

typedef struct {
	const char *sqlstate; /* a prefix */
	const char *code;     /* NULL: state.unwritable or state.unreadable */
	const char *what, *hint;
} Meaning;

/* https://www.postgresql.org/docs/15/errcodes-appendix.html */
static const Meaning meanings[] = {
	{"28", "state.denied", "refused the user",
		"check user and password: PGUSER, PGPASSWORD, ~/.pgpass, or the URL of --state"},
	{"42501", "state.denied", "refused permission",
		"grant the role what raygpu-state(5) lists under PostgreSQL"},
	{"3D000", "state.unreachable", "has no such database", "create it, or correct the URL"},
	{"53100", NULL, "could not write: the disk of the server is full",
		"free some disk space on the server and run the command again; nothing recorded is "
		"lost"},
	{"53300", "state.unreachable", "has no free connection",
		"raise max_connections, use a pool in session mode, or wait"},
	{"25006", NULL, "is read-only", "use the primary server, not a replica"},
	{"42P01", "state.corrupt", "lacks a table", "restore the database from its backup"},
	{"42703", "state.corrupt", "lacks a column", "restore the database from its backup"},
	{"XX", "state.corrupt", "is damaged", "restore the database from its backup"},
};

static const Meaning *meaning_of(const RgRemote *pg)
{
	for (size_t i = 0; i < G_N_ELEMENTS(meanings); i++) {
		if (g_str_has_prefix(pg->sqlstate, meanings[i].sqlstate))
			return &meanings[i];
	}
	return NULL;
}

bool pg_error(const RgRemote *pg, RgDiags *diags)
{
	const Meaning *meaning = meaning_of(pg);
	const char *usual = pg->writes ? "state.unwritable" : "state.unreadable";
	RgDiag *diag;
	if (g_str_equal(pg->sqlstate, PG_ROW_REFUSED))
		return false; /* its reader has said why */
	if (meaning) {
		diag = rg_diags_error(diags, meaning->code ? meaning->code : usual,
			"the state \"%s\" %s", pg->shown, meaning->what);
		rg_diag_hint(diag, "%s", meaning->hint);
	} else if (pg->sqlstate[0] == '\0') {
		diag = rg_diags_error(diags, "state.unreachable",
			"the state \"%s\" could not be reached", pg->shown);
		rg_diag_hint(diag, "check the URL, the network and the server; your state is safe");
	} else {
		diag = rg_diags_error(diags, usual, "the state \"%s\" could not be %s", pg->shown,
			pg->writes ? "written" : "read");
		rg_diag_hint(diag, "check the log of the server; your state is safe");
	}
	rg_diag_detail(diag, "PostgreSQL: %s%s%s%s", pg->message, pg->sqlstate[0] ? " (" : "",
		pg->sqlstate, pg->sqlstate[0] ? ")" : "");
	return false;
}
