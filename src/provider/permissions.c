/* permissions: what a task needs to be allowed in the cloud, as a document in the cloud's form. */
#include "provider/internal.h"

json_t *rg_provider_permissions(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	json_auto_t *document = NULL;
	RgCall call = {.slot = rg_call_take_one, .data = &document};
	bool ok = rg_call_make(&call, provider, "permissions", input, diags);
	rg_call_clear(&call);
	return ok ? g_steal_pointer(&document) : NULL;
}
