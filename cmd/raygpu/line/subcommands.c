#include "command.h"
#include <string.h>

/* In the order in which -h lists them, one command after the other. */
static const Subcommand subcommands[] = {
	{"catalog", "check", "FILE", "check the catalog of a project file",
		"Checks the rows of all providers, and warns about prices and types that are\n"
		"probably wrong. Exit code 4 if a row is invalid.",
		""},
	{"providers", "list", "", "list the provider modules that are found", NULL, ""},
	{"providers", "check", "FILE", "test a module",
		"Loads FILE, a module, and makes the calls that raygpu makes, with valid and\n"
		"with invalid input. With --region it creates a head and two workers there and\n"
		"removes them again: use an account that is meant for tests. Exit code 1 when a\n"
		"step failed.",
		"region endpoint config type wait"},
	{"state", "list", "", "list the addresses that the state records", NULL, "cluster"},
	{"state", "show", "[ADDRESS | POOL]", "show one record, those of a pool, or all", NULL,
		"cluster"},
	{"state", "rm", "ADDRESS...", "forget records; the resources stay in the cloud",
		"The resources keep their ownership tags, so `raygpu drift` reports them as\n"
		"unmanaged. `raygpu import` records them again.",
		"cluster lock-timeout"},
	{"state", "mv", "SRC DST", "change the address of a record, or of a whole pool",
		"Both are KIND.NAME[INDEX], or KIND.NAME for all nodes of a pool. To rename a\n"
		"pool without replacing its nodes, move it and change its name in the spec.\n"
		"The cloud is not called; the next apply updates the ownership tags.",
		"cluster lock-timeout dry-run"},
	{"state", "hardware", "", "list GPUs that failed in the last 30 days", NULL, "cluster"},
	{"state", "forget-hardware", "GPU...", "use a GPU again that failed",
		"GPU is a UUID or a serial number, as `raygpu state hardware` lists them.",
		"cluster lock-timeout"},
	{"state", "pull", "", "write the state as a JSON document",
		"All clusters, or the one that --cluster names. The document contains the Ray\n"
		"token, sealed if the state has it sealed, unless --redact is given.",
		"cluster out redact"},
	{"state", "push", "FILE", "replace the state with such a document",
		"FILE may be -, standard input. The whole document is checked first; the "
		"previous\nstate is kept beside it. Clusters that are not in the document are\nnot "
		"changed.",
		"lock-timeout dry-run force"},
	{"state", "migrate", "FROM TO", "move all clusters to another state",
		"FROM and TO are files or URLs. The copy is compared with the original, row for\n"
		"row; then FROM is marked as moved, and refused from then on. If it is\n"
		"interrupted, run it again.",
		"lock-timeout dry-run"},
	{"state", "rekey", "", "seal all secrets of the state with the current key",
		"The key is RAYGPU_STATE_KEY, RAYGPU_STATE_KEY_OLD has the one before. All\n"
		"clusters, or the one that --cluster names. If it is interrupted, run it again.",
		"cluster lock-timeout unseal"},
	{"state", "orphans", "", "list resources of the cluster that are not recorded",
		"Searches the cloud for everything that has the cluster's ownership tags.",
		"cluster"},
	{"state", "rebuild", "[SPEC]", "rebuild a lost state from the cloud and the spec",
		"Records everything that has the cluster's ownership tags. Changes nothing in\nthe "
		"cloud.",
		"lock-timeout lineage ray-token-file"},
	{"state", "unlock", "ID", "end the lock of a run that is dead",
		"Only for states in buckets and behind HTTP: other locks end with their process.\n"
		"The error state.locked shows the id, and who holds the lock. A run that is not\n"
		"dead can write nothing more to the state, and stops.",
		""},
	{NULL, NULL, NULL, NULL, NULL, NULL},
};

const Subcommand *subcommand_find(const char *command, const char *name)
{
	for (const Subcommand *sub = subcommands; sub->command; sub++) {
		if (g_str_equal(sub->command, command) && (!name || g_str_equal(sub->name, name)))
			return sub;
	}
	return NULL;
}

bool subcommand_has_option(const Subcommand *sub, const char *option)
{
	g_auto(GStrv) options = g_strsplit(sub->options, " ", -1);
	return g_strv_contains((const char *const *)options, option);
}

void subcommand_unknown(Context *context, const char *command, const char *name)
{
	const char *names[G_N_ELEMENTS(subcommands)] = {0};
	const Subcommand *sub = subcommand_find(command, NULL);
	for (size_t i = 0; sub->command && g_str_equal(sub->command, command); i++, sub++)
		names[i] = sub->name;
	RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
		"raygpu %s has no subcommand \"%s\"", command, name);
	const char *near = rg_nearest_word(name, names);
	if (near)
		rg_diag_hint(diag, "did you mean `raygpu %s %s`?", command, near);
	else
		rg_diag_hint(diag, "`raygpu %s -h` lists the subcommands", command);
}
