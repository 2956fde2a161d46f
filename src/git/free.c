#include "git/git.h"

void rg_provenance_free(RgProvenance *provenance)
{
	if (provenance == NULL)
		return;
	g_free(provenance->root);
	g_free(provenance->path);
	g_free(provenance->commit);
	g_free(provenance->author);
	g_free(provenance);
}
