#include "remote/common.h"
#include <sys/random.h>

char *rg_remote_token(void)
{
	guint64 words[2] = {0, 0};
	if (getrandom(words, sizeof(words), 0) != (ssize_t)sizeof(words))
		words[0] = ((guint64)g_random_int() << 32) | g_random_int();
	return g_strdup_printf(
		"%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", words[0], words[1]);
}

bool rg_remote_lost_lock(const char *shown, const char *cluster, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.lost-lock",
		"the lock of cluster %s in the state \"%s\" is lost", cluster, shown);
	rg_diag_detail(diag, "another run has taken it, or has changed the cluster");
	rg_diag_hint(diag, "wait until the other run has ended, then run the command again: it "
			   "resolves what this run left open");
	return false;
}

bool rg_remote_has_more(const char *shown, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.locked",
		"another run has created a cluster in the state \"%s\" in the meantime", shown);
	rg_diag_hint(diag, "run the command again: it moves that one too");
	return false;
}
