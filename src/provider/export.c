/* export: the cluster as a file of another tool's form. */
#include "provider/internal.h"

char *rg_provider_export(
	RgProvider *provider, const char *form, const json_t *fitted, RgDiags *diags)
{
	json_auto_t *document = NULL;
	json_auto_t *input =
		json_pack("{s:s, s:O}", "form", form, "fitted", rg_json_unconst(fitted));
	RgCall call = {.slot = rg_call_take_one, .data = &document};
	bool ok = rg_call_make(&call, provider, "export", input, diags);
	rg_call_clear(&call);
	return ok ? g_strdup(rg_json_str(document, "text", "")) : NULL;
}
