/* account: the project. Everything that raygpu records is in it; which caller's credentials reach
 * it does not matter. */
#include "gcp/kinds.h"

rgp_status gcp_account(const GcpCall *call, const json_t *input)
{
	const char *project = gcp_project(call);
	return project ? mod_give(&call->talk, "account", json_pack("{s:s}", "id", project))
		       : RGP_FAIL;
}
