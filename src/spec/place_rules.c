#include "spec/check.h"

#include <string.h>
#include "base/words.h"

/* The state could not show which of two candidates of one region applies. */
static void check_twice(RgDocument *document, const json_t *any_of, size_t i, RgDiags *diags)
{
	const json_t *place = json_array_get(any_of, i);
	const char *name = rg_json_str(place, "name", NULL);
	const char *region = rg_json_str(place, "region", "");
	g_autofree char *at = g_strdup_printf("/provider/any_of/%zu", i);
	for (size_t k = 0; k < i && name; k++) {
		const json_t *other = json_array_get(any_of, k);
		if (!g_str_equal(rg_json_str(other, "name", ""), name) ||
			!g_str_equal(rg_json_str(other, "region", ""), region))
			continue;
		g_autofree char *place_text = rg_place_text(name, region);
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			"provider.any_of names %s twice", place_text);
		rg_diag_hint(diag, "name each provider and region once");
		return;
	}
}

void rg_spec_check_places(RgDocument *document, RgDiags *diags)
{
	const json_t *any_of = rg_json_at(document->value, "/provider/any_of");
	for (size_t i = 0; i < json_array_size(any_of); i++)
		check_twice(document, any_of, i, diags);
}
