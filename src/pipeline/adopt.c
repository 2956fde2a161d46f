/* Resources that exist become records: what is found is fitted with its spec as for a plan, and the
 * plan is made from the records in memory. Writes nothing. */
#include "pipeline/internal.h"
#include "intent/found.h"

bool rg_pass_fit_found(RgSession *session, RgPass *pass, RgFound *found, RgDiags *diags)
{
	g_autoptr(RgDiags) first = rg_diags_new(); /* the second reports its warnings again */
	found->pins = rg_pass_pins(pass);
	rg_found_pin(found);
	if (!rg_pass_fit(session, pass, first)) {
		rg_diags_take_all(diags, first);
		return false;
	}
	found->fitted = pass->fitted;
	found->desired = pass->desired;
	rg_found_pin_fitted(found);
	json_object_set(found->pins, "facts", pass->facts);
	bool ok = rg_pass_fit(session, pass, diags);
	found->fitted = pass->fitted;
	found->desired = pass->desired;
	return ok;
}

GPtrArray *pass_find_records(
	RgSession *session, RgPass *pass, const RgImport *imports, size_t n, RgDiags *diags)
{
	const RgIntent intent = pass_intent(session, pass);
	g_auto(RgImporting) importing;
	rg_importing_init(&importing, &intent, session->store, imports, n, diags);
	if (!rg_importing_read(&importing) ||
		!rg_pass_fit_found(session, pass, &importing.found, diags))
		return NULL;
	return rg_importing_record(&importing);
}

static bool check_replaced(
	RgSession *session, RgPass *pass, const RgImport *entries, size_t n, RgDiags *diags)
{
	const RgIntent intent = pass_intent(session, pass);
	g_auto(RgImporting) importing;
	rg_importing_init(&importing, &intent, session->store, entries, n, diags);
	return rg_importing_check_replaced(&importing);
}

bool pass_import(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const RgIntent intent = pass_intent(session, pass);
	g_autoptr(GArray) replaced = rg_intent_entries(&intent, true);
	g_autoptr(GArray) fresh = rg_intent_entries(&intent, false);
	/* in another account there is nothing to import, but that is not why */
	if (rg_snapshot_refuse_secrets(pass->snapshot, "the import", diags) ||
		!rg_pass_check_account(pass, false, diags) ||
		!check_replaced(session, pass, (const RgImport *)(void *)replaced->data,
			replaced->len, diags))
		return false;
	if (!fresh->len)
		return rg_pass_fit(session, pass, diags);
	pass->imported = pass_find_records(
		session, pass, (const RgImport *)(void *)fresh->data, fresh->len, diags);
	return pass->imported != NULL;
}
