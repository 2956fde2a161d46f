/* blocks: reserved capacity that can be bought. */
#include "provider/internal.h"

static bool is_block(const json_t *value)
{
	static const char *const texts[] = {"id", "instance_type", "zone", "currency"};
	static const char *const numbers[] = {"count", "start_s", "end_s", "fee_microusd"};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		if (!json_is_string(json_object_get(value, texts[i])) ||
			!json_is_integer(json_object_get(value, numbers[i])))
			return false;
	return true;
}

static void take_block(RgCall *call, const char *slot, json_t *value)
{
	if (!g_str_equal(slot, "block") || !is_block(value))
		rg_call_bad(call, "\"%s\" is not a result of it as the ABI describes it", slot);
	else
		json_array_append(call->data, value);
}

json_t *rg_provider_blocks(RgProvider *provider, const json_t *input, RgDiags *diags)
{
	json_auto_t *blocks = json_array();
	RgCall call = {.slot = take_block, .data = blocks};
	bool ok = rg_call_make(&call, provider, "blocks", input, diags) && call.bad_count == 0;
	rg_call_clear(&call);
	return ok ? g_steal_pointer(&blocks) : NULL;
}
