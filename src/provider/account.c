/* account: which account the credentials of an instance belong to. */
#include "provider/internal.h"

bool rg_provider_account(RgProvider *provider, char **id, char **acting, RgDiags *diags)
{
	*id = *acting = NULL;
	if (!rg_provider_offers(provider, "account"))
		return true;
	json_auto_t *input = json_object(), *given = NULL;
	RgCall call = {.slot = rg_call_take_one, .result = "account", .data = &given};
	bool ok = rg_call_make(&call, provider, "account", input, diags);
	const char *told = rg_json_str(given, "id", NULL);
	if (ok && !rg_provider_id_is_sound(told))
		rg_call_bad(&call, "it returned without the id of an account");
	ok = ok && call.bad_count == 0;
	if (ok) {
		*id = rg_text_clean(told);
		*acting = rg_text_clean(rg_json_str(given, "acting", NULL));
	}
	rg_call_clear(&call);
	return ok;
}
