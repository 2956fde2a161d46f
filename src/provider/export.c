/* export: the cluster as a file of another tool's form. */
#include "provider/internal.h"

char *rg_provider_export(
	RgProvider *provider, const char *form, const json_t *fitted, RgDiags *diags)
{
	json_auto_t *document = NULL;
	json_auto_t *input =
		json_pack("{s:s, s:O}", "form", form, "fitted", rg_json_unconst(fitted));
	RgCall call = {.slot = rg_call_take_one, .result = "document", .data = &document};
	bool ok = rg_call_make(&call, provider, "export", input, diags);
	const char *text = rg_json_str(document, "text", NULL);
	if (ok && !text)
		rg_call_bad(&call, "it returned no text");
	ok = ok && call.bad_count == 0;
	rg_call_clear(&call);
	return ok ? g_strdup(text) : NULL;
}
