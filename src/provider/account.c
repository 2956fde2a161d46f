/* account: which account the credentials of an instance belong to, and where they come from. */
#include "provider/internal.h"

void rg_account_clear(RgAccount *account)
{
	g_free(account->id);
	g_free(account->acting);
	g_free(account->credentials);
	*account = (RgAccount){0};
}

typedef struct {
	json_t *account, *credentials;
} Given;

static void take(RgCall *call, const char *slot, json_t *value)
{
	Given *given = call->data;
	json_t **to = g_str_equal(slot, "account") ? &given->account : &given->credentials;
	*to = json_incref(value);
}

bool rg_provider_account(RgProvider *provider, RgAccount *account, RgDiags *diags)
{
	*account = (RgAccount){0};
	if (!rg_provider_offers(provider, "account"))
		return true;
	json_auto_t *input = json_object();
	Given given = {0};
	RgCall call = {.slot = take, .data = &given};
	bool ok = rg_call_make(&call, provider, "account", input, diags);
	const char *told = rg_json_str(given.account, "id", NULL);
	if (ok && !rg_provider_id_is_sound(told))
		rg_call_bad(&call, "the id of the account has control characters");
	ok = ok && call.bad_count == 0;
	if (ok) {
		account->id = rg_text_clean(told);
		account->acting = rg_text_clean(rg_json_str(given.account, "acting", NULL));
	}
	account->credentials = rg_text_clean(rg_json_str(given.credentials, "from", NULL));
	rg_call_clear(&call);
	json_decref(given.account);
	json_decref(given.credentials);
	return ok;
}
