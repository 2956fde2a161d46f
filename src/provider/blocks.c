/* blocks: reserved capacity that can be bought. */
#include "provider/internal.h"

static void take_block(RgCall *call, const char *slot, json_t *value)
{
	json_array_append(call->data, value);
}

json_t *rg_provider_blocks(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	json_auto_t *blocks = json_array();
	RgCall call = {.slot = take_block, .data = blocks};
	bool ok = rg_call_make(&call, provider, "blocks", input, diags);
	rg_call_clear(&call);
	return ok ? g_steal_pointer(&blocks) : NULL;
}
