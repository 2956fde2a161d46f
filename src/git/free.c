#include "git/git.h"

void rg_provenance_free(RgProvenance *provenance)
{
	if (!provenance)
		return;
	g_free(provenance->root);
	g_free(provenance->path);
	g_free(provenance->commit);
	g_free(provenance->author);
	g_free(provenance);
}

void rg_git_changes_free(RgGitChanges *changes)
{
	if (!changes)
		return;
	g_free(changes->root);
	g_free(changes->base);
	g_clear_pointer(&changes->paths, g_hash_table_unref);
	g_free(changes);
}
