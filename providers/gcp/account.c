/* account: the project. Everything that raygpu records is in it; which caller's credentials reach
 * it does not matter. */
#include "gcp/kinds.h"

rgp_status gcp_account(const GcpCall *call, const json_t *input)
{
	const char *file = call->inst->key_path;
	if (file)
		mod_give(&call->talk, "credentials", json_pack("{s:s}", "from", file));
	const char *project = gcp_project(call);
	return project ? mod_give(&call->talk, "account", json_pack("{s:s}", "id", project))
		       : RGP_FAIL;
}
