#include "spec/check.h"

#include <string.h>

/* The zones of provider.subnets lie in the region, and each has a subnet of its own: a subnet lies
 * in one zone in every cloud that has such subnets. */
static void check_subnet(RgDocument *document, const char *zone, const char *subnet,
	GHashTable *zones_of, RgDiags *diags)
{
	const char *region = json_string_value(rg_json_at(document->value, "/provider/region"));
	g_autofree char *at = rg_json_pointer_add("/provider/subnets", zone);
	if (rg_document_is_spoiled(document, at))
		return;
	bool known = region != NULL && !rg_document_is_spoiled(document, "/provider/region");
	if (known && (!g_str_has_prefix(zone, region) || strcmp(zone, region) == 0)) {
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			"the zone \"%s\" of provider.subnets is not in the region \"%s\"", zone,
			region);
		rg_diag_at(diag, rg_document_key_source(document, at));
		rg_diag_hint(
			diag, "a cluster lives in one region; its zones look like %sa", region);
		return;
	}
	const char *other = g_hash_table_lookup(zones_of, subnet);
	if (other != NULL) {
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			"the subnet \"%s\" is given for %s and for %s", subnet, other, zone);
		rg_diag_hint(diag, "a subnet lies in one zone");
		return;
	}
	g_hash_table_insert(zones_of, (gpointer)(uintptr_t)subnet, (gpointer)(uintptr_t)zone);
}

void rg_spec_check_network(RgDocument *document, RgDiags *diags)
{
	g_autoptr(GHashTable) zones_of = g_hash_table_new(g_str_hash, g_str_equal);
	json_t *subnets = rg_json_at(document->value, "/provider/subnets"), *subnet;
	const char *zone;
	json_object_foreach (subnets, zone, subnet) {
		if (json_is_string(subnet))
			check_subnet(document, zone, json_string_value(subnet), zones_of, diags);
	}
}
