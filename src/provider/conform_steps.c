/* What all steps use: reports, what was created so far, what the cloud lists. */
#include "provider/conform_internal.h"

bool rg_conform_tell(RgConform *c, const char *step, bool passed, const char *why, RgDiags *diags)
{
	for (size_t i = 0; !passed && !why && diags && i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		if (diag->severity == RG_SEVERITY_ERROR)
			why = diag->summary;
	}
	c->failed += !passed;
	c->options->told(c->options->data, step, passed ? RG_CONFORM_PASS : RG_CONFORM_FAIL,
		passed ? NULL : why);
	return passed;
}

void rg_conform_skip(RgConform *c, const char *step, const char *why)
{
	c->options->told(c->options->data, step, RG_CONFORM_SKIP, why);
}

const RgConformMade *rg_conform_find(const RgConform *c, const char *address)
{
	rg_ptr_foreach (const RgConformMade, made, c->made) {
		if (g_str_equal(made->wanted->address, address))
			return made;
	}
	return NULL;
}

json_t *rg_conform_look_up(void *data, const char *address, const char *attr)
{
	const RgConformMade *made = rg_conform_find(data, address);
	json_t *value = made ? json_object_get(made->outputs, attr) : NULL;
	if (!value && made && g_str_equal(attr, "id"))
		return json_string(made->id);
	return json_incref(value);
}

void rg_conform_make_token(char token[33])
{
	for (int i = 0; i < 4; i++)
		g_snprintf(token + i * 8, 9, "%08x", g_random_int());
}

GHashTable *rg_conform_seen_new(void)
{
	return g_hash_table_new_full(
		g_str_hash, g_str_equal, NULL, (GDestroyNotify)rg_resource_free);
}

void rg_conform_take_seen(void *data, RgResource *resource)
{
	g_hash_table_replace(data, resource->id, resource);
}

bool rg_conform_list(
	RgConform *c, const char *kind, const char *known, GHashTable *seen, RgDiags *diags)
{
	const char *const kinds[] = {kind, NULL};
	json_auto_t *ids = json_pack("{s:[s]}", kind, known);
	const RgListing listing = {
		.kinds = kinds, .cluster = "raygpu-check", .lineage = c->lineage, .known = ids};
	return rg_provider_list(c->provider, &listing, rg_conform_take_seen, seen, diags);
}
