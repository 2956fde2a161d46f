/* clouds -> facts: what the provider's `resolve` reports, at the lines of the spec. */
#include "pipeline/internal.h"

json_t *pass_resolve(
	RgSession *session, RgPass *pass, const json_t *request, const char *what, RgDiags *diags)
{
	pass_tell(session, "resolving", what, 0, false);
	g_autoptr(RgDiags) unresolved = rg_diags_new();
	json_t *facts = rg_provider_resolve(pass->provider, request, unresolved);
	pass_locate(pass->cluster, unresolved);
	bool right = facts || rg_pass_check_account(pass, false, diags);
	if (right)
		rg_diags_take_all(diags, unresolved);
	return facts;
}
